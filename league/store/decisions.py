"""How often seats tie, by game: what the draw share of a pool is made of."""

from typing import NamedTuple

from league.store.store import Store

# Two seats, by far the most common, are compared without making a list.
_DECISIONS = """
SELECT game, sum(len(places) - 1)::BIGINT AS decisions,
       sum(CASE WHEN len(places) = 2 THEN (places[1] = places[2])::INTEGER
                ELSE len(places) - len(list_distinct(places)) END)::BIGINT AS ties
FROM matches GROUP BY game ORDER BY game
"""


class Decisions(NamedTuple):
    """Neighbours in the final order of a game's matches, and how many of them shared a place."""

    game: str
    decisions: int
    """One less than the seats, summed over matches; with two seats the number of matches."""
    ties: int


def decisions(store: Store) -> list[Decisions]:
    """All games that have matches, in the order of their names."""
    return [Decisions(**row) for row in store.query(_DECISIONS).to_pylist()]
