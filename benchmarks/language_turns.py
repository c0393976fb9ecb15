"""What a turn of a language agent costs beside its model: prompts, reading, ruling, records, the other seat's process.

    python -m benchmarks.language_turns OPPONENT MATCHES

plays tic_tac_toe on the event loop with a model that answers at once, and prints milliseconds of a turn as JSON.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from statistics import median

from agents.models import pool
from agents.registry import recipe
from arena.match import Match
from arena.runner import Limits, run_matches
from benchmarks.arena_runs import interleaved
from benchmarks.cost import measured
from benchmarks.table import Figure, Goal, Row
from league.config import rules_of

AGENT = "llm(backend=http,base_url=http://localhost:1/v1,model=instant)"
OPPONENTS = {"heuristic": "in the event loop", "mcts(simulations=1)": "in processes of their own"}
"""Opponents that take next to no time, and where they are played."""
GAME, MATCHES = "tic_tac_toe", 2000
WARM = 100
"""Matches that are finished before the clock starts: by then every process that takes part is there."""
MOST = Goal(2, at_least=False)


def rows(runs: int) -> list[Row]:
    """Milliseconds of a turn of the language agent, the opponent's turn that follows included."""
    works: dict[str, Callable[[], float]] = {opponent: _work(opponent) for opponent in OPPONENTS}
    found = interleaved(works, runs)
    return [
        Row(
            f"{GAME}, a language agent whose model answers at once, opponents {where}, a turn of both",
            Figure(median(found[opponent]), "ms"),
            goal=MOST,
        )
        for opponent, where in OPPONENTS.items()
    ]


def _work(opponent: str) -> Callable[[], float]:
    def work() -> float:
        command = [sys.executable, "-m", "benchmarks.language_turns", opponent, str(MATCHES)]
        return float(json.loads(measured(command).output)["wall"])

    return work


def main() -> None:
    """Play the matches and print what a turn took: wall time, and CPU time of the process with the event loop."""
    opponent, count = sys.argv[1], int(sys.argv[2])
    pool._BACKENDS["http"] = "benchmarks.instant"
    played, turns = 0, 0
    for report in run_matches(_matches(opponent, count), Limits()):
        if played < WARM:
            begun, cpu, turns = time.perf_counter(), time.process_time(), 0
        elif report.finished:
            turns += report.tables["generations"].num_rows
            wall, cpu_by_now = time.perf_counter() - begun, time.process_time() - cpu
        played += report.finished
    print(json.dumps({"wall": 1000 * wall / turns, "cpu": 1000 * cpu_by_now / turns}))


def _matches(opponent: str, count: int) -> Iterator[Match]:
    specs = tuple([recipe(spec).spec for spec in (AGENT, opponent)])
    for seed in range(count):
        yield Match(str(seed), "t", GAME, 0, 0, 0, seed, ("llm", "opponent"), specs, ("", ""), rules_of({}))


if __name__ == "__main__":
    main()
