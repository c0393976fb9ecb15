"""The bare OpenSpiel loops that our path stands beside: nothing is seated, checked, recorded or rated.

    python -m benchmarks.bare random GAME GAMES
    python -m benchmarks.bare mcts GAME SIMULATIONS  < seeds

The first prints the CPU seconds of so many games of random moves. The second plays MCTS against itself, one game for
each line `SEED REPLICA` of a match, with bots made as our agents make them, and prints JSON: the CPU seconds and the
moves of every game.
"""

import json
import random
import sys
import time
from collections.abc import Sequence

import pyspiel

from games.seeding import derive

UCT_C, MEMORY_MB = 1.4, 1000


def play_random(name: str, games: int) -> float:
    """CPU seconds of so many games of uniformly random moves."""
    game, rng = pyspiel.load_game(name), random.Random(0)
    begun = time.process_time()
    for _ in range(games):
        state = game.new_initial_state()
        while not state.is_terminal():
            legal = state.legal_actions()
            state.apply_action(legal[int(rng.random() * len(legal))])
        state.returns()
    return time.process_time() - begun


def play_mcts(name: str, simulations: int, matches: Sequence[tuple[int, int]]) -> tuple[float, list[list[int]]]:
    """CPU seconds of one self-play game for each match (seed, replica), and the moves, as OpenSpiel numbers them."""
    game = pyspiel.load_game(name)
    seeds = [[_seeds(derive(seed, replica, seat)) for seat in (0, 1)] for seed, replica in matches]
    moves = []
    begun = time.process_time()
    for pair in seeds:
        bots = [_bot(game, simulations, search, rollouts) for search, rollouts in pair]
        state = game.new_initial_state()
        while not state.is_terminal():
            state.apply_action(bots[state.current_player()].step(state))
        moves.append(state.history())
    return time.process_time() - begun, moves


def _seeds(agent: int) -> tuple[int, int]:
    """Seeds of the search and of its rollouts, as `agents.search` draws them from the agent's own."""
    both = derive(agent, "search")
    return both % 2**31, both >> 32


def _bot(game: pyspiel.Game, simulations: int, search: int, rollouts: int) -> pyspiel.Bot:
    evaluator = pyspiel.RandomRolloutEvaluator(1, rollouts)
    return pyspiel.MCTSBot(game, evaluator, UCT_C, simulations, MEMORY_MB, True, search, False)


def main() -> None:
    """Play what is asked for and print what it came to."""
    kind, name, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if kind == "random":
        play_random(name, number // 20)
        print(play_random(name, number))
        return
    matches = [(int(seed), int(replica)) for seed, replica in (line.split() for line in sys.stdin)]
    cpu, moves = play_mcts(name, number, matches)
    print(json.dumps({"cpu": cpu, "moves": moves}))


if __name__ == "__main__":
    main()
