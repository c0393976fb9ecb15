"""What a game string for OpenSpiel says: names and parameters, checked against what OpenSpiel takes."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import pyspiel

from games.spec import Spec, SpecError, Value, near, parse, render
from games.spiel_facts import DEFAULTS, LEFT_OUT

_SEATS = ("players", "num_players", "numPlayers")
_SEED = "rng_seed"
_FEN = re.compile(r"([pnbrqkPNBRQK1-8/]+) [wb] (?:-|[KQkqA-Ha-h]{1,4}) (?:-|[a-h][1-8]) \d{1,4} \d{1,4}")


class Recipe(NamedTuple):
    """How OpenSpiel loads a game."""

    name: str
    params: Mapping[str, Any]
    """As OpenSpiel takes them: a game inside a game is a dictionary with its `name`."""
    canonical: str
    """The game string that names it, defaults left out."""

    def names(self) -> Iterator[str]:
        """The names of the game and of all games inside it."""
        yield from _names(self.name, self.params)

    def is_plain(self) -> bool:
        """Whether no parameter is given, not even one that OpenSpiel declares to be the default."""
        return self.params == DEFAULTS.get(self.name, {})

    def values(self) -> Iterator[Any]:
        """The values of all parameters, those of games inside it too."""
        yield from _values(self.params)

    def takes_seed(self) -> bool:
        """Whether it, or a game inside it, takes a seed for the chance it draws by itself."""
        return any(_SEED in parameters(name) for name in self.names())

    def begins_with_chance(self) -> bool:
        """Whether chance comes first in it, whatever it declares: it draws whether a seat is the fixed one."""
        return "restricted_nash_response" in self.names()

    def chance_is_fixed(self, seats: int) -> bool:
        """Whether all its chance has one outcome only, whatever it declares.

        Goofspiel's cards may come in a fixed order, one seat alone has no conflicts in pathfinding, and the blobs
        that grow at random in stones_and_gems cannot be played.
        """
        names = set(self.names())
        alone = "pathfinding" in names and seats == 1
        ordered = _value(self.params, "points_order") not in (None, "random")
        return (alone or ordered or "stones_and_gems" in names) and not self.begins_with_chance()

    def extra_turns(self) -> int:
        """How many decisions an episode may have beyond what OpenSpiel says: the swap of hex is not counted there."""
        return int("hex" in self.names() and _value(self.params, "swap") is True)

    def hides_inside(self) -> bool:
        """Whether a game inside it is one of hidden information."""
        imperfect = pyspiel.GameType.Information.IMPERFECT_INFORMATION
        inner = [value for value in self.params.values() if isinstance(value, dict)]
        return any(pyspiel.load_game(game["name"], _bare(game)).get_type().information == imperfect for game in inner)

    def load(self, seed: int | None = None) -> Any:
        """Load it, with a seed of 31 bits for what it draws by itself."""
        params = self.params if seed is None else _with_seed(self.name, self.params, seed)
        return pyspiel.load_game(self.name, dict(params))


@lru_cache(maxsize=1)
def names() -> tuple[str, ...]:
    """Short names of the games that can be played, wrappers that need parameters among them."""
    return tuple([name for name in kinds() if name not in LEFT_OUT])


@lru_cache(maxsize=1)
def kinds() -> dict[str, Any]:
    """Short name -> GameType of every game that OpenSpiel has."""
    return {kind.short_name: kind for kind in pyspiel.registered_games()}


def parameters(name: str) -> dict[str, Any]:
    """The parameters a game takes, with their defaults. Raises SpecError with the near names for an unknown game."""
    if name in LEFT_OUT:
        raise SpecError(f"game {name!r} cannot be played here: {LEFT_OUT[name]}")
    if name not in kinds():
        raise SpecError(f"OpenSpiel has no game {name!r}; {near(name, names(), listed_by='arena games')}")
    return {**kinds()[name].parameter_specification, **DEFAULTS.get(name, {})}


def read(spec: Spec) -> Recipe:
    """The recipe of a spec. Raises SpecError for a game or parameter that OpenSpiel lacks and for a wrong value."""
    known = parameters(spec.name)
    params: dict[str, Any] = dict(DEFAULTS.get(spec.name, {}))
    given: dict[str, Value] = {}
    for key, value in spec.params.items():
        if key not in known:
            raise SpecError(f"game {spec.name!r} has no parameter {key!r}; {near(key, known)}")
        if isinstance(known[key], dict):
            inner = _nested(value, spec.name, key)
            params[key], given[key] = {"name": inner.name, **inner.params}, inner.canonical
            continue
        params[key] = _as_type_of(known[key], value, spec.name, key)
        _check_range(spec.name, key, params[key], known[key])
        if known[key] != params[key] or not kinds()[spec.name].default_loadable:  # there a "default" is an example
            given[key] = params[key]
    return Recipe(spec.name, params, str(Spec(spec.name, given)))


def _nested(value: Value, game: str, key: str) -> Recipe:
    """A game inside a game."""
    if not isinstance(value, str):
        raise SpecError(f"parameter {key!r} of game {game!r} takes a game, not {render(value)}")
    return read(parse(value))


def _as_type_of(default: Any, value: Value, game: str, key: str) -> Any:
    """A parameter in the type that OpenSpiel declares by its default."""
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if isinstance(default, str) and isinstance(value, int | float):
        value = render(value)
    if type(value) is not type(default):
        raise SpecError(f"parameter {key!r} of game {game!r} takes {type(default).__name__}, not {render(value)}")
    if isinstance(value, int) and not -(2**31) <= value < 2**31:
        raise SpecError(f"parameter {key!r} of game {game!r} takes whole numbers of 32 bits, not {value}")
    return value


def _check_range(game: str, key: str, value: Any, default: Any) -> None:
    """Refuse what OpenSpiel would crash on: a wrong number of seats, a file that is not there."""
    low, high = kinds()[game].min_num_players, kinds()[game].max_num_players
    if key in _SEATS and value != default and not low <= value <= high:
        raise SpecError(f"parameter {key!r} of game {game!r} takes {low} to {high}, not {value}")
    if key == "filename" and not Path(value).is_file():
        raise SpecError(f"parameter {key!r} of game {game!r}: there is no file {value!r}")
    if key == "fen" and value and not _is_position(value):
        raise SpecError(
            f"parameter {key!r} of game {game!r} is no chess position in Forsyth-Edwards notation: {value!r}"
        )


def _is_position(fen: str) -> bool:
    """Whether a text is a square board with both kings, in the six fields of Forsyth-Edwards notation."""
    found = _FEN.fullmatch(fen)
    if not found:
        return False
    ranks = [re.sub(r"\d", lambda digit: "." * int(digit[0]), rank) for rank in found[1].split("/")]
    pieces = "".join(ranks)
    return {len(rank) for rank in ranks} == {len(ranks)} and pieces.count("K") == pieces.count("k") == 1


def _value(params: Mapping[str, Any], key: str) -> Any:
    """A parameter of a game or of a game inside it; None where it is not given."""
    if key in params:
        return params[key]
    inner = [_value(value, key) for value in params.values() if isinstance(value, dict)]
    return next((value for value in inner if value is not None), None)


def _bare(game: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in game.items() if key != "name"}


def _names(name: str, params: Mapping[str, Any]) -> Iterator[str]:
    yield name
    for value in params.values():
        if isinstance(value, dict):
            yield from _names(value["name"], value)


def _values(params: Mapping[str, Any]) -> Iterator[Any]:
    for value in params.values():
        if isinstance(value, dict):
            yield from _values(value)
        else:
            yield value


def _with_seed(name: str, params: Mapping[str, Any], seed: int) -> dict[str, Any]:
    seeded = {
        key: _with_seed(value["name"], value, seed) if isinstance(value, dict) else value
        for key, value in params.items()
    }
    return seeded | {_SEED: seed} if _SEED in parameters(name) else seeded
