"""Keeps the generators of the whole process (`random`, `numpy.random`) and an episode apart."""

import random
from types import TracebackType

import numpy as np

from games.seeding import derive


class EpisodeGenerators:
    """The state that the process's generators have inside one episode.

    `with generators:` swaps it in and puts back what was there before: code inside draws from the episode's seed
    and goes on where it left off the last time; code outside sees no change. It may not be nested in itself.
    """

    __slots__ = ("_inside", "_outside")

    def __init__(self, seed: int) -> None:
        numbers = np.random.RandomState(derive("numpy", seed) % 2**32)
        self._inside = (random.Random(derive("random", seed)).getstate(), numbers.get_state(legacy=False))
        self._outside = self._inside

    def __enter__(self) -> None:
        self._outside = (random.getstate(), np.random.get_state(legacy=False))
        random.setstate(self._inside[0])
        np.random.set_state(self._inside[1])

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._inside = (random.getstate(), np.random.get_state(legacy=False))
        random.setstate(self._outside[0])
        np.random.set_state(self._outside[1])
