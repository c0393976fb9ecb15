"""Near-equilibrium play of small games by counterfactual regret minimisation."""

import json
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import version
from random import Random
from typing import Annotated, Any, Literal, TypeAlias

import pyspiel
from pydantic import Field

from agents import cache
from agents.agent import Agent, Decision, Pace, Setup
from agents.tree import HISTORIES, count_histories, unwalkable
from games.game import Action, Dynamics, Game, Observation
from games.spiel import SpielGame, SpielObservation

Algorithm: TypeAlias = Literal["cfr", "cfr+"]
Policy: TypeAlias = Mapping[str, list[float]]
"""Information state -> probability of each legal action, in OpenSpiel's order."""

_FORMAT = 1
"""Raised when the tables on disk change their form or meaning."""


class Cfr(Agent):
    """Plays the average policy of counterfactual regret minimisation, which nears an equilibrium of two-seat zero-sum
    games as the iterations grow.

    iterations: how many; algorithm: cfr, or cfr+ which converges faster; play: draw from the policy (sample), or take
    its likeliest action, the first of equals (argmax, which can be exploited).

    Zinkevich et al. (2007); CFR+: Tammelin (2014). Solved once by OpenSpiel, and kept on disk.
    """

    pace = Pace.BRIEF

    def __init__(
        self,
        setup: Setup,
        *,
        iterations: Annotated[int, Field(ge=1)] = 1000,
        algorithm: Algorithm = "cfr",
        play: Literal["sample", "argmax"] = "sample",
    ) -> None:
        super().__init__(setup)
        self._rng = Random(setup.seed)
        self._sharp = play == "argmax"
        self._policy = average_policy(setup.game, iterations, algorithm)

    @classmethod
    def misfit(cls, game: Game, **params: Any) -> str | None:
        """Another kind of game, or one with too many histories."""
        spec = game.spec
        if spec.dynamics is not Dynamics.SEQUENTIAL:
            return f"cfr needs moves in turn, and in {spec.name} seats move at the same time"
        if spec.seats < 2:
            return f"cfr needs two seats or more, and {spec.name} has one"
        if why := unwalkable(game):
            return f"cfr cannot solve it: {why}"
        assert isinstance(game, SpielGame)
        if not game.spiel.get_type().provides_information_state_string:
            return f"cfr cannot solve it: {spec.name} does not tell its information states"
        if count_histories(game) > HISTORIES:
            return f"cfr cannot solve it: {spec.name} has more than {HISTORIES:,} histories"
        return None

    @classmethod
    def prepare(cls, game: Game, **params: Any) -> None:
        average_policy(game, params["iterations"], params["algorithm"])

    async def act(self, observation: Observation) -> Decision:
        legal, weights = observation.legal_actions, self._weights(observation)
        return Decision(self._rng.choices(legal, weights)[0])

    def probabilities(self, observation: Observation) -> Mapping[Action, float]:
        """The policy, or with play=argmax its likeliest action alone."""
        return dict(zip(observation.legal_actions, self._weights(observation), strict=True))

    def _weights(self, observation: Observation) -> list[float]:
        weights = self._policy[self._information_state(observation)]
        if not self._sharp:
            return weights
        first = weights.index(max(weights))
        return [float(place == first) for place in range(len(weights))]

    def _information_state(self, observation: Observation) -> str:
        game = self.setup.game
        assert isinstance(game, SpielGame)
        if not game.perfect:
            return observation.key
        # Where nothing is hidden an observation's key is the board, and OpenSpiel's information state the history.
        assert isinstance(observation, SpielObservation)
        return str(observation.sample_spiel(self._rng).information_state_string(observation.seat))


@lru_cache(maxsize=8)
def average_policy(game: Game, iterations: int, algorithm: Algorithm) -> Policy:
    """The average policy after so many iterations: solved, or read from the cache."""
    assert isinstance(game, SpielGame)
    parts = (game.spec.name, version("open-spiel"), algorithm, iterations, _FORMAT)
    kept = cache.load("cfr", *parts)
    if kept is not None:
        policy: Policy = json.loads(kept)
        return policy
    solved = solve(game, iterations, algorithm)
    cache.store(json.dumps(solved, separators=(",", ":")).encode(), "cfr", *parts)
    return solved


def solve(game: SpielGame, iterations: int, algorithm: Algorithm) -> Policy:
    """Run the solver. A leduc_poker of 9,457 histories takes some 8 ms an iteration."""
    solver = (pyspiel.CFRPlusSolver if algorithm == "cfr+" else pyspiel.CFRSolver)(game.spiel)
    for _ in range(iterations):
        solver.evaluate_and_update_policy()
    found = solver.tabular_average_policy().policy_table()
    return {state: [weight for _, weight in sorted(choice)] for state, choice in found.items()}
