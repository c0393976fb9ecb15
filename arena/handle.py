"""The parent's side of one worker process: what it was given, what it said, and whether it is in trouble."""

import pickle
import socket
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from arena.child import MEMORY_LOOK_SECONDS, START_SECONDS, Child, process_context
from arena.episode import EpisodeRecord
from arena.match import ReflectionRecord, Told
from arena.referee import ACTING, MATCH, OUTSIDE, STARTED
from arena.scale import WATCH_SIZE, heaviest
from arena.worker import Done, Job, TurnPlayed, serve
from games.game import Termination

GAP_SECONDS = 1.0
"""The most that one look at the watch adds to the time it stood still: the parent or the machine may have been away."""
LOOKS = 5
"""The fewest looks that find a process hung, for the same reason."""
NOT_YET = -1.0
"""In place of the match in hand: the process has begun none."""


class Look(NamedTuple):
    """A watch, read: who is acting (its place + 1, or OUTSIDE) since when, in which match."""

    acting: float
    started: float
    match: float


class Handle(Child):
    """One worker process."""

    def __init__(self, number: int) -> None:
        """Start a worker."""
        self.number = number
        self.jobs: deque[Job] = deque()
        """Given and not yet done, in order."""
        self.fresh = True
        """Whether it was never given a job."""
        self.told = Told([], [], [])
        self._watch = process_context().RawArray("d", WATCH_SIZE)
        self._watch[MATCH] = NOT_YET
        self._first = 0
        self._look = self._read()
        self._looked = time.monotonic()
        self._still = 0.0
        self._weighed = 0.0
        super().__init__(serve, (self._watch, number), f"arena-worker-{number}")
        self.start()

    def give(self, jobs: Sequence[Job]) -> None:
        """Send jobs."""
        if not self.jobs:
            self._still = 0.0
        self.fresh = False
        self.jobs.extend(jobs)
        self.send(pickle.dumps(jobs))

    def said(self) -> Iterator[Done]:
        """What the process said about its jobs, as far as it was pulled. What a match alone tells goes to `told`."""
        for words in self.messages():
            message = pickle.loads(words)
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

    def trouble(self, hang_seconds: float, memory_bytes: int) -> Termination | None:
        """Whether the process has to be ended: one decision (or the game) takes too long, or it is too big."""
        now, look = time.monotonic(), self._read()
        gap, self._looked = min(now - self._looked, GAP_SECONDS, hang_seconds / LOOKS), now
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
            resident = self.resident()
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

    def _read(self) -> Look:
        return Look(self._watch[ACTING], self._watch[STARTED], self._watch[MATCH])
