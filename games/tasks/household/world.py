"""The engine: a house as it was made, and what commands do in it.

The commands and their effects are those of ALFWorld (arXiv 2010.03768), so that both come to the same goal by them.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from games.tasks.household.tables import CLEANER, COOLER, FURNITURE, HEATER, KNIVES, LAMP, THINGS

Kind: TypeAlias = Literal["pick", "look", "clean", "heat", "cool", "pick_two"]
KINDS: tuple[Kind, ...] = ("pick", "look", "clean", "heat", "cool", "pick_two")
NOWHERE = -1
"""The middle of the room, and the hand that holds nothing."""


class Goal(NamedTuple):
    """What is to be reached."""

    kind: Kind
    thing: str
    """Kind of thing."""
    place: str
    """Kind of furniture to put it in or on; the lamp's kind in `look`."""


class House:
    """The fixed part of an instance. Places and things are numbered from 0, in the order of their names."""

    __slots__ = (
        "goal",
        "open",
        "place_kinds",
        "place_of",
        "places",
        "room",
        "start",
        "thing_kinds",
        "thing_of",
        "things",
    )

    def __init__(
        self,
        room: str,
        place_kinds: Sequence[str],
        thing_kinds: Sequence[str],
        lies: Sequence[int],
        goal: Goal,
    ) -> None:
        """`lies` has the place of each thing."""
        self.room = room
        self.goal = goal
        self.place_kinds = tuple(place_kinds)
        self.thing_kinds = tuple(thing_kinds)
        self.places = _numbered(place_kinds)
        self.things = _numbered(thing_kinds)
        self.place_of = {name: place for place, name in enumerate(self.places)}
        self.thing_of = {name: thing for thing, name in enumerate(self.things)}
        inside: list[list[int]] = [[] for _ in self.places]
        for thing, place in enumerate(lies):
            inside[place].append(thing)
        self.start = tuple([tuple(held) for held in inside])
        self.open = sum([1 << place for place, kind in enumerate(place_kinds) if not FURNITURE[kind].openable])


class Marks(NamedTuple):
    """What was done to things, each as a set: the bits of an integer."""

    hot: int = 0
    cool: int = 0
    clean: int = 0
    sliced: int = 0
    lit: int = 0


class Told(NamedTuple):
    """What a command came to."""

    what: str
    thing: int = NOWHERE
    other: int = NOWHERE
    """A place, or the knife that was used."""


STARTED, NOTHING = Told("start"), Told("nothing")


