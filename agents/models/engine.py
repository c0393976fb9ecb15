"""Requests to a model in this process become batches: what waits when the model is free is computed together."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, Generic, TypeVar

from agents.agent import ProviderError
from games.errors import in_words

QUIET_PASSES = 3
"""Passes of the event loop that must add no request before a batch starts. They cost microseconds, and a match whose
coroutines run as tasks of tasks takes more than one to come to its next request."""

_R = TypeVar("_R")
_T = TypeVar("_T")


class Waiting(Generic[_R]):
    """A request with the coroutine that waits for its answer."""

    def __init__(self, request: _R, loop: asyncio.AbstractEventLoop) -> None:
        self.request = request
        self.loop = loop
        self.future: asyncio.Future[Any] = loop.create_future()


class Engine(Generic[_R]):
    """The queue and the thread of one base model, for all runs and event loops of the process.

    A batch starts when the model is free and a few passes of the event loop have added no request: there is no timer,
    and nobody waits for matches that are busy elsewhere.
    """

    def __init__(
        self,
        name: str,
        compute: Callable[[Sequence[_R], Callable[[], bool]], Sequence[Any]],
        first: Callable[[Sequence[_R]], list[int]],
    ) -> None:
        """`compute` answers a batch, in the thread; it may raise once its second argument says that nobody waits.

        `first` picks places of waiting requests that become one batch.
        """
        self._name = name
        self._compute = compute
        self._first = first
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"model {name}")
        self._lock = threading.Lock()
        self._queue: list[Waiting[_R]] = []
        self._asked = 0
        self._busy = False
        self._settling: dict[asyncio.AbstractEventLoop, asyncio.Task[None]] = {}

    async def ask(self, request: _R) -> Any:
        """Answer a request within a batch. Raises ProviderError where the batch fails; cancelled, it leaves."""
        loop = asyncio.get_running_loop()
        waiting = Waiting(request, loop)
        with self._lock:
            self._queue.append(waiting)
            self._asked += 1
        self._settle(loop)
        try:
            return await waiting.future
        finally:
            with self._lock:
                if waiting in self._queue:
                    self._queue.remove(waiting)

    def run(self, work: Callable[[], _T]) -> _T:
        """Run something between two batches, in the thread of the model; waits for it, so never call it in a loop."""
        return self._thread.submit(work).result()

    def close(self) -> None:
        """End the thread; nothing may be asked any more."""
        self._thread.shutdown(wait=True)

    def _settle(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start a batch once the loop is quiet; must be called within the loop."""
        with self._lock:
            task = self._settling.get(loop)
            if task is None or task.done():
                self._settling[loop] = loop.create_task(self._start_when_quiet())

    async def _start_when_quiet(self) -> None:
        passes, asked = 0, self._asked
        while passes < QUIET_PASSES:
            await asyncio.sleep(0)
            passes, asked = (passes + 1, asked) if asked == self._asked else (0, self._asked)
        with self._lock:
            if self._busy or not self._queue:
                return
            places = set(self._first([waiting.request for waiting in self._queue]))
            batch = [waiting for place, waiting in enumerate(self._queue) if place in places]
            self._queue = [waiting for place, waiting in enumerate(self._queue) if place not in places]
            self._busy = True
        unwanted = partial(_left, batch)
        done = self._thread.submit(self._compute, [waiting.request for waiting in batch], unwanted)
        done.add_done_callback(lambda done: self._finished(batch, done))

    def _finished(self, batch: Sequence[Waiting[_R]], done: "Future[Sequence[Any]]") -> None:
        """Hand out the answers of a batch, each in its own loop, and let every loop that waits look for the next."""
        with self._lock:
            self._busy = False
            self._queue = [waiting for waiting in self._queue if not waiting.loop.is_closed()]
            loops = {waiting.loop for waiting in (*batch, *self._queue)}
            self._settling = {loop: task for loop, task in self._settling.items() if loop in loops}
        for loop in loops:
            mine = [(place, waiting) for place, waiting in enumerate(batch) if waiting.loop is loop]
            with suppress(RuntimeError):  # the loop is closed: its run was broken off, and no one waits there
                loop.call_soon_threadsafe(self._hand_out, loop, mine, done)

    def _hand_out(
        self, loop: asyncio.AbstractEventLoop, mine: Sequence[tuple[int, Waiting[_R]]], done: "Future[Sequence[Any]]"
    ) -> None:
        failure = done.exception()
        for place, waiting in mine:
            if waiting.future.done():
                continue
            if failure is None:
                waiting.future.set_result(done.result()[place])
            else:
                error = ProviderError(f"model {self._name} failed: {in_words(failure)}")
                error.__cause__ = failure
                waiting.future.set_exception(error)
        self._settle(loop)


def _left(batch: Sequence[Waiting[Any]]) -> bool:
    """Whether nobody waits for any of a batch."""
    return all([waiting.future.cancelled() for waiting in batch])
