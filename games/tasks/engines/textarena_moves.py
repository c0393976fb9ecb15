"""The moves that can be written in games of TextArena for one player, in TextArena's own notation."""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, permutations, product
from string import ascii_lowercase, ascii_uppercase
from typing import Any, NamedTuple

MOST_MOVES = 1_000
"""Moves that are listed, at most."""
PASS = "[pass]"
"""What stands for any line where the moves cannot be listed."""


class Moves(NamedTuple):
    """How to list the moves of a game, and what else is known of it."""

    of: Callable[[Any], Sequence[str]]
    """From the environment after its reset."""
    perfect: bool = False
    """Whether the player is shown everything."""
    returns: tuple[float, float] = (-1.0, 1.0)
    """The least return and the greatest."""


def _words(*words: str) -> Callable[[Any], Sequence[str]]:
    return lambda env: words


def _cells(rows: int, columns: int) -> list[str]:
    return [f"{row} {column}" for row, column in product(range(rows), range(columns))]


def _edges(env: Any) -> list[str]:
    across = [f"h {row} {column}" for row, column in product(range(env.R + 1), range(env.C))]
    return across + [f"v {row} {column}" for row, column in product(range(env.R), range(env.C + 1))]


def _codes(env: Any) -> list[str]:
    digits, length = range(1, env.num_numbers + 1), env.code_length
    count = 1
    for place in range(length):
        count *= env.num_numbers - (0 if env.duplicate_numbers else place)
    if count > MOST_MOVES:
        return []
    codes = product(digits, repeat=length) if env.duplicate_numbers else permutations(digits, length)
    return [" ".join(map(str, code)) for code in codes]


_STEPS = _words("up", "down", "left", "right")
MOVES: Mapping[str, Moves] = {
    "2048": Moves(_words("Up", "Down", "Left", "Right"), perfect=True),
    "Bandit": Moves(lambda env: env.buttons),
    "Blackjack": Moves(_words("Hit", "Stand")),
    "Countdown": Moves(
        lambda env: [f"{i} {j} {sign}" for i, j in permutations(range(len(env.orig_numbers)), 2) for sign in "+-*/"],
        perfect=True,
    ),
    "Cryptarithm": Moves(
        lambda env: [
            f"{letter} {digit}"
            for letter, digit in product([a for a in ascii_uppercase if a in env.equation_raw], range(10))
        ],
        perfect=True,
    ),
    "FifteenPuzzle": Moves(_STEPS, perfect=True),
    "FrozenLake": Moves(_STEPS, perfect=True),
    "GuessTheNumber": Moves(lambda env: list(map(str, range(env.min_number, env.max_number + 1)))),
    "Hangman": Moves(_words(*ascii_lowercase)),
    "LightsOut": Moves(lambda env: _cells(env.size, env.size), perfect=True, returns=(-24.0, 1.0)),
    "Mastermind": Moves(_codes),
    "Minesweeper": Moves(lambda env: _cells(env.rows, env.cols)),
    "PegJump": Moves(lambda env: [f"{a} {b}" for a, b in permutations(range(1, 16), 2)], perfect=True),
    "RushHour": Moves(
        lambda env: [f"{car}{way}" for car, way in product(sorted(env.state.game_state["vehicles"]), "+-")],
        perfect=True,
    ),
    "Secretary": Moves(_words("accept", "continue")),
    "Set": Moves(
        lambda env: [", ".join(map(str, cards)) for cards in combinations(range(1, 13), 3)],
        perfect=True,
        returns=(-20.0, 20.0),
    ),
    "Slitherlink": Moves(_edges, perfect=True),
    "Sokoban": Moves(_STEPS, perfect=True),
    "Sudoku": Moves(lambda env: [" ".join(map(str, move)) for move in product(range(1, 10), repeat=3)], perfect=True),
    "ThreeCardMonte": Moves(lambda env: list(map(str, range(env.num_cups))), perfect=True),
    "TowerOfHanoi": Moves(lambda env: [f"{a} {b}" for a, b in permutations("ABC", 2)], perfect=True),
}
"""Name of a game without its version -> its moves, without the brackets."""


def listed(name: str, env: Any) -> tuple[str, ...]:
    """The moves of a game after its reset; PASS alone where they cannot be listed."""
    found = MOVES[name].of(env) if name in MOVES else ()
    return tuple([f"[{move}]" for move in found]) or (PASS,)
