"""Two workers beside one on the same matches, and the memory of a run that grows ten times as long."""

from collections.abc import Callable
from statistics import median
from typing import NamedTuple

from benchmarks.arena_runs import Crew, interleaved, new_store, tournament
from benchmarks.cost import Cost
from benchmarks.table import Figure, Goal, Row

GAME = "tic_tac_toe"


class Work(NamedTuple):
    """Matches to play; each pair is two."""

    what: str
    agents: tuple[str, str]
    pairs: int


RANDOM = Work("random play", ("random", "other=random"), 100_000)
"""The hardest case: no other play leaves the workers so little to do beside what the first process does."""
SEARCH = Work("MCTS-1000", ("mcts(simulations=1000)", "other=mcts(simulations=1000)"), 1_500)
"""What such a run is mostly made of."""
TENTH = RANDOM._replace(pairs=RANDOM.pairs // 10)
FASTER = Goal(1.7, at_least=True, of_ratio=True)
GROWTH = Goal(1.1, at_least=False, of_ratio=True)
"""Memory may be this many times that of a run a tenth as long."""
ONE, ALONE, TWO = Crew(1), Crew(1, one_core=True), Crew(2)


def rows(runs: int) -> list[Row]:
    """Wall time of one and of two workers, and the largest memory of the first process."""
    sides = [(RANDOM, TWO), (RANDOM, ONE), (RANDOM, ALONE), (SEARCH, TWO), (SEARCH, ONE), (TENTH, TWO)]
    works: dict[str, Callable[[], Cost]] = {str(side): _run(*side) for side in sides}
    costs = interleaved(works, runs)

    def rate(work: Work, crew: Crew) -> Figure:
        wall = median([cost.wall for cost in costs[str((work, crew))]])
        return Figure(2 * work.pairs / wall, "matches/s")

    def peak(work: Work) -> Figure:
        return Figure(median([cost.peak_mib for cost in costs[str((work, TWO))]]), "MiB")

    random, search = (
        f"{GAME}, {work.what}, recorded and rated, 2 workers, wall time of {2 * work.pairs:,} matches"
        for work in (RANDOM, SEARCH)
    )
    memory = f"largest memory of the first process, {2 * RANDOM.pairs:,} matches"
    return [
        Row(random, rate(RANDOM, TWO), "1 worker", rate(RANDOM, ONE), FASTER),
        Row("the same", rate(RANDOM, TWO), "1 worker, all processes on one core", rate(RANDOM, ALONE), FASTER),
        Row(search, rate(SEARCH, TWO), "1 worker", rate(SEARCH, ONE), FASTER),
        Row(memory, peak(RANDOM), f"{2 * TENTH.pairs:,} matches", peak(TENTH), GROWTH),
    ]


def _run(work: Work, crew: Crew) -> Callable[[], Cost]:
    def run() -> Cost:
        with new_store() as store:
            return tournament(store, GAME, work.agents, work.pairs, crew)

    return run
