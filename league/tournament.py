"""A tournament from its configuration to its last match: who plays what, what is left to play, what came of it."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from itertools import islice
from threading import Event
from typing import NamedTuple

import pyarrow as pa

from agents.registry import Recipe, recipe
from arena.match import Match
from arena.record import merge
from arena.rules import MatchRules
from arena.runner import Limits, run_matches
from games import registry
from games.errors import UserError
from games.game import Game
from games.seeding import derive, digest
from league.config import TournamentConfig
from league.schedule import FORMATS, RoundRobin
from league.store.queries import count_matches
from league.store.registration import Member, Tournament
from league.store.store import Store

BLOCK = 20_000
"""Matches that are looked up in the store at a time."""
COMMIT_SECONDS = 1.0
"""Longest time that a finished match waits to be written."""
_PACKAGES = ("metarena", "open-spiel", "numpy", "duckdb", "pyarrow")


class GamePlan(NamedTuple):
    """One game of a tournament and who plays it."""

    tournament: str
    game: Game
    recipes: Sequence[Recipe]
    format: str
    pairs: int

    def schedule(self) -> RoundRobin:
        """A schedule that has not begun."""
        return FORMATS[self.format](self.game.spec.seats, self.pairs)

    @property
    def total(self) -> int:
        """How many matches there are."""
        return self.schedule().total(len(self.recipes))


class LeftOut(NamedTuple):
    """An agent that cannot play one of the games."""

    agent: str
    game: str
    reason: str

    @property
    def gist(self) -> str:
        """The reason without the game's name, equal where it is the same in several games."""
        return self.reason.replace(self.game, "")


class Plan(NamedTuple):
    """What a tournament comes to before it is played."""

    config: TournamentConfig
    games: Sequence[GamePlan]
    left_out: Sequence[LeftOut]

    @property
    def total(self) -> int:
        """How many matches there are in all games."""
        return sum(plan.total for plan in self.games)


class Standing(NamedTuple):
    """How far a tournament is."""

    total: int
    before: int
    """Matches that were in the store before this run."""
    finished: int
    """Matches that this run has finished."""


class Outcome(NamedTuple):
    """What a run of a tournament came to."""

    finished: int
    before: int
    total: int
    unfinished: Sequence[tuple[Match, str]]
    """Matches given up, and why."""
    stopped: bool
    """Whether the run was asked to stop before all was played."""


def plan(config: TournamentConfig) -> Plan:
    """Decide who plays what. Raises UserError for what cannot be played as asked.

    An agent that does not fit a game is left out of it, with the reason; one that fits none is an error.
    """
    recipes = _recipes(config)
    games = [registry.make(game) for game in config.games]
    _refuse_twice([game.spec.name for game in games], "game")
    left_out: list[LeftOut] = []
    fits: dict[str, list[Recipe]] = {game.spec.name: [] for game in games}
    for member in recipes:
        reasons = [(game.spec.name, member.misfit(game)) for game in games]
        for game, reason in reasons:
            if reason is None:
                fits[game].append(member)
            else:
                left_out.append(LeftOut(member.name, game, reason))
        if all(reason is not None for _, reason in reasons):
            raise UserError(f"agent {member.name} can play none of the games: {reasons[0][1]}")
    plans = [
        GamePlan(_tournament_id(config, game), game, fits[game.spec.name], config.format, config.pairs)
        for game in games
    ]
    for game_plan in plans:
        seats, players = game_plan.game.spec.seats, len(game_plan.recipes)
        if players < seats:
            raise UserError(f"{game_plan.game.spec.name} has {seats} seats and {players} of the agents can play it")
    return Plan(config, plans, left_out)


def run(
    plan: Plan, store: Store, on_progress: Callable[[Standing, Sequence[str]], None], stop: Event | None = None
) -> Outcome:
    """Play what is not in the store yet, writing as it goes. `on_progress` also gets lines about workers that died.

    Raises RunError when the store cannot be written; what was finished by then waits beside it.
    """
    config = plan.config
    for game_plan in plan.games:
        for member in game_plan.recipes:
            member.prepare(game_plan.game)
        store.register(_row(config, game_plan), [Member(r.name, r.spec, r.fingerprint) for r in game_plan.recipes])
    source = _Remaining(plan, store)
    limits = Limits(config.workers, config.hang_seconds, config.memory_mb)
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
            on_progress(Standing(plan.total, source.before, finished), news.notices)
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


