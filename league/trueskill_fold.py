"""TrueSkill as a fold: game after game, one belief (mean and variance) per agent and nothing else.

Two seats go through the closed form of the update, the rest through the factor graph of the `trueskill` package.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from league.trueskill_moments import draw_moments, win_moments

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

# Two clear seats of a free-for-all may not be told apart infinitely well: the package divides by 1 - w.
W_MAX = 1.0 - 2.0**-40


@dataclass(frozen=True)
class Block:
    """Consecutive matches in coded form. Match k is agents[starts[k]:starts[k + 1]]; places run in parallel."""

    agents: Ints
    places: Ints
    starts: Ints

    @property
    def seats(self) -> Ints:
        """Seats of each match, (matches,)."""
        return np.diff(self.starts)

    def part(self, first: int, last: int) -> Block:
        """The matches first, .., last - 1."""
        low, high = self.starts[first], self.starts[last]
        return Block(self.agents[low:high], self.places[low:high], self.starts[first : last + 1] - low)


@dataclass(frozen=True)
class Parameters:
    """What TrueSkill believes before the first match, and how much chance it sees in a performance.

    A new agent is N(mu, sigma^2), a performance adds N(0, beta^2), and before each match sigma^2 grows by tau^2.
    """

    mu: float = 25.0
    sigma: float = 25.0 / 3.0
    beta: float = 25.0 / 6.0
    tau: float = 25.0 / 300.0


class TrueSkillFold:
    """The beliefs of one pool. Agents are codes from 0; an unseen one starts at the prior."""

    def __init__(self, parameters: Parameters, draw_share: float) -> None:
        self._parameters = parameters
        self._draw_share = draw_share
        self._mu: list[float] = []
        self._variance: list[float] = []

    def add(self, block: Block) -> tuple[Floats, Floats]:
        """Folds the matches in; returns (mu, sigma) of each seat right after its match, parallel to block.agents."""
        self._welcome(int(block.agents.max(initial=-1)) + 1)
        mu, variance = np.empty(len(block.agents)), np.empty(len(block.agents))
        for first, last, two_seats in _runs(block.seats == 2):
            part = block.part(first, last)
            mu_after, variance_after = self._duels(part) if two_seats else self._free_for_all(part)
            low, high = block.starts[first], block.starts[last]
            mu[low:high], variance[low:high] = mu_after, variance_after
        return mu, np.sqrt(variance)

    def beliefs(self) -> tuple[Floats, Floats]:
        """(mu, sigma) by code."""
        return np.array(self._mu), np.sqrt(np.array(self._variance))

    def start_from(self, mu: Sequence[float], sigma: Sequence[float]) -> None:
        """Starts from other beliefs than the newcomer's, by code."""
        self._mu = [float(value) for value in mu]
        self._variance = [float(value) ** 2 for value in sigma]

    def _welcome(self, agents: int) -> None:
        new = max(0, agents - len(self._mu))
        self._mu += [self._parameters.mu] * new
        self._variance += [self._parameters.sigma**2] * new

    def _duels(self, block: Block) -> tuple[Floats, Floats]:
        """Two seats: seats are brought into the order winner, loser for the loop and back into their own after it."""
        agents, places = block.agents.reshape(-1, 2), block.places.reshape(-1, 2)
        second_won = places[:, 0] > places[:, 1]
        seats = np.where(second_won[:, None], agents[:, ::-1], agents)
        drawn = places[:, 0] == places[:, 1]
        after = np.array(self._play(seats[:, 0].tolist(), seats[:, 1].tolist(), drawn.tolist())).reshape(-1, 2, 2)
        after = np.where(second_won[:, None, None], after[:, ::-1], after)
        return after[:, :, 0].reshape(-1), after[:, :, 1].reshape(-1)

    def _play(self, winners: list[int], losers: list[int], drawn: list[bool]) -> list[float]:
        """The closed form; returns mu, variance of the winner, mu, variance of the loser, match after match.

        Plain floats and lists: each match needs the one before it, so there is nothing to vectorize, and numpy's
        scalars are several times slower.
        """
        mu, variance = self._mu, self._variance
        drift, noise, margin = self._parameters.tau**2, 2.0 * self._parameters.beta**2, self.draw_margin
        after: list[float] = []
        push = after.append
        for winner, loser, draw in zip(winners, losers, drawn, strict=True):
            mu_w, mu_l = mu[winner], mu[loser]
            var_w, var_l = variance[winner] + drift, variance[loser] + drift
            c2 = var_w + var_l + noise
            c = sqrt(c2)
            v, w = draw_moments((mu_w - mu_l) / c, margin / c) if draw else win_moments((mu_w - mu_l - margin) / c)
            v /= c
            w /= c2
            mu[winner] = mu_w = mu_w + var_w * v
            mu[loser] = mu_l = mu_l - var_l * v
            variance[winner] = var_w = var_w - var_w * var_w * w
            variance[loser] = var_l = var_l - var_l * var_l * w
            push(mu_w)
            push(var_w)
            push(mu_l)
            push(var_l)
        return after

    def _free_for_all(self, block: Block) -> tuple[Floats, Floats]:
        """More than two seats, by expectation propagation; a single seat meets nobody, so its belief stays."""
        mu, variance = self._mu, self._variance
        agents, places, starts = block.agents.tolist(), block.places.tolist(), block.starts.tolist()
        after: list[tuple[float, float]] = []
        for low, high in pairwise(starts):
            seats = agents[low:high]
            if len(seats) > 1:
                groups = [(self._environment.create_rating(mu[agent], sqrt(variance[agent])),) for agent in seats]
                for agent, (rated,) in zip(seats, self._environment.rate(groups, places[low:high]), strict=True):
                    mu[agent], variance[agent] = rated.mu, rated.sigma**2
            after += [(mu[agent], variance[agent]) for agent in seats]
        pairs = np.array(after).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    @cached_property
    def draw_margin(self) -> float:
        """The difference of two performances below which the match is a draw, in points of mu."""
        import trueskill

        return float(trueskill.calc_draw_margin(self._draw_share, 2, self._environment))

    @cached_property
    def _environment(self) -> Any:
        """The package's rules with our v and w: equal where its own are finite, finite where they raise."""
        import trueskill

        p = self._parameters
        environment = trueskill.TrueSkill(p.mu, p.sigma, p.beta, p.tau, self._draw_share)
        environment.v_win = lambda lead, margin: win_moments(lead - margin)[0]
        environment.w_win = lambda lead, margin: min(W_MAX, win_moments(lead - margin)[1])
        environment.v_draw = lambda lead, margin: draw_moments(lead, margin)[0]
        environment.w_draw = lambda lead, margin: min(W_MAX, draw_moments(lead, margin)[1])
        return environment


def _runs(flags: npt.NDArray[np.bool_]) -> Iterator[tuple[int, int, bool]]:
    """(first, last + 1, flag) of each stretch of equal flags."""
    if not len(flags):
        return
    edges = [0, *(np.flatnonzero(flags[1:] != flags[:-1]) + 1).tolist(), len(flags)]
    for first, last in pairwise(edges):
        yield first, last, bool(flags[first])
