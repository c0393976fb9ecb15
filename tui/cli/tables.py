"""Tables on stdout that stay readable at any width; no cell is read as markup."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui.cli.output import narrate, safe

if TYPE_CHECKING:
    from rich.table import Table

Rows = Sequence[Sequence[object]]

ENDLESS = 100_000
"""Width where there is no terminal: whoever reads on wants whole lines."""


def print_table(
    title: str, columns: Sequence[str], rows: Rows, spare: Sequence[str] = (), wraps: str | None = None
) -> None:
    """Print a table, text to the left and numbers to the right.

    Where the terminal is too narrow the columns in `spare` give way, the first one first, and stderr says so; the
    column `wraps` may break over lines. No other cell is ever cut: what still does not fit runs over the edge.
    """
    from rich.console import Console

    width = ENDLESS
    if sys.stdout.isatty():
        width = Console().width
    left_out: list[str] = []
    while natural_width(columns, rows, wraps) > width and len(left_out) < len(spare):
        name = spare[len(left_out)]
        left_out.append(name)
        place = columns.index(name)
        columns = [*columns[:place], *columns[place + 1 :]]
        rows = [[*row[:place], *row[place + 1 :]] for row in rows]
    table = _table(title, columns, rows, wraps)
    Console(width=max(width, natural_width(columns, rows, wraps)), highlight=False).print(table)
    if left_out:
        narrate(f"too narrow for {', '.join(left_out)}: a wider terminal or --json shows all")


def fits(columns: Sequence[str], rows: Rows) -> bool:
    """Whether a table can be shown without leaving anything out."""
    from rich.console import Console

    return not sys.stdout.isatty() or natural_width(columns, rows, None) <= Console().width


def natural_width(columns: Sequence[str], rows: Rows, wraps: str | None) -> int:
    """Characters in a line of a table in which only the column `wraps` is folded, to 20 characters at the least."""
    from rich.cells import cell_len

    total = 2 * len(columns)
    for place, column in enumerate(columns):
        longest = max([cell_len(column), *[cell_len(_cell(row[place])) for row in rows]])
        total += min(longest, 20) if column == wraps else longest
    return total


def _table(title: str, columns: Sequence[str], rows: Rows, wraps: str | None) -> "Table":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    heading = Text(safe(title), "bold") if title else None
    table = Table(title=heading, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for place, column in enumerate(columns):
        numeric = bool(rows) and all(isinstance(row[place], int | float) or row[place] is None for row in rows)
        table.add_column(Text(column), justify="right" if numeric else "left", overflow="fold", no_wrap=column != wraps)
    for row in rows:
        table.add_row(*[Text(_cell(value)) for value in row])
    return table


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.2f}"
    return safe(str(value))
