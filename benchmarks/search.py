"""MCTS against itself through the whole path, beside a bare OpenSpiel loop of equal bots with equal seeds."""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.arena_runs import interleaved, new_store, tournament
from benchmarks.cost import measured
from benchmarks.table import Figure, Goal, Row
from games import registry
from games.spiel import SpielGame, SpielState
from league.store.store import Store

SIMULATIONS = 1000
AGENTS = (f"mcts(simulations={SIMULATIONS})", f"other=mcts(simulations={SIMULATIONS})")
PAIRS = {"tic_tac_toe": 600, "connect_four": 12}
"""Each pair is two matches."""
COSTS = Goal(1.05, at_least=False, of_ratio=True)


class Played(NamedTuple):
    """What some matches cost through the path and in the bare loop."""

    ours: float
    """CPU seconds a match, the start of the program left out."""
    bare: float
    """CPU seconds a match."""
    refereed: float
    """CPU seconds a match that is played by our referee and agents, in one process, and not stored."""
    bare_by_turns: float
    """The same of the bare loop, match by match by turns with the refereed ones."""


def rows(runs: int) -> list[Row]:
    """Measure both ways by turns; raises AssertionError unless they play the same moves."""
    works: dict[str, Callable[[], Played]] = {game: _work(game, pairs) for game, pairs in PAIRS.items()}
    costs = interleaved(works, runs)
    table = []
    for game in PAIRS:
        ours, bare, refereed, by_turns = (median(column) * 1000 for column in zip(*costs[game], strict=True))
        what = f"{game}, MCTS-{SIMULATIONS} against itself, CPU time of a match"
        beside = "bare OpenSpiel loop, the same moves"
        table.append(Row(f"{what}, played", Figure(refereed, "ms"), beside, Figure(by_turns, "ms"), COSTS))
        table.append(Row(f"{what}, also recorded and rated", Figure(ours, "ms"), beside, Figure(bare, "ms")))
    return table


def _work(game: str, pairs: int) -> Callable[[], Played]:
    def work() -> Played:
        with new_store() as store:
            start = tournament(store, game, AGENTS, 1)
        with new_store() as store:
            whole = tournament(store, game, AGENTS, pairs)
            seeds, actions = _recorded(store)
        bare, moves = _bare(game, seeds)
        if _named(game, moves) != actions:
            raise AssertionError(f"the bare loop does not play the moves of {game} that were recorded")
        lines = "".join(f"{seed} {replica}\n" for seed, replica in seeds)
        played = measured([sys.executable, "-m", "benchmarks.self_play", game, str(SIMULATIONS)], lines)
        both = {key: cpu / (2 * pairs) for key, cpu in json.loads(played.output).items()}
        ours = (whole.cpu - start.cpu) / (2 * pairs - 2)
        return Played(ours, bare / (2 * pairs), both["refereed"], both["bare"])

    return work


def _recorded(store: Path) -> tuple[list[tuple[int, int]], list[list[str]]]:
    """Seed and replica of every match, and the actions of its only episode, in one order."""
    table = Store(store).query(
        "SELECT seed, replica, actions FROM matches JOIN (SELECT match_id, actions FROM episodes) USING (match_id)"
        " ORDER BY match_id"
    )
    columns = table.to_pydict()
    return list(zip(columns["seed"], columns["replica"], strict=True)), columns["actions"]


def _bare(game: str, seeds: Sequence[tuple[int, int]]) -> tuple[float, list[list[int]]]:
    lines = "".join(f"{seed} {replica}\n" for seed, replica in seeds)
    cost = measured([sys.executable, "-m", "benchmarks.bare", "mcts", game, str(SIMULATIONS)], lines)
    found = json.loads(cost.output)
    return found["cpu"], found["moves"]


def _named(game: str, moves: Sequence[Sequence[int]]) -> list[list[str]]:
    """Moves by our names instead of OpenSpiel's numbers."""
    made = registry.make(game)
    assert isinstance(made, SpielGame)
    named = []
    for numbers in moves:
        state = made.new_episode(0)
        names = []
        for number in numbers:
            names.append(_name(state, number))
            state.apply({state.seats_to_act()[0]: names[-1]})
        named.append(names)
    return named


def _name(state: SpielState, number: int) -> str:
    legal = state.legal(state.seats_to_act()[0])
    return next(name for name, found in legal.items() if found == number)
