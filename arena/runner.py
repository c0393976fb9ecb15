"""Many matches at once: worker processes, kept busy, watched, and replaced when an agent takes one down."""

import multiprocessing
import os
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from multiprocessing.connection import wait
from threading import Event
from typing import NamedTuple

import pyarrow as pa

from arena.handle import Handle, Told
from arena.match import Match, MatchResult, episode_lost
from arena.record import Recorder, Run, merge
from arena.referee import Fault
from arena.worker import Done, Job
from games import registry as games
from games.errors import RunError
from games.game import Termination

MAX_ATTEMPTS = 3
"""Void attempts after which a match is left unfinished."""
AHEAD_SECONDS = 0.5
"""How much work a worker is given ahead, so that it does not idle while the parent writes."""
MAX_AHEAD = 1024
"""Matches given ahead at most: they fit into a socket's buffer, so that no send waits for a busy worker."""
TICK_SECONDS = 0.05
"""Time between looks at the watches."""
NEWS_SECONDS = 0.25
"""Longest time between two reports of progress."""
STOP_SECONDS = 2.0
"""How long workers may take to finish the match in hand when a run is stopped."""
MAX_STILLBORN = 3
"""How many workers in a row may die before they play anything."""


class Limits(NamedTuple):
    """What a run may use, and when an agent has hung or eaten too much."""

    workers: int = os.cpu_count() or 1
    hang_seconds: float = 60.0
    """Longest time one decision may take before its process is ended (on top of the rules' seconds_per_action)."""
    memory_mb: int = 2048
    """Resident memory of a worker, in MiB, above which it is ended."""


class Progress(NamedTuple):
    """What has come in since the last report."""

    finished: int
    """Matches finished."""
    tables: Mapping[str, pa.Table]
    """Their columns, and those of void attempts."""
    unfinished: Sequence[tuple[Match, str]]
    """Matches given up after MAX_ATTEMPTS, and why."""
    notices: Sequence[str]
    """Lines for a person about processes that died, and who is blamed."""


def run_matches(matches: Iterable[Match], limits: Limits, stop: Event | None = None) -> Iterator[Progress]:
    """Play matches in worker processes and report what is finished, at least every NEWS_SECONDS.

    `matches` is read only as fast as they are played. When `stop` is set, workers finish the match in hand (for up to
    STOP_SECONDS), the last report comes, and the iteration ends. Raises RunError when no worker can be kept alive.
    """
    crew = _Crew(limits)
    source = iter(matches)
    try:
        crew.feed(source)
        while crew.busy() and not (stop and stop.is_set()):
            crew.listen(TICK_SECONDS)
            crew.feed(source)
            if (news := crew.news()) is not None:
                yield news
        if stop and stop.is_set():
            crew.wind_down()
        if (news := crew.news(final=True)) is not None:
            yield news
    finally:
        crew.end()


