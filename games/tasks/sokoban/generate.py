"""Make rooms: carve the floor by a random walk, put down targets, and play backwards from every solved position.

Playing backwards in breadth finds positions with the length of their shortest solution, so no search has to check them.
The carving follows the idea of the generator that DeepMind's I2A paper describes (arXiv 1707.06203, appendix); the
split is decided by the layout of walls, so that no layout is in two of them.
"""

import random
from collections.abc import Sequence

from games.errors import UserError
from games.seeding import derive
from games.tasks.instances import SplitName, belongs
from games.tasks.sokoban.room import Level, Room, bits

SHORTEST, LONGEST = 5, 21
"""Moves of the shortest solution of a generated room."""
TRIES = 2_000
"""Layouts that are drawn for one room before it is given up."""
PATIENCE = 20
"""Layouts in which a solution of the length that was drawn is looked for; then the longest one found is taken."""
MOST_POSITIONS = 30_000
"""Positions that are looked at backwards in one room; larger rooms are not searched to the end."""
TURN_SHARE = 0.35
"""How often the walk that carves turns."""
BRUSHES: tuple[tuple[tuple[int, int], ...], ...] = (
    ((0, 0), (0, 1), (0, -1)),
    ((0, 0), (1, 0), (-1, 0)),
    ((0, 0), (1, 0), (0, 1)),
    ((0, 0), (1, 0), (1, 1), (0, 1)),
    ((0, 0), (1, 0), (0, -1)),
)
"""What each step of the walk carves: cells as rows and columns from where it stands."""


def generate(rows: int, columns: int, boxes: int, split: SplitName, instance: int) -> Level:
    """The room of an instance. Raises UserError where the measures leave no room for what is asked."""
    rng = random.Random(derive(instance, "sokoban", rows, columns, boxes))
    wanted = rng.randint(SHORTEST, LONGEST)
    longest: tuple[int, Level] | None = None
    played = 0
    for _ in range(TRIES):
        walls, floor = _carve(rng, rows, columns)
        if len(floor) < 2 * boxes + 1 or not belongs(split, "layout", rows, columns, walls):
            continue
        targets = sum([1 << cell for cell in rng.sample(floor, boxes)])
        found = _played_back(rng, Room(rows, columns, walls, targets), wanted)
        played += 1
        if found is not None and (longest is None or found[0] > longest[0]):
            longest = found
        if longest is not None and (longest[0] == wanted or played >= PATIENCE):
            return longest[1]
    raise UserError(
        f"no room of {rows} x {columns} with {boxes} boxes was found that takes {SHORTEST} to {LONGEST} moves"
    )


def _carve(rng: random.Random, rows: int, columns: int) -> tuple[int, list[int]]:
    """Walls as a set of cells, and the floor as a list."""
    row, column = rng.randrange(1, rows - 1), rng.randrange(1, columns - 1)
    step = rng.choice(((0, 1), (0, -1), (1, 0), (-1, 0)))
    floor = 0
    for _ in range((rows + columns) * 3 // 2):
        if rng.random() < TURN_SHARE:
            step = rng.choice(((0, 1), (0, -1), (1, 0), (-1, 0)))
        row = min(max(row + step[0], 1), rows - 2)
        column = min(max(column + step[1], 1), columns - 2)
        for down, right in rng.choice(BRUSHES):
            if 1 <= row + down <= rows - 2 and 1 <= column + right <= columns - 2:
                floor |= 1 << (row + down) * columns + column + right
    return ((1 << rows * columns) - 1) ^ floor, list(bits(floor))


def _played_back(rng: random.Random, room: Room, wanted: int) -> tuple[int, Level] | None:
    """A position whose shortest solution has as many moves as wanted, or as near below as the room has one (at least
    SHORTEST), with that number. No box is on a target.
    """
    walls, targets, steps = room.walls, room.targets, room.steps
    width = (room.rows * room.columns).bit_length()
    inside = (1 << width) - 1
    free = ~walls & ~targets & ((1 << room.rows * room.columns) - 1)
    layer: list[int] = [targets << width | cell for cell in bits(free)]
    seen = set(layer)
    found: tuple[int, Sequence[int]] | None = None
    for depth in range(1, wanted + 1):
        before: list[int] = []
        for position in layer:
            player, boxes = position & inside, position >> width
            solid = walls | boxes
            for step in steps:
                back = player - step
                if solid >> back & 1:
                    continue
                walked = boxes << width | back
                if boxes != targets and walked not in seen:
                    seen.add(walked)
                    before.append(walked)
                if boxes >> player + step & 1:
                    pulled = (boxes ^ (1 << player + step | 1 << player)) << width | back
                    if pulled not in seen:
                        seen.add(pulled)
                        before.append(pulled)
        layer = before
        if depth >= SHORTEST and (away := [one for one in layer if not one >> width & targets]):
            found = depth, away
        if not layer or len(seen) > MOST_POSITIONS:
            break
    if found is None:
        return None
    position = rng.choice(found[1])
    return found[0], Level(room, position >> width, position & inside)
