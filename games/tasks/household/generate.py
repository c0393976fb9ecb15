"""Make houses: a room with its furniture, a goal that can be reached there, and things in plausible places.

The split is decided by the room with its furniture (which kinds, and how many of each), so that no room with the same
furniture is in two of them.
"""

import random
from collections.abc import Mapping
from typing import Literal

from games.seeding import derive
from games.tasks.household.tables import (
    CLEANER,
    COOLER,
    FURNITURE,
    HEATER,
    LAMP,
    LIES_IN,
    LIT_ROOMS,
    ROOMS,
    THINGS,
)
from games.tasks.household.world import KINDS, Goal, House, Kind
from games.tasks.instances import SplitName, belongs

LEAST_KINDS, MOST_KINDS = 10, 18
"""Kinds of things in a room, where it has so many."""
MANY = 100
"""Things that find a place on or in furniture for any number."""
_ROOMS_OF: dict[Kind, tuple[str, ...]] = {
    "pick": tuple(ROOMS),
    "pick_two": tuple(ROOMS),
    "look": LIT_ROOMS,
    "clean": ("bathroom", "kitchen"),
    "heat": ("kitchen",),
    "cool": ("kitchen",),
}
_DEVICE: dict[Kind, str] = {"clean": CLEANER, "heat": HEATER, "cool": COOLER}


def kind_of(instance: int) -> Kind:
    """The kind of goal that an instance has where all are played."""
    return KINDS[derive(instance, "household", "kind") % len(KINDS)]


def house_of(wanted: Kind | Literal["any"], split: SplitName, instance: int) -> House:
    """The house of an instance, with a goal of the kind that is wanted."""
    return generate(kind_of(instance) if wanted == "any" else wanted, split, instance)


def generate(kind: Kind, split: SplitName, instance: int) -> House:
    """The house of an instance, with a goal of some kind."""
    rng = random.Random(derive(instance, "household", kind))
    room, furniture = _furnished(rng, kind, split)
    goal = _goal(rng, kind, room, furniture)
    place_kinds = [piece for piece, count in furniture.items() for _ in range(count)]
    counts = _counts(rng, room, goal)
    return _laid_out(rng, room, place_kinds, counts, goal)


def _furnished(rng: random.Random, kind: Kind, split: SplitName) -> tuple[str, dict[str, int]]:
    """A room of the split, and how many of each kind of furniture stand there."""
    while True:
        room = rng.choice(_ROOMS_OF[kind])
        drawn = {piece: rng.randint(least, most) for piece, (least, most) in ROOMS[room].items()}
        furniture = {piece: count for piece, count in drawn.items() if count}
        if belongs(split, "furniture", room, *[f"{piece} {furniture[piece]}" for piece in sorted(furniture)]):
            return room, furniture


def _goal(rng: random.Random, kind: Kind, room: str, furniture: Mapping[str, int]) -> Goal:
    """Some thing, and where to put it: never where it is treated, and never where the goal would hold at first."""
    options: dict[str, list[str]] = {}
    for name in LIES_IN[room]:
        thing = THINGS[name]
        if not {"clean": thing.cleaned, "heat": thing.heated, "cool": thing.cooled}.get(kind, True):
            continue
        spaces = {
            piece: furniture[piece] * (FURNITURE[piece].holds or MANY) for piece in thing.places if piece in furniture
        }
        needed = 2 if kind == "pick_two" else 1
        if kind == "look":
            options[name] = [LAMP] if spaces else []
        else:
            options[name] = [
                piece
                for piece, space in spaces.items()
                if piece != _DEVICE.get(kind)
                and needed <= (FURNITURE[piece].holds or MANY)
                and needed <= sum(spaces.values()) - space
            ]
    name = rng.choice([name for name, places in options.items() if places])
    return Goal(kind, name, rng.choice(options[name]))


def _counts(rng: random.Random, room: str, goal: Goal) -> dict[str, int]:
    """How many of each kind of thing lie in the room."""
    others = [name for name in LIES_IN[room] if name != goal.thing]
    rng.shuffle(others)
    counts = {name: rng.choice((1, 1, 1, 2, 2, 3)) for name in others[: rng.randint(LEAST_KINDS, MOST_KINDS) - 1]}
    counts[goal.thing] = rng.choice((2, 2, 3)) if goal.kind == "pick_two" else rng.choice((1, 1, 1, 2))
    if room in LIT_ROOMS and (goal.kind == "look" or rng.random() < 0.5):
        counts[LAMP] = 1 if rng.random() < 0.8 else 2
    return counts


def _laid_out(rng: random.Random, room: str, place_kinds: list[str], counts: Mapping[str, int], goal: Goal) -> House:
    """Put every thing somewhere, those of the goal not where they shall be; what finds no place is left out."""
    free = [FURNITURE[kind].holds or MANY for kind in place_kinds]
    things: list[str] = []
    lies: list[int] = []
    # the goal's things come first, so that they find a place
    for name in sorted(counts, key=lambda name: (name != goal.thing, name)):
        for _ in range(counts[name]):
            places = [
                place
                for place, kind in enumerate(place_kinds)
                if free[place] and kind in THINGS[name].places and not (name == goal.thing and kind == goal.place)
            ]
            if places:
                place = rng.choice(places)
                free[place] -= 1
                things.append(name)
                lies.append(place)
    order = sorted(range(len(things)), key=lambda number: things[number])
    return House(room, place_kinds, [things[number] for number in order], [lies[number] for number in order], goal)