class World:
    """A house while it is lived in."""

    __slots__ = ("contents", "held", "here", "house", "marks", "opened", "reached")

    def __init__(self, house: House) -> None:
        self.house = house
        self.here = NOWHERE
        self.held = NOWHERE
        self.contents = list(house.start)
        self.opened = house.open
        self.marks = Marks()
        self.reached = False
        """Whether the goal has been reached."""

    def do(self, command: str) -> Told:
        """Carry a command out; what means nothing, or cannot be done now, is NOTHING and changes nothing."""
        words = command.lower().split()
        doer = _DOERS.get(words[0]) if words else None
        return (doer(self, words) or NOTHING) if doer else NOTHING

    def seen(self) -> tuple[int, ...]:
        """The things that can be seen: those here, if here is open."""
        return self.contents[self.here] if self.here >= 0 and self.opened >> self.here & 1 else ()

    def _go(self, words: list[str]) -> Told | None:
        if len(words) != 4 or words[1] != "to":
            return None
        place = self.house.place_of.get(f"{words[2]} {words[3]}")
        if place is None or place == self.here:
            return None
        self.here = place
        self._look_in_light()
        return Told("go", other=place)

    def _open(self, words: list[str]) -> Told | None:
        place = self._place_here(words, 1)
        if place is None or len(words) != 3 or self.opened >> place & 1:
            return None
        self.opened |= 1 << place
        return Told("open", other=place)

    def _close(self, words: list[str]) -> Told | None:
        place = self._place_here(words, 1)
        if place is None or len(words) != 3 or not self.opened >> place & 1 or self.house.open >> place & 1:
            return None
        self.opened ^= 1 << place
        return Told("close", other=place)

    def _take(self, words: list[str]) -> Told | None:
        if len(words) != 6 or words[3] != "from" or self.held >= 0:
            return None
        place, thing = self._place_here(words, 4), self.house.thing_of.get(f"{words[1]} {words[2]}")
        if place is None or thing is None or thing not in self.seen() or self.house.thing_kinds[thing] == LAMP:
            return None
        self.contents[place] = tuple([one for one in self.contents[place] if one != thing])
        self.held = thing
        self._look_in_light()
        return Told("take", thing, place)

    def _move(self, words: list[str]) -> Told | None:
        if len(words) != 6 or words[3] != "to":
            return None
        place, thing = self._place_here(words, 4), self._held(words)
        if place is None or thing is None or not self.opened >> place & 1:
            return None
        if self.house.place_kinds[place] not in THINGS[self.house.thing_kinds[thing]].places:
            return None
        self.contents[place] += (thing,)
        self.held = NOWHERE
        self._put(thing, place)
        return Told("move", thing, place)

    def _use(self, words: list[str]) -> Told | None:
        if len(words) != 3:
            return None
        thing = self.house.thing_of.get(f"{words[1]} {words[2]}")
        if thing is None or self.house.thing_kinds[thing] != LAMP or thing not in self.seen():
            return None
        if self.marks.lit >> thing & 1:
            return None
        self.marks = self.marks._replace(lit=self.marks.lit | 1 << thing)
        self._look_in_light()
        return Told("use", thing)

    def _heat(self, words: list[str]) -> Told | None:
        thing = self._treated(words, HEATER)
        if thing is None or not THINGS[self.house.thing_kinds[thing]].heated:
            return None
        marks = self.marks
        self.marks = marks._replace(hot=marks.hot | 1 << thing, cool=marks.cool & ~(1 << thing))
        return Told("heat", thing, self.here)

    def _cool(self, words: list[str]) -> Told | None:
        thing = self._treated(words, COOLER)
        if thing is None or not THINGS[self.house.thing_kinds[thing]].cooled:
            return None
        marks = self.marks
        self.marks = marks._replace(cool=marks.cool | 1 << thing, hot=marks.hot & ~(1 << thing))
        return Told("cool", thing, self.here)

    def _clean(self, words: list[str]) -> Told | None:
        thing = self._treated(words, CLEANER)
        if thing is None or not THINGS[self.house.thing_kinds[thing]].cleaned:
            return None
        self.marks = self.marks._replace(clean=self.marks.clean | 1 << thing)
        return Told("clean", thing, self.here)

    def _slice(self, words: list[str]) -> Told | None:
        if (
            len(words) != 6
            or words[3] != "with"
            or self.held < 0
            or self.house.things[self.held] != " ".join(words[4:])
        ):
            return None
        thing = self.house.thing_of.get(f"{words[1]} {words[2]}")
        kinds = self.house.thing_kinds
        if (
            thing is None
            or thing not in self.seen()
            or not THINGS[kinds[thing]].sliced
            or kinds[self.held] not in KNIVES
        ):
            return None
        if self.marks.sliced >> thing & 1:
            return None
        self.marks = self.marks._replace(sliced=self.marks.sliced | 1 << thing)
        return Told("slice", thing, self.held)

    def _examine(self, words: list[str]) -> Told | None:
        if len(words) != 3:
            return None
        if (place := self._place_here(words, 1)) is not None:
            return Told("examine place", other=place)
        thing = self.house.thing_of.get(f"{words[1]} {words[2]}", NOWHERE)
        return Told("examine", thing) if thing >= 0 and (thing == self.held or thing in self.seen()) else None

    def _alone(self, words: list[str]) -> Told | None:
        return Told(words[0]) if len(words) == 1 else None

    def _place_here(self, words: list[str], first: int) -> int | None:
        """The place that two words name, if it is the one at which the player stands."""
        if self.here < 0 or self.house.places[self.here] != " ".join(words[first : first + 2]):
            return None
        return self.here

    def _held(self, words: list[str]) -> int | None:
        """The thing that the second and third word name, if it is the one in the hand."""
        return self.held if self.held >= 0 and self.house.things[self.held] == f"{words[1]} {words[2]}" else None

    def _treated(self, words: list[str], device: str) -> int | None:
        """The thing of `VERB O with R`, if it is held at such a device."""
        if len(words) != 6 or words[3] != "with" or self._place_here(words, 4) is None:
            return None
        return self._held(words) if self.house.place_kinds[self.here] == device else None

    def _put(self, thing: int, place: int) -> None:
        """See whether the goal is reached by a thing that was just put somewhere."""
        goal, house, marks = self.house.goal, self.house, self.marks
        if house.thing_kinds[thing] != goal.thing or house.place_kinds[place] != goal.place:
            return
        if goal.kind == "pick_two":
            kinds = [house.thing_kinds[one] for one in self.contents[place]]
            self.reached = kinds.count(goal.thing) >= 2
        else:
            done = {"clean": marks.clean, "heat": marks.hot, "cool": marks.cool}.get(goal.kind, -1)
            self.reached = bool(done >> thing & 1)

    def _look_in_light(self) -> None:
        """See whether the goal is reached by what is held, and a lamp."""
        goal, kinds = self.house.goal, self.house.thing_kinds
        if goal.kind == "look" and self.marks.lit and self.held >= 0 and kinds[self.held] == goal.thing:
            self.reached = any([self.marks.lit >> thing & 1 for thing in self.seen()])


_DOERS: dict[str, Callable[[World, list[str]], Told | None]] = {
    "go": World._go,
    "open": World._open,
    "close": World._close,
    "take": World._take,
    "move": World._move,
    "use": World._use,
    "heat": World._heat,
    "cool": World._cool,
    "clean": World._clean,
    "slice": World._slice,
    "examine": World._examine,
    "inventory": World._alone,
    "look": World._alone,
    "help": World._alone,
}


def _numbered(kinds: Sequence[str]) -> tuple[str, ...]:
    """Names such as `apple 2`: each kind counted from 1."""
    count: dict[str, int] = {}
    names: list[str] = []
    for kind in kinds:
        count[kind] = count.get(kind, 0) + 1
        names.append(f"{kind} {count[kind]}")
    return tuple(names)
