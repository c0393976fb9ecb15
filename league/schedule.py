"""Who meets whom, in which seats: the formats of a tournament."""

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations
from math import comb, factorial
from typing import NamedTuple, Protocol

MAX_PERMUTED_SEATS = 3
"""Up to so many seats a pairing is played in every order of its agents; above, in every rotation."""


class Pairing(NamedTuple):
    """One match to play: the members by seat, and the index of the pair whose seed it shares."""

    round: int
    pair: int
    members: tuple[int, ...]
    """Places in the list of members, by seat."""


class Schedule(Protocol):
    """Turns what is known into the next pairings."""

    def next_round(self, members: int, payoff: None) -> list[Pairing]:
        """The next pairings among so many members; an empty list ends the tournament.

        `payoff` is what is known of the members so far; the formats here do not look at it.
        """
        ...


class RoundRobin:
    """Every group of as many members as the game has seats meets `pairs` times, each time in all seat orders.

    The pairings of one pair index come together, so that all members meet the same deals at about the same time.
    """

    def __init__(self, seats: int, pairs: int) -> None:
        self._seats = seats
        self._pairs = pairs
        self._next = 0

    def next_round(self, members: int, payoff: None = None) -> list[Pairing]:
        if self._next >= self._pairs:
            return []
        pair = self._next
        self._next += 1
        return [Pairing(0, pair, order) for group in self._groups(members) for order in seat_orders(group, self._seats)]

    def _groups(self, members: int) -> Iterator[tuple[int, ...]]:
        return combinations(range(members), self._seats)

    def total(self, members: int) -> int:
        """How many matches the whole tournament has."""
        return self._pairs * comb(members, self._seats) * orders_of(self._seats)


class Gauntlet(RoundRobin):
    """The first member meets all others, as in RoundRobin; the others do not meet without it."""

    def _groups(self, members: int) -> Iterator[tuple[int, ...]]:
        return ((0, *others) for others in combinations(range(1, members), self._seats - 1))

    def total(self, members: int) -> int:
        return self._pairs * comb(members - 1, self._seats - 1) * orders_of(self._seats)


FORMATS: dict[str, type[RoundRobin]] = {"round_robin": RoundRobin, "gauntlet": Gauntlet}
"""Formats of a tournament by name."""


def seat_orders(group: Sequence[int], seats: int) -> Iterator[tuple[int, ...]]:
    """The orders in which a group takes the seats: swapped seats for two, every permutation for three."""
    if seats <= MAX_PERMUTED_SEATS:
        return permutations(group)
    return ((*group[shift:], *group[:shift]) for shift in range(seats))


def orders_of(seats: int) -> int:
    """How many orders `seat_orders` gives."""
    return factorial(seats) if seats <= MAX_PERMUTED_SEATS else seats
