"""Finds whose memory it is when a process of a match that is played alone grows too big."""

from typing import Protocol

import psutil

from arena.referee import ACTING, MATCH, OUTSIDE, Watch

WEIGHT = MATCH + 1
"""Place of the process's size in bytes when the acting agent began (or stopped) to act."""
LEDGER = WEIGHT + 1
"""First of the places that sum up growth in bytes: outside all agents, then for each agent of the match."""
WATCH_SIZE = LEDGER + 64
"""Places of a watch in shared memory; agents beyond the last place share it."""


class SharedWatch(Watch, Protocol):
    """A watch in shared memory, with room for the ledger."""

    def __len__(self) -> int: ...


class Scale:
    """A watch that also weighs: each change of who acts books the growth since the last one on whoever acted.

    Looking at the process costs some ten microseconds, so only a match that is played alone is weighed.
    """

    def __init__(self, shared: SharedWatch) -> None:
        self._shared = shared
        self._process = psutil.Process()
        for place in range(LEDGER, len(shared)):
            shared[place] = 0.0
        shared[WEIGHT] = self._resident()

    def __getitem__(self, place: int, /) -> float:
        return self._shared[place]

    def __setitem__(self, place: int, value: float, /) -> None:
        if place == ACTING:
            now = self._resident()
            _book(self._shared, now)
            self._shared[WEIGHT] = now
        self._shared[place] = value

    def _resident(self) -> float:
        return float(self._process.memory_info().rss)


def heaviest(shared: SharedWatch, resident: float) -> float:
    """Who has grown the most in a match that was weighed, the act in progress included: OUTSIDE, or an agent + 1."""
    _book(shared, resident)
    shared[WEIGHT] = resident
    grown = [shared[place] for place in range(LEDGER, len(shared))]
    return float(grown.index(max(grown)))


def _book(shared: SharedWatch, now: float) -> None:
    """Book the growth up to a size of `now` bytes on whoever acts."""
    acting = shared[ACTING]
    place = LEDGER if acting == OUTSIDE else min(LEDGER + int(acting), len(shared) - 1)
    shared[place] += now - shared[WEIGHT]