def scheduled(plan: Plan) -> Iterator[Match]:
    """Every match of a plan: pair by pair, and within a pair game by game, so that slow and fast games mix."""
    rules = plan.config.rules()
    schedules = [(game_plan, game_plan.schedule(), _Seating(game_plan, rules)) for game_plan in plan.games]
    while True:
        rounds = [
            (game_plan, seating, schedule.next_round(len(game_plan.recipes)))
            for game_plan, schedule, seating in schedules
        ]
        if not any(pairings for _, _, pairings in rounds):
            return
        for game_plan, seating, pairings in rounds:
            if pairings:
                seed = derive(plan.config.seed, game_plan.game.spec.name, pairings[0].pair)
            for pairing in pairings:
                yield seating.match(pairing.members, pairing.round, pairing.pair, seed)


class _Seating:
    """Makes the matches of one game; what a seating has in common is worked out once."""

    def __init__(self, game_plan: GamePlan, rules: MatchRules) -> None:
        self._plan = game_plan
        self._rules = rules
        self._known: dict[tuple[int, ...], tuple[str, Match]] = {}

    def match(self, members: tuple[int, ...], round_: int, pair: int, seed: int) -> Match:
        """The match of some members, by seat, on the seed of a pair."""
        known = self._known.get(members)
        if known is None:
            known = self._known[members] = self._common(members)
        head, common = known
        match_id = digest(10, head, seed, pair, common.replica).hex()
        return common._replace(match_id=match_id, round=round_, pair=pair, seed=seed)

    def _common(self, members: tuple[int, ...]) -> tuple[str, Match]:
        plan = self._plan
        seated = [plan.recipes[member] for member in members]
        names = tuple([member.name for member in seated])
        prints = tuple([member.fingerprint for member in seated])
        game = plan.game.spec.name
        head = digest(16, plan.tournament, game, *names, *prints, rules_json(self._rules)).hex()
        specs = tuple([member.spec for member in seated])
        return head, Match("", plan.tournament, game, 0, 0, 0, 0, names, specs, prints, self._rules)


def _recipes(config: TournamentConfig) -> list[Recipe]:
    recipes = [recipe(agent) for agent in config.agents]
    _refuse_twice([member.name for member in recipes], "agent")
    for member in recipes:
        if member.agent.interactive:
            raise UserError(f"agent {member.name} needs a person: it plays in `arena play`, not in a tournament")
    return recipes


def _refuse_twice(names: Sequence[str], what: str) -> None:
    for name in names:
        if names.count(name) > 1:
            hint = f"; name one of them, as in other={name}" if what == "agent" else ""
            raise UserError(f"{what} {name} takes part twice{hint}")


def _tournament_id(config: TournamentConfig, game: Game) -> str:
    if config.name is not None:
        return config.name
    return digest(8, game.spec.name, rules_json(config.rules()), config.seed, config.format).hex()


def _row(config: TournamentConfig, game_plan: GamePlan) -> Tournament:
    return Tournament(
        game_plan.tournament,
        config.format,
        config.seed,
        rules_json(config.rules()),
        config.model_dump_json(),
        versions(),
    )


def versions() -> str:
    """Versions of this package and of what it plays and keeps with, as JSON."""
    return json.dumps({package: version(package) for package in _PACKAGES})


def rules_json(rules: MatchRules) -> str:
    """The rules that are not the defaults, so that a rule added later does not change the ids of old matches."""
    return json.dumps(rules.model_dump(exclude_defaults=True), sort_keys=True)


def _write(store: Store, waiting: Sequence[Mapping[str, pa.Table]]) -> list[Mapping[str, pa.Table]]:
    tables = merge(waiting)
    if tables:
        store.write(tables)
    return []