class _Crew:
    """The workers of one run and what came of their matches."""

    def __init__(self, limits: Limits) -> None:
        methods = multiprocessing.get_all_start_methods()
        # A forked child would inherit the locks of the parent's threads; a fork server has none.
        self._context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
        if "forkserver" in methods:
            self._context.set_forkserver_preload(["arena.worker"])
        self._limits = limits
        self._handles = [Handle(number, self._context) for number in range(limits.workers)]
        self._ahead = [1] * limits.workers
        self._again: deque[Job] = deque()
        self._suspects: deque[Job] = deque()
        self._accused: dict[str, int | None] = {}
        self._stillborn = 0
        self._recorder = Recorder()
        self._batches: list[Mapping[str, pa.Table]] = []
        self._finished = 0
        self._unfinished: list[tuple[Match, str]] = []
        self._notices: list[str] = []
        self._told = time.monotonic()

    def busy(self) -> bool:
        return any(handle.jobs for handle in self._handles) or bool(self._again or self._suspects)

    def feed(self, source: Iterator[Match]) -> None:
        """Give every worker work ahead; a suspect match goes to a fresh worker, alone."""
        for number, handle in enumerate(self._handles):
            if self._suspects:
                if not handle.jobs:
                    self._fresh(number).give([self._suspects.popleft()])
                continue
            if len(handle.jobs) * 2 <= self._ahead[number] and not any(job.alone for job in handle.jobs):
                jobs = self._draw(source, self._ahead[number] - len(handle.jobs))
                if jobs:
                    handle.give(jobs)

    def listen(self, seconds: float) -> None:
        """Take what workers say, for up to some seconds, and end those in trouble."""
        by_channel = {handle.channel: number for number, handle in enumerate(self._handles)}
        for channel in wait(list(by_channel), timeout=seconds):
            number = by_channel[channel]  # type: ignore[index]  # what was waited for are these channels
            done = self._handles[number].receive()
            if done is None:
                self._bury(number, Termination.CRASHED)
            elif done.played:
                self._take(number, done)
        for number, handle in enumerate(self._handles):
            trouble = handle.trouble(self._limits.hang_seconds, self._limits.memory_mb << 20)
            if trouble is not None and not handle.channel.poll():
                self._bury(number, trouble)

    def news(self, final: bool = False) -> Progress | None:
        """What has come in, if there is enough of it or enough time has passed."""
        now = time.monotonic()
        if not final and now - self._told < NEWS_SECONDS:
            return None
        self._told = now
        if len(self._recorder):
            self._batches.append(self._recorder.take())
        news = Progress(self._finished, merge(self._batches), self._unfinished, self._notices)
        self._finished, self._batches, self._unfinished, self._notices = 0, [], [], []
        return news

    def wind_down(self) -> None:
        """Let every worker finish the match in hand and take what it sends."""
        for handle in self._handles:
            handle.ask_to_stop()
        until = time.monotonic() + STOP_SECONDS
        open_ends = dict(enumerate(self._handles))
        while open_ends and (left := until - time.monotonic()) > 0:
            wait([handle.channel for handle in open_ends.values()], timeout=left)
            for number, handle in list(open_ends.items()):
                while number in open_ends and handle.channel.poll():
                    done = handle.receive()
                    if done is None:
                        del open_ends[number]
                    elif done.played:
                        self._take(number, done)

    def end(self) -> None:
        for handle in self._handles:
            handle.end()

    def _fresh(self, number: int) -> Handle:
        """The worker of this number, replaced unless it was never given a job."""
        if not self._handles[number].fresh:
            self._handles[number].end()
            self._handles[number] = Handle(number, self._context)
            self._ahead[number] = 1
        return self._handles[number]

    def _draw(self, source: Iterator[Match], count: int) -> list[Job]:
        jobs: list[Job] = []
        while len(jobs) < count:
            if self._again:
                jobs.append(self._again.popleft())
            elif (match := next(source, None)) is not None:
                jobs.append(Job(match))
            else:
                break
        return jobs

    def _take(self, number: int, done: Done) -> None:
        """Keep what a worker finished, and try again what came to nothing."""
        self._stillborn = 0
        self._batches.append(done.tables)
        self._finished += done.played - len(done.void)
        pace = AHEAD_SECONDS * done.played / max(done.seconds, 1e-6)
        self._ahead[number] = max(1, min(MAX_AHEAD, 4 * self._ahead[number], int(pace)))
        for job, reason in done.void:
            self._retry(job, reason, self._again)

    def _retry(self, job: Job, reason: str, queue: deque[Job]) -> None:
        """Queue a void match once more, or give it up."""
        if job.attempt + 1 >= MAX_ATTEMPTS:
            self._unfinished.append((job.match, reason))
        else:
            queue.append(job._replace(attempt=job.attempt + 1))

    def _bury(self, number: int, how: Termination) -> None:
        """A worker is gone or has to go: settle who is to blame, queue its other matches again, replace it."""
        handle = self._handles[number]
        index, agent = handle.suspect()
        code = handle.end()
        jobs = list(handle.jobs)
        if index is None:
            self._stillborn += 1
            if self._stillborn > MAX_STILLBORN:
                raise RunError(f"worker processes end before they play anything (exit code {code})")
        else:
            self._settle(jobs.pop(index), agent, _Death(how, _words(how, code, self._limits), handle.told, number))
        self._again.extendleft(reversed(jobs))
        self._handles[number] = Handle(number, self._context)
        self._ahead[number] = 1

    def _settle(self, job: Job, agent: int | None, death: "_Death") -> None:
        """The same agent twice, the second time alone: its loss. Else the attempt is void and is repeated alone."""
        match, run = job.match, Run(job.attempt, death.worker, datetime.now(UTC).replace(tzinfo=None), 0.0)
        who = f"game {match.game} was at work" if agent is None else f"{match.names[agent]} was acting"
        if job.alone and agent is not None and self._accused.get(match.match_id) == agent:
            self._recorder.finished(_lost(match, agent, death), run)
            self._finished += 1
            self._notices.append(f"{match.names[agent]} loses a match of {match.game}: {death.words}, twice")
            del self._accused[match.match_id]
            return
        reason = f"{death.words} while {who}"
        self._recorder.void(match, run, reason)
        self._notices.append(f"{reason}; the match is played again alone")
        self._accused[match.match_id] = agent
        self._retry(job._replace(alone=True), reason, self._suspects)


class _Death(NamedTuple):
    """How a worker ended."""

    how: Termination
    words: str
    told: Told
    worker: int


def _lost(match: Match, agent: int, death: _Death) -> MatchResult:
    """The result of a match in which an agent took its process down."""
    told = death.told
    turns = ([turn.seat for turn in told.turns], [turn.action for turn in told.turns])
    fault = Fault(death.how, death.words)
    return episode_lost(match, games.make(match.game).spec, told.episodes, turns, agent, fault, told.reflections)


def _words(how: Termination, code: int | None, limits: Limits) -> str:
    if how is Termination.HUNG:
        return f"a process hung for {limits.hang_seconds:g} s"
    if how is Termination.OUT_OF_MEMORY:
        return f"a process took more than {limits.memory_mb} MiB"
    return f"a process was ended by signal {-code}" if code is not None and code < 0 else f"a process exited ({code})"
