"""A household in words: rules, goals, what a command came to, and the commands that can be carried out."""

from collections.abc import Sequence
from typing import NamedTuple

from games.game import Action
from games.tasks.household.tables import CLEANER, COOLER, FURNITURE, HEATER, KNIVES, LAMP, THINGS
from games.tasks.household.world import Goal, House, Marks, Told, World

COMMANDS = (
    "go to PLACE, open PLACE, close PLACE, take THING from PLACE, move THING to PLACE, use LAMP, "
    "heat THING with PLACE, cool THING with PLACE, clean THING with PLACE, slice THING with KNIFE, "
    "examine PLACE or THING, inventory, look, help"
)
_PLURALS = {"butterknife": "butterknives", "knife": "knives", "box": "boxes", "tissuebox": "tissueboxes",
            "potato": "potatoes", "tomato": "tomatoes", "watch": "watches"}  # fmt: skip
_TREATED = {"clean": "clean ", "heat": "hot ", "cool": "cold "}


class Sight(NamedTuple):
    """What the player knows of a moment."""

    turn: int
    """Turns taken."""
    here: int
    """The place at which the player stands, or NOWHERE for the middle of the room."""
    open: bool
    """Whether it is open."""
    seen: tuple[int, ...]
    """The things that can be seen there."""
    held: int
    """The thing in the hand, or NOWHERE."""
    marks: Marks
    """What was done to things; all of it by the player."""
    told: Told


def goal_in_words(goal: Goal) -> str:
    """What is to be reached, as a sentence."""
    if goal.kind == "look":
        return f"Hold {_a(goal.thing)} in the light of {_a(goal.place)} that is switched on."
    where = "in" if FURNITURE[goal.place].inside else "on"
    if goal.kind == "pick_two":
        return f"Put two {_PLURALS.get(goal.thing, goal.thing + 's')} {where} the same {goal.place}."
    return f"Put {_a(_TREATED.get(goal.kind, '') + goal.thing)} {where} {_a(goal.place)}."


def told(house: House, sight: Sight, turns: int) -> str:
    """A moment in words."""
    here = "in the middle of the room" if sight.here < 0 else f"at {house.places[sight.here]}"
    hand = f"hold {house.things[sight.held]}" if sight.held >= 0 else "hold nothing"
    return "\n".join(
        [
            f"Goal: {goal_in_words(house.goal)}",
            f"Places in this {house.room}: {', '.join(house.places)}.",
            _happened(house, sight),
            f"You are {here} and {hand}. Turns taken: {sight.turn} of {turns}.",
        ]
    )


def _happened(house: House, sight: Sight) -> str:
    """What the last command came to."""
    what, thing, other = sight.told
    name = house.things[thing] if thing >= 0 else ""
    where = house.places[sight.here] if sight.here >= 0 else ""
    if what == "look":
        return _place(house, sight) if where else "You look around: only the furniture can be made out from here."
    if what == "inventory":
        return f"You carry {house.things[sight.held]}." if sight.held >= 0 else "You carry nothing."
    if what == "slice":
        return f"You cut {name} into slices with {house.things[other]}."
    if what == "examine":
        return _thing(house, sight, thing)
    return {
        "start": "You have just come into the room.",
        "nothing": "Nothing happens.",
        "go": f"You walk to {where}.",
        "open": f"You pull {where} open.",
        "close": f"You shut {where}.",
        "take": f"You take {name} from {where}.",
        "move": f"You put {name} {_in(house, sight.here)} {where}.",
        "use": f"You switch {name} on.",
        "heat": f"You heat {name} with {where}; now it is hot.",
        "cool": f"You cool {name} with {where}; now it is cold.",
        "clean": f"You clean {name} with {where}; now it is clean.",
        "examine place": "You take a closer look.",
        "help": f"Commands: {COMMANDS}.",
    }[what] + (f" {_place(house, sight)}" if what in ("go", "open", "examine place") else "")


def _place(house: House, sight: Sight) -> str:
    """What is to be seen where the player stands."""
    name = house.places[sight.here]
    if not sight.open:
        return f"{_large(name)} is closed."
    lit = sight.marks.lit
    names = [house.things[thing] + (" (switched on)" if lit >> thing & 1 else "") for thing in sight.seen]
    return f"{_large(_in(house, sight.here))} it there is {_listed(names)}."


