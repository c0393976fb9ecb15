"""A stream of matches in Arrow batches, folded into one pool per game and one over all games.

Memory holds the beliefs and thinned histories of the pools and one slice of the stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from league.rating_history import Thinned
from league.store.rows import OVERALL
from league.trueskill_fold import Block, Floats, Ints

SLICE = 1 << 15  # matches at a time: some 10 MB of Python numbers


class Fold(Protocol):
    """A rating system at work on one pool: beliefs about agents, which are codes from 0."""

    def add(self, block: Block) -> tuple[Floats, Floats]:
        """Takes matches in; returns (mu, sigma) of each seat right after its match, parallel to block.agents."""

    def beliefs(self) -> tuple[Floats, Floats]:
        """(mu, sigma) by code, for every code seen."""


class FoldingSystem(Protocol):
    """A rating system that can read matches one after the other."""

    @property
    def newcomer(self) -> tuple[float, float]:
        """(mu, sigma) of an agent without a match."""

    def fold(self, draw_share: float) -> Fold:
        """A fresh fold for a pool of which this share of decisions are draws (0 to 1)."""


class PoolRatings(NamedTuple):
    """The outcome of one pool."""

    pool: str
    ratings: dict[str, tuple[float, float]]
    """(mu, sigma) by agent, in the order of names."""
    history: pa.Table
    """agent, matches (rated so far, its last one included), mu, sigma, in the order of agents and matches."""


def draw_share(ties: int, decisions: int) -> float:
    """Which part of the decisions between neighbours in the final order were ties; 0 where nothing was decided."""
    return ties / decisions if decisions else 0.0


def fold_pools(
    batches: Iterable[pa.RecordBatch], draw_shares: Mapping[str, float], system: FoldingSystem
) -> list[PoolRatings]:
    """Folds matches, in the order in which they come, into their game's pool and into `overall`.

    Batches have the columns game (string), agents (list of strings) and places (list of integers, 0 best).
    `draw_shares` names the pools: a game that it lacks is left out, since it appeared after they were counted.
    Pools come sorted by game, `overall` last; only those with matches.
    """
    games = sorted(set(draw_shares) - {OVERALL})
    codes = {game: code for code, game in enumerate(games)}
    names = _Names()
    pools = [_Pool(system.fold(draw_shares[game])) for game in games]
    # The overall pool of a single game is that game's pool again; it need not be folded twice.
    overall = pools[0] if len(games) == 1 else _Pool(system.fold(draw_shares.get(OVERALL, 0.0)))
    for batch in _slices(batches):
        game_of = _recode(batch.column("game"), lambda game: codes.get(game, -1))
        block = _block(batch, names)
        for code in np.unique(game_of[game_of >= 0]).tolist():
            pools[code].add(_select(block, game_of == code))
        if len(games) > 1:
            overall.add(_select(block, game_of >= 0))
    everything = [*zip(games, pools, strict=True), (OVERALL, overall)]
    return [pool.ratings(name, names.values) for name, pool in everything if pool.played]


class _Pool:
    def __init__(self, fold: Fold) -> None:
        self._fold = fold
        self._history = Thinned()

    @property
    def played(self) -> bool:
        return bool(self._history.matches.any())

    def add(self, block: Block) -> None:
        self._history.add(block.agents, *self._fold.add(block))

    def ratings(self, pool: str, names: list[str]) -> PoolRatings:
        mu, sigma = self._fold.beliefs()
        order = sorted(np.flatnonzero(self._history.matches).tolist(), key=lambda code: names[code])
        ratings = {names[code]: (float(mu[code]), float(sigma[code])) for code in order}
        return PoolRatings(pool, ratings, self._history_table(order, names))

    def _history_table(self, order: list[int], names: list[str]) -> pa.Table:
        agents, number, mu, sigma = self._history.points(*self._fold.beliefs())
        rank = np.empty(len(self._history.matches), np.int64)
        rank[order] = np.arange(len(order))
        by_name = np.lexsort((number, rank[agents]))
        in_order = pa.array([names[code] for code in order], pa.string())
        return pa.table(
            {
                "agent": in_order.take(pa.array(rank[agents[by_name]])),
                "matches": pa.array(number[by_name], pa.int32()),
                "mu": pa.array(mu[by_name]),
                "sigma": pa.array(sigma[by_name]),
            }
        )


class _Names:
    """Codes of names, in the order in which they are met."""

    def __init__(self) -> None:
        self.values: list[str] = []
        self._codes: dict[str, int] = {}

    def code(self, name: str) -> int:
        """The code of a name, a new one if need be."""
        if name not in self._codes:
            self._codes[name] = len(self.values)
            self.values.append(name)
        return self._codes[name]


def _slices(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for first in range(0, batch.num_rows, SLICE):
            yield batch.slice(first, SLICE)


def _recode(column: pa.Array, code: Callable[[str], int]) -> Ints:
    """Strings as integers; `code` is asked once for each distinct string."""
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    table = np.array([code(value) for value in coded.dictionary.to_pylist()], np.int64)
    return np.asarray(table[coded.indices.to_numpy(zero_copy_only=False)])


def _block(batch: pa.RecordBatch, names: _Names) -> Block:
    agents, places = batch.column("agents"), batch.column("places")
    seats = pc.list_value_length(agents).to_numpy(zero_copy_only=False)
    starts = np.concatenate(([0], np.cumsum(seats, dtype=np.int64)))
    block = Block(
        _recode(agents.flatten(), names.code), places.flatten().to_numpy(zero_copy_only=False).astype(np.int64), starts
    )
    if len(block.places) != len(block.agents):
        raise ValueError(f"{len(block.agents)} seats but {len(block.places)} places in a batch of matches")
    return block


def _select(block: Block, wanted: npt.NDArray[np.bool_]) -> Block:
    """The matches marked True, (matches,)."""
    if wanted.all():
        return block
    seats = np.repeat(wanted, block.seats)
    starts = np.concatenate(([0], np.cumsum(block.seats[wanted])))
    return Block(block.agents[seats], block.places[seats], starts)
