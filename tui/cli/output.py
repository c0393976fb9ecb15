"""What the command line prints: tables and JSON on stdout, narration on stderr, never anything that acts as markup."""

import json
import sys
import unicodedata
from collections.abc import Sequence
from typing import Any


def safe(text: str) -> str:
    """Text with every control and formatting character but line breaks and tabs shown as a replacement character.

    Agents' words and names come from anywhere: escape sequences and reversed writing must not reach the terminal.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join([char if _shows(char) else "\N{REPLACEMENT CHARACTER}" for char in text])


def _shows(char: str) -> bool:
    return char in "\n\t" or unicodedata.category(char)[0] != "C"


def narrate(line: str) -> None:
    """Say something to a person, on stderr."""
    print(safe(line), file=sys.stderr)


def print_json(value: Any) -> None:
    """Print a value as JSON on stdout; numbers that JSON does not know become null."""
    print(json.dumps(value, indent=2, allow_nan=False))


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table on stdout: text to the left, numbers to the right; no cell is read as markup."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(safe(title), "bold"), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for place, column in enumerate(columns):
        numeric = bool(rows) and all(isinstance(row[place], int | float) or row[place] is None for row in rows)
        table.add_column(Text(column), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*[Text(_cell(value)) for value in row])
    width = None if sys.stdout.isatty() else 200
    Console(width=width, highlight=False).print(table)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.2f}"
    return safe(str(value))
