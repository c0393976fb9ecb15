"""The 43 bots of the International RoShamBo Programming Competition, everyone against everyone, on two cores."""

import sys

from agents.roshambo import BOTS
from benchmarks.arena_runs import Crew, new_store, tournament
from benchmarks.cost import measured
from benchmarks.table import Figure, Goal, Row
from games.errors import RunError
from league.config import checked
from league.plan import plan
from league.ratings import standings
from league.schedule import FORMATS, Pairing, RoundRobin
from league.store.store import Store
from league.tournament import run

GAME = "repeated_game(stage_game=matrix_rps,num_repetitions=1000)"
WORKERS = 2
A_MINUTE = Goal(60, at_least=False)


def rows(runs: int) -> list[Row]:
    """Wall time of the pairings, each once, and of all matches of one pair: both orders of seats. One run of each."""
    agents = [f"{name}=roshambo(bot={name})" for name in BOTS]
    pairings = len(agents) * (len(agents) - 1) // 2
    with new_store() as store:
        once = measured([sys.executable, "-m", "benchmarks.roshambo", str(store), *agents])
    with new_store() as store:
        twice = tournament(store, GAME, agents, 1, Crew(WORKERS))
    what = f"{len(agents)} roshambo bots, 1,000 throws a match, {WORKERS} workers, wall time of"
    return [
        Row(f"{what} the {pairings:,} pairings, one match each", Figure(once.wall, "s"), goal=A_MINUTE),
        Row(f"{what} `--pairs 1`: {2 * pairings:,} matches", Figure(twice.wall, "s"), goal=A_MINUTE),
    ]


class OneOrder(RoundRobin):
    """Every group once, in the order of the list: a format that the command line does not have."""

    def next_round(self, members: int, payoff: None = None) -> list[Pairing]:
        """As RoundRobin, one order of the seats."""
        return [pairing for pairing in super().next_round(members) if list(pairing.members) == sorted(pairing.members)]

    def total(self, members: int) -> int:
        """Half of RoundRobin's for two seats."""
        return super().total(members) // 2


def main() -> None:
    """Play every pairing of the agents named once and rate them: `python -m benchmarks.roshambo STORE AGENT...`."""
    store = Store(sys.argv[1])
    planned = plan(checked({"games": (GAME,), "agents": tuple(sys.argv[2:]), "pairs": 1, "workers": WORKERS}))
    FORMATS["one_order"] = OneOrder
    games = [game._replace(format="one_order") for game in planned.games]
    outcome = run(planned._replace(games=games), store, lambda standing, notices: None)
    if outcome.finished != outcome.total:
        raise RunError(f"{outcome.finished} of {outcome.total} matches were played")
    standings(store)


if __name__ == "__main__":
    main()
