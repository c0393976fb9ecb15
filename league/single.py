"""One match outside any tournament: made from what a person typed, and kept in the store."""

import json
import secrets
from collections.abc import Callable, Sequence

from agents.registry import Recipe, recipe
from arena.match import Match, MatchResult, check_deals
from arena.record import Recorder, Run, utc_now
from arena.rules import MatchRules
from games.errors import UserError
from games.game import Game
from games.seeding import digest
from league.identity import check_names, rules_json, told_apart, versions
from league.preparation import prepared
from league.store.registration import Member, Tournament
from league.store.store import Store


def prepare(
    game: Game, agents: Sequence[str], seed: int, rules: MatchRules, tell: Callable[[str], None] | None = None
) -> tuple[Match, list[Recipe]]:
    """A match between agents named by seat; one spec may be seated repeatedly and is then named `random#2`.

    Agents that have to prepare do; `tell` gets a line for each that takes long. Raises UserError for a wrong number of
    seats or an agent that cannot play the game.
    """
    recipes = [recipe(agent) for agent in agents]
    if len(recipes) != game.spec.seats:
        seats = "1 seat" if game.spec.seats == 1 else f"{game.spec.seats} seats"
        raise UserError(f"{game.spec.name} has {seats}; agents named: {len(recipes)}")
    check_deals(game, rules)
    check_names(game, [member.name for member in recipes])
    for member in recipes:
        reason = member.misfit(game)
        if reason is not None:
            raise UserError(f"agent {member.name} cannot play {game.spec.name}: {reason}")
        prepared(member, game, tell or (lambda line: None))
    names = told_apart([member.name for member in recipes])
    tournament = f"play-{secrets.token_hex(4)}"
    prints = tuple([member.fingerprint for member in recipes])
    match_id = digest(10, tournament, game.spec.name, *names, *prints, seed, rules_json(rules)).hex()
    specs = tuple([member.spec for member in recipes])
    match = Match(match_id, tournament, game.spec.name, 0, 0, 0, seed, tuple(names), specs, prints, rules)
    return match, recipes


def register(store: Store, match: Match) -> None:
    """Make a match known to a store as a tournament of its own. Raises UserError for a name that is another agent's."""
    row = Tournament(
        match.tournament,
        "play",
        match.seed,
        rules_json(match.rules),
        json.dumps({"game": match.game, "agents": list(match.names), "seed": match.seed}),
        versions(),
    )
    members = zip(match.names, match.specs, match.fingerprints, strict=True)
    store.register(row, [Member(*member) for member in members])


def keep(store: Store, result: MatchResult, started: int) -> None:
    """Write a finished match that is registered, begun at `started` (as `arena.record.utc_now` tells it)."""
    recorder = Recorder()
    recorder.finished(result, Run(0, None, started, (utc_now() - started) / 1e6))
    store.write(recorder.take())
