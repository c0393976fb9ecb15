"""Write houses as games for ALFWorld: a PDDL problem with the domain and grammar that the package alfworld ships.

Only the files of that package are read; it is not imported.
"""

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from games.foreign import need
from games.tasks.household.expert import next_command
from games.tasks.household.tables import CLEANER, COOLER, FURNITURE, HEATER, KNIVES, LAMP, THINGS
from games.tasks.household.text import goal_in_words
from games.tasks.household.world import Goal, House, Kind, World

TASKS: dict[Kind, str] = {
    "pick": "pick_and_place_simple",
    "look": "look_at_obj_in_light",
    "clean": "pick_clean_then_place_in_recep",
    "heat": "pick_heat_then_place_in_recep",
    "cool": "pick_cool_then_place_in_recep",
    "pick_two": "pick_two_obj_and_place",
}
"""What ALFWorld calls each kind of goal."""
_DONE: dict[Kind, str] = {"clean": "(isClean ?o)", "heat": "(isHot ?o)", "cool": "(isCool ?o)"}
_PLAIN = re.compile(r"[A-Za-z0-9 ,.'()-]{1,300}")
_MOST = 999
"""Things or places of one kind, at most: the width of their numbers."""


def game_of(house: House) -> dict[str, Any]:
    """A house as a game: problem, walkthrough and goal, with the domain and grammar of the package alfworld.

    Raises UserError where that is not installed.
    """
    return assembled(problem(house), goal_in_words(house.goal), _walkthrough(house))


def assembled(problem: str, goal: str, walkthrough: Sequence[str]) -> dict[str, Any]:
    """A game with the package's own domain and grammar: TextWorld evaluates what stands in a grammar as Python.

    Raises UserError where the package is not installed, ValueError for a goal that is more than plain words.
    """
    if not _PLAIN.fullmatch(goal):
        raise ValueError(f"the goal {goal!r:.200} is no plain sentence")
    return {
        "pddl_domain": _shipped("alfred.pddl"),
        "grammar": _shipped("alfred.twl2").replace("UNKNOWN GOAL.", goal),
        "pddl_problem": problem,
        "solvable": True,
        "walkthrough": list(walkthrough),
    }


def write_game(house: House, folder: Path) -> None:
    """Write the files `game.tw-pddl` and `traj_data.json` into a folder, which is made.

    Raises UserError where the package alfworld is not installed.
    """
    game = game_of(house)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "game.tw-pddl").write_text(json.dumps(game), encoding="utf-8")
    goal = house.goal
    parameters = {
        "object_target": _kind(goal.thing),
        "parent_target": "" if goal.kind == "look" else _kind(goal.place),
        "toggle_target": _kind(LAMP) if goal.kind == "look" else "",
        "mrecep_target": "",
        "object_sliced": False,
    }
    written = json.dumps({"task_type": TASKS[goal.kind], "pddl_params": parameters})
    (folder / "traj_data.json").write_text(written, encoding="utf-8")


