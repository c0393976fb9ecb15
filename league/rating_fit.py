"""The ratings of a whole store: fitted pools beside what was counted, as tables to save and as standings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

import pyarrow as pa

from league.rating_pools import FoldingSystem, PoolRatings, draw_share, fold_pools
from league.store.decisions import Decisions, decisions
from league.store.queries import counts, outcomes, save_ratings, tallies
from league.store.rows import OVERALL, Counts, Standing, Tally
from league.store.store import Store


@dataclass(frozen=True)
class Fit:
    """Every pool of a store."""

    basis: Counts
    """What the ratings rest on."""
    lines: list[Standing]
    """`overall` first, then by game; in each pool the best first."""
    pools: list[PoolRatings]

    def save(self, store: Store) -> None:
        """Puts the fit in the place of the last one; raises UserError or RunError when the store cannot be written."""
        columns = [name for name in Standing._fields if name not in ("rank", "conservative", "fault_rate")]
        ratings = pa.table({name: [getattr(line, name) for line in self.lines] for name in columns})
        history = [
            pool.history.add_column(0, "pool", pa.repeat(pool.pool, pool.history.num_rows)) for pool in self.pools
        ]
        save_ratings(store, ratings, pa.concat_tables(history) if history else _NO_HISTORY, self.basis)


_NO_HISTORY = pa.table(
    {"pool": pa.array([], pa.string()), "agent": pa.array([], pa.string()), "matches": pa.array([], pa.int32())}
    | {name: pa.array([], pa.float64()) for name in ("mu", "sigma")}
)


def fit_store(store: Store, system: FoldingSystem) -> Fit:
    """Fits all pools. The counts are read first and the outcomes last, so that matches written in between are rated
    or not, but leave the saved ratings stale in any case."""
    basis, played = counts(store), tallies(store)
    pools = fold_pools(outcomes(store), _draw_shares(decisions(store)), system)
    beliefs = {pool.pool: pool.ratings for pool in pools}
    rows = [
        (tally, *beliefs.get(tally.game, {}).get(tally.agent, system.newcomer))
        for tally in [*_overall(played), *played]
    ]
    return Fit(basis, list(_ranked(rows)), pools)


def _draw_shares(games: list[Decisions]) -> dict[str, float]:
    """Draw share of each pool, `overall` included."""
    shares = {row.game: draw_share(row.ties, row.decisions) for row in games}
    return shares | {OVERALL: draw_share(sum([row.ties for row in games]), sum([row.decisions for row in games]))}


def _overall(played: Iterable[Tally]) -> list[Tally]:
    """The sums over games by agent."""
    games: dict[str, list[Tally]] = {}
    for tally in played:
        games.setdefault(tally.agent, []).append(tally)
    return [
        Tally(OVERALL, agent, *map(sum, zip(*[tally[2:] for tally in rows], strict=True)))
        for agent, rows in games.items()
    ]


def _ranked(rows: list[tuple[Tally, float, float]]) -> Iterator[Standing]:
    """Lines of tallies (whose `game` is the pool) with mu and sigma, ranked in each pool as the store ranks them."""

    def order(row: tuple[Tally, float, float]) -> tuple[bool, str, float, str]:
        tally, mu, sigma = row
        return tally.game != OVERALL, tally.game, -(mu - 3 * sigma), tally.agent

    for pool, members in groupby(sorted(rows, key=order), key=lambda row: row[0].game):
        rank, before = 0, None
        for number, (tally, mu, sigma) in enumerate(members, start=1):
            conservative = mu - 3 * sigma
            rank = rank if conservative == before else number
            before = conservative
            score = tally.points / tally.matches if tally.matches else 0.0
            yield Standing(
                *(pool, rank, tally.agent, mu, sigma, conservative, *tally[2:6], score),
                *(tally.faults, tally.void, tally.answers, tally.faults / tally.answers if tally.answers else None),
            )
