"""The command `arena tournament` as the benchmarks run it: a real store, a real worker, ratings at the end."""

import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

from benchmarks.cost import Cost, measured

T = TypeVar("T")
ARENA = "from tui.cli import main; main()"


class Crew(NamedTuple):
    """How a tournament is played."""

    workers: int = 1
    one_core: bool = False
    """Whether all processes share one core."""
    episodes: int = 1
    """Games of a match."""


ONE_WORKER = Crew()


def tournament(store: Path, game: str, agents: Sequence[str], pairs: int, crew: Crew = ONE_WORKER) -> Cost:
    """Play a two-seat tournament into a new store and measure the whole command: start, play, record, rate, print."""
    command = [
        sys.executable,
        "-c",
        ARENA,
        "tournament",
        "--game",
        game,
        "--seed",
        "0",
        "--store",
        str(store),
        "--json",
    ]
    for agent in agents:
        command += ["--agent", agent]
    command += ["--pairs", str(pairs), "--workers", str(crew.workers), "--episodes", str(crew.episodes)]
    return measured(command, one_core=crew.one_core)


@contextmanager
def new_store() -> Iterator[Path]:
    """A place for a store that does not exist yet, removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="metarena-bench-") as folder:
        yield Path(folder) / "arena.duckdb"


def interleaved(works: dict[str, Callable[[], T]], runs: int) -> dict[str, list[T]]:
    """Do each work once, then each again, and so on, so that a busy minute of the machine hits all of them alike."""
    results: dict[str, list[T]] = {name: [] for name in works}
    for _ in range(runs):
        for name, work in works.items():
            results[name].append(work())
    return results
