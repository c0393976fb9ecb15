"""How likely each closed cell is a mine, exactly, and the cell that is best to open.

Closed cells beside the same open numbers are alike, so layouts are counted by how many mines each group of such cells
holds: the number of layouts is a product of binomial coefficients, and groups that no number touches take what is left.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, product
from math import comb, prod

from games.tasks.minesweeper.field import Field

Numbers = Mapping[int, int]
"""Open cell -> mines around it."""


def chances(field: Field, numbers: Numbers, mines: int) -> dict[int, Fraction]:
    """Closed cell -> probability that it is a mine, all layouts of `mines` mines being as likely.

    Raises ValueError where no layout agrees with the numbers.
    """
    groups = _groups(field, numbers)
    total = 0
    weighted = [0] * len(groups)
    sizes = [len(cells) for _, cells in groups]
    for counts in _layouts(field, numbers, groups, mines):
        ways = 1
        for size, count in zip(sizes, counts, strict=True):
            ways *= comb(size, count)
        total += ways
        for place, count in enumerate(counts):
            weighted[place] += ways * count
    if not total:
        raise ValueError("no layout of mines agrees with the numbers")
    return {
        cell: Fraction(weight, total * len(cells))
        for (_, cells), weight in zip(groups, weighted, strict=True)
        for cell in cells
    }


def _groups(field: Field, numbers: Numbers) -> list[tuple[frozenset[int], list[int]]]:
    """Closed cells by which numbers they are beside; those beside the most come first, those beside none last."""
    beside: dict[frozenset[int], list[int]] = {}
    for cell in range(field.cells):
        if cell not in numbers:
            key = frozenset([other for other in field.around[cell] if other in numbers])
            beside.setdefault(key, []).append(cell)
    return sorted(beside.items(), key=lambda group: (not group[0], min(group[0], default=0), group[1]))


def _layouts(
    field: Field, numbers: Numbers, groups: Sequence[tuple[frozenset[int], Sequence[int]]], mines: int
) -> Iterator[list[int]]:
    """How many mines each group may hold, in every way that agrees with the numbers."""
    need = dict(numbers)
    room = {number: sum([len(cells) for key, cells in groups if number in key]) for number in numbers}
    counts = [0] * len(groups)

    def fill(place: int, left: int) -> Iterator[list[int]]:
        if place == len(groups):
            if left == 0:
                yield list(counts)
            return
        key, cells = groups[place]
        size = len(cells)
        for number in key:
            room[number] -= size
        low = max([0, *[need[number] - room[number] for number in key]])
        high = min([size, left, *[need[number] for number in key]])
        if place == len(groups) - 1:
            low = max(low, left)
        for count in range(low, high + 1):
            counts[place] = count
            for number in key:
                need[number] -= count
            yield from fill(place + 1, left - count)
            for number in key:
                need[number] += count
        for number in key:
            room[number] += size

    yield from fill(0, mines)


def layouts(field: Field, numbers: Numbers, mines: int, most: int) -> list[int] | None:
    """Every layout that agrees with the numbers, as sets of cells; None where there are more than `most`."""
    groups = _groups(field, numbers)
    found: list[int] = []
    for counts in _layouts(field, numbers, groups, mines):
        ways = 1
        for (_, cells), count in zip(groups, counts, strict=True):
            ways *= comb(len(cells), count)
        if len(found) + ways > most:
            return None
        parts = [
            [sum([1 << cell for cell in chosen]) for chosen in combinations(cells, count)]
            for (_, cells), count in zip(groups, counts, strict=True)
        ]
        found += [sum(part) for part in product(*parts)]
    return found


def drawn(field: Field, numbers: Numbers, mines: int, rng: random.Random) -> int:
    """One of the layouts that agree with the numbers, each as likely. Raises ValueError where there is none."""
    groups = _groups(field, numbers)
    kept, weights = [], []
    for counts in _layouts(field, numbers, groups, mines):
        kept.append(list(counts))
        weights.append(prod([comb(len(cells), count) for (_, cells), count in zip(groups, counts, strict=True)]))
    if not kept:
        raise ValueError("no layout of mines agrees with the numbers")
    (counts,) = rng.choices(kept, weights)
    return sum(
        [1 << cell for (_, cells), count in zip(groups, counts, strict=True) for cell in rng.sample(cells, count)]
    )
