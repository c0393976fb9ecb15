"""What the store costs: writing by the second, one commit, and the questions asked of a million matches.

Run `python -m benchmarks.store [--matches 1000000] [--runs 3]`. Times are medians in CPU seconds of this process.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path
from statistics import median
from typing import Any

import psutil
import pyarrow as pa

from arena.record import SCHEMAS
from league.store import queries
from league.store.store import Member, Store, Tournament

TURNS = 8
AGENTS = 16
ACTIONS = ["x(1,1)", "o(0,0)", "x(2,2)", "o(0,2)", "x(0,1)", "o(2,1)", "x(1,0)", "o(1,2)"]
RESULTS = [([0, 1], [1.0, -1.0]), ([0, 0], [0.0, 0.0]), ([1, 0], [-1.0, 1.0])]


def matches(first: int, count: int, turn_rows: bool = False) -> dict[str, pa.Table]:
    """Tic-tac-toe matches of one episode of 8 turns between 16 agents; `turn_rows`: each turn has a row of its own."""
    numbers = range(first, first + count)
    ids = [blake2b(str(number).encode(), digest_size=16).hexdigest() for number in numbers]
    drawn = [int(match_id[:8], 16) for match_id in ids]
    pairs = [[f"agent {draw % AGENTS}", f"agent {(draw + 1 + draw % (AGENTS - 1)) % AGENTS}"] for draw in drawn]
    results = [RESULTS[draw % 3] for draw in drawn]
    common: dict[str, list[Any]] = {
        "match_id": ids,
        "tournament": ["bench"] * count,
        "game": ["tic_tac_toe"] * count,
        "agents": pairs,
    }
    columns: dict[str, dict[str, list[Any]]] = {
        "matches": {
            **common,
            "round": [0] * count,
            "pair": [number // (AGENTS * (AGENTS - 1)) for number in numbers],
            "replica": [0] * count,
            "seed": [draw * 2_000_000_011 for draw in drawn],
            "fingerprints": [["0123456789abcdef"] * 2] * count,
            "mean_returns": [returns for _, returns in results],
            "places": [places for places, _ in results],
            "faults": [[0, 0]] * count,
            "episodes": [1] * count,
        },
        "match_runs": {
            **common,
            "attempt": [0] * count,
            "status": ["finished"] * count,
            "reason": [None] * count,
            "worker": [number % 2 for number in numbers],
            "started": [1_800_000_000_000_000 + number * 100 for number in numbers],
            "seconds": [draw % 1000 / 1e6 for draw in drawn],
        },
        "episodes": {
            "match_id": ids,
            "episode": [1] * count,
            "seed": [draw * 2_000_000_011 for draw in drawn],
            "seats": pairs,
            "turn_seats": [[0, 1] * (TURNS // 2)] * count,
            "actions": [ACTIONS[draw % 8 :] + ACTIONS[: draw % 8] for draw in drawn],
            "returns": [returns for _, returns in results],
            "success": [[returns[0] > 0, returns[1] > 0] for _, returns in results],
            "termination": ["natural"] * count,
            "offender": [None] * count,
            "trajectory_hash": [match_id[:16] for match_id in ids],
        },
    }
    if turn_rows:
        columns["turns"] = {
            "match_id": [match_id for match_id in ids for _ in range(TURNS)],
            "episode": [1] * count * TURNS,
            "turn": list(range(TURNS)) * count,
            "seat": [0, 1] * (count * TURNS // 2),
            "attempt": [0] * count * TURNS,
            "action": ACTIONS * count,
            "raw": [f"I take {action}, since nothing else holds" for action in ACTIONS] * count,
            "fault": [None] * count * TURNS,
            "extra": ['{"visits": [12, 900, 88]}'] * count * TURNS,
        }
    return {name: _table(SCHEMAS[name], values) for name, values in columns.items()}


def _table(schema: pa.Schema, columns: dict[str, list[Any]]) -> pa.Table:
    return pa.table({name: pa.array(values, schema.field(name).type) for name, values in columns.items()})


def cpu(work: Callable[[], object]) -> float:
    """CPU seconds of this process, all threads, that `work` takes."""
    before = time.process_time()
    work()
    return time.process_time() - before


def show(what: str, seconds: list[float], turns: int = 0) -> None:
    """A line of the table: median seconds and, where turns were written, how many a second."""
    middle = median(seconds)
    print(f"| {what} | {middle * 1000:,.0f} ms | {f'{turns / middle:,.0f}' if turns else ''} |", flush=True)


def writing(store: Store, numbers: Iterator[int], runs: int, label: str) -> None:
    """Commits of three sizes, with moves in the lists of episodes and as rows of their own."""
    for count, turn_rows in ((1, False), (2_000, False), (20_000, False), (2_000, True), (20_000, True)):
        seconds = []
        for _ in range(runs):
            tables = matches(next(numbers) * 100_000, count, turn_rows)
            seconds.append(cpu(lambda rows=tables: store.write(rows)))  # type: ignore[misc]
        where = "rows of `turns` and lists" if turn_rows else "lists of `episodes`"
        show(f"commit {count:,} matches, moves in {where}, {label}", seconds, count * TURNS if count > 1 else 0)


def ratings() -> tuple[pa.Table, pa.Table]:
    """Ratings of 16 agents in two pools, with as much history as a hundred points each."""
    rows = [(pool, f"agent {agent}") for pool in ("overall", "tic_tac_toe") for agent in range(AGENTS)]
    integers = {column: [1] * len(rows) for column in ("matches", "wins", "draws", "losses", "faults", "void")}
    skill = {"mu": [float(index) for index in range(len(rows))], "sigma": [1.0] * len(rows)}
    names = {"pool": [pool for pool, _ in rows], "agent": [agent for _, agent in rows]}
    point: dict[str, list[Any]] = {**names, **skill, "matches": [1] * len(rows)}
    history = {column: values * 100 for column, values in point.items()}
    return pa.table({**names, **skill, **integers, "score": [0.5] * len(rows)}), pa.table(history)


def reading(store: Store, size: int, runs: int) -> None:
    """The questions that the command line asks."""
    queries.save_ratings(store, *ratings())
    some = [
        blake2b(str(number).encode(), digest_size=16).hexdigest() for number in range(size // 2, size // 2 + 10_000)
    ]
    questions: dict[str, Callable[[], object]] = {
        "standings, fitted (with the check that they are not stale)": lambda: (
            queries.ratings_stale(store),
            queries.standings_rows(store),
        ),
        "which of 10,000 matches are played": lambda: store.played(some),
        "tallies": lambda: queries.tallies(store),
        "outcomes in the order of the fold": lambda: sum([rows.num_rows for rows in queries.outcomes(store)]),
        "crosstable": lambda: queries.crosstable(store),
        "20 matches": lambda: queries.matches(store, limit=20),
        "one match by the beginning of its id": lambda: queries.match_record(store, some[0][:20]),
    }
    for what, ask in questions.items():
        show(f"{what}, {size:,} matches", [cpu(ask) for _ in range(runs)])


def memory() -> int:
    """Memory of this process now, in MiB."""
    return int(psutil.Process().memory_info().rss) >> 20


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--matches", type=int, default=1_000_000, help="size of the large store")
    options.add_argument("--runs", type=int, default=3, help="runs of which the median is taken")
    chosen = options.parse_args()
    print("| what | CPU time | turns a second |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "arena.duckdb")
        store.register(
            Tournament("bench", "round_robin", 0, "{}", "{}", "{}"),
            [Member(f"agent {number}", "random", "0123456789abcdef") for number in range(AGENTS)],
        )
        far = iter(range(10_000, 20_000))
        writing(store, far, chosen.runs, "small store")
        size, block, early = 0, 10_000, 0
        while size < chosen.matches:
            store.write(matches(size, block))
            size += block
            early = early or (memory() if size >= chosen.matches // 10 else 0)
        late = memory()
        megabytes = Path(store.path).stat().st_size / 2**20
        writing(store, far, chosen.runs, f"store of {size:,} matches")
        reading(store, size, chosen.runs)
    print(f"\nFile of {size:,} matches: {megabytes:,.0f} MiB")
    print(f"Memory of this process once a tenth of them was written: {early} MiB, once all were: {late} MiB")


if __name__ == "__main__":
    main()
