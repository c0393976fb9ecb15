"""Ctrl-C in commands that take long: the first lets them end in order, the second ends them at once."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from types import FrameType

EXIT_INTERRUPTED = 130


@contextmanager
def stopped_by_ctrl_c() -> Iterator[Event]:
    """The event is set by the first Ctrl-C (or SIGTERM); the second raises KeyboardInterrupt."""
    stop = Event()

    def handle(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