def problem(house: House) -> str:
    """The PDDL problem of a house, for ALFWorld's domain."""
    places = [_identifier(name) for name in house.places]
    things = [_identifier(name) for name in house.things]
    spots = [f"loc_{place}" for place in range(len(places))]
    pieces, kinds = sorted(set(house.place_kinds)), sorted(set(house.thing_kinds))
    objects = [
        "agent1 - agent",
        *[f"{spot} - location" for spot in ("loc_start", *spots)],
        *[f"{place} - receptacle" for place in places],
        *[f"{thing} - object" for thing in things],
        *[f"{_kind(piece)}Type - rtype" for piece in pieces],
        *[f"{_kind(kind)}Type - otype" for kind in kinds],
        # the domain names these, whether or not there are any
        *[f"{_type(name)} - rtype" for name in (CLEANER, COOLER, HEATER) if name not in pieces],
        *[f"{_type(name)} - otype" for name in sorted(KNIVES) if name not in kinds],
    ]
    facts = ["(= (total-cost) 0)", "(atLocation agent1 loc_start)"]
    for place, spot, piece, held in zip(places, spots, house.place_kinds, house.start, strict=True):
        facts += [f"(receptacleType {place} {_type(piece)})", f"(receptacleAtLocation {place} {spot})"]
        if FURNITURE[piece].openable:
            facts.append(f"(openable {place})")
        for thing in held:
            facts += [f"(inReceptacle {things[thing]} {place})", f"(objectAtLocation {things[thing]} {spot})"]
    for name, kind in zip(things, house.thing_kinds, strict=True):
        facts += [f"(objectType {name} {_type(kind)})", *[f"({able} {name})" for able in _abilities(kind)]]
    facts += [f"(canContain {_type(piece)} {_type(kind)})"
              for kind in kinds for piece in pieces if piece in THINGS[kind].places]  # fmt: skip
    return "\n".join(
        [
            "(define (problem household)",
            "(:domain alfred)",
            f"(:objects {_lines(objects)})",
            f"(:init {_lines(facts)})",
            f"(:goal {_goal(house.goal)})",
            "(:metric minimize (total-cost))",
            ")",
        ]
    )


def _abilities(kind: str) -> list[str]:
    thing = THINGS[kind]
    if kind == LAMP:
        return ["toggleable"]
    able = (("heatable", thing.heated), ("coolable", thing.cooled), ("cleanable", thing.cleaned))
    return ["pickupable", *[name for name, holds in (*able, ("sliceable", thing.sliced)) if holds]]


def _goal(goal: Goal) -> str:
    """The goal as ALFWorld states it: a lamp need only have been switched on."""
    thing = f"(objectType ?o {_type(goal.thing)})"
    if goal.kind == "look":
        return (
            f"(and (exists (?t - object ?r - receptacle ?a - agent ?l - location) (and (objectType ?t {_type(LAMP)}) "
            "(toggleable ?t) (isToggled ?t) (receptacleAtLocation ?r ?l) (atLocation ?a ?l) (inReceptacle ?t ?r))) "
            f"(exists (?o - object ?a - agent) (and {thing} (holds ?a ?o))))"
        )
    there = f"{thing} (receptacleType ?r {_type(goal.place)}) (inReceptacle ?o ?r) {_DONE.get(goal.kind, '')}"
    if goal.kind == "pick_two":
        second = f"(not (= ?o ?p)) (objectType ?p {_type(goal.thing)}) (inReceptacle ?p ?r)"
        there += f"(exists (?p - object) (and {second}))"
    return f"(and (exists (?r - receptacle) (exists (?o - object) (and {there}))))"


def _identifier(name: str) -> str:
    """A name such as `apple 2` in PDDL; ALFWorld gives the first identifier of a kind, in order, the highest number."""
    kind, number = name.split()
    stem = kind.removesuffix("basin")
    return f"{stem}_bar_{_MOST - int(number):03}" + ("_bar_basin" if stem != kind else "")


def _kind(name: str) -> str:
    """A kind as the domain writes it. PDDL takes no notice of capitals."""
    return name.capitalize()


def _type(name: str) -> str:
    return f"{_kind(name)}Type"


def _walkthrough(house: House) -> Sequence[str]:
    world, lines = World(house), list[str]()
    while not world.reached:
        lines.append(next_command(world))
        world.do(lines[-1])
    return lines


def _lines(words: Sequence[str]) -> str:
    return "\n  ".join(["", *words])


@lru_cache(maxsize=2)
def _shipped(name: str) -> str:
    """A file of the installed package."""
    need("alfworld", "alfworld")
    found = find_spec("alfworld")
    assert found is not None
    assert found.submodule_search_locations is not None
    return (Path(next(iter(found.submodule_search_locations))) / "data" / name).read_text(encoding="utf-8")
