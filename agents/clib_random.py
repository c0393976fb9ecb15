"""A private stream of the C library's `random()`, for native code that draws from nowhere else."""

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, TypeVar

_T = TypeVar("_T")

STATE_BYTES = 128
"""Size of the state that `srandom` seeds (POSIX `initstate`): the same stream as `srandom(seed)` gives."""

_lock = threading.Lock()


class CRandomStream:
    """A generator of its own behind `random()`: native code called through it draws from this stream alone.

    The process's generator is put back after each call, so that nothing else notices, streams do not mix, and what a
    stream gives depends on its seed alone. Calls take turns by a lock: threads may share the process.
    """

    def __init__(self, seed: int) -> None:
        """Start the stream at the lower 32 bits of `seed`."""
        self._state = ctypes.create_string_buffer(STATE_BYTES)
        self._place = ctypes.addressof(self._state)
        clib = _clib()
        with _lock:
            before = clib.initstate(seed & 0xFFFFFFFF, self._place, STATE_BYTES)
            self._setstate = clib.setstate
            self._setstate(before)

    def call(self, function: Callable[..., _T], *arguments: Any) -> _T:
        """Call native code with `random()` drawing from this stream."""
        with _lock:
            before = self._setstate(self._place)
            try:
                return function(*arguments)
            finally:
                self._setstate(before)


@contextmanager
def process_stream_watched() -> Iterator[Callable[[], bool]]:
    """Give a function that tells whether anyone drew from the process's own `random()` since the block began."""
    start = _process_state()
    yield lambda: _process_state() != start


def _process_state() -> bytes:
    """The state of the process's generator, copied while another stream stands in for it."""
    stand_in = ctypes.create_string_buffer(STATE_BYTES)
    clib = _clib()
    with _lock:
        before = clib.initstate(1, ctypes.addressof(stand_in), STATE_BYTES)
        # `initstate` has noted in the old state how far it had got.
        copy = ctypes.string_at(before, STATE_BYTES)
        clib.setstate(before)
    return copy


@lru_cache(maxsize=1)
def _clib() -> Any:
    clib = ctypes.CDLL(None)
    clib.initstate.argtypes = [ctypes.c_uint, ctypes.c_void_p, ctypes.c_size_t]
    clib.initstate.restype = ctypes.c_void_p
    clib.setstate.argtypes = [ctypes.c_void_p]
    clib.setstate.restype = ctypes.c_void_p
    return clib
