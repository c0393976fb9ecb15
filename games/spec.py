"""The grammar `name(key=value,...)` in which games and agents are named."""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import NoReturn, TypeAlias

from games.errors import UserError

Value: TypeAlias = "bool | int | float | str | list[Value]"

_NAME = re.compile(r"[A-Za-z0-9_][\w\-.]*")
_BARE = re.compile(r"""[^,()\[\]="'\s]+""")
_INTEGER = re.compile(r"[+-]?\d+")
_FLOAT = re.compile(r"[+-]?(\d+\.\d*|\.\d+|\d+(?=[eE]))([eE][+-]?\d+)?")
MAX_LENGTH = 20_000
MAX_DEPTH = 50
MANY = 20
"""Choices that an error message may list."""


class SpecError(UserError):
    """A game or agent string that cannot be read, or names something that does not exist."""


@dataclass(frozen=True)
class Spec:
    """A parsed spec: its name and its parameters as written. A nested spec stays a string in canonical form."""

    name: str
    params: Mapping[str, Value] = field(default_factory=dict)

    def __str__(self) -> str:
        """The canonical form: keys sorted, no spaces."""
        return _written(self.name, {key: render(value) for key, value in self.params.items()})


def parse(text: str) -> Spec:
    """Read one spec. Raises SpecError with the place where reading stopped."""
    return _Reader(text).whole()


def split(text: str) -> list[str]:
    """Split a comma list of specs at bracket depth 0; empty parts are dropped."""
    parts, depth, start, quote, escaped = [], 0, 0, "", False
    for place, char in enumerate(text):
        if escaped:
            escaped = False
        elif quote:
            escaped = char == "\\"
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:place])
            start = place + 1
    return [part.strip() for part in [*parts, text[start:]] if part.strip()]


def split_name(text: str) -> tuple[str | None, str]:
    """Split `NAME=SPEC` at the first `=` outside brackets; the name is None where there is none."""
    head, equals, tail = text.partition("=")
    if equals and not set("([\"'") & set(head):
        return head.strip(), tail.strip()
    return None, text.strip()


def render(value: Value) -> str:
    """Write a value so that `parse` reads the same value back."""
    return _rendered(value, 1)


def near(word: str, choices: Iterable[str], listed_by: str = "") -> str:
    """A phrase that names the choices nearest to a word, to end an error message.

    `listed_by` is the command that lists the choices, for words without a near one.
    """
    options = list(choices)
    if not options:
        return "it takes none"
    if close := _nearest(word, options):
        return "did you mean " + " or ".join(close) + "?"
    if len(options) <= MANY:
        return "choices: " + ", ".join(options)
    if listed_by:
        return f"`{listed_by}` lists them"
    return "choices: " + ", ".join(options[:MANY]) + f" and {len(options) - MANY} more"


def _nearest(word: str, options: list[str]) -> list[str]:
    """Up to three options that look like a word, then those that have it as a part; case does not matter."""
    folded = {option.casefold(): option for option in reversed(options)}
    sought = word.casefold()
    close = difflib.get_close_matches(sought, folded, n=3, cutoff=0.62)
    whole = re.compile(rf"(?:^|[_/]){re.escape(sought)}(?:$|[_/])")
    parts = [option for option in map(str.casefold, options) if whole.search(option)]
    return [folded[option] for option in list(dict.fromkeys([*close, *parts]))[:3]]


def _written(name: str, values: Mapping[str, str]) -> str:
    """A spec whose values are in canonical form."""
    inner = ",".join(f"{key}={value}" for key, value in sorted(values.items()))
    return f"{name}({inner})" if inner else name


def _rendered(value: Value, depth: int) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ",".join([_rendered(item, depth + 1) for item in value]) + "]"
    if isinstance(value, int | float):
        return repr(value)
    if _reads_back(value, depth):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _reads_back(text: str, depth: int) -> bool:
    """Whether a string may stand without quotes at a depth: it reads back as itself, not as another type."""
    if not text or text[0] in "\"'":
        return False
    try:
        reader = _Reader(text)
        value, _ = reader.value(depth)
        return reader.done() and isinstance(value, str) and value == text
    except SpecError:
        return False