def _thing(house: House, sight: Sight, thing: int) -> str:
    """A thing as it is when looked at closely."""
    marks = sight.marks
    if house.thing_kinds[thing] == LAMP:
        return f"{_large(house.things[thing])} is switched {'on' if marks.lit >> thing & 1 else 'off'}."
    signs = [("hot", marks.hot), ("cold", marks.cool), ("clean", marks.clean), ("cut into slices", marks.sliced)]
    found = [sign for sign, things in signs if things >> thing & 1]
    return f"{_large(house.things[thing])} is {' and '.join(found) if found else 'as you would expect it'}."


def commands(house: House, sight: Sight) -> tuple[Action, ...]:
    """The commands that can be carried out at a moment, as far as the player knows."""
    here, held, names = sight.here, sight.held, house.things
    found = [f"go to {place}" for number, place in enumerate(house.places) if number != here]
    if here >= 0:
        found += _commands_at(house, sight)
        found.append(f"examine {house.places[here]}")
    found += [f"examine {names[thing]}" for thing in sight.seen]
    if held >= 0:
        found.append(f"examine {names[held]}")
    return (*found, "inventory", "look", "help")


def _commands_at(house: House, sight: Sight) -> list[Action]:
    """The commands that a place allows, and what lies there."""
    here, held, names, kinds = sight.here, sight.held, house.things, house.thing_kinds
    place, piece = house.places[here], house.place_kinds[here]
    found: list[Action] = []
    if FURNITURE[piece].openable:
        found.append(f"{'close' if sight.open else 'open'} {place}")
    lamps = [thing for thing in sight.seen if kinds[thing] == LAMP]
    found += [f"use {names[thing]}" for thing in lamps if not sight.marks.lit >> thing & 1]
    if held < 0:
        return found + [f"take {names[thing]} from {place}" for thing in sight.seen if thing not in lamps]
    thing = THINGS[kinds[held]]
    if sight.open and piece in thing.places:
        found.append(f"move {names[held]} to {place}")
    able = (("heat", thing.heated, HEATER), ("cool", thing.cooled, COOLER), ("clean", thing.cleaned, CLEANER))
    found += [f"{verb} {names[held]} with {place}" for verb, may, device in able if may and piece == device]
    if kinds[held] in KNIVES:
        whole = [one for one in sight.seen if THINGS[kinds[one]].sliced and not sight.marks.sliced >> one & 1]
        found += [f"slice {names[one]} with {names[held]}" for one in whole]
    return found


def everything(world: World) -> str:
    """All places with what lies there, for spectators."""
    house = world.house
    lines = [
        f"{name}: {_listed([house.things[thing] for thing in things])}"
        for name, things in zip(house.places, world.contents, strict=True)
    ]
    return "\n".join(lines)


def rules(turns: int) -> str:
    """The rules, for every kind of goal."""
    return (
        "You are in a room with numbered places (furniture) and numbered things that lie in or on them. You have a "
        f"goal to reach by typed commands, one a turn: {COMMANDS}. "
        "Name places and things with their numbers, as in take apple 1 from fridge 1. "
        "What lies at a place you see when you are there; a closed place must be opened first. You carry one thing at "
        "a time, and take and move things only at the place where you stand, if it is open; not every thing fits every "
        "place. To heat a thing, hold it at a microwave; to cool it, at a fridge; to clean it, at a sinkbasin. These "
        "need not be open. Heating and cooling undo each other. To slice a thing, hold a knife or butterknife where "
        "the thing lies. A lamp that was switched on stays on; to hold a thing in its light, be where the lamp is. "
        "A command that cannot be carried out, or means nothing, changes nothing and takes a turn all the same. "
        f"The goal earns 10 and ends the episode; so does turn {turns}."
    )


def _in(house: House, place: int) -> str:
    return "in" if FURNITURE[house.place_kinds[place]].inside else "on"


def _a(words: str) -> str:
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


def _large(words: str) -> str:
    return words[0].upper() + words[1:]


def _listed(names: Sequence[str]) -> str:
    if len(names) < 2:
        return names[0] if names else "nothing"
    return f"{', '.join(names[:-1])} and {names[-1]}"
