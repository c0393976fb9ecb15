"""Who plays what in a tournament, and every match that comes of it."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from agents.registry import Recipe, recipe
from arena.match import Match, check_deals
from arena.rules import MatchRules
from games import registry
from games.errors import UserError
from games.game import Game
from games.seeding import derive, digest
from league.config import TournamentConfig
from league.identity import check_names, rules_json, tournament_id
from league.schedule import FORMATS, RoundRobin


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
        GamePlan(tournament_id(config, game.spec.name), game, fits[game.spec.name], config.format, config.pairs)
        for game in games
    ]
    for game_plan in plans:
        check_deals(game_plan.game, config.rules())
        check_names(game_plan.game, [member.name for member in game_plan.recipes])
        seats, players = game_plan.game.spec.seats, len(game_plan.recipes)
        if players < seats:
            raise UserError(f"{game_plan.game.spec.name} has {seats} seats and {players} of the agents can play it")
    return Plan(config, plans, left_out)


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
