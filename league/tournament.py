"""Play a tournament: what is left of it, into the store as it goes."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from threading import Event
from typing import NamedTuple

import pyarrow as pa

from agents.models.limits import Spent
from arena.match import Match
from arena.record import merge
from arena.runner import Limits, run_matches
from league.config import TournamentConfig
from league.identity import rules_json, versions
from league.plan import GamePlan, Plan, scheduled
from league.preparation import prepared
from league.store.queries import count_matches
from league.store.registration import Member, Tournament
from league.store.store import Store

BLOCK = 20_000
"""Matches that are looked up in the store at a time."""
COMMIT_SECONDS = 1.0
"""Longest time that a finished match waits to be written."""


class Reached(NamedTuple):
    """How far a tournament is."""

    total: int
    before: int
    """Matches that were in the store before this run."""
    finished: int
    """Matches that this run has finished."""
    spent: Spent = Spent()
    """What this run has spent on language models."""


class Outcome(NamedTuple):
    """What a run of a tournament came to."""

    finished: int
    before: int
    total: int
    unfinished: Sequence[tuple[Match, str]]
    """Matches given up, and why."""
    stopped: bool
    """Whether the run was asked to stop before all was played."""


def prepare(plan: Plan, tell: Callable[[str], None]) -> None:
    """Let agents do once what takes long, such as solving a game; `tell` gets a line for each that does take long."""
    for game_plan in plan.games:
        for member in game_plan.recipes:
            prepared(member, game_plan.game, tell)


def run(
    plan: Plan, store: Store, on_progress: Callable[[Reached, Sequence[str]], None], stop: Event | None = None
) -> Outcome:
    """Play what is not in the store yet, writing as it goes. `on_progress` also gets lines about workers that died.

    Call `prepare` first, or what agents solve counts against the limit of a decision. Raises RunError when the store
    cannot be written; what was finished by then waits beside it.
    """
    config = plan.config
    for game_plan in plan.games:
        store.register(_row(config, game_plan), [Member(r.name, r.spec, r.fingerprint) for r in game_plan.recipes])
    source = _Remaining(plan, store)
    limits = Limits(config.workers, config.hang_seconds, config.memory_mb, config.concurrent, config.model_limits())
    finished = 0
    unfinished: list[tuple[Match, str]] = []
    waiting: list[Mapping[str, pa.Table]] = []
    written = time.monotonic()
    try:
        for news in run_matches(source, limits, stop):
            finished += news.finished
            unfinished += news.unfinished
            waiting.append(news.tables)
            if time.monotonic() - written > COMMIT_SECONDS:
                waiting = _write(store, waiting)
                written = time.monotonic()
            on_progress(Reached(plan.total, source.before, finished, news.spent), news.notices)
    finally:
        _write(store, waiting)
    stopped = stop is not None and stop.is_set()
    return Outcome(finished, source.before, plan.total, unfinished, stopped)


class _Remaining:
    """The matches of a plan that are not in the store, in order; reads the schedule only as it is asked."""

    def __init__(self, plan: Plan, store: Store) -> None:
        self.before = 0
        begun = any(count_matches(store, game_plan.tournament) for game_plan in plan.games)
        # Should another process play the same tournament now, the store keeps each match once all the same.
        self._matches = self._filtered(scheduled(plan), store) if begun else scheduled(plan)

    def __iter__(self) -> Iterator[Match]:
        return self._matches

    def _filtered(self, matches: Iterator[Match], store: Store) -> Iterator[Match]:
        while block := list(islice(matches, BLOCK)):
            played = store.played([match.match_id for match in block])
            self.before += len(played)
            for match in block:
                if match.match_id not in played:
                    yield match


def _row(config: TournamentConfig, game_plan: GamePlan) -> Tournament:
    return Tournament(
        game_plan.tournament,
        config.format,
        config.seed,
        rules_json(config.rules()),
        config.model_dump_json(),
        versions(),
    )


def _write(store: Store, waiting: Sequence[Mapping[str, pa.Table]]) -> list[Mapping[str, pa.Table]]:
    tables = merge(waiting)
    if tables:
        store.write(tables)
    return []
