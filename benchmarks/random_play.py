"""Random play through the whole path, games a CPU second, beside other arenas and the bare OpenSpiel loop."""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.arena_runs import Crew, interleaved, new_store, tournament
from benchmarks.cost import ROOT, measured
from benchmarks.table import Figure, Goal, Row

AGENTS = ("random", "other=random")
GAMES = {"tic_tac_toe": 60_000, "connect_four": 30_000}
EPISODES = (10, 1)
"""Games of a match: matches of several episodes are what this program is for; a match a game is the dearest."""
BARE_GAMES = {"tic_tac_toe": 60_000, "connect_four": 20_000}
TO_REACH = {"tic_tac_toe": 15_000, "connect_four": 7_000}
"""Games a second, recorded and rated, on one core."""
TIMES = {"TextArena": 2, "PettingZoo": 5, "kaggle-environments": 300}
"""How many times a peer's rate is to be reached."""
PEERS = ("textarena", "pettingzoo", "kaggle-environments")
"""What the script knows, by the names of the distributions."""
SCRIPT = str(ROOT / "benchmarks" / "peers.py")


class Rate(NamedTuple):
    """Games of one kind and what they took."""

    label: str
    game: str
    per_second: float
    version: str = ""


def rows(runs: int, peers_python: Path) -> list[Row]:
    """Measure ours, the bare loop and the peers by turns; what the interpreter `peers_python` lacks is left out."""
    works: dict[str, Callable[[], list[Rate]]] = {
        "ours": _ours,
        "bare": _bare,
        **{name: _peer(name, peers_python) for name in PEERS if name in installed(peers_python)},
    }
    rates = [rate for results in interleaved(works, runs).values() for result in results for rate in result]
    return [row for game in GAMES for row in _rows(game, rates)]


def installed(python: Path) -> dict[str, str]:
    """Versions of the peers that an interpreter has, and of what they bring that we use too; {} if it is not there."""
    if not python.exists():
        return {}
    found: dict[str, str] = json.loads(measured([str(python), "-I", SCRIPT, "versions"]).output)
    return found


def _rows(game: str, rates: Sequence[Rate]) -> list[Row]:
    def figure(label: str) -> Figure:
        found = [rate.per_second for rate in rates if (rate.label, rate.game) == (label, game)]
        return Figure(median(found), "games/s")

    versions = {rate.label: rate.version for rate in rates}
    others = [label for label in versions if label not in TIMES and versions[label]]
    table: list[Row] = []
    for episodes in EPISODES:
        ours = figure(_label(episodes))
        matches = "a match of its own" if episodes == 1 else f"matches of {episodes} episodes"
        what = f"{game}, random play, recorded and rated, one core, {matches}"
        table.append(Row(what, ours, goal=Goal(TO_REACH[game], at_least=True)))
        for label in [*TIMES, *others]:
            goal = Goal(TIMES[label], at_least=True, of_ratio=True) if label in TIMES else None
            if label in versions:
                table.append(Row("the same", ours, f"{label} {versions[label]}", figure(label), goal))
            else:
                table.append(Row("the same", ours, f"{label} (not installed)", None, goal))
        table.append(Row("the same", ours, "bare OpenSpiel loop, nothing recorded", figure("bare")))
    return table


def _label(episodes: int) -> str:
    return f"ours, {episodes}"


def _ours() -> list[Rate]:
    """The command with so many pairs less the same command with one pair, which starts all and plays little."""
    rates = []
    for game, games in GAMES.items():
        for episodes in EPISODES:
            crew = Crew(one_core=True, episodes=episodes)
            pairs = games // episodes // 2
            with new_store() as store:
                start = tournament(store, game, AGENTS, 1, crew)
            with new_store() as store:
                whole = tournament(store, game, AGENTS, pairs, crew)
            assert sum(line["matches"] for line in json.loads(whole.output)) >= 4 * pairs, whole.output
            rates.append(Rate(_label(episodes), game, 2 * episodes * (pairs - 1) / (whole.cpu - start.cpu)))
    return rates


def _bare() -> list[Rate]:
    rates = []
    for game, games in BARE_GAMES.items():
        cost = measured([sys.executable, "-m", "benchmarks.bare", "random", game, str(games)])
        rates.append(Rate("bare", game, games / float(cost.output)))
    return rates


def _peer(name: str, python: Path) -> Callable[[], list[Rate]]:
    command = [str(python), "-I", SCRIPT, name]

    def work() -> list[Rate]:
        last = measured(command).output.splitlines()[-1]
        return [
            Rate(line["label"], line["game"], line["games"] / line["cpu"], line["version"]) for line in json.loads(last)
        ]

    return work
