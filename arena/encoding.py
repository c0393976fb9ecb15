"""Observations as arrays and actions as numbers: what learning libraries want of a game."""

from typing import Any, Protocol

import numpy as np

from games.errors import RunError
from games.game import Action, Game, Information, Observation, State
from games.spiel import SpielGame, SpielState

TEXT_BYTES = 4096
"""Length of the array that a text becomes; the rest is cut."""
LIST_ACTIONS = 512
"""Size of the action space where a game has no numbers for its actions."""


class Encoding(Protocol):
    """How a game's observations and actions are written as numbers."""

    actions: int
    """Actions are numbered from 0 to `actions - 1`."""
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    low: float
    """Bounds of the numbers of an observation."""
    high: float

    def numbers(self, state: State, seat: int) -> dict[int, Action]:
        """The legal actions of a seat that is to act, by number, in rising order."""
        ...

    def observe(self, state: State, seat: int, last: Observation | None) -> np.ndarray:
        """What a seat may know, of the declared shape and dtype; also when it is not to act, or all is over.

        `last` is what it was shown when it was last to act (now, if it is), None before that.
        """
        ...


def encoding(game: Game) -> Encoding:
    """The encoding of a game: OpenSpiel's own numbers where there are some, else lists and bytes of text."""
    return SpielEncoding(game) if isinstance(game, SpielGame) else TextEncoding()


class TextEncoding:
    """Actions are numbered by their place in the list of legal ones; an observation is its text in UTF-8.

    The text is cut at, or filled with 0 up to, `TEXT_BYTES` bytes. A seat that is not to act keeps what it was
    shown the last time that it was (nothing but 0 before that).
    """

    def __init__(self) -> None:
        self.actions = LIST_ACTIONS
        self.shape: tuple[int, ...] = (TEXT_BYTES,)
        self.dtype: np.dtype[Any] = np.dtype(np.uint8)
        self.low, self.high = 0.0, 255.0

    def numbers(self, state: State, seat: int) -> dict[int, Action]:
        legal = state.observe(seat).legal_actions
        if len(legal) > self.actions:
            raise RunError(f"{len(legal)} legal actions do not fit an action space of {self.actions}")
        return dict(enumerate(legal))

    def observe(self, state: State, seat: int, last: Observation | None) -> np.ndarray:
        return as_bytes("" if last is None else last.text)


class SpielEncoding:
    """Actions have OpenSpiel's numbers; an observation is the tensor that OpenSpiel makes for that seat.

    Games of perfect information give their observation tensor, the others the information state tensor; where one is
    missing, the other; where both are, the seat's string in UTF-8.
    """

    def __init__(self, game: SpielGame) -> None:
        self.game = game
        self.actions = int(game.spiel.num_distinct_actions())
        self._method, shape = self._tensor()
        self.shape = shape if 0 < len(shape) <= 3 else (int(np.prod(shape)),)
        text = self._method is None
        self.dtype: np.dtype[Any] = np.dtype(np.uint8 if text else np.float32)
        self.low, self.high = (0.0, 255.0) if text else (-np.inf, np.inf)

    def _tensor(self) -> tuple[str | None, tuple[int, ...]]:
        """The method that gives the tensor, and its shape."""
        spiel = self.game.spiel
        kind = spiel.get_type()
        seen = ("observation_tensor", kind.provides_observation_tensor)
        known = ("information_state_tensor", kind.provides_information_state_tensor)
        perfect = self.game.spec.information is Information.PERFECT
        for method, provided in (seen, known) if perfect else (known, seen):
            if provided:
                return method, tuple(getattr(spiel, f"{method}_shape")())
        return None, (TEXT_BYTES,)

    def numbers(self, state: State, seat: int) -> dict[int, Action]:
        assert isinstance(state, SpielState)
        return {number: name for name, number in state.legal(seat).items()}

    def observe(self, state: State, seat: int, last: Observation | None) -> np.ndarray:
        assert isinstance(state, SpielState)
        if self._method is None:
            return as_bytes(state.game.words.view(state.spiel, seat))
        return np.asarray(getattr(state.spiel, self._method)(seat), self.dtype).reshape(self.shape)


def as_bytes(text: str) -> np.ndarray:
    """A text as TEXT_BYTES numbers: its bytes in UTF-8, cut or filled with 0."""
    written = text.encode()[:TEXT_BYTES]
    return np.frombuffer(written.ljust(TEXT_BYTES, b"\0"), np.uint8).copy()
