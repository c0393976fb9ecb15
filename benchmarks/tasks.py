"""Single-agent tasks on one core: steps a second without and with text, instances made, solvers.

    python -m benchmarks.tasks GAME

prints a `Speeds` as JSON, measured in this process.
"""

import json
import random
import sys
import time
from statistics import median
from typing import NamedTuple

from benchmarks import household, shop
from benchmarks.arena_runs import interleaved
from benchmarks.cost import measured
from benchmarks.table import Figure, Goal, Row
from games.registry import make
from games.tasks.task import Task

INSTANCES = 200
STEPS, TOLD = 100_000, 20_000
FAST, TELLING = Goal(100_000, at_least=True), Goal(20_000, at_least=True)
MADE = {"sokoban": Goal(15, at_least=False), "minesweeper": None, "household": Goal(5, at_least=False)}
"""Game -> the most milliseconds that an instance may take."""
SLOWER = {"household": (None, Goal(5_000, at_least=True))}
"""Steps a second to reach without and with text, where other than FAST and TELLING."""


class Speeds(NamedTuple):
    """What was measured of one task."""

    steps: float
    """A second, by a random player that is told nothing."""
    told: float
    """A second, the text of every observation made."""
    made: float
    """Milliseconds of a new instance."""
    solved: float
    """Share of instances that the solver solves."""
    solving: float
    """Milliseconds of the solver for an instance."""


def rows(runs: int) -> list[Row]:
    """All figures of each task, each from a process of its own on one core."""
    table = []
    for game, most in MADE.items():

        def work(game: str = game) -> Speeds:
            return Speeds(*json.loads(measured([sys.executable, "-m", "benchmarks.tasks", game], one_core=True).output))

        fast, telling = SLOWER.get(game, (FAST, TELLING))
        found = interleaved({game: work}, runs)[game]
        steps, told, made, solved, solving = [median(values) for values in zip(*found, strict=True)]
        table += [
            Row(f"{game}, random play, no text", Figure(steps, "steps/s"), goal=fast),
            Row(f"{game}, random play, every observation as text", Figure(told, "steps/s"), goal=telling),
            Row(f"{game}, a new instance of the default size", Figure(made, "ms"), goal=most),
            Row(f"{game}, its solver, an episode", Figure(solving, "ms")),
            Row(f"{game}, instances that its solver solves", Figure(100 * solved, "%")),
        ]
    return [*table, *shop.rows(runs), *household.rows(runs)]


def main() -> None:
    """Measure and print."""
    task = make(sys.argv[1])
    assert isinstance(task, Task)
    fresh = make(f"{sys.argv[1]}(first=1000)")
    begun = time.perf_counter()
    for seed in range(INSTANCES):
        fresh.new_episode(seed)
    made = 1000 * (time.perf_counter() - begun) / INSTANCES
    for seed in range(INSTANCES):
        task.new_episode(seed)
    steps, told = _steps(task, STEPS, told=False), _steps(task, TOLD, told=True)
    begun, solved = time.perf_counter(), 0
    for seed in range(INSTANCES):
        state, advisor = task.new_episode(seed), task.advisor()
        while state.seats_to_act():
            state.apply({0: advisor.advise(state.observe(0))})
        solved += state.solved
    solving = 1000 * (time.perf_counter() - begun) / INSTANCES
    print(json.dumps(Speeds(steps, told, made, solved / INSTANCES, solving)))


def _steps(task: Task, count: int, told: bool) -> float:
    """Steps a second of play at random among the actions that were legal at the start."""
    rng, done = random.Random(0), 0
    actions = task.new_episode(0).observe(0).legal_actions
    size = len(actions)
    begun = time.perf_counter()
    while done < count:
        state = task.new_episode(done % INSTANCES)
        while state.seats_to_act():
            if told:
                _ = state.observe(0).text
            state.apply({0: actions[int(rng.random() * size)]})
            done += 1
    return done / (time.perf_counter() - begun)


if __name__ == "__main__":
    main()
