"""TOML files and flags as pydantic models: what is wrong is told by file, line and key."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from pydantic import BaseModel, ValidationError

from games.errors import UserError
from games.spec import near

Place: TypeAlias = Sequence[str | int]
"""Keys and places in lists that lead to a value."""

_M = TypeVar("_M", bound=BaseModel)
_EXPECTED = {"tuple_type": "input should be a list, as in [...]"}
_HEADER = re.compile(r"""[ \t]*(\[{1,2})[ \t]*((?:[\w\-]+|"[^"]*"|'[^']*'|[ \t.])+?)[ \t]*\]{1,2}""")
_KEY = re.compile(r"""[ \t]*((?:[\w\-]+|"[^"]*"|'[^']*')(?:[ \t]*\.[ \t]*(?:[\w\-]+|"[^"]*"|'[^']*'))*)[ \t]*=""")


def read(path: Path) -> tuple[str, dict[str, Any]]:
    """The text of a TOML file and its keys. Raises UserError for a file that is none."""
    try:
        text = path.read_text(encoding="utf-8")
        return text, tomllib.loads(text)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"cannot read {path}: it is not UTF-8 text ({error.reason})") from None
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path}: {error}") from None


def made(model: type[_M], values: Mapping[str, Any], needed: Mapping[str, str] | None = None) -> _M:
    """A model of some values. Raises UserError with one line: the key, its value and what is expected.

    `needed` says what to do about keys that are missing.
    """
    try:
        return model(**values)
    except ValidationError as error:
        raise UserError(_first_fault(error, model, needed or {})[1]) from None


def from_file(model: type[_M], path: Path, flags: Mapping[str, Any], needed: Mapping[str, str] | None = None) -> _M:
    """A model of a file's keys and of flags, which count more. Raises UserError: file, line and key are named."""
    text, values = read(path)
    for key in values:
        if key not in model.model_fields:
            raise UserError(f"{path}, line {line_of(text, [key])}: no key {key!r}; {near(key, model.model_fields)}")
    try:
        return model(**{**values, **flags})
    except ValidationError as error:
        place, words = _first_fault(error, model, needed or {})
        stated = place and place[0] in values and place[0] not in flags
        raise UserError(f"{path}, line {line_of(text, place)}: {words}" if stated else words) from None


def line_of(text: str, place: Place) -> int:
    """The line (from 1) that sets a key, or else the one that opens the nearest table around it; 1 if there is none."""
    best, found = 0, 1
    for number, here in _lines(text):
        reach = _shared(place, here)
        if reach == len(here) and reach > best:
            best, found = reach, number
    return found


def _lines(text: str) -> Iterator[tuple[int, list[str | int]]]:
    """Each line that sets a key or opens a table, with what leads to it."""
    table: list[str | int] = []
    counts: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.match(line):
            names = _names(header[2])
            table = [*names]
            if header[1] == "[[":
                counts[header[2]] = counts.get(header[2], -1) + 1
                table.append(counts[header[2]])
            yield number, table
        elif key := _KEY.match(line):
            yield number, [*table, *_names(key[1])]


def _names(dotted: str) -> list[str]:
    return [part.strip("\"'") for part in re.findall(r"""[\w\-]+|"[^"]*"|'[^']*'""", dotted)]


def _shared(one: Place, other: Place) -> int:
    for count, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return count
    return min(len(one), len(other))


def _first_fault(error: ValidationError, model: type[BaseModel], needed: Mapping[str, str]) -> tuple[Place, str]:
    """What the first fault is about, and the fault in words."""
    fault = error.errors(include_url=False)[0]
    place = fault["loc"]
    key = str(place[0]) if place else ""
    if fault["type"] in ("missing", "too_short") and key in needed:
        return place, needed[key]
    where = ".".join(str(part) for part in place)
    if fault["type"] == "missing":
        return place, f"no {where} is given"
    if fault["type"] == "extra_forbidden":
        return place, f"no key {where!r}; {near(str(place[-1]), _fields(model, place[:-1]))}"
    why = fault["msg"].removeprefix("Value error, ")
    expected = _EXPECTED.get(fault["type"]) or why[0].lower() + why[1:]
    if place and place[-1] == "on_fault":
        expected = "choices: forfeit, fallback, retry(N)"
    return place, f"{where} = {fault['input']!r}: {expected}" if fault["type"] != "value_error" or place else expected


def _fields(model: Any, place: Place) -> list[str]:
    """The fields of the model that a place leads to."""
    for part in place:
        if isinstance(part, int):
            continue
        model = model.model_fields[part].annotation
        while not hasattr(model, "model_fields"):
            inner = [kind for kind in getattr(model, "__args__", ()) if kind is not type(None) and kind is not Ellipsis]
            if not inner:
                return []
            model = inner[0]
    return list(model.model_fields)
