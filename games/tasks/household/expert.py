"""The scripted expert: the next command towards the goal, from anything that may have happened before.

It knows where everything is, and needs no memory: what it does next follows from how things stand.
"""

from games.tasks.household.tables import CLEANER, COOLER, HEATER, LAMP, THINGS
from games.tasks.household.world import World

MOST_TURNS = 11
"""Commands that it needs from the start, at most: for two things, each fetched from and put where it was closed."""
_DEVICE = {"clean": CLEANER, "heat": HEATER, "cool": COOLER}


def next_command(world: World) -> str:
    """The next command towards the goal."""
    house, goal = world.house, world.house.goal
    held = world.held
    if held >= 0 and house.thing_kinds[held] != goal.thing:
        return _put(world, _aside(world))
    target = _target(world)
    if held < 0:
        return _fetch(world, target)
    if goal.kind == "look":
        return _light(world)
    if not _treated(world, held):
        device = _DEVICE[goal.kind]
        place = _nearest(world, [place for place, kind in enumerate(house.place_kinds) if kind == device])
        return _go(world, place) or f"{goal.kind} {house.things[held]} with {house.places[place]}"
    return _put(world, target)


def _target(world: World) -> int:
    """The place to put things; for two, the one that has most of them; -1 where a lamp is wanted."""
    house, goal = world.house, world.house.goal
    places = [place for place, kind in enumerate(house.place_kinds) if kind == goal.place]
    if goal.kind == "pick_two":
        most = max([_count(world, place) for place in places])
        places = [place for place in places if _count(world, place) == most]
    return _nearest(world, places) if places else -1


def _count(world: World, place: int) -> int:
    return sum([world.house.thing_kinds[thing] == world.house.goal.thing for thing in world.contents[place]])


def _nearest(world: World, places: list[int]) -> int:
    """The place with the fewest commands until it is open, the first of them."""
    return min(places, key=lambda place: (place != world.here) + (not world.opened >> place & 1))


def _treated(world: World, thing: int) -> bool:
    """Whether what the goal asks to be done to a thing is done."""
    marks = world.marks
    done = {"clean": marks.clean, "heat": marks.hot, "cool": marks.cool}.get(world.house.goal.kind, -1)
    return bool(done >> thing & 1)


def _fetch(world: World, target: int) -> str:
    """Towards the goal's thing that is the fewest commands away; of two, one that is not where they are put already."""
    house, goal = world.house, world.house.goal
    spots = {
        thing: place
        for place, things in enumerate(world.contents)
        for thing in things
        if house.thing_kinds[thing] == goal.thing and not (goal.kind == "pick_two" and place == target)
    }
    place = _nearest(world, [spots[thing] for thing in spots])
    ready = [thing for thing in spots if spots[thing] == place]
    thing = min(ready, key=lambda thing: not _treated(world, thing))
    return _go(world, place) or _open(world, place) or f"take {house.things[thing]} from {house.places[place]}"


def _light(world: World) -> str:
    """Towards a lamp with what is held: lit ones first."""
    house, lit = world.house, world.marks.lit
    lamps = [
        (place, thing)
        for place, things in enumerate(world.contents)
        for thing in things
        if house.thing_kinds[thing] == LAMP
    ]
    place, lamp = min(lamps, key=lambda one: (one[0] != world.here) + (not lit >> one[1] & 1))
    return _go(world, place) or _open(world, place) or f"use {house.things[lamp]}"


def _aside(world: World) -> int:
    """The nearest place where what is held can be put down."""
    house = world.house
    allowed = THINGS[house.thing_kinds[world.held]].places
    return _nearest(world, [place for place, kind in enumerate(house.place_kinds) if kind in allowed])


def _put(world: World, place: int) -> str:
    house = world.house
    return _go(world, place) or _open(world, place) or f"move {house.things[world.held]} to {house.places[place]}"


def _go(world: World, place: int) -> str:
    return "" if world.here == place else f"go to {world.house.places[place]}"


def _open(world: World, place: int) -> str:
    return "" if world.opened >> place & 1 else f"open {world.house.places[place]}"
