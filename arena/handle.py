"""The parent's side of one worker process: what it was given, what it said, and whether it is in trouble."""

import time
from collections import deque
from collections.abc import Sequence
from multiprocessing.context import BaseContext
from typing import NamedTuple

import psutil

from arena.episode import EpisodeRecord
from arena.match import ReflectionRecord
from arena.referee import ACTING, MATCH, OUTSIDE, STARTED
from arena.worker import Done, Job, TurnPlayed, serve
from games.game import Termination

MEMORY_LOOK_SECONDS = 0.1


class Told(NamedTuple):
    """What a match that is played alone has told so far."""

    episodes: list[EpisodeRecord]
    turns: list[TurnPlayed]
    """Of the episode in progress."""
    reflections: list[ReflectionRecord]


class Handle:
    """One worker process."""

    def __init__(self, number: int, context: BaseContext) -> None:
        self.number = number
        self.jobs: deque[Job] = deque()
        """Given and not yet done, in order."""
        self.fresh = True
        """Whether it was never given a job."""
        self.told = Told([], [], [])
        self._watch = context.RawArray("d", 3)
        self._first = 0
        self._look: tuple[float, ...] = ()
        self._looked = time.monotonic()
        self._weighed = 0.0
        self.channel, far = context.Pipe()
        self.process = context.Process(  # type: ignore[attr-defined]  # every concrete context has it
            target=serve, args=(far, self._watch, number), daemon=True, name=f"arena-worker-{number}"
        )
        self.process.start()
        far.close()
        self._resources: psutil.Process | None = None

    def give(self, jobs: Sequence[Job]) -> None:
        """Send jobs; a worker that is gone is noticed by `receive`."""
        if not self.jobs:
            self._seen_at(time.monotonic())
        self.fresh = False
        self.jobs.extend(jobs)
        try:
            self.channel.send(jobs)
        except OSError:
            return

    def receive(self) -> Done | None:
        """Take one message. None once the process is gone and all that it said was read.

        What a match alone tells on the way is kept in `told`; that gives an empty Done.
        """
        try:
            message = self.channel.recv()
        except (EOFError, OSError):
            return None
        told = self.told
        if isinstance(message, Done):
            for _ in range(message.played):
                self.jobs.popleft()
            self._first += message.played
            if message.played:
                self.told = Told([], [], [])
            return message
        if isinstance(message, TurnPlayed):
            told.turns.append(message)
        elif isinstance(message, ReflectionRecord):
            told.reflections.append(message)
        else:
            told.episodes.append(message)
            told.turns.clear()
        return Done(0, {}, (), 0.0)

    def trouble(self, hang_seconds: float, memory_bytes: int) -> Termination | None:
        """Whether the process has to be ended: one decision (or the game) takes too long, or it is too big."""
        if not self.jobs:
            return None
        now = time.monotonic()
        look = tuple(self._watch)
        if look != self._look:
            self._look = look
            self._seen_at(now)
        late = self.jobs[0].match.rules.seconds_per_action or 0.0
        if now - self._looked > hang_seconds + late:
            return Termination.HUNG
        if now - self._weighed > MEMORY_LOOK_SECONDS:
            self._weighed = now
            if self._resident() > memory_bytes:
                return Termination.OUT_OF_MEMORY
        return None

    def suspect(self) -> tuple[int | None, int | None]:
        """At the end of a process: which of `jobs` was being played, and which agent was acting, if any."""
        index = int(self._watch[MATCH]) - self._first
        if not 0 <= index < len(self.jobs) or self._watch[STARTED] == 0:
            return None, None
        acting = self._watch[ACTING]
        return index, None if acting == OUTSIDE else int(acting) - 1

    def ask_to_stop(self) -> None:
        """Let the process stop after the match in hand and send what it has."""
        if self.process.is_alive():
            self.process.terminate()

    def end(self) -> int | None:
        """End the process at once; returns its exit code."""
        self.process.kill()
        self.process.join()
        self.channel.close()
        code: int | None = self.process.exitcode
        return code

    def _seen_at(self, now: float) -> None:
        self._looked = now

    def _resident(self) -> int:
        """Resident memory in bytes; 0 once the process is gone."""
        try:
            if self._resources is None:
                self._resources = psutil.Process(self.process.pid)
            return int(self._resources.memory_info().rss)
        except psutil.Error:
            return 0
