"""What the command line prints: JSON on stdout, narration on stderr, never anything that acts as markup."""

import json
import re
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import Any

from games.text.printable import safe as safe


def narrate(line: str) -> None:
    """Say something to a person, on stderr."""
    print(safe(line), file=sys.stderr)


def print_json(value: Any) -> None:
    """Print a value as JSON on stdout; raises ValueError for a number that JSON does not know."""
    print(json.dumps(value, indent=2, allow_nan=False))


def print_text(text: str, indent: str = "") -> None:
    """Print a text with its own line breaks, and more between words where the terminal is narrower than a line."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in safe(text).split("\n"):
        shown = indent + line if line else ""
        print("\n".join(_folded(shown, width)) if width else shown)


def print_list(text: str, indent: str = "   ") -> None:
    """Print one line, broken after commas where the terminal is narrower."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    line = ""
    for part in re.split(r"(?<=,)", safe(text)):
        if width and len(line) + len(part) > width and line.strip():
            print(line)
            line = indent
        line += part
    print(line)


def _folded(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.wrap(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def outcome(names: Sequence[str], returns: Sequence[float], solved: bool | None) -> str:
    """How an episode came out, in a line: the returns by name, and of a task whether it was solved."""
    told = ", ".join([f"{name} {value:+g}" for name, value in zip(names, returns, strict=True)])
    return told if solved is None else f"{told}, {'solved' if solved else 'not solved'}"
