"""How long TrueSkill takes: the closed form beside the `trueskill` package, and a million two-player games.

    python -m benchmarks.refit [--runs 3] [--games 1000000] [--compared 20000] [--agents 40] [--draws 0.2]

CPU seconds of one core, medians of the runs. Both sides fold the same games, from the same coded rows, in one process.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
import pyarrow as pa
import trueskill

from benchmarks.table import Figure, Goal, Row
from league.rating_pools import fold_pools
from league.ratings import TrueSkill
from league.trueskill_fold import Block


def main() -> None:
    """Print one line a measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in {"runs": 3, "games": 1_000_000, "compared": 20_000, "agents": 40}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--draws", type=float, default=0.2, help="share of drawn games")
    options = parser.parse_args()

    few = games(options.compared, options.agents, options.draws)
    package, theirs = cpu_seconds(lambda: by_the_package(few, options.draws), options.runs)
    closed, ours = cpu_seconds(lambda: by_the_closed_form(few, options.draws), options.runs)
    print(f"{options.compared:,} games, {options.agents} agents, {options.draws:.0%} draws")
    print(f"  trueskill package      {package:8.3f} s")
    print(f"  closed form            {closed:8.3f} s   {package / closed:.0f} times as fast")
    print(f"  largest difference of a final mu or sigma: {np.abs(np.array(ours) - np.array(theirs)).max():.1e}")

    many = games(options.games, options.agents, options.draws)
    seconds, _ = cpu_seconds(lambda: by_the_closed_form(many, options.draws), options.runs)
    print(f"{options.games:,} games")
    print(f"  closed form            {seconds:8.3f} s")
    rows = arrow(many)
    shares = {"game": options.draws}
    seconds, _ = cpu_seconds(lambda: fold_pools(rows, shares, TrueSkill()), options.runs)
    print(f"  the same from Arrow rows with names, with history {seconds:.3f} s")


def rows(runs: int) -> list[Row]:
    """The lines of the common table."""
    few, many = games(20_000, 40, 0.2), games(1_000_000, 40, 0.2)
    package, _ = cpu_seconds(lambda: by_the_package(few, 0.2), runs)
    closed, _ = cpu_seconds(lambda: by_the_closed_form(few, 0.2), runs)
    coded = arrow(many)
    whole, _ = cpu_seconds(lambda: fold_pools(coded, {"game": 0.2}, TrueSkill()), runs)
    under_two = Goal(2, at_least=False)
    return [
        Row("TrueSkill refit of 1,000,000 two-player games, with history", Figure(whole, "s"), goal=under_two),
        Row(
            "TrueSkill, games rated a second (of 20,000)",
            Figure(20_000 / closed, "games/s"),
            f"trueskill {version('trueskill')}",
            Figure(20_000 / package, "games/s"),
        ),
    ]


def games(number: int, agents: int, draws: float) -> Block:
    """Random games between agents whose strengths are spread so that upsets are common."""
    rng = np.random.default_rng(0)
    strength = rng.normal(0.0, 1.0, agents)
    first = rng.integers(0, agents, number)
    second = (first + rng.integers(1, agents, number)) % agents
    first_wins = rng.random(number) < 1.0 / (1.0 + np.exp(strength[second] - strength[first]))
    drawn = rng.random(number) < draws
    places = np.stack([~first_wins & ~drawn, first_wins & ~drawn], axis=1).astype(np.int64)
    return Block(np.stack([first, second], axis=1).reshape(-1), places.reshape(-1), np.arange(0, 2 * number + 1, 2))


def by_the_closed_form(block: Block, draws: float) -> list[Any]:
    """mu and sigma of every agent."""
    fold = TrueSkill().fold(draws)
    fold.add(block)
    return [column.tolist() for column in fold.beliefs()]


def by_the_package(block: Block, draws: float) -> list[Any]:
    """The same, by the package's function for two players."""
    environment = trueskill.TrueSkill(draw_probability=draws)
    ratings = [environment.create_rating() for _ in range(int(block.agents.max()) + 1)]
    seats, places = block.agents.reshape(-1, 2).tolist(), block.places.reshape(-1, 2).tolist()
    for (first, second), (place, other) in zip(seats, places, strict=True):
        winner, loser = (first, second) if place <= other else (second, first)
        ratings[winner], ratings[loser] = trueskill.rate_1vs1(
            ratings[winner], ratings[loser], drawn=place == other, env=environment
        )
    return [[rating.mu for rating in ratings], [rating.sigma for rating in ratings]]


def arrow(block: Block) -> Sequence[pa.RecordBatch]:
    """The games as the store gives them."""
    starts = pa.array(block.starts, pa.int32())
    names = pa.array([f"agent{code}(strength={code})" for code in range(int(block.agents.max()) + 1)])
    columns = {
        "game": pa.repeat("game", len(block.seats)),
        "agents": pa.ListArray.from_arrays(starts, names.take(pa.array(block.agents))),
        "places": pa.ListArray.from_arrays(starts, pa.array(block.places, pa.int32())),
    }
    batches: list[pa.RecordBatch] = pa.table(columns).to_batches(max_chunksize=65_536)
    return batches


def cpu_seconds(work: Callable[[], Any], runs: int) -> tuple[float, Any]:
    """The median over runs, and what the last one returned."""
    times = []
    for _ in range(runs):
        begun = time.process_time()
        result = work()
        times.append(time.process_time() - begun)
    return statistics.median(times), result


if __name__ == "__main__":
    main()
