"""Perfect play of small games of perfect information, from a table of all their positions."""

from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import version
from io import BytesIO
from random import Random
from typing import Any

import numpy as np

from agents import cache
from agents.agent import Agent, Decision, Setup
from agents.tree import TERMINAL, NoTreeError, Tree, expand, position_key
from games.game import CHANCE, Action, Dynamics, Game, Information, Observation, Utility
from games.seeding import derive
from games.spiel import SpielState

_TIE = 1e-9
"""Moves whose values differ by less are equally good."""
_FORMAT = 1
"""Raised when the tables on disk change their form or meaning."""


class Minimax(Agent):
    """Plays perfectly where both seats see everything, ties drawn from its seed.

    The game is solved once: by backward induction over its positions, chance averaged (expectiminimax).
    """

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._rng = Random(setup.seed)
        self._values = table(setup.game)

    @classmethod
    def misfit(cls, game: Game, **params: Any) -> str | None:
        """Another kind of game, or one with too many positions. Solves the game, which may take some seconds once."""
        spec = game.spec
        if spec.information is not Information.PERFECT or spec.dynamics is not Dynamics.SEQUENTIAL:
            return f"minimax needs perfect information and moves in turn, and {spec.name} is not so"
        if spec.seats != 2 or spec.utility not in (Utility.ZERO_SUM, Utility.CONSTANT_SUM):
            return f"minimax needs two seats of which one loses what the other wins, and {spec.name} is not so"
        if not spec.terminal_rewards:
            return f"minimax needs rewards at the end only, and {spec.name} gives some before"
        try:
            table(game)
        except NoTreeError as error:
            return f"minimax cannot solve it: {error}"
        return None

    @classmethod
    def prepare(cls, game: Game, **params: Any) -> None:
        table(game)

    async def act(self, observation: Observation) -> Decision:
        return Decision(self._rng.choice(self._best(observation)))

    def probabilities(self, observation: Observation) -> Mapping[Action, float]:
        """All best moves with the same probability."""
        best = self._best(observation)
        return {action: (action in best) / len(best) for action in observation.legal_actions}

    def _best(self, observation: Observation) -> list[Action]:
        state = observation.sample_state(self._rng)
        assert isinstance(state, SpielState)
        spiel, sign = state.spiel, 1 if observation.seat == 0 else -1
        values = [sign * self._value(spiel.child(action)) for action in spiel.legal_actions()]
        least = max(values) - _TIE
        return [name for name, value in zip(observation.legal_actions, values, strict=True) if value >= least]

    def _value(self, spiel: Any) -> float:
        return self._values[derive(position_key(spiel))]


@lru_cache(maxsize=4)
def table(game: Game) -> Mapping[int, float]:
    """The value of every position to seat 0, under the 63-bit digest of its key; solved, or read from the cache.

    Two of 200,000 positions share a digest with a chance of 2e-9. Raises NoTreeError for what is too large.
    """
    parts = (game.spec.name, version("open-spiel"), _FORMAT)
    kept = cache.load("minimax", *parts)
    if kept is not None:
        return _read(kept)
    solved = solve(expand(game, merged=True))
    cache.store(_written(solved), "minimax", *parts)
    return solved


def solve(tree: Tree) -> Mapping[int, float]:
    """The value to seat 0 of every position of a laid-out game, under the digest of its key."""
    values = [0.0] * len(tree.player)
    for node in range(len(values) - 1, -1, -1):
        player, after = tree.player[node], [values[child] for child in tree.children[node]]
        if player == TERMINAL:
            values[node] = tree.returns[node][0]
        elif player == CHANCE:
            values[node] = sum([p * value for p, value in zip(tree.chance[node], after, strict=True)])
        else:
            values[node] = max(after) if player == 0 else min(after)
    return {derive(key): values[node] for key, node in tree.positions.items()}


def _written(values: Mapping[int, float]) -> bytes:
    buffer = BytesIO()
    keys = np.fromiter(values.keys(), np.int64, len(values))
    np.savez_compressed(buffer, keys=keys, values=np.fromiter(values.values(), np.float64, len(values)))
    return buffer.getvalue()


def _read(content: bytes) -> Mapping[int, float]:
    with np.load(BytesIO(content), allow_pickle=False) as arrays:
        return dict(zip(arrays["keys"].tolist(), arrays["values"].tolist(), strict=True))
