"""A match that was just played, in the form in which a store gives one back."""

from arena.match import MatchResult
from arena.record import Recorder, Run
from league.store import queries
from league.store.rows import MatchRecord


def record_of(result: MatchResult) -> MatchRecord:
    """All that a store would keep of a finished match, without one."""
    recorder = Recorder()
    recorder.finished(result, Run(0, None, 0, 0.0))
    return queries.record_of(recorder.take())
