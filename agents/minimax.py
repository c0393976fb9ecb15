"""Perfect play of small games of perfect information, from a table of all their positions."""

from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import version
from io import BytesIO
from random import Random
from typing import Any, NamedTuple

from agents import cache
from agents.agent import Agent, Decision, Pace, Setup
from agents.tree import TERMINAL, NoTreeError, Tree, expand, node_key
from games.game import CHANCE, Action, Dynamics, Game, Information, Observation, Utility
from games.seeding import derive
from games.spiel import SpielObservation

_TIE = 1e-9
"""Moves whose values differ by less are equally good."""
_FORMAT = 1
"""Raised when the tables on disk change their form or meaning."""


class Minimax(Agent):
    """Plays perfectly where both seats see everything, ties drawn from its seed.

    The game is solved once: by backward induction over its positions, chance averaged (expectiminimax).
    """

    pace = Pace.BRIEF

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._rng = Random(setup.seed)
        self._table = table(setup.game)

    @classmethod
    def misfit(cls, game: Game, **params: Any) -> str | None:
        """Another kind of game, or one with too many positions. Solves the game, which may take some seconds once."""
        spec = game.spec
        if spec.information is not Information.PERFECT or spec.dynamics is not Dynamics.SEQUENTIAL:
            return f"minimax needs perfect information and moves in turn, and {spec.name} does not have both"
        if spec.seats != 2 or spec.utility not in (Utility.ZERO_SUM, Utility.CONSTANT_SUM):
            return f"minimax needs two seats of which one loses what the other wins, and {spec.name} does not have both"
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
        assert isinstance(observation, SpielObservation)
        spiel, sign = observation.sample_spiel(self._rng), 1 if observation.seat == 0 else -1
        values = [sign * self._table.value(spiel.child(action)) for action in spiel.legal_actions()]
        least = max(values) - _TIE
        return [name for name, value in zip(observation.legal_actions, values, strict=True) if value >= least]


class Table(NamedTuple):
    """A solved game."""

    merged: bool
    """Whether histories that lead to one position share a value."""
    values: Mapping[int, float]
    """63-bit digest of the key of a position, or of a history -> its value to seat 0.

    Two of 100,000 share a digest with a chance of 5e-10.
    """

    def value(self, spiel: Any) -> float:
        return self.values[derive(node_key(spiel, self.merged))]


@lru_cache(maxsize=4)
def table(game: Game) -> Table:
    """The value of all there is to know of a game: solved, or read from the cache. Raises NoTreeError if too large."""
    parts = (game.spec.name, version("open-spiel"), _FORMAT)
    kept = cache.load("minimax", *parts)
    if kept is not None:
        return _read(kept)
    solved = solve(_laid_out(game))
    cache.store(_written(solved), "minimax", *parts)
    return solved


def _laid_out(game: Game) -> Tree:
    """Every position of a game; every history where the board does not tell all and they are few."""
    try:
        return expand(game, merged=True)
    except NoTreeError as error:
        try:
            return expand(game)
        except NoTreeError:
            raise error from None


def solve(tree: Tree) -> Table:
    """Backward induction over a laid-out game of two seats, of which one loses what the other wins."""
    values = [0.0] * len(tree.player)
    for node in range(len(values) - 1, -1, -1):
        player, after = tree.player[node], [values[child] for child in tree.children[node]]
        if player == TERMINAL:
            values[node] = tree.returns[node][0]
        elif player == CHANCE:
            values[node] = sum([p * value for p, value in zip(tree.chance[node], after, strict=True)])
        else:
            values[node] = max(after) if player == 0 else min(after)
    return Table(tree.merged, {derive(key): values[node] for key, node in tree.places.items()})


def _written(solved: Table) -> bytes:
    import numpy as np  # here, since most runs solve nothing

    buffer, size = BytesIO(), len(solved.values)
    keys = np.fromiter(solved.values.keys(), np.int64, size)
    values = np.fromiter(solved.values.values(), np.float64, size)
    np.savez_compressed(buffer, merged=np.array(solved.merged), keys=keys, values=values)
    return buffer.getvalue()


def _read(content: bytes) -> Table:
    import numpy as np

    with np.load(BytesIO(content), allow_pickle=False) as arrays:
        values = dict(zip(arrays["keys"].tolist(), arrays["values"].tolist(), strict=True))
        return Table(bool(arrays["merged"]), values)
