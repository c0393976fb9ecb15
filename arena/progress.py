"""What a run of many matches may use, what it reports, and where results wait until the next report."""

import os
import time
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import NamedTuple

import pyarrow as pa

from agents.models.limits import ModelLimits, Spent
from arena.match import Match, MatchResult
from arena.record import Recorder, Run, merge

MAX_ATTEMPTS = 3
"""Void attempts after which a match is left unfinished."""
NEWS_SECONDS = 0.25
"""Longest time between two reports of progress."""
STOP_SECONDS = 2.0
"""How long a run that is stopped may take for what is in hand."""


class Limits(NamedTuple):
    """What a run may use, and when an agent has hung or eaten too much."""

    workers: int = os.cpu_count() or 1
    hang_seconds: float = 60.0
    """Longest time one decision may take before its process is ended (on top of the rules' seconds_per_action)."""
    memory_mb: int = 2048
    """Resident memory of a worker or host, in MiB, above which it is ended."""
    concurrent: int = 32
    """Matches that are played at a time of those in which an agent waits for a language model."""
    model_limits: ModelLimits = ModelLimits()
    """What the run may ask of its language models."""


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
    spent: Spent = Spent()
    """What the run has spent on language models since it began, also on attempts that came to nothing."""


class Ledger:
    """Collects what a run has to report; threads may share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._recorder = Recorder()
        self._batches: list[Mapping[str, pa.Table]] = []
        self._finished = 0
        self._unfinished: list[tuple[Match, str]] = []
        self._notices: list[str] = []
        self._told = time.monotonic()

    def batch(self, tables: Mapping[str, pa.Table], finished: int) -> None:
        """Keep columns that a worker made of some attempts, of which so many are finished matches."""
        with self._lock:
            self._batches.append(tables)
            self._finished += finished

    def finished(self, result: MatchResult, run: Run) -> None:
        """Keep a finished match."""
        with self._lock:
            self._recorder.finished(result, run)
            self._finished += 1

    def void(self, match: Match, run: Run, reason: str) -> None:
        """Keep an attempt that came to nothing."""
        with self._lock:
            self._recorder.void(match, run, reason)

    def give_up(self, match: Match, reason: str) -> None:
        """Keep that a match is left unfinished."""
        with self._lock:
            self._unfinished.append((match, reason))

    def notice(self, line: str) -> None:
        """Keep a line for a person."""
        with self._lock:
            self._notices.append(line)

    def news(self, final: bool = False) -> Progress | None:
        """What has come in, if enough time has passed or nothing more will come."""
        now = time.monotonic()
        if not final and now - self._told < NEWS_SECONDS:
            return None
        self._told = now
        with self._lock:
            recorder, batches, finished = self._recorder, self._batches, self._finished
            unfinished, notices = self._unfinished, self._notices
            self._recorder, self._batches, self._finished = Recorder(), [], 0
            self._unfinished, self._notices = [], []
        if len(recorder):
            batches.append(recorder.take())
        return Progress(finished, merge(batches), unfinished, notices)
