"""Household beside TextWorld: the same houses, the same commands.

    python -m benchmarks.household

prints a `Beside` as JSON; it is run by an interpreter that has the extra alfworld.
"""

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.arena_runs import interleaved
from benchmarks.cost import ROOT, measured
from benchmarks.table import Figure, Goal, Row

PYTHON = ROOT / ".venv-extras" / "alfworld" / "bin" / "python"
"""The interpreter that `make bench` makes."""
HOUSES, AGAIN = 12, 200
"""Houses that are played, and how often more by ours, which would be done before a clock ticks."""


class Beside(NamedTuple):
    """What was measured."""

    ours: float
    """Steps a second, every observation made."""
    theirs: float
    versions: str


def rows(runs: int, python: Path = PYTHON) -> list[Row]:
    """One line; without figures of the other side where the interpreter is not there."""
    what, goal = "household, expert's commands, every observation made", Goal(100, at_least=True, of_ratio=True)
    if not python.exists():
        print(f"benchmarks: TextWorld is left out: {python} is not there; `make bench` makes it", file=sys.stderr)
        return []

    def work() -> Beside:
        return Beside(*json.loads(measured([str(python), "-m", "benchmarks.household"], one_core=True).output))

    found = interleaved({"household": work}, runs)["household"]
    ours, theirs = (Figure(median([getattr(one, side) for one in found]), "steps/s") for side in ("ours", "theirs"))
    return [Row(what, ours, found[0].versions, theirs, goal)]


def main() -> None:
    """Measure and print."""
    from games.registry import make
    from games.tasks.engines.alfworld import AlfworldEngine
    from games.tasks.household.alfworld import game_of
    from games.tasks.household.generate import generate
    from games.tasks.household.world import KINDS
    from games.tasks.task import Task

    ours = theirs = 0.0
    count = 0
    for number in range(HOUSES):
        kind = KINDS[number % len(KINDS)]
        game = game_of(generate(kind, "test", 1_000_000 + number))
        engine = AlfworldEngine(lambda instance, game=game: game)
        engine.begin(0)
        begun = time.perf_counter()
        for command in game["walkthrough"]:
            last = engine.play(command)
        theirs += time.perf_counter() - begun
        assert last.solved
        count += len(game["walkthrough"])
        task = make(f"household(type={kind},split=test)")
        assert isinstance(task, Task)
        for _ in range(AGAIN):
            state = task.begin(1_000_000 + number)
            begun = time.perf_counter()
            for command in game["walkthrough"]:
                state.apply({0: command})
                observation = state.observe(0)
                _ = observation.text, observation.legal_actions
            ours += time.perf_counter() - begun
            assert state.solved
    versions = f"TextWorld {version('textworld')}, alfworld {version('alfworld')}"
    print(json.dumps(Beside(AGAIN * count / ours, count / theirs, versions)))


if __name__ == "__main__":
    main()
