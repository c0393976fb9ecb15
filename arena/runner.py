"""Many matches at once: worker processes, kept busy, watched, and replaced when an agent takes one down."""

import multiprocessing
import os
import selectors
import time
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from threading import Event
from typing import NamedTuple

import pyarrow as pa

from arena.handle import Handle
from arena.match import Match, MatchResult, Told, forfeit_rest
from arena.record import Recorder, Run, merge, utc_now
from arena.referee import Fault
from arena.worker import Done, Job
from games import registry as games
from games.errors import RunError, UserError
from games.game import Termination

MAX_ATTEMPTS = 3
"""Void attempts after which a match is left unfinished."""
AHEAD_SECONDS = 0.5
"""How much work a worker is given ahead, so that it does not idle while the parent writes."""
MAX_AHEAD = 1024
"""Matches given ahead at most."""
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
    STOP_SECONDS), the last report comes, and the iteration ends. Raises UserError for limits under which nothing could
    be played, and RunError when no worker can be kept alive.
    """
    _check(limits)
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


def _check(limits: Limits) -> None:
    for name, value in limits._asdict().items():
        if not value > 0:
            raise UserError(f"{name} = {value}: it must be more than 0")


class _Crew:
    """The workers of one run and what came of their matches."""

    def __init__(self, limits: Limits) -> None:
        methods = multiprocessing.get_all_start_methods()
        # A forked child would inherit the locks of the parent's threads; a fork server has none.
        self._context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
        if "forkserver" in methods:
            self._context.set_forkserver_preload(["arena.worker", "games.spiel"])
        self._limits = limits
        self._handles: dict[int, Handle] = {}
        self._ahead: defaultdict[int, int] = defaultdict(lambda: 1)
        self._again: deque[Job] = deque()
        self._suspects: deque[Job] = deque()
        self._stillborn = 0
        self._recorder = Recorder()
        self._batches: list[Mapping[str, pa.Table]] = []
        self._finished = 0
        self._unfinished: list[tuple[Match, str]] = []
        self._notices: list[str] = []
        self._told = time.monotonic()

    def busy(self) -> bool:
        return any(handle.jobs for handle in self._handles.values()) or bool(self._again or self._suspects)

    def feed(self, source: Iterator[Match]) -> None:
        """Give every worker work ahead; a suspect match goes to a fresh worker, alone. Workers start when needed."""
        for number in range(self._limits.workers):
            handle = self._handles.get(number)
            held = len(handle.jobs) if handle is not None else 0
            if self._suspects:
                if not held:
                    self._fresh(number).give([self._suspects.popleft()])
                continue
            if handle is not None and held and handle.jobs[0].alone:
                continue
            ahead = self._ahead[number]
            if held * 2 <= ahead and (jobs := self._draw(source, ahead - held)):
                (handle or self._start(number)).give(jobs)

    def listen(self, seconds: float) -> None:
        """Take what workers say, for up to some seconds, and end those in trouble."""
        for handle in _stirring(self._handles.values(), seconds):
            handle.push()
            alive = handle.pull()
            self._hear(handle)
            if not alive:
                self._bury(handle, Termination.CRASHED)
        for handle in list(self._handles.values()):
            trouble = handle.trouble(self._limits.hang_seconds, self._limits.memory_mb << 20)
            if trouble is not None:
                handle.pull()
                if not self._hear(handle):
                    self._bury(handle, trouble)

    def _hear(self, handle: Handle) -> bool:
        """Take what a worker said; returns whether that was about any job."""
        heard = False
        for done in handle.said():
            self._take(handle.number, done)
            heard = True
        return heard

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
        for handle in self._handles.values():
            handle.ask_to_stop()
        until = time.monotonic() + STOP_SECONDS
        at_work = {handle.number: handle for handle in self._handles.values() if handle.jobs}
        while at_work and (left := until - time.monotonic()) > 0:
            for handle in _stirring(at_work.values(), left):
                alive = handle.pull()
                self._hear(handle)
                if not alive:
                    del at_work[handle.number]

    def end(self) -> None:
        for handle in self._handles.values():
            handle.kill()
        for handle in self._handles.values():
            handle.end()

    def _start(self, number: int) -> Handle:
        handle = self._handles[number] = Handle(number, self._context)
        self._ahead[number] = 1
        return handle

    def _fresh(self, number: int) -> Handle:
        """The worker of this number, replaced if it was given a job before."""
        handle = self._handles.get(number)
        if handle is not None and handle.fresh:
            return handle
        if handle is not None:
            handle.end()
        return self._start(number)

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
        """Keep what a worker finished, and queue again what came to nothing or was given back."""
        self._again.extendleft(reversed(done.back))
        if not done.played:
            return
        self._stillborn = 0
        self._batches.append(done.tables)
        self._finished += done.played - len(done.void)
        pace = AHEAD_SECONDS * done.played / max(done.seconds, 1e-6)
        self._ahead[number] = max(1, min(MAX_AHEAD, 4 * self._ahead[number], int(pace)))
        for job, reason in done.void:
            self._retry(job, reason)

    def _retry(self, job: Job, reason: str) -> bool:
        """Queue a void match once more, or give it up; returns whether it is queued."""
        if job.attempt + 1 >= MAX_ATTEMPTS:
            self._unfinished.append((job.match, reason))
            return False
        (self._suspects if job.alone else self._again).append(job._replace(attempt=job.attempt + 1))
        return True

    def _bury(self, handle: Handle, how: Termination) -> None:
        """A worker is gone or has to go: settle who is to blame and queue its other matches again."""
        code = handle.end()
        index, agent = handle.suspect(how)
        jobs = list(handle.jobs)
        if index is not None:
            self._settle(
                jobs.pop(index), agent, _Death(how, _words(how, code, self._limits), handle.told, handle.number)
            )
        elif jobs:
            self._stillborn += 1
            if self._stillborn > MAX_STILLBORN:
                raise RunError(f"worker processes end before they play anything (exit code {code})")
        self._again.extendleft(reversed(jobs))
        del self._handles[handle.number]

    def _settle(self, job: Job, agent: int | None, death: "_Death") -> None:
        """An agent accused before, now alone with its match: its loss. Else the attempt is void and repeated alone."""
        match, run = job.match, Run(job.attempt, death.worker, utc_now(), 0.0)
        if job.alone and agent is not None and agent in job.accused:
            self._recorder.finished(_lost(match, agent, death), run)
            self._finished += 1
            self._notices.append(f"{match.names[agent]} loses a match of {match.game}: {death.words}, twice")
            return
        who = f"game {match.game} was at work" if agent is None else f"{match.names[agent]} was acting"
        reason = f"{death.words} while {who}"
        self._recorder.void(match, run, reason)
        accused = job.accused if agent is None else (*job.accused, agent)
        queued = self._retry(job._replace(alone=True, accused=accused), reason)
        self._notices.append(f"{reason}; " + ("the match is played again alone" if queued else "the match is given up"))


def _stirring(handles: Iterable[Handle], seconds: float) -> list[Handle]:
    """Wait for up to some seconds until a worker says something, ends, or takes more of what it was given."""
    with selectors.DefaultSelector() as selector:
        for handle in handles:
            wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if handle.pending else 0)
            selector.register(handle.post, wanted, handle)
            selector.register(handle.process.sentinel, selectors.EVENT_READ, handle)
        stirring = {key.data.number: key.data for key, _ in selector.select(seconds)}
    return list(stirring.values())


class _Death(NamedTuple):
    """How a worker ended."""

    how: Termination
    words: str
    told: Told
    worker: int


def _lost(match: Match, agent: int, death: _Death) -> MatchResult:
    """The result of a match in which an agent took its process down."""
    return forfeit_rest(match, games.make(match.game).spec, death.told, agent, Fault(death.how, death.words))


def _words(how: Termination, code: int | None, limits: Limits) -> str:
    if how is Termination.HUNG:
        return f"a process hung for {limits.hang_seconds:g} s"
    if how is Termination.OUT_OF_MEMORY:
        return f"a process took more than {limits.memory_mb} MiB"
    return f"a process was ended by signal {-code}" if code is not None and code < 0 else f"a process exited ({code})"
