"""Two workers beside one on the same matches, and the memory of a run that grows ten times as long."""

from collections.abc import Callable
from statistics import median

from benchmarks.arena_runs import interleaved, new_store, tournament
from benchmarks.cost import Cost
from benchmarks.table import Figure, Goal, Row

GAME, AGENTS = "tic_tac_toe", ("random", "other=random")
"""The hardest case: no other game leaves the workers so little to do beside what the parent does."""
PAIRS = 100_000
"""Each pair is two matches."""
TENTH = PAIRS // 10
FASTER = Goal(1.7, at_least=True, of_ratio=True)
GROWTH = Goal(1.1, at_least=False, of_ratio=True)
"""Memory may be this many times that of a run a tenth as long."""


def rows(runs: int) -> list[Row]:
    """Wall time of one and of two workers, and the largest memory of the first process."""
    works: dict[str, Callable[[], Cost]] = {
        "one": lambda: _run(PAIRS, 1),
        "two": lambda: _run(PAIRS, 2),
        "tenth": lambda: _run(TENTH, 2),
    }
    costs = interleaved(works, runs)
    walls = {name: median([cost.wall for cost in costs[name]]) for name in works}
    peaks = {name: Figure(median([cost.peak_mib for cost in costs[name]]), "MiB") for name in works}
    matches = 2 * PAIRS
    rates = {name: Figure(matches / walls[name], "matches/s") for name in ("one", "two")}
    what = f"{GAME}, random play, recorded and rated, wall time of {matches:,} matches"
    memory = f"largest memory of the first process, {matches:,} matches"
    return [
        Row(f"{what}, 2 workers", rates["two"], "1 worker", rates["one"], FASTER),
        Row(memory, peaks["two"], f"{2 * TENTH:,} matches", peaks["tenth"], GROWTH),
    ]


def _run(pairs: int, workers: int) -> Cost:
    with new_store() as store:
        return tournament(store, GAME, AGENTS, pairs, workers)
