"""Reading an action out of what somebody answered: a person's line, or a language model's text."""

from collections.abc import Sequence
from enum import Enum
from string import ascii_lowercase, ascii_uppercase
from typing import NamedTuple

from games.game import Action

PARSER_VERSION = 1
"""Raised when the same text begins to be read differently: part of every language agent's fingerprint."""

OPEN, CLOSE = "<action>", "</action>"
"""The tags around an action."""

THINK, THOUGHT = "<think>", "</think>"
"""The tags around what a model thinks and does not say."""

_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


class Read(Enum):
    """How an action was read, or why none was."""

    EXACT = "exact"
    LOOSE = "loose"
    """Case of the letters a to z, or spacing, differed."""
    PREFIX = "prefix"
    """It is how an action begins."""
    INDEX = "index"
    """It is an action's place in the list, from 1."""
    OPEN = "open"
    """It is none of the actions listed, where other text is accepted too."""
    AMBIGUOUS = "ambiguous"
    """It may mean several actions."""
    ILLEGAL = "illegal"
    """It means no legal action."""
    UNPARSABLE = "unparsable"
    """There are no action tags, or nothing between them."""


class Reading(NamedTuple):
    """What an answer came to."""

    action: Action
    """A legal action; else what stood between the tags; empty where nothing did."""
    how: Read


def read(answer: str, legal: Sequence[Action], *, free: bool = False) -> Reading:
    """Read the last action in tags after all thinking. Takes time linear in the answer's length.

    `free` says that text other than a legal action is accepted too; it is then taken as it stands.
    """
    inner = tagged(spoken(answer))
    if not inner:
        return Reading("", Read.UNPARSABLE)
    if free:
        return Reading(inner, Read.EXACT if inner in legal else Read.OPEN)
    how, found = meant(inner, legal)
    return Reading(found[0], how) if len(found) == 1 else Reading(inner, how)


def spoken(answer: str) -> str:
    """What a model says after it has thought; a thought that was never finished is not said."""
    said = answer[answer.rfind(THOUGHT) + len(THOUGHT) :] if THOUGHT in answer else answer
    return said.partition(THINK)[0]


def tagged(text: str) -> str:
    """What stands in the last action tags that were closed, without space around it; empty if there are none."""
    start = text.rfind(OPEN, 0, max(text.rfind(CLOSE), 0))
    if start < 0:
        return ""
    start += len(OPEN)
    return text[start : text.find(CLOSE, start)].strip()


def meant(text: str, legal: Sequence[Action]) -> tuple[Read, list[Action]]:
    """The legal actions that a text may mean, by the first of the four readings that fits any."""
    typed = text.strip()
    if typed in legal:
        return Read.EXACT, [typed]
    bare = _bare(typed)
    if not bare:
        return Read.ILLEGAL, []
    names = [_bare(action) for action in legal]
    how, found = Read.LOOSE, [action for action, name in zip(legal, names, strict=True) if name == bare]
    if not found:
        how, found = Read.PREFIX, [action for action, name in zip(legal, names, strict=True) if name.startswith(bare)]
    if not found and numbered(legal):
        how, found = Read.INDEX, [action for place, action in enumerate(legal, start=1) if bare == str(place)]
    if len(found) == 1:
        return how, found
    return Read.AMBIGUOUS if found else Read.ILLEGAL, found


def numbered(legal: Sequence[Action]) -> bool:
    """Whether a number may stand for a legal action: not where one of them is itself a number."""
    return not any(_bare(action).isdecimal() for action in legal)


def _bare(text: str) -> str:
    """Text without spaces, a to z in lower case. No other letters are taken for each other, however alike they look."""
    return "".join(text.split()).translate(_LOWER)
