"""What NetHack's screen, inventory and questions say, in words, and the words for its keys."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from games.game import Action

DIRECTIONS: Mapping[int, str] = dict(
    zip(
        map(ord, "kljhunby"),
        ["north", "east", "south", "west", "northeast", "southeast", "southwest", "northwest"],
        strict=True,
    )
)
KEYS: Mapping[int, str] = {
    **DIRECTIONS,
    **{ord(chr(key).upper()): f"far {word}" for key, word in DIRECTIONS.items()},
    **{ord(key): word for key, word in {
        ">": "go down", "<": "go up", ".": "wait", ",": "pick up", ":": "look", "a": "apply", "c": "close", "d": "drop",
        "e": "eat", "f": "fire", "o": "open", "q": "quaff", "Q": "fill quiver", "r": "read", "s": "search",
        "t": "throw", "w": "wield", "x": "swap weapons", "z": "zap", "E": "engrave", "P": "put on", "R": "remove",
        "T": "take off", "W": "wear", "Z": "cast",
    }.items()},
    4: "kick",
    **{0x80 | ord(key): word for key, word in {
        "d": "dip", "f": "force", "i": "invoke", "j": "jump", "l": "loot", "p": "pray", "r": "rub", "s": "sit",
        "u": "untrap",
    }.items()},
}  # fmt: skip
"""Code of a key -> the word for what it does, where nothing is asked."""
ESCAPE, HERE = 27, ord(".")
CANCEL = "cancel"
_PLAIN = {"", "floor of a room", "dark part of a room", "stone", "solid rock", "wall", "corridor", "lit corridor"}
_AT_MOST = 3
"""Places that are told of one kind of thing."""


def decoded(line: Any) -> str:
    """Text that NetHack ends with zeros."""
    return bytes(line).split(b"\0", 1)[0].decode("latin-1").strip()


def answers(question: str, codes: Sequence[int]) -> dict[Action, int]:
    """Answer to a question of NetHack -> code of the key, among some codes."""
    if "direction" in question:
        given = {word: key for key, word in DIRECTIONS.items()} | {"here": HERE}
    else:
        given = {letter: ord(letter) for letter in _letters(question)}
    given[CANCEL] = ESCAPE
    return {answer: key for answer, key in given.items() if key in codes}


def _letters(question: str) -> list[str]:
    """The letters that a question such as `What do you want to eat? [a-cf or ?*]` takes."""
    found = re.search(r"\[([^\]]*)\]", question)
    offered = found[1].split(" or ")[0] if found else ""
    ranges = re.sub(
        r"([A-Za-z])-([A-Za-z])", lambda ends: "".join(map(chr, range(ord(ends[1]), ord(ends[2]) + 1))), offered
    )
    return [sign for sign in dict.fromkeys(ranges) if sign.isalpha()]


def told(goal: str, seen: Mapping[str, Any], asked: bool) -> str:
    """A moment in words."""
    message = decoded(seen["message"])
    health, most = seen["blstats"][10:12]
    said = f"NetHack {'asks' if asked else 'says'}: {message}" if message else "NetHack says nothing."
    return "\n".join(
        [
            f"Goal: {goal}",
            said,
            "Map, north at the top, you are @:",
            *_map(seen["chars"]),
            f"You see: {_things(seen)}",
            f"You carry: {_carried(seen)}",
            f"Hit points: {health} of {most}.",
        ]
    )


def _map(signs: Any) -> list[str]:
    rows, columns = (signs != ord(" ")).nonzero()
    if not len(rows):
        return ["(nothing)"]
    left, right = columns.min(), columns.max() + 1
    return [bytes(row[left:right]).decode("latin-1").rstrip() for row in signs[rows.min() : rows.max() + 1]]


def _things(seen: Mapping[str, Any]) -> str:
    """What stands on the map and is no plain ground, each with where it is, the nearest first."""
    column, row = map(int, seen["blstats"][:2])
    places: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for y, x in zip(*(part.tolist() for part in (seen["chars"] != ord(" ")).nonzero()), strict=True):
        name = decoded(seen["screen_descriptions"][y, x])
        if name not in _PLAIN and (y, x) != (row, column):
            places[name].append((max(abs(y - row), abs(x - column)), y - row, x - column))
    told = []
    for name, found in sorted(places.items(), key=lambda item: (min(item[1]), item[0])):
        nearest = [_way(down, right) for _, down, right in sorted(found)[:_AT_MOST]]
        more = [f"{len(found) - _AT_MOST} more"] if len(found) > _AT_MOST else []
        told.append(f"{name} ({'; '.join([*nearest, *more])})")
    return ", ".join(told) + "." if told else "nothing else."


def _way(down: int, right: int) -> str:
    parts = [f"{abs(down)} {'south' if down > 0 else 'north'}", f"{abs(right)} {'east' if right > 0 else 'west'}"]
    return ", ".join([part for part in parts if not part.startswith("0 ")])


def _carried(seen: Mapping[str, Any]) -> str:
    letters = [chr(letter) for letter in seen["inv_letters"] if letter]
    things = [f"{letter}: {decoded(line)}" for letter, line in zip(letters, seen["inv_strs"], strict=False)]
    return ", ".join(things) + "." if things else "nothing."
