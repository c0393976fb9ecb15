"""A process of a run as its parent sees it: started, talked to without waiting, weighed, ended."""

import multiprocessing
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from multiprocessing import resource_tracker
from multiprocessing.context import BaseContext
from typing import Any

import psutil

from games.errors import RunError

LENGTH_BYTES = 8
"""Before each message of a process stands its length, in so many bytes, the highest first."""
START_SECONDS = 60.0
"""How long a process may take before it begins its work, if that is longer than the hang limit."""
MEMORY_LOOK_SECONDS = 0.1
"""Time between two looks at how big a process is."""
RESTART_SECONDS = 0.2
"""Time between two tries to start a process."""
PIECE_BYTES = 1 << 20
"""Bytes taken in at a time, ..."""
MAX_PIECES = 16
"""... and how often, before others get their turn."""


@lru_cache(maxsize=1)
def process_context() -> BaseContext:
    """How processes are started. A forked child would inherit the locks of the parent's threads; a fork server has
    none."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    # pyarrow imports pandas, where it is installed, when it makes its first array: once is enough for all workers
    context.set_forkserver_preload(["arena.worker", "arena.host", "games.spiel", "pandas"])
    return context


class Child:
    """One process. Neither sending nor receiving waits: a busy, hung or stopped one holds up nobody else."""

    def __init__(self, serve: Callable[..., None], arguments: tuple[Any, ...], name: str) -> None:
        """Prepare a process that calls `serve` with its end of a socket and the arguments; `start` starts it."""
        self._unsent = bytearray()
        self._heard = bytearray()
        self._ended = False
        self._resources: psutil.Process | None = None
        self.post, self._far = socket.socketpair()
        self.post.setblocking(False)
        self.process = process_context().Process(  # type: ignore[attr-defined]  # every concrete context has it
            target=serve, args=(self._far, *arguments), daemon=True, name=name
        )

    def start(self) -> None:
        """Start the process. A fork server that has just died is noticed, and replaced, a moment later."""
        try:
            for last in (False, False, True):
                try:
                    with _interrupts_later():
                        self.process.start()
                    return
                except (OSError, EOFError) as error:
                    if last:
                        raise RunError(f"no {self.process.name} can be started: {error}") from error
                    time.sleep(RESTART_SECONDS)
        finally:
            self._far.close()

    def send(self, message: bytes) -> None:
        """Send a message; a process that is gone is noticed by `pull`."""
        self._unsent += message
        self.push()

    def push(self) -> None:
        """Send as much of what is still to be sent as fits now."""
        try:
            while self._unsent:
                del self._unsent[: self.post.send(self._unsent)]
        except BlockingIOError:
            return
        except OSError:  # the process is gone
            self._unsent.clear()

    @property
    def pending(self) -> bool:
        """Whether something is still to be sent."""
        return bool(self._unsent)

    def pull(self) -> bool:
        """Take in what the process has said, without waiting; False once it is gone and all that it said is here."""
        gone = self.gone()
        for _ in range(MAX_PIECES):
            try:
                piece = self.post.recv(PIECE_BYTES)
            except BlockingIOError:
                return not gone
            except OSError:
                return False
            if not piece:
                return False
            self._heard += piece
        return True

    def messages(self) -> Iterator[bytes]:
        """What the process has said, as far as it was pulled."""
        while len(self._heard) >= LENGTH_BYTES:
            end = LENGTH_BYTES + int.from_bytes(self._heard[:LENGTH_BYTES], "big")
            if len(self._heard) < end:
                return
            message = bytes(self._heard[LENGTH_BYTES:end])
            del self._heard[:end]
            yield message

    def gone(self) -> bool:
        """Whether the process has ended; a message of its may still be unread."""
        return self.process.exitcode is not None

    def resident(self) -> int:
        """Resident memory in bytes; 0 before the process is started, and once it is gone."""
        if self.process.pid is None:
            return 0
        try:
            if self._resources is None:
                self._resources = psutil.Process(self.process.pid)
            return int(self._resources.memory_info().rss)
        except psutil.Error:
            return 0

    def kill(self) -> None:
        """End the process, and all that agents started in it, at once."""
        if self.process.pid is not None and not self._ended:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.kill()

    def end(self) -> int | None:
        """Kill the process and wait for its end; returns its exit code."""
        if not self._ended:
            self.kill()
            if self.process.pid is not None:
                self.process.join()
            self.post.close()
            self._ended = True
        code: int | None = self.process.exitcode if self.process.pid is not None else None
        return code


def framed(message: bytes) -> bytes:
    """A message of a process as it travels."""
    return len(message).to_bytes(LENGTH_BYTES, "big") + message


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Keep Ctrl-C waiting: the fork server and the workers, which inherit this, must not see it."""
    resource_tracker.ensure_running()  # it would let Ctrl-C through again when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
