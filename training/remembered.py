"""Matches that were just played, in the form in which a store gives them back."""

from collections.abc import Iterable

from arena.match import MatchResult
from arena.record import Recorder, Run
from league.store.records import recorded
from league.store.rows import MatchRecord


def records_of(results: Iterable[MatchResult]) -> list[MatchRecord]:
    """All that a store would keep of finished matches, without one, in their order."""
    recorder = Recorder()
    for result in results:
        recorder.finished(result, Run(0, None, 0, 0.0))
    return recorded(recorder.take())


def record_of(result: MatchResult) -> MatchRecord:
    """The same of one."""
    (record,) = records_of([result])
    return record
