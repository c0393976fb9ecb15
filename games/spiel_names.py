"""The names of legal actions in OpenSpiel games, looked up where they do not depend on the position."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from games.game import Action
from games.text.words import Words

MAX_KEPT = 4096
"""Sets of legal actions that are kept for each seat of a game with fixed names."""


class Legal(NamedTuple):
    """The legal actions of a seat in one position, in OpenSpiel's order."""

    actions: tuple[Action, ...]
    numbers: Mapping[Action, int]
    """Name -> OpenSpiel's number."""


class Names:
    """Names the legal actions of one game; equal sets of fixed names are built once."""

    def __init__(self, words: Words, seats: int) -> None:
        self._words = words
        self._fixed = words.fixed_names
        self._kept: list[dict[tuple[int, ...], Legal]] = [{} for _ in range(seats)]

    def legal(self, spiel: Any, seat: int) -> Legal:
        """The legal actions of a seat to act in a pyspiel state."""
        numbers = spiel.legal_actions(seat)
        if not self._fixed:
            return self._named(spiel, seat, numbers)
        kept, key = self._kept[seat], tuple(numbers)
        found = kept.get(key)
        if found is None:
            found = self._named(spiel, seat, numbers)
            if len(kept) < MAX_KEPT:
                kept[key] = found
        return found

    def _named(self, spiel: Any, seat: int, numbers: list[int]) -> Legal:
        """Where the words give two actions one name, OpenSpiel's number is added to each."""
        names = [self._words.action(spiel, seat, number) for number in numbers]
        if len(set(names)) < len(names):
            twice = {name for name, count in Counter(names).items() if count > 1}
            pairs = zip(names, numbers, strict=True)
            names = [f"{name} #{number}" if name in twice else name for name, number in pairs]
        return Legal(tuple(names), dict(zip(names, numbers, strict=True)))
