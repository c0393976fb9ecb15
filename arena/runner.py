"""Many matches at once: classical ones in worker processes, those that wait for language models on an event loop."""

from collections import deque
from collections.abc import Iterable, Iterator
from threading import Event

from agents.agent import Pace
from agents.registry import recipe
from arena.crew import Crew
from arena.match import Match
from arena.progress import Ledger, Limits, Progress
from arena.table import Table
from games.errors import UserError

__all__ = ["Limits", "Progress", "run_matches", "waits"]

TICK_SECONDS = 0.05
"""Time between looks at the watches."""
CLASSICAL_AHEAD = 64
"""Classical matches that are read in search of one with a language model; workers would play them soon anyway."""
LANGUAGE_AHEAD = 4096
"""Matches with language models that are read in search of a classical one: they last, so many may come in a row."""
MAX_KNOWN = 4096
"""Line-ups of which it is kept whether they wait for a language model."""


def run_matches(matches: Iterable[Match], limits: Limits, stop: Event | None = None) -> Iterator[Progress]:
    """Play matches and report what is finished, at least every NEWS_SECONDS.

    `matches` is read only as fast as they are played. When `stop` is set, workers finish the match in hand (for up to
    STOP_SECONDS) and matches that wait for a language model are dropped; the last report comes, and the iteration
    ends. Raises UserError for limits under which nothing could be played and for models that cannot be had as asked,
    BudgetError when the budget of `limits` is spent, RunError when no process can be kept alive; what was finished by
    then is reported first.
    """
    _check(limits)
    ledger = Ledger()
    crew, source = Crew(limits, ledger), _Sorted(matches)
    table = Table(limits, ledger, crew.at_work)
    try:
        while True:
            crew.feed(source.classical)
            table.feed(source.language)
            stopped = stop is not None and stop.is_set()
            if stopped or table.over or not (crew.busy() or table.busy() or source.left()):
                break
            crew.listen(TICK_SECONDS)
            if (news := ledger.news()) is not None:
                yield news._replace(spent=table.spent())
        if stopped or table.over:
            crew.wind_down()
        table.end()
        if (news := ledger.news(final=True)) is not None:
            yield news._replace(spent=table.spent())
        table.check()
    finally:
        crew.end()
        table.end()


def waits(match: Match) -> bool:
    """Whether an agent of a match waits for a language model. One that cannot be made is for a worker to find out."""
    try:
        return any([recipe(spec).agent.pace is Pace.AWAITS for spec in match.specs])
    except UserError:
        return False


def _check(limits: Limits) -> None:
    for name, value in limits._asdict().items():
        if isinstance(value, int | float) and not value > 0:
            raise UserError(f"{name} = {value}: it must be more than 0")


class _Sorted:
    """A schedule, read only as far as someone asks, given out to two sides; what the other side is due is held."""

    def __init__(self, matches: Iterable[Match]) -> None:
        self._source = iter(matches)
        self._ended = False
        self._classical: deque[Match] = deque()
        self._language: deque[Match] = deque()
        self._known: dict[tuple[str, ...], bool] = {}

    def classical(self) -> Match | None:
        """The next match for worker processes; None where there is none, or none now."""
        return self._next(False, self._classical, self._language, LANGUAGE_AHEAD)

    def language(self) -> Match | None:
        """The next match for the event loop; None where there is none, or none now."""
        return self._next(True, self._language, self._classical, CLASSICAL_AHEAD)

    def left(self) -> bool:
        """Whether more may come."""
        return not self._ended or bool(self._classical or self._language)

    def _next(self, wanted: bool, own: deque[Match], others: deque[Match], most: int) -> Match | None:
        if own:
            return own.popleft()
        while not self._ended and len(others) < most:
            match = next(self._source, None)
            if match is None:
                self._ended = True
            elif self._waits(match) is wanted:
                return match
            else:
                others.append(match)
        return None

    def _waits(self, match: Match) -> bool:
        known = self._known.get(match.specs)
        if known is None:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            known = self._known[match.specs] = waits(match)
        return known
