"""The numbered instances of a task: three splits that share none, and how a match draws from one without repeats."""

from collections.abc import Callable, Hashable
from math import gcd
from typing import Literal, NamedTuple, TypeAlias

from games.errors import UserError
from games.seeding import derive, digest

SplitName: TypeAlias = Literal["train", "validation", "test"]

GENERATED: dict[SplitName, range] = {
    "validation": range(1_000_000),
    "test": range(1_000_000, 2_000_000),
    "train": range(2_000_000, 1_002_000_000),
}
"""Which numbers a generator is given in each split."""
_SHARES: dict[SplitName, range] = {"validation": range(1), "test": range(1, 3), "train": range(3, 10)}
"""Of ten layouts, which belong to each split."""
MOST_ALIKE = 100
"""Instances looked at for each different one that a match has, at most."""


def belongs(split: SplitName, *layout: int | str) -> bool:
    """Whether what is made belongs to a split, by what it looks like: other numbers may come to the same layout."""
    return digest(1, *layout)[0] % 10 in _SHARES[split]


class Instances(NamedTuple):
    """Some instances in a row, numbered as their task numbers them."""

    first: int
    size: int

    def number(self, seed: int) -> int:
        """The instance that an episode's seed means: any seed means one, and those below `size` one each."""
        return self.first + seed % self.size

    def deal(self, match_seed: int, place: int) -> int:
        """The seed of a match's deal (from 1): a walk through a permutation, so that no instance comes twice.

        Raises UserError where the match has more deals than there are instances.
        """
        if place > self.size:
            raise UserError(f"a match of {place} new instances needs more than the {self.size:,} that there are")
        start = derive(match_seed, "first instance") % self.size
        step = derive(match_seed, "step") % self.size or 1
        while gcd(step, self.size) > 1:  # then it reaches every instance before it comes back
            step = step % self.size + 1
        return (start + (place - 1) * step) % self.size


class Walk:
    """The deals of a match among instances of which some look alike: one of each."""

    def __init__(self, instances: Instances, match_seed: int, likeness: Callable[[int], Hashable]) -> None:
        self._instances = instances
        self.match_seed = match_seed
        self._likeness = likeness
        self._deals: list[int] = []
        self._seen: set[Hashable] = set()
        self._looked = 0

    def deal(self, place: int) -> int:
        """As `Instances.deal`. Raises UserError where so many different ones were not found."""
        while len(self._deals) < place:
            if self._looked >= (len(self._deals) + 1) * MOST_ALIKE or (
                self._looked >= self._instances.size and len(self._deals) < self._instances.size
            ):
                raise UserError(
                    f"a match of {place} new instances needs more than the {len(self._deals)} different ones that were "
                    f"found among {self._looked:,}"
                )
            seed = self._instances.deal(self.match_seed, self._looked + 1)
            self._looked += 1
            like = self._likeness(self._instances.number(seed))
            if like not in self._seen:
                self._seen.add(like)
                self._deals.append(seed)
        return self._deals[place - 1]


def chosen(there: range, first: int, count: int) -> Instances:
    """`count` instances of a split from its `first` one (0 for all that follow).

    Raises UserError for instances that the split does not have.
    """
    if first >= len(there):
        raise UserError(f"first = {first}: the split has instances 0 to {len(there) - 1}")
    if first + count > len(there):
        raise UserError(f"count = {count}: from instance {first} on the split has {len(there) - first}")
    return Instances(there.start + first, count or len(there) - first)
