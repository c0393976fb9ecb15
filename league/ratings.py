"""Who is better: rating systems, and the ratings of a store fitted, saved and listed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from games.errors import RunError, UserError
from league.rating_fit import fit_store
from league.rating_pools import FoldingSystem, draw_share
from league.store.queries import counts, ratings_stale, standings_rows
from league.store.rows import Counts, Standing
from league.store.store import Store
from league.trueskill_fold import Block, Parameters, TrueSkillFold

DRAW_SHARE_BOUNDS = (0.01, 0.9)
"""TrueSkill has no draw margin at a draw probability of 0 or 1."""


@dataclass(frozen=True)
class Rating:
    """What is believed of an agent's strength: N(mu, sigma^2), in points."""

    mu: float
    sigma: float

    @property
    def conservative(self) -> float:
        """mu - 3 sigma: the strength that the agent has almost surely; standings are ranked by it."""
        return self.mu - 3.0 * self.sigma


@dataclass(frozen=True)
class Outcome:
    """How one match ended. Raises ValueError unless there is a place for every agent, and every agent is another."""

    agents: tuple[str, ...]
    """Names, by seat."""
    places: tuple[int, ...]
    """By seat; 0 is best, ties share a place."""

    def __post_init__(self) -> None:
        if len(self.agents) != len(self.places):
            raise ValueError(f"{len(self.agents)} agents but {len(self.places)} places: {self.agents}, {self.places}")
        if len(set(self.agents)) != len(self.agents):
            raise ValueError(f"one agent in several seats: {', '.join(self.agents)}")


class RatingSystem(Protocol):
    """Turns outcomes into ratings. To serve `refit` as well it must fold: see FoldingSystem."""

    def rate(self, outcomes: Sequence[Outcome]) -> dict[str, Rating]:
        """A rating for every agent that occurs, fitted on these outcomes alone, in this order where it matters."""


@dataclass(frozen=True)
class TrueSkill:
    """TrueSkill (Herbrich, Minka, Graepel 2006); its draw probability is the draw share of the data.

    Every game moves the beliefs from where the last one left them, so the order of outcomes matters.
    """

    parameters: Parameters = field(default_factory=Parameters)

    @property
    def newcomer(self) -> tuple[float, float]:
        """(mu, sigma) of an agent without a match."""
        return self.parameters.mu, self.parameters.sigma

    def rate(self, outcomes: Sequence[Outcome]) -> dict[str, Rating]:
        """Ratings by name, in the order in which agents first occur."""
        codes: dict[str, int] = {}
        agents = [codes.setdefault(agent, len(codes)) for outcome in outcomes for agent in outcome.agents]
        places = [place for outcome in outcomes for place in outcome.places]
        sizes = [len(outcome.agents) for outcome in outcomes]
        ties = sum([len(outcome.places) - len(set(outcome.places)) for outcome in outcomes])
        fold = self.fold(draw_share(ties, sum(sizes) - len(sizes)))
        fold.add(Block(np.array(agents, np.int64), np.array(places, np.int64), np.cumsum([0, *sizes])))
        return {agent: Rating(float(mu), float(sigma)) for agent, mu, sigma in zip(codes, *fold.beliefs(), strict=True)}

    def fold(self, draw_share: float) -> TrueSkillFold:
        """A pool without matches; the share of draws is clamped to DRAW_SHARE_BOUNDS."""
        low, high = DRAW_SHARE_BOUNDS
        return TrueSkillFold(self.parameters, min(high, max(low, draw_share)))


def refit(store: Store, system: FoldingSystem | None = None) -> Counts:
    """Fits all ratings and their history from the matches in the store and saves them; returns what they rest on.

    Raises UserError or RunError when the store cannot be read or written.
    """
    counts(store)  # a store that is not there is an error, not made
    store.ensure()  # matches that wait to be merged are merged before they are counted
    fit = fit_store(store, system or TrueSkill())
    fit.save(store)
    return fit.basis


def standings(store: Store, game: str | None = None, system: FoldingSystem | None = None) -> list[Standing]:
    """The standings, fitted anew if matches came in: `overall` and every game, or that game alone; best first.

    A store that can be read but not written is fitted in memory, with the same result. Raises UserError or RunError
    when it cannot be read.
    """
    if ratings_stale(store):
        try:
            refit(store, system)
        except (UserError, RunError):
            fit = fit_store(store, system or TrueSkill())
            return [line for line in fit.lines if game in (None, line.pool)]
    return standings_rows(store, game)
