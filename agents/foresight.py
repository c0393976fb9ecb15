"""Positions to try moves on, one move at a time, in games of perfect information."""

import random
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from games.game import Action, Observation, State, sole_winner
from games.spiel import SpielState

Move: TypeAlias = int | Action
"""A move as its position counts it: OpenSpiel's number there, the action's name elsewhere."""


class Position(Protocol):
    """A place in a game from which moves can be tried."""

    @property
    def mover(self) -> int | None:
        """The seat to move; None when the game is over or chance comes next."""

    def moves(self) -> Sequence[Move]:
        """What the mover may play, in the game's order."""

    def names(self) -> Mapping[Move, Action]:
        """The name of each move, in the game's order."""

    def after(self, move: Move) -> "Position":
        """The position after a move; this one stays."""

    def winner(self) -> int | None:
        """The seat whose return is strictly the highest of an ended game (with one seat: the game's highest)."""


def position_of(observation: Observation, rng: random.Random) -> Position:
    """The position that a seat to move sees. Raises SampleError where the game cannot copy its state."""
    state = observation.sample_state(rng)
    if isinstance(state, SpielState):
        names: dict[Move, Action] = {number: name for name, number in state.legal(observation.seat).items()}
        return _SpielPosition(state.spiel, state.game.spec.max_utility, names)
    return _CopiedPosition(state, rng)


class _SpielPosition:
    """A pyspiel state: OpenSpiel gives the state after a move without changing this one."""

    __slots__ = ("_best", "_names", "_spiel", "mover")

    def __init__(self, spiel: Any, best: float, names: Mapping[Move, Action] | None = None) -> None:
        self._spiel = spiel
        self._best = best
        self._names = names
        player = spiel.current_player()
        self.mover: int | None = player if player >= 0 else None

    def moves(self) -> Sequence[Move]:
        moves: list[Move] = self._spiel.legal_actions()
        return moves

    def names(self) -> Mapping[Move, Action]:
        assert self._names is not None, "only the position that was observed knows names"
        return self._names

    def after(self, move: Move) -> "_SpielPosition":
        return _SpielPosition(self._spiel.child(move), self._best)

    def winner(self) -> int | None:
        return _winner(self._spiel.returns(), self._best) if self._spiel.is_terminal() else None


class _CopiedPosition:
    """Any State: a copy for each move tried, drawn from what the mover sees, which is everything."""

    __slots__ = ("_rng", "_state", "mover")

    def __init__(self, state: State, rng: random.Random) -> None:
        self._state = state
        self._rng = rng
        self.mover: int | None = next(iter(state.seats_to_act()), None)

    def _seen(self) -> Observation:
        assert self.mover is not None
        return self._state.observe(self.mover)

    def moves(self) -> Sequence[Move]:
        return self._seen().legal_actions

    def names(self) -> Mapping[Move, Action]:
        return {action: action for action in self._seen().legal_actions}

    def after(self, move: Move) -> "_CopiedPosition":
        assert self.mover is not None
        copy = self._seen().sample_state(self._rng)
        copy.apply({self.mover: str(move)})
        return _CopiedPosition(copy, self._rng)

    def winner(self) -> int | None:
        if self.mover is not None:
            return None
        won = self._state.success()
        return won.index(True) if any(won) else None


def _winner(returns: Sequence[float], best: float) -> int | None:
    if len(returns) == 1:
        return 0 if returns[0] >= best else None
    won = sole_winner(returns)
    return won.index(True) if any(won) else None
