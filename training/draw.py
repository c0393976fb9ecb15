"""What is played for an update: groups of matches that share deals, opponents and the learner's seat."""

import random
from collections.abc import Sequence
from typing import NamedTuple

from agents.registry import Recipe
from arena.match import Match
from arena.rules import MatchRules
from games.game import Game
from games.seeding import derive, digest
from league.identity import rules_json, told_apart


class Line(NamedTuple):
    """A match with its agents, the learner among them."""

    match: Match
    recipes: Sequence[Recipe]


class Field(NamedTuple):
    """What the matches of a run have in common."""

    run: str
    seed: int
    game: Game
    rules: MatchRules
    learner: Recipe
    seats: Sequence[int]
    """Seats that the learner takes in turn."""


class Pool(NamedTuple):
    """Opponents and how often each is met; empty for a game of one seat."""

    members: Sequence[Recipe]
    shares: Sequence[float]


def groups(field: Field, pool: Pool, update: int, count: int, size: int) -> list[Line]:
    """The matches of an update, group by group. Within one they differ in their replica alone.

    Opponents and seats are drawn together by systematic sampling, so that each comes as often as its share says, as
    far as `count` allows; which of them is left out by rounding changes from update to update.
    """
    rng = random.Random(derive(field.seed, "groups", update))
    others = field.game.spec.seats - 1
    kinds = [(seat, first) for first in range(len(pool.members) or 1) for seat in field.seats]
    weights = [(pool.shares[first] if others else 1.0) / len(field.seats) for _, first in kinds]
    found: list[Line] = []
    for group, kind in enumerate(_systematic(weights, count, rng)):
        seat, first = kinds[kind]
        met = [pool.members[first], *rng.choices(pool.members, pool.shares, k=others - 1)] if others else []
        seed = derive(field.seed, "deal", update, group)
        for replica in range(size):
            found.append(line(field, met, seat, seed, replica, f"{update}.{group}"))
    return found


def line(field: Field, met: Sequence[Recipe], seat: int, seed: int, replica: int, where: str) -> Line:
    """One match of the learner in a seat; the others take the seats that are left, in their order."""
    seated = [*met[:seat], field.learner, *met[seat:]]
    names = told_apart([member.name for member in seated])
    prints = tuple([member.fingerprint if member is not field.learner else field.run for member in seated])
    match_id = digest(10, field.run, where, *names, seed, replica, rules_json(field.rules)).hex()
    specs = tuple([member.spec for member in seated])
    match = Match(
        match_id, field.run, field.game.spec.name, 0, 0, replica, seed, tuple(names), specs, prints, field.rules
    )
    return Line(match, seated)


def _systematic(weights: Sequence[float], count: int, rng: random.Random) -> list[int]:
    """`count` places, each about as often as its weight says, in an order that is drawn."""
    total, start = sum(weights), rng.random()
    found: list[int] = []
    reached = 0.0
    for place, weight in enumerate(weights):
        reached += weight * count / total
        while len(found) + start < reached and len(found) < count:
            found.append(place)
    found += [len(weights) - 1] * (count - len(found))
    rng.shuffle(found)
    return found