class _Reader:
    """A recursive-descent reader over one string."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0
        if len(text) > MAX_LENGTH:
            self.fail(f"longer than {MAX_LENGTH} characters")

    def fail(self, why: str) -> NoReturn:
        shown = self.text if len(self.text) <= 80 else self.text[:77] + "..."
        raise SpecError(f"cannot read {shown!r}: {why} at character {self.place + 1}")

    def whole(self) -> Spec:
        name = self.match(_NAME, "a name")
        params = self.params(0) if self.at("(") else {}
        if not self.done():
            self.fail(f"unexpected {self.text[self.place]!r}")
        return Spec(name, {key: value for key, (value, _) in params.items()})

    def done(self) -> bool:
        self.space()
        return self.place >= len(self.text)

    def space(self) -> None:
        while self.place < len(self.text) and self.text[self.place].isspace():
            self.place += 1

    def at(self, char: str) -> bool:
        """Step over one character if it comes next."""
        self.space()
        if self.text.startswith(char, self.place):
            self.place += 1
            return True
        return False

    def need(self, char: str) -> None:
        if not self.at(char):
            self.fail(f"expected {char!r}")

    def match(self, pattern: re.Pattern[str], what: str) -> str:
        self.space()
        found = pattern.match(self.text, self.place)
        if not found:
            self.fail(f"expected {what}")
        self.place = found.end()
        return found.group()

    def params(self, depth: int) -> dict[str, tuple[Value, str]]:
        """Parameters up to the closing bracket: name -> (value, how it is written)."""
        if depth > MAX_DEPTH:
            self.fail(f"nested deeper than {MAX_DEPTH}")
        params: dict[str, tuple[Value, str]] = {}
        if self.at(")"):
            return params
        while True:
            key = self.match(_NAME, "a parameter name")
            self.need("=")
            if key in params:
                self.fail(f"parameter {key!r} given twice")
            params[key] = self.value(depth + 1)
            if self.at(")"):
                return params
            self.need(",")

    def value(self, depth: int) -> tuple[Value, str]:
        """A value and how it is written, so that a nested spec is put together once and not read again."""
        self.space()
        if self.at("["):
            items = list(self.items(depth))
            return [item for item, _ in items], "[" + ",".join([text for _, text in items]) + "]"
        if self.place < len(self.text) and self.text[self.place] in "\"'":
            text = self.quoted()
            return text, _rendered(text, depth)
        word = self.match(_BARE, "a value")
        if not self.at("("):
            value = _typed(word)
            return value, word if isinstance(value, str) else _rendered(value, depth)
        params = self.params(depth)
        nested = _written(word, {key: text for key, (_, text) in params.items()})
        return nested, nested if params else _rendered(nested, depth)

    def items(self, depth: int) -> Iterator[tuple[Value, str]]:
        if depth > MAX_DEPTH:
            self.fail(f"nested deeper than {MAX_DEPTH}")
        if self.at("]"):
            return
        while True:
            yield self.value(depth + 1)
            if self.at("]"):
                return
            self.need(",")

    def quoted(self) -> str:
        quote = self.text[self.place]
        self.place += 1
        letters: list[str] = []
        while self.place < len(self.text):
            char = self.text[self.place]
            self.place += 1
            if char == quote:
                return "".join(letters)
            if char == "\\" and self.place < len(self.text):
                char = self.text[self.place]
                self.place += 1
            letters.append(char)
        self.fail("a quote is not closed")


def _typed(word: str) -> Value:
    if word in ("true", "True"):
        return True
    if word in ("false", "False"):
        return False
    if _INTEGER.fullmatch(word):
        return int(word) if len(word) <= 30 else word
    if _FLOAT.fullmatch(word) and isfinite(float(word)):
        return float(word)
    return word
