"""Random play in other people's arenas; run by an interpreter that has them, and imports nothing of ours.

    python -I benchmarks/peers.py textarena|pettingzoo|kaggle-environments|versions

`versions` prints what is installed as JSON. Else it prints one JSON list: for each game `{"label", "version", "game",
"games", "cpu"}`, where `cpu` is the CPU seconds that `games` games took, imports and a warm-up left out. Each arena is
driven by the loop of its own documentation, with a player that draws a legal move as cheaply as the arena's interface
allows. Nothing here records or rates.
"""

import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

Play = Callable[[int], None]
"""Plays so many games."""
RNG = random.Random(0)


class Contest(NamedTuple):
    """One way to play one game in one arena."""

    label: str
    """What it is, for the table."""
    game: str
    """Our name of the game."""
    games: int
    """How many are timed."""
    play: Play


def textarena() -> Iterator[Contest]:
    """A fresh environment a game: a reused one shows the last game's transcript.

    `-raw` is the same environment without the wrappers that join what was seen into one prompt.
    """
    import textarena as ta

    def loop(name: str, legal: Callable[[Any], list[int]]) -> Play:
        def play(games: int) -> None:
            for _ in range(games):
                env = ta.make(name)
                env.reset(num_players=2)
                done = False
                while not done:
                    env.get_observation()
                    free = legal(env.state.game_state["board"])
                    done, _ = env.step(action=f"[{free[int(RNG.random() * len(free))]}]")
                rewards, info = env.close()
                assert not any(seat["invalid_move"] for seat in info.values()), info
                assert len(rewards) == 2, rewards

        return play

    def cells(board: list[list[str]]) -> list[int]:
        return [cell for cell in range(9) if not board[cell // 3][cell % 3]]

    def columns(board: list[list[str]]) -> list[int]:
        return [column for column, cell in enumerate(board[0]) if cell == "."]

    yield Contest("TextArena", "tic_tac_toe", 4000, loop("TicTacToe-v0", cells))
    yield Contest("TextArena", "connect_four", 1200, loop("ConnectFour-v0", columns))
    yield Contest("TextArena without wrappers", "tic_tac_toe", 4000, loop("TicTacToe-v0-raw", cells))
    yield Contest("TextArena without wrappers", "connect_four", 1200, loop("ConnectFour-v0-raw", columns))


def pettingzoo() -> Iterator[Contest]:
    """One environment for all games, the documented loop over `agent_iter`.

    The documented `action_space.sample(mask)` takes longer than the rest of the loop: the move is drawn from the mask.
    `raw_env` leaves out the wrappers that check order and legality; there the loop ends with the game.
    """
    from pettingzoo.classic import connect_four_v3, tictactoe_v3

    def loop(env: Any) -> Play:
        def play(games: int) -> None:
            for _ in range(games):
                env.reset()
                for _ in env.agent_iter():
                    observation, _, termination, truncation, _ = env.last()
                    env.step(None if termination or truncation else drawn(observation))

        return play

    def bare(env: Any) -> Play:
        def play(games: int) -> None:
            for _ in range(games):
                env.reset()
                while True:
                    observation, _, termination, _, _ = env.last()
                    if termination:
                        break
                    env.step(drawn(observation))

        return play

    def drawn(observation: Any) -> int:
        legal = observation["action_mask"].nonzero()[0]
        return int(legal[int(RNG.random() * len(legal))])

    yield Contest("PettingZoo", "tic_tac_toe", 1500, loop(tictactoe_v3.env()))
    yield Contest("PettingZoo", "connect_four", 500, loop(connect_four_v3.env()))
    yield Contest("PettingZoo, no checks", "tic_tac_toe", 6000, bare(tictactoe_v3.raw_env()))
    yield Contest("PettingZoo, no checks", "connect_four", 800, bare(connect_four_v3.raw_env()))


def kaggle() -> Iterator[Contest]:
    """One environment for all games, `run` with its own random agents.

    Its tic-tac-toe is OpenSpiel's; the environment of that name that older releases had is gone.
    """
    from kaggle_environments import make

    def loop(name: str, **configuration: Any) -> Play:
        env = make(name, configuration=configuration)

        def play(games: int) -> None:
            for _ in range(games):
                last = env.run(["random", "random"])[-1]
                assert [seat.status for seat in last] == ["DONE", "DONE"], last
                assert len(env.steps) >= 6, "the shortest game has five moves"

        return play

    yield Contest("kaggle-environments", "tic_tac_toe", 50, loop("open_spiel_tic_tac_toe", includeLegalActions=True))
    yield Contest("kaggle-environments", "connect_four", 40, loop("connectx"))


ARENAS: dict[str, Callable[[], Iterator[Contest]]] = {
    "textarena": textarena,
    "pettingzoo": pettingzoo,
    "kaggle-environments": kaggle,
}
"""Distribution name -> how its games are played."""


def versions() -> Iterator[tuple[str, str]]:
    """The arenas that are installed, and what they play with."""
    for name in (*ARENAS, "open-spiel", "gymnasium", "numpy"):
        with suppress(PackageNotFoundError):
            yield name, version(name)


def main() -> None:
    """Time one arena and print what came of it."""
    name = sys.argv[1]
    if name == "versions":
        print(json.dumps(dict(versions())))
        return
    results = []
    for contest in ARENAS[name]():
        contest.play(max(3, contest.games // 20))
        begun = time.process_time()
        contest.play(contest.games)
        spent = time.process_time() - begun
        results.append([contest.label, contest.game, contest.games, spent])
    keys = ("label", "game", "games", "cpu")
    print(json.dumps([{"version": version(name), **dict(zip(keys, row, strict=True))} for row in results]))


if __name__ == "__main__":
    main()
