"""Solve levels: the fewest moves by A* over moves, or for large rooms few pushes by weighted A* over pushes.

Both leave out positions that `deadlock` proves lost.
"""

import time
from collections.abc import Iterator, Mapping
from heapq import heappop, heappush
from itertools import count

from games.tasks.sokoban.deadlock import is_lost
from games.tasks.sokoban.room import MOVES, Room, bits, reachable

WEIGHT = 3
"""How much more than a push made an expected one counts in the search over pushes: fewer positions, more pushes."""
FAR = 10_000
"""Distance of a box that reaches no target."""


def fewest_moves(room: Room, boxes: int, player: int, most_positions: int) -> list[str] | None:
    """The shortest solution in moves; None where there is none, or none was found within so many positions."""
    width = (room.rows * room.columns).bit_length()
    inside, targets, walls = (1 << width) - 1, room.targets, room.walls
    guess = _Guess(room)
    start = boxes << width | player
    came: dict[int, tuple[int, int]] = {}
    best = {start: 0}
    heap = [(guess(boxes), 0, start)]
    while heap:
        _, made, position = heappop(heap)
        made = -made
        if best[position] < made:
            continue
        at, held = position & inside, position >> width
        if held == targets:
            return _way(came, position, start)
        if len(best) > most_positions:
            return None
        for number, step in enumerate(room.steps):
            to, after = at + step, held
            if walls >> to & 1:
                continue
            if held >> to & 1:
                beyond = to + step
                if (walls | held) >> beyond & 1:
                    continue
                after = held ^ (1 << to | 1 << beyond)
                if is_lost(room, after, beyond):
                    continue
            new = after << width | to
            if best.get(new, FAR * FAR) > made + 1:
                best[new] = made + 1
                came[new] = (position, number)
                heappush(heap, (made + 1 + guess(after), -(made + 1), new))
    return None


def few_pushes(room: Room, boxes: int, player: int, seconds: float) -> list[str] | None:
    """A solution with few pushes, its moves written out; None where there is none, or none was found in time."""
    until = time.monotonic() + seconds
    guess, order = _Guess(room), count()
    start = (boxes, _corner(reachable(room, boxes, player)))
    came: dict[tuple[int, int], tuple[tuple[int, int], int, int]] = {}
    best = {start: 0}
    heap = [(WEIGHT * guess(boxes), next(order), 0, start, player)]
    while heap:
        _, number, made, position, at = heappop(heap)
        held, _ = position
        if best[position] < made:
            continue
        if held == room.targets:
            return list(_written(room, player, boxes, _pushes(came, position, start)))
        if number % 64 == 0 and time.monotonic() > until:
            return None
        area = reachable(room, held, at)
        for box in bits(held):
            for step in room.steps:
                to = box + step
                if not area >> box - step & 1 or (room.walls | held) >> to & 1:
                    continue
                after = held ^ (1 << box | 1 << to)
                if is_lost(room, after, to):
                    continue
                new = (after, _corner(reachable(room, after, box)))
                if best.get(new, FAR * FAR) > made + 1 and (left := guess(after)) < FAR:
                    best[new] = made + 1
                    came[new] = (position, box, step)
                    heappush(heap, (made + 1 + WEIGHT * left, next(order), made + 1, new, box))
    return None


class _Guess:
    """Fewest pushes that bring every box to a target of its own, as if each were alone: never more than needed."""

    def __init__(self, room: Room) -> None:
        self._tables = [room.distances(target) for target in bits(room.targets)]
        self._known: dict[int, int] = {}

    def __call__(self, boxes: int) -> int:
        known = self._known.get(boxes)
        if known is None:
            known = self._known[boxes] = self._matched(list(bits(boxes)))
        return known

    def _matched(self, boxes: list[int]) -> int:
        costs = [[table.get(box, FAR) for table in self._tables] for box in boxes]
        return _assigned(costs)


def _assigned(costs: list[list[int]]) -> int:
    """The least sum with one column for each row: over sets of columns, row by row (exact; fit for up to some 15)."""
    sums = {0: 0}
    for row in costs:
        after: dict[int, int] = {}
        for taken, total in sums.items():
            for column, cost in enumerate(row):
                if not taken >> column & 1:
                    key = taken | 1 << column
                    if total + cost < after.get(key, FAR * FAR):
                        after[key] = total + cost
        sums = after
    return min(sums.values())


def _corner(area: int) -> int:
    """The first cell of an area, which names it."""
    return (area & -area).bit_length() - 1


def _way(came: Mapping[int, tuple[int, int]], position: int, start: int) -> list[str]:
    moves: list[str] = []
    while position != start:
        position, number = came[position]
        moves.append(MOVES[number])
    return moves[::-1]


def _pushes(
    came: Mapping[tuple[int, int], tuple[tuple[int, int], int, int]], position: tuple[int, int], start: tuple[int, int]
) -> list[tuple[int, int]]:
    """The pushes that led to a position: which box, and by which step."""
    pushes: list[tuple[int, int]] = []
    while position != start:
        position, box, step = came[position]
        pushes.append((box, step))
    return pushes[::-1]


def _written(room: Room, player: int, boxes: int, pushes: list[tuple[int, int]]) -> Iterator[str]:
    """Pushes with the walks between them, as moves."""
    names = dict(zip(room.steps, MOVES, strict=True))
    for box, step in pushes:
        for walked in _walk(room, boxes, player, box - step):
            yield names[walked]
        yield names[step]
        boxes ^= 1 << box | 1 << box + step
        player = box


def _walk(room: Room, boxes: int, player: int, goal: int) -> list[int]:
    """The steps of a shortest walk."""
    came: dict[int, int] = {player: 0}
    queue = [player]
    for cell in queue:
        if cell == goal:
            break
        for step in room.steps:
            to = cell + step
            if to not in came and not (room.walls | boxes) >> to & 1:
                came[to] = step
                queue.append(to)
    steps: list[int] = []
    while goal != player:
        steps.append(came[goal])
        goal -= came[goal]
    return steps[::-1]
