"""Boards of MineSweeper: cells as bits of integers, neighbours, numbers, and what an opening opens."""

import random
from functools import lru_cache
from typing import NamedTuple

from games.seeding import derive
from games.tasks.instances import SplitName, belongs

TRIES = 10_000
"""Layouts that are drawn for one board before it is given up."""


class Field:
    """A rectangle of cells, numbered by rows."""

    def __init__(self, rows: int, columns: int) -> None:
        self.rows = rows
        self.columns = columns
        self.cells = rows * columns
        self.around = tuple([self._around(cell) for cell in range(self.cells)])
        """The neighbours of each cell, as a list."""
        self.masks = tuple([sum([1 << other for other in near]) for near in self.around])
        """The same as a set."""

    def _around(self, cell: int) -> tuple[int, ...]:
        row, column = divmod(cell, self.columns)
        return tuple(
            [
                down * self.columns + right
                for down in range(max(row - 1, 0), min(row + 2, self.rows))
                for right in range(max(column - 1, 0), min(column + 2, self.columns))
                if (down, right) != (row, column)
            ]
        )

    def opened(self, mines: int, open_: int, cell: int) -> int:
        """The open cells after a safe cell is opened: without a mine beside it, its neighbours open, too."""
        queue = [cell]
        open_ |= 1 << cell
        for now in queue:
            if mines & self.masks[now]:
                continue
            new = self.masks[now] & ~open_
            open_ |= new
            queue += [other for other in self.around[now] if new >> other & 1]
        return open_


class Board(NamedTuple):
    """One instance."""

    mines: int
    open: int
    """What is open at the start."""


@lru_cache(maxsize=64)
def field(rows: int, columns: int) -> Field:
    """The field of some measures, made once."""
    return Field(rows, columns)


def generate(rows: int, columns: int, mines: int, split: SplitName, instance: int) -> Board | None:
    """The board of an instance: its mines, and a first cell opened that neither is one nor opens all the others.

    The split is decided by where the mines are, so that no layout is in two of them. None where no board was found.
    """
    rng = random.Random(derive(instance, "minesweeper", rows, columns, mines))
    here, everything = field(rows, columns), (1 << rows * columns) - 1
    for _ in range(TRIES):
        placed = sum([1 << cell for cell in rng.sample(range(here.cells), mines)])
        if not belongs(split, "mines", rows, columns, placed):
            continue
        first = rng.choice([cell for cell in range(here.cells) if not placed >> cell & 1])
        open_ = here.opened(placed, 0, first)
        if open_ | placed != everything:
            return Board(placed, open_)
    return None
