"""Rooms of Sokoban: cells as bits of integers, their text, and squares from which a box can reach no target."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from games.errors import UserError

WALL, FLOOR, TARGET, BOX, BOX_ON_TARGET, PLAYER, PLAYER_ON_TARGET = "#-.$*@+"
"""The signs of level files (XSB); their floor is a space, which text for language models should not end with."""
MOVES = ("up", "down", "left", "right")
MAX_SIDE = 64


class Room:
    """The fixed part of a level. A cell is its row times `columns` plus its column, a set of cells an integer's bits.

    The outermost cells are walls, or cannot be reached.
    """

    def __init__(self, rows: int, columns: int, walls: int, targets: int) -> None:
        self.rows = rows
        self.columns = columns
        self.walls = walls
        self.targets = targets

    @cached_property
    def steps(self) -> tuple[int, int, int, int]:
        """What each of MOVES adds to a cell."""
        return (-self.columns, self.columns, -1, 1)

    @cached_property
    def dead(self) -> int:
        """Cells from which a box, alone in the room, cannot be pushed to any target; walls are among them."""
        alive = 0
        for target in bits(self.targets):
            alive |= self.pulls(target)
        return ~alive & ((1 << self.rows * self.columns) - 1)

    def pulls(self, target: int) -> int:
        """Cells from which a box, alone in the room, can be pushed to a target, the player being where it helps."""
        return sum([1 << cell for cell in self.distances(target)])

    def distances(self, target: int) -> Mapping[int, int]:
        """Cell -> fewest pushes that bring a box, alone in the room, from there to a target."""
        walls, found, queue = self.walls, {target: 0}, [target]
        for cell in queue:
            for step in self.steps:
                before, behind = cell - step, cell - 2 * step
                if before not in found and behind >= 0 and not (walls >> before & 1 or walls >> behind & 1):
                    found[before] = found[cell] + 1
                    queue.append(before)
        return found

    def draw(self, boxes: int, player: int) -> str:
        """The room as text, a line for each row."""
        cells = [WALL if self.walls >> cell & 1 else FLOOR for cell in range(self.rows * self.columns)]
        for cell in bits(self.targets):
            cells[cell] = TARGET
        for cell in bits(boxes):
            cells[cell] = BOX_ON_TARGET if cells[cell] == TARGET else BOX
        cells[player] = PLAYER_ON_TARGET if cells[player] == TARGET else PLAYER
        return "\n".join(["".join(cells[row : row + self.columns]) for row in range(0, len(cells), self.columns)])


class Level(NamedTuple):
    """A room with its boxes and the player at their first places."""

    room: Room
    boxes: int
    player: int


def bits(cells: int) -> Iterator[int]:
    """The cells of a set, in order."""
    while cells:
        lowest = cells & -cells
        yield lowest.bit_length() - 1
        cells ^= lowest


def read_level(lines: Sequence[str], file: str = "level", first: int = 1) -> Level:
    """Read a level from its rows, of which the first is a line of a file.

    Raises UserError with file, line and what was expected for what is no level.
    """
    where = f"{file}, line {first}"
    rows, columns = len(lines), max(map(len, lines), default=0)
    if not (3 <= rows <= MAX_SIDE and 3 <= columns <= MAX_SIDE):
        raise UserError(f"{where}: a level of {rows} rows and {columns} columns; 3 to {MAX_SIDE} of each were expected")
    walls = targets = boxes = 0
    players: list[int] = []
    for row, line in enumerate(lines):
        for column, sign in enumerate(line.ljust(columns)):
            cell = row * columns + column
            if sign == WALL:
                walls |= 1 << cell
            elif sign not in " -_" + TARGET + BOX + BOX_ON_TARGET + PLAYER + PLAYER_ON_TARGET:
                raise UserError(
                    f"{file}, line {first + row}, column {column + 1}: {sign!r} is none of # @ + $ * . and space"
                )
            if sign in (TARGET, BOX_ON_TARGET, PLAYER_ON_TARGET):
                targets |= 1 << cell
            if sign in (BOX, BOX_ON_TARGET):
                boxes |= 1 << cell
            if sign in (PLAYER, PLAYER_ON_TARGET):
                players.append(cell)
    if len(players) != 1:
        raise UserError(f"{where}: {len(players)} players; one (@ or +) was expected")
    if boxes.bit_count() != targets.bit_count() or not boxes:
        counts = f"{boxes.bit_count()} boxes and {targets.bit_count()} targets"
        raise UserError(f"{where}: {counts}; as many of both, and some, were expected")
    room = Room(rows, columns, walls, targets)
    for cell in bits(reachable(room, 0, players[0])):
        row, column = divmod(cell, columns)
        if row in (0, rows - 1) or column in (0, columns - 1):
            raise UserError(f"{file}, line {first + row}, column {column + 1}: the room is open; a wall was expected")
    if boxes == targets:
        raise UserError(f"{where}: every box is on a target already")
    return Level(room, boxes, players[0])


def reachable(room: Room, boxes: int, player: int) -> int:
    """Cells that the player can walk to without pushing."""
    free = ~(room.walls | boxes) & ((1 << room.rows * room.columns) - 1)
    side, seen, fringe = room.columns, 0, 1 << player
    while fringe:
        seen |= fringe
        fringe = (fringe << 1 | fringe >> 1 | fringe << side | fringe >> side) & free & ~seen
    return seen
