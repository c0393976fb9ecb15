"""Draw boards whose row and column labels are the words that actions use."""

from collections.abc import Sequence
from string import ascii_lowercase


def letters(count: int) -> list[str]:
    """Column letters: a to z, then aa, ab and so on."""
    names = list(ascii_lowercase)
    while len(names) < count:
        names += [first + last for first in names[-(26 ** len(names[-1])) :] for last in ascii_lowercase]
    return names[:count]


def draw(columns: Sequence[str], rows: Sequence[str], cells: Sequence[Sequence[str]], lean: int = 0) -> str:
    """Draw `cells[row][column]` under column labels and beside row labels.

    Each row is moved `lean` characters further right than the one above it.
    """
    left = max(len(label) for label in rows)
    width = max(len(text) for line in [columns, *cells] for text in line)
    lines = [" " * left + "".join([f" {label:>{width}}" for label in columns])]
    for number, (label, line) in enumerate(zip(rows, cells, strict=True)):
        indent = " " * (lean * number)
        lines.append(indent + f"{label:>{left}}" + "".join([f" {cell:>{width}}" for cell in line]))
    return "\n".join(lines)
