"""Matches for tests of the arena: made in a line, played here or by workers, and what came of them."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from threading import Event
from typing import Any, NamedTuple

import pyarrow as pa

from agents.registry import recipe
from arena.match import Match, MatchResult, play_match
from arena.record import Recorder, Run, merge
from arena.referee import Watch
from arena.rules import MatchRules
from arena.runner import Limits, Progress, run_matches
from games import registry

QUICK = Limits(workers=2, hang_seconds=0.8, memory_mb=400)
"""Limits under which a hang costs little time. A worker that has loaded everything takes about 150 MiB."""


def match_of(game: str, *agents: str, key: object = "m", seed: int = 7, **rules: Any) -> Match:
    """A match of agents by seat; `key` tells matches apart."""
    names = tuple([f"{agent}#{seat}" for seat, agent in enumerate(agents)])
    spec = registry.make(game).spec.name
    return Match(f"{key}", "t", spec, 0, 0, 0, seed, names, tuple(agents), names, MatchRules(**rules))


def play_here(match: Match, watch: Watch | None = None) -> MatchResult:
    """Play a match in this process."""
    recipes = [recipe(spec) for spec in match.specs]
    return asyncio.run(play_match(match, registry.make(match.game), recipes, watch))


def rows_of(result: MatchResult) -> dict[str, list[dict[str, Any]]]:
    """The rows that a result comes to in each table but `match_runs`."""
    recorder = Recorder()
    recorder.finished(result, Run(0, None, pa.scalar(0, pa.timestamp("us")).as_py(), 0.0))
    return {name: table.to_pylist() for name, table in recorder.take().items() if name != "match_runs"}


class Came(NamedTuple):
    """What came of a run: the rows of each table, matches given up with the reason, lines for a person."""

    rows: Mapping[str, Sequence[Mapping[str, Any]]]
    unfinished: Sequence[tuple[Match, str]]
    notices: Sequence[str]
    counted: int
    """Matches that the reports said to be finished."""

    def of(self, key: str, table: str = "matches") -> list[Mapping[str, Any]]:
        """The rows of one match, in order of attempts, episodes and turns."""
        rows = [row for row in self.rows.get(table, ()) if row["match_id"] == key]
        return sorted(rows, key=lambda row: [row.get(place, 0) for place in ("attempt", "episode", "turn")])

    def ids(self) -> Counter[str]:
        """How often each match is there."""
        return Counter(row["match_id"] for row in self.rows.get("matches", ()))

    def comparable(self) -> dict[str, list[str]]:
        """The rows that must not depend on who played them, sorted."""
        return {name: sorted(map(repr, rows)) for name, rows in self.rows.items() if name != "match_runs"}


def run_all(matches: Iterable[Match], limits: Limits = QUICK, stop: Event | None = None) -> Came:
    """Play matches with workers until the run ends."""
    return collected(run_matches(matches, limits, stop))


def collected(reports: Iterable[Progress]) -> Came:
    """Put the reports of a run together."""
    news = list(reports)
    tables = merge(report.tables for report in news)
    unfinished = [given_up for report in news for given_up in report.unfinished]
    notices = [notice for report in news for notice in report.notices]
    rows = {name: table.to_pylist() for name, table in tables.items()}
    return Came(rows, unfinished, notices, sum(report.finished for report in news))
