"""Agents with one fixed leaning, whatever the position: always one action, or fixed weights."""

import random
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from agents.agent import Agent, Decision, Pace, Setup
from agents.deterministic import Deterministic
from games.game import Action, Game, Observation
from games.spec import near, render

DECISIONS_TRIED = 2_000
"""Random decisions after which an action that was never legal, among names that all recurred, counts as unknown."""


def _name(value: object) -> object:
    """A number or truth value was meant as an action's name; anything else is left to the type's own check."""
    return render(value) if isinstance(value, bool | int | float) else value


def _not_all_zero(weights: list[float]) -> list[float]:
    if not any(weights):
        raise ValueError("one weight at least must be above 0")
    return weights


Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Weights = Annotated[list[Weight], AfterValidator(_not_all_zero)]


class Always(Deterministic):
    """Plays one action whenever it is legal, and the first legal action where it is not.

    action: the action's name, exactly as the game writes it; in quotes where it holds brackets or commas.
    """

    pace = Pace.BRIEF

    def __init__(self, setup: Setup, *, action: Annotated[str, BeforeValidator(_name)]) -> None:
        super().__init__(setup)
        self._action = action

    @classmethod
    def misfit(cls, game: Game, **params: Any) -> str | None:
        """An action that the game does not have does not fit, where a short look at random play can tell."""
        known = _actions_of(game)
        action = params["action"]
        if known is None or action in known:
            return None
        return f"no action {action!r} in {game.spec.name}; {near(action, sorted(known))}"

    def choice(self, observation: Observation) -> Action:
        legal = observation.legal_actions
        return self._action if self._action in legal else legal[0]


class Biased(Agent):
    """Plays the legal actions, in their order, with fixed weights.

    weights: one number for each place in the order of the legal actions, none negative; they need not sum to 1.
    Where there are fewer legal actions, the first weights are taken; where there are more, the others are never
    played; where the weights taken are all 0, every legal action is as likely.
    """

    pace = Pace.BRIEF

    def __init__(self, setup: Setup, *, weights: Weights) -> None:
        super().__init__(setup)
        self._weights = weights
        self._rng = random.Random(setup.seed)

    async def act(self, observation: Observation) -> Decision:
        legal = observation.legal_actions
        return Decision(self._rng.choices(legal, self._taken(len(legal)))[0])

    def probabilities(self, observation: Observation) -> Mapping[Action, float]:
        legal = observation.legal_actions
        weights = self._taken(len(legal))
        total = sum(weights)
        return {action: weight / total for action, weight in zip(legal, weights, strict=True)}

    def _taken(self, count: int) -> list[float]:
        weights = self._weights[:count]
        weights = weights + [0.0] * (count - len(weights))
        return weights if any(weights) else [1.0] * count


@lru_cache(maxsize=64)
def _actions_of(game: Game) -> frozenset[Action] | None:
    """Every action name of a game, by random play; None where new ones kept turning up, so that some may be missing."""
    rng = random.Random(0)
    last_new: dict[Action, int] = {}
    tried = 0
    while tried < DECISIONS_TRIED:
        state = game.new_episode(rng.getrandbits(63))
        while (seats := state.seats_to_act()) and tried < DECISIONS_TRIED:
            legal = {seat: state.observe(seat).legal_actions for seat in seats}
            tried += len(seats)
            for actions in legal.values():
                for action in actions:
                    last_new.setdefault(action, tried)
            state.apply({seat: actions[int(rng.random() * len(actions))] for seat, actions in legal.items()})
    recent = any(first > DECISIONS_TRIED // 2 for first in last_new.values())
    return None if recent else frozenset(last_new)
