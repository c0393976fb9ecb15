"""The worker processes of a run: kept busy, watched, and replaced when an agent takes one down."""

import selectors
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable

from arena.death import Death, death, lost
from arena.handle import Handle
from arena.match import Match
from arena.progress import MAX_ATTEMPTS, STOP_SECONDS, Ledger, Limits
from arena.record import Run, utc_now
from arena.worker import Done, Job
from games.errors import RunError
from games.game import Termination

AHEAD_SECONDS = 0.5
"""How much work a worker is given ahead, so that it does not idle while the parent writes."""
MAX_AHEAD = 1024
"""Matches given ahead at most."""
MAX_STILLBORN = 3
"""How many workers in a row may die before they play anything."""

Draw = Callable[[], Match | None]
"""Gives the next match to play; None where there is none now."""


class Crew:
    """The workers of one run and what came of their matches."""

    def __init__(self, limits: Limits, ledger: Ledger) -> None:
        self._limits = limits
        self._ledger = ledger
        self._handles: dict[int, Handle] = {}
        self._ahead: defaultdict[int, int] = defaultdict(lambda: 1)
        self._again: deque[Job] = deque()
        self._suspects: deque[Job] = deque()
        self._stillborn = 0

    def at_work(self) -> int:
        """How many workers have something to play."""
        return len([handle for handle in self._handles.values() if handle.jobs])

    def busy(self) -> bool:
        """Whether a match is in play or has to be played again."""
        return any(handle.jobs for handle in self._handles.values()) or bool(self._again or self._suspects)

    def feed(self, draw: Draw) -> None:
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
            if held * 2 <= ahead and (jobs := self._drawn(draw, ahead - held)):
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
        """End all workers at once."""
        for handle in self._handles.values():
            handle.kill()
        for handle in self._handles.values():
            handle.end()

    def _start(self, number: int) -> Handle:
        handle = self._handles[number] = Handle(number)
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

    def _drawn(self, draw: Draw, count: int) -> list[Job]:
        jobs: list[Job] = []
        while len(jobs) < count:
            if self._again:
                jobs.append(self._again.popleft())
            elif (match := draw()) is not None:
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
        self._ledger.batch(done.tables, done.played - len(done.void))
        pace = AHEAD_SECONDS * done.played / max(done.seconds, 1e-6)
        self._ahead[number] = max(1, min(MAX_AHEAD, 4 * self._ahead[number], int(pace)))
        for job, reason in done.void:
            self._retry(job, reason)

    def _retry(self, job: Job, reason: str) -> bool:
        """Queue a void match once more, or give it up; returns whether it is queued."""
        if job.attempt + 1 >= MAX_ATTEMPTS:
            self._ledger.give_up(job.match, reason)
            return False
        (self._suspects if job.alone else self._again).append(job._replace(attempt=job.attempt + 1))
        return True

    def _bury(self, handle: Handle, how: Termination) -> None:
        """A worker is gone or has to go: settle who is to blame and queue its other matches again."""
        code = handle.end()
        index, agent = handle.suspect(how)
        jobs = list(handle.jobs)
        if index is not None:
            words = death(how, code, self._limits.hang_seconds, self._limits.memory_mb)
            self._settle(jobs.pop(index), agent, words, handle)
        elif jobs:
            self._stillborn += 1
            if self._stillborn > MAX_STILLBORN:
                raise RunError(f"worker processes end before they play anything (exit code {code})")
        self._again.extendleft(reversed(jobs))
        del self._handles[handle.number]

    def _settle(self, job: Job, agent: int | None, end: Death, handle: Handle) -> None:
        """An agent accused before, now alone with its match: its loss. Else the attempt is void and repeated alone."""
        match, run = job.match, Run(job.attempt, handle.number, utc_now(), 0.0)
        if job.alone and agent is not None and agent in job.accused:
            self._ledger.finished(lost(match, agent, handle.told, end), run)
            self._ledger.notice(f"{match.names[agent]} loses a match of {match.game}: {end.words}, twice")
            return
        who = f"game {match.game} was at work" if agent is None else f"{match.names[agent]} was acting"
        reason = f"{end.words} while {who}"
        self._ledger.void(match, run, reason)
        accused = job.accused if agent is None else (*job.accused, agent)
        queued = self._retry(job._replace(alone=True, accused=accused), reason)
        self._ledger.notice(f"{reason}; " + ("the match is played again alone" if queued else "the match is given up"))


def _stirring(handles: Iterable[Handle], seconds: float) -> list[Handle]:
    """Wait for up to some seconds until a worker says something, ends, or takes more of what it was given."""
    with selectors.DefaultSelector() as selector:
        for handle in handles:
            wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if handle.pending else 0)
            selector.register(handle.post, wanted, handle)
            selector.register(handle.process.sentinel, selectors.EVENT_READ, handle)
        stirring = {key.data.number: key.data for key, _ in selector.select(seconds)}
    return list(stirring.values())
