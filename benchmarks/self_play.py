"""MCTS against itself with our referee and without, match by match by turns in one process, nothing stored.

    python -m benchmarks.self_play GAME SIMULATIONS  < seeds

Each line of the input is `SEED REPLICA` of a match. Prints JSON: the CPU seconds of both ways.
"""

import asyncio
import json
import sys
import time
from collections.abc import Sequence

from agents.registry import recipe
from arena.match import Match, play_match
from benchmarks.bare import play_mcts
from games import registry
from games.errors import RunError
from games.spiel import SpielGame
from league.config import rules_of


def main() -> None:
    """Play the matches of the input and print what each way cost."""
    name, simulations = sys.argv[1], int(sys.argv[2])
    matches = [(int(seed), int(replica)) for seed, replica in (line.split() for line in sys.stdin)]
    refereed, bare = asyncio.run(by_turns(name, simulations, matches))
    print(json.dumps({"refereed": refereed, "bare": bare}))


async def by_turns(name: str, simulations: int, matches: Sequence[tuple[int, int]]) -> tuple[float, float]:
    """CPU seconds of the matches with the referee, and of the same games in the bare loop."""
    game = registry.make(name)
    assert isinstance(game, SpielGame)
    players = [recipe(f"{side}=mcts(simulations={simulations})") for side in ("x", "y")]
    names, specs = ("x", "y"), tuple([player.spec for player in players])
    costs = [0.0, 0.0]
    for seed, replica in matches:
        match = Match("", "", name, 0, 0, replica, seed, names, specs, ("", ""), rules_of({}))
        begun = time.process_time()
        result = await play_match(match, game, players)
        costs[0] += time.process_time() - begun
        cpu, (moves,) = play_mcts(name, simulations, [(seed, replica)])
        costs[1] += cpu
        if len(moves) != len(result.episodes[0].actions):
            raise RunError(f"the bare loop does not play the moves of {name}, match {seed}")
    return costs[0], costs[1]


if __name__ == "__main__":
    main()
