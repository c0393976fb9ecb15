"""A store of a million matches: what writing it, rating it and asking it for the standings costs."""

import sys
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from statistics import median

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.arena_runs import ARENA, new_store
from benchmarks.cost import measured
from benchmarks.store import AGENTS, TURNS, cpu, matches
from benchmarks.table import Figure, Goal, Row
from league.ratings import refit, standings
from league.store.store import Member, Store, Tournament

MATCHES, BLOCK = 1_000_000, 20_000
"""So many are written in so large commits: about what two workers finish in a second."""
TURNS_A_SECOND = Goal(100_000, at_least=True)
ANSWERED = Goal(0.5, at_least=False)
REFITTED = Goal(2, at_least=False)


def rows(runs: int) -> list[Row]:
    """Fill a store, refit it, ask it. CPU seconds of this process; the last row is a command of its own."""
    with new_store() as path:
        store = Store(path)
        store.register(
            Tournament("bench", "round_robin", 0, "{}", "{}", "{}"),
            [Member(f"agent {number}", "random", "0123456789abcdef") for number in range(AGENTS)],
        )
        lists = [cpu(lambda tables=tables: store.write(tables)) for tables in _blocks()]  # type: ignore[misc]
        refits = [cpu(lambda: refit(store)) for _ in range(runs)]
        answers = [cpu(lambda: standings(store)) for _ in range(runs)]
        commands = [_command(path) for _ in range(runs)]
        wordy = [_write_turns(store, MATCHES + run * BLOCK) for run in range(runs)]
    size = f"a store of {MATCHES:,} matches"
    return [
        Row("turns written, moves in lists, commits of 20,000 matches", _turns(lists), goal=TURNS_A_SECOND),
        Row(f"turns written, each also a row with its text, into {size}", _turns(wordy), goal=TURNS_A_SECOND),
        Row(f"refit of {size}: read, fold, history, save", Figure(median(refits), "s"), goal=REFITTED),
        Row(f"standings of {size}", Figure(median(answers), "s"), goal=ANSWERED),
        Row("the same as the command `arena standings`, its start counted", Figure(median(commands), "s")),
    ]


def _blocks() -> Iterator[dict[str, pa.Table]]:
    """Matches to write; blocks differ in ids and pairs alone, so that making them takes no time."""
    block = matches(0, BLOCK)
    for first in range(0, MATCHES, BLOCK):
        numbers = range(first, first + BLOCK)
        ids = pa.array([blake2b(str(number).encode(), digest_size=16).hexdigest() for number in numbers])
        yield {name: _moved(table, ids, first // BLOCK) for name, table in block.items()}


def _moved(table: pa.Table, ids: pa.Array, rounds: int) -> pa.Table:
    """The same rows with other ids, and with pair indices behind those of earlier rounds."""
    moved = table.set_column(table.column_names.index("match_id"), "match_id", ids)
    if "pair" not in table.column_names:
        return moved
    pairs = pc.add(table["pair"], pa.scalar(rounds * BLOCK, pa.int32()))
    return moved.set_column(table.column_names.index("pair"), "pair", pairs)


def _write_turns(store: Store, first: int) -> float:
    tables: Mapping[str, pa.Table] = matches(first, BLOCK, turn_rows=True)
    return cpu(lambda: store.write(tables))


def _turns(seconds: list[float]) -> Figure:
    return Figure(BLOCK * TURNS / median(seconds), "turns/s")


def _command(store: Path) -> float:
    return measured([sys.executable, "-c", ARENA, "standings", "--store", str(store), "--json"]).cpu
