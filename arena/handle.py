"""The parent's side of one worker process: what it was given, what it said, and whether it is in trouble."""

import os
import pickle
import signal
import socket
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.context import BaseContext
from typing import NamedTuple

import psutil

from arena.episode import EpisodeRecord
from arena.match import ReflectionRecord, Told
from arena.referee import ACTING, MATCH, OUTSIDE, STARTED
from arena.scale import WATCH_SIZE, heaviest
from arena.worker import LENGTH_BYTES, Done, Job, TurnPlayed, serve
from games.errors import RunError
from games.game import Termination

MEMORY_LOOK_SECONDS = 0.1
START_SECONDS = 60.0
"""How long a process may take before it begins its first match, if that is longer than the hang limit."""
RESTART_SECONDS = 0.2
"""Time between two tries to start a process."""
PIECE_BYTES = 1 << 20
"""Bytes taken in at a time, ..."""
MAX_PIECES = 16
"""... and how often, before others get their turn."""
GAP_SECONDS = 1.0
"""The most that one look at the watch adds to the time it stood still: the parent itself may have been away."""
NOT_YET = -1.0
"""In place of the match in hand: the process has begun none."""


class Look(NamedTuple):
    """A watch, read: who is acting (its place + 1, or OUTSIDE) since when, in which match."""

    acting: float
    started: float
    match: float


class Handle:
    """One worker process. Neither sending nor receiving waits: a busy, hung or stopped one holds up nobody else."""

    def __init__(self, number: int, context: BaseContext) -> None:
        self.number = number
        self.jobs: deque[Job] = deque()
        """Given and not yet done, in order."""
        self.fresh = True
        """Whether it was never given a job."""
        self.told = Told([], [], [])
        self._watch = context.RawArray("d", WATCH_SIZE)
        self._watch[MATCH] = NOT_YET
        self._first = 0
        self._look = self._read()
        self._looked = time.monotonic()
        self._still = 0.0
        self._weighed = 0.0
        self._unsent = bytearray()
        self._heard = bytearray()
        self._resources: psutil.Process | None = None
        self.post, far = socket.socketpair()
        self.post.setblocking(False)
        self.process = context.Process(  # type: ignore[attr-defined]  # every concrete context has it
            target=serve, args=(far, self._watch, number), daemon=True, name=f"arena-worker-{number}"
        )
        try:
            self._start()
        finally:
            far.close()

    def give(self, jobs: Sequence[Job]) -> None:
        """Send jobs; a worker that is gone is noticed by `pull`."""
        if not self.jobs:
            self._still = 0.0
        self.fresh = False
        self.jobs.extend(jobs)
        self._unsent += pickle.dumps(jobs)
        self.push()

    def push(self) -> None:
        """Send as much of what was given as fits now."""
        try:
            while self._unsent:
                del self._unsent[: self.post.send(self._unsent)]
        except BlockingIOError:
            return
        except OSError:  # the process is gone
            self._unsent.clear()

    @property
    def pending(self) -> bool:
        """Whether something that was given is still to be sent."""
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

    def said(self) -> Iterator[Done]:
        """What the process said about its jobs, as far as it was pulled. What a match alone tells goes to `told`."""
        while len(self._heard) >= LENGTH_BYTES:
            end = LENGTH_BYTES + int.from_bytes(self._heard[:LENGTH_BYTES], "big")
            if len(self._heard) < end:
                return
            message = pickle.loads(self._heard[LENGTH_BYTES:end])
            del self._heard[:end]
            self._still = 0.0
            if isinstance(message, Done):
                self._strike_off(message)
                yield message
            else:
                self._note(message)

    def _strike_off(self, done: Done) -> None:
        """Forget the jobs that are played or given back."""
        count = done.played + len(done.back)
        for _ in range(count):
            self.jobs.popleft()
        self._first += count
        if count:
            self.told = Told([], [], [])

    def _note(self, message: TurnPlayed | EpisodeRecord | ReflectionRecord) -> None:
        if isinstance(message, TurnPlayed):
            self.told.turns.append(message)
        elif isinstance(message, ReflectionRecord):
            self.told.reflections.append(message)
        else:
            self.told.episodes.append(message)
            self.told.turns.clear()

    def gone(self) -> bool:
        """Whether the process has ended; a message of its may still be unread."""
        return self.process.exitcode is not None

    def trouble(self, hang_seconds: float, memory_bytes: int) -> Termination | None:
        """Whether the process has to be ended: one decision (or the game) takes too long, or it is too big."""
        now, look = time.monotonic(), self._read()
        gap, self._looked = min(now - self._looked, GAP_SECONDS), now
        self._still = self._still + gap if look == self._look and self.jobs else 0.0
        self._look = look
        if not self.jobs:
            return None
        late = self.jobs[0].match.rules.seconds_per_action or 0.0
        limit = hang_seconds + late if look.match != NOT_YET else max(hang_seconds, START_SECONDS)
        if self._still > limit:
            return Termination.HUNG
        if now - self._weighed > MEMORY_LOOK_SECONDS:
            self._weighed = now
            resident = self._resident()
            if resident > memory_bytes:
                if self.jobs[0].alone:
                    self._look = look._replace(acting=heaviest(self._watch, resident))
                return Termination.OUT_OF_MEMORY
        return None

    def suspect(self, how: Termination) -> tuple[int | None, int | None]:
        """At the end of a process: which of `jobs` was being played, and which agent is accused, if any."""
        look = self._read() if how is Termination.CRASHED else self._look
        index = int(look.match) - self._first
        if not 0 <= index < len(self.jobs):
            return None, None
        return index, None if look.acting == OUTSIDE else int(look.acting) - 1

    def ask_to_stop(self) -> None:
        """Let the process stop after the match in hand and send what it has."""
        self._unsent.clear()
        if not self.gone():
            self.process.terminate()
        with suppress(OSError):
            self.post.shutdown(socket.SHUT_WR)

    def kill(self) -> None:
        """End the process, and all that agents started in it, at once."""
        if self.process.pid is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()

    def end(self) -> int | None:
        """Kill the process and wait for its end; returns its exit code."""
        self.kill()
        self.process.join()
        self.post.close()
        code: int | None = self.process.exitcode
        return code

    def _start(self) -> None:
        """Start the process. A fork server that has just died is noticed, and replaced, a moment later."""
        for last in (False, False, True):
            try:
                with _interrupts_later():
                    self.process.start()
                return
            except (OSError, EOFError) as error:
                if last:
                    raise RunError(f"no worker process can be started: {error}") from error
                time.sleep(RESTART_SECONDS)

    def _read(self) -> Look:
        return Look(self._watch[ACTING], self._watch[STARTED], self._watch[MATCH])

    def _resident(self) -> int:
        """Resident memory in bytes; 0 once the process is gone."""
        try:
            if self._resources is None:
                self._resources = psutil.Process(self.process.pid)
            return int(self._resources.memory_info().rss)
        except psutil.Error:
            return 0


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Keep Ctrl-C waiting: the fork server and the workers, which inherit this, must not see it."""
    resource_tracker.ensure_running()  # it would let Ctrl-C through again when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
