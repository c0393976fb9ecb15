"""Words for PettingZoo's board games of perfect information: tic-tac-toe, connect four, chess, go."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from games.game import Information, Utility
from games.text.arrays import frozen
from games.text.zoo import CleanWords, Facts


class _Marks(CleanWords):
    """Two players put marks on a board; channel 0 holds the seat's own, channel 1 the other's."""

    turns: ClassVar[int]

    def facts(self) -> Facts:
        return Facts(Information.PERFECT, Utility.ZERO_SUM, -1, 1, self.turns, chance=False, terminal_rewards=True)

    def grid(self, sight: Any) -> np.ndarray:
        """The board in rows from the top: 0 empty, 1 the seat's own, 2 the other's."""
        grid: np.ndarray = sight[:, :, 0] + 2 * sight[:, :, 1]
        return grid

    def view(self, sight: Any, agent: str) -> str:
        rows = ["".join([".XO"[int(cell)] for cell in row]) for row in self.grid(sight)]
        return "\n".join(["X = your marks, O = the other player's, . = empty", *rows])

    def board(self, env: Any) -> str:
        first = env.observe(self.agents[0])["observation"]
        return "\n".join(["".join([".XO"[int(cell)] for cell in row]) for row in self.grid(first)])


class TicTacToe(_Marks):
    title = "Tic-tac-toe"
    turns = 9

    def rules(self) -> str:
        return (
            "Two players take turns to mark a square of a 3x3 board; three of one's own in a row, column or diagonal "
            "win (+1, the other -1), a full board without is a draw (0). Squares are numbered down the columns: "
            "0 1 2 are the left column from top to bottom, 3 4 5 the middle one, 6 7 8 the right one."
        )

    def grid(self, sight: Any) -> np.ndarray:
        return super().grid(sight).T


class ConnectFour(_Marks):
    title = "Connect four"
    turns = 42

    def rules(self) -> str:
        return (
            "Two players take turns to drop a piece into a column of a board of 6 rows and 7 columns, where it falls "
            "to the lowest empty square; four of one's own in a line (row, column or diagonal) win (+1, the other -1), "
            "a full board without is a draw (0). An action is a column, 0 on the left to 6 on the right."
        )


class Chess(CleanWords):
    title = "Chess"

    def facts(self) -> Facts:
        return Facts(Information.PERFECT, Utility.ZERO_SUM, -1, 1, 11_800, chance=False, terminal_rewards=True)

    def rules(self) -> str:
        return (
            "Chess by the usual rules; a draw that can be claimed (threefold repetition, fifty moves) ends the game. "
            "+1 for a win, -1 for a loss, 0 for a draw. Moves are written as from-square and to-square, such as e2e4; "
            "a promotion adds the piece, such as e7e8q."
        )

    def action(self, env: Any, agent: str, number: int) -> str:
        names = import_module("pettingzoo.classic.chess.chess_utils")
        return str(names.action_to_move(env.unwrapped.board, number, self.agents.index(agent)).uci())

    def view(self, sight: Any, agent: str) -> str:
        """The newest board of the seat's channels, turned so that White is at the bottom."""
        black = bool(sight[0, 0, 4])
        newest = np.array(sight[::-1, :, 7:19] if black else sight[:, :, 7:19])
        passing = _undo_passing_mark(newest, black)
        letters = "pnbrqkPNBRQK" if black else "PNBRQKpnbrqk"
        cells = [["."] * 8 for _ in range(8)]
        for row, column, channel in np.argwhere(newest).tolist():
            cells[row][column] = letters[channel]
        if not newest.any():  # the environment shows no board before the first move
            cells[0], cells[1], cells[6], cells[7] = list("rnbqkbnr"), ["p"] * 8, ["P"] * 8, list("RNBQKBNR")
        castling = [word for word, channel in zip(_CASTLING, range(4), strict=True) if sight[0, 0, channel]]
        lines = [f"{8 - row} {' '.join(line)}" for row, line in enumerate(cells)]
        return "\n".join(
            [
                f"You play {'Black (small letters)' if black else 'White (capital letters)'}.",
                *lines,
                "  a b c d e f g h",
                f"Castling still possible: {', '.join(castling) or 'none'}.",
                *passing,
            ]
        )

    def board(self, env: Any) -> str:
        return str(env.unwrapped.board)


_CASTLING = ("you kingside", "you queenside", "they kingside", "they queenside")


def _undo_passing_mark(board: np.ndarray, black: bool) -> list[str]:
    """Put a pawn that has just moved two squares back where it is: the environment draws it on its own back rank."""
    told = []
    for channel, back, row in ((6 if black else 0, 7, 4), (0 if black else 6, 0, 3)):
        for column in np.flatnonzero(board[back, :, channel]).tolist():
            board[back, column, channel], board[row, column, channel] = False, True
            told.append(f"The pawn on {'abcdefgh'[column]}{8 - row} has just moved two squares.")
    return told


class Go(CleanWords):
    title = "Go"
    letters = "ABCDEFGHJKLMNOPQRST"
    ranges: ClassVar[Mapping[str, tuple[int, int]]] = {"board_size": (2, 25)}

    @property
    def size(self) -> int:
        return int(self.params["board_size"])

    def facts(self) -> Facts:
        turns = 4 * self.size**2  # the environment knows no superko, so a game need not end by itself
        return Facts(Information.PERFECT, Utility.ZERO_SUM, -1, 1, turns, chance=False, terminal_rewards=True)

    def rules(self) -> str:
        return (
            f"Go on a board of {self.size}x{self.size}, area scoring, komi {self.params['komi']:g}; two passes in a "
            f"row end the game: +1 for a win, -1 for a loss. A game of {4 * self.size**2} moves ends without a winner "
            "(0). A move is a column letter (there is no I) and a row number counted from the bottom, such as D4, or "
            "pass."
        )

    def around(self, seed: int) -> AbstractContextManager[None]:
        return _BoardSize(self.size)

    @cached_property
    def names(self) -> list[str]:
        """Name of each action: the squares row by row from the top, then the pass."""
        return [self._square(*divmod(number, self.size)) for number in range(self.size**2)] + ["pass"]

    def action(self, env: Any, agent: str, number: int) -> str:
        return self.names[number]

    def _square(self, row: int, column: int) -> str:
        letter = self.letters[column] if self.size <= len(self.letters) else f"{column + 1}-"
        return f"{letter}{self.size - row}"

    def view(self, sight: Any, agent: str) -> str:
        """Channel 0 holds the stones of the player who moved last, channel 1 those of the seat to move."""
        black = not sight[0, 0, 16]
        own, other = sight[:, :, 1], sight[:, :, 0]
        board = np.where(own, 1 if black else 2, np.where(other, 2 if black else 1, 0))
        return f"You play {'Black (X)' if black else 'White (O)'}.\n" + self._draw(board)

    def aside(self, env: Any, agent: str, sight: Any) -> Any:
        """The environment puts the one who moved last first, whoever looks: exchange the two of each pair."""
        if agent == env.unwrapped.agent_selection:
            return sight
        return frozen(sight[:, :, [1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14, 16]])

    def board(self, env: Any) -> str:
        board = env.unwrapped._go.board
        return self._draw(np.where(board == 1, 1, np.where(board == -1, 2, 0)))

    def _draw(self, board: np.ndarray) -> str:
        lines = [f"{self.size - row:2} {' '.join(['.XO'[cell] for cell in line])}" for row, line in enumerate(board)]
        if self.size <= len(self.letters):
            lines.append("   " + " ".join(self.letters[: self.size]))
        return "\n".join(lines)


class _BoardSize:
    """The environment keeps its board size in globals of a module: set them before a game of another size goes on."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __enter__(self) -> None:
        base = import_module("pettingzoo.classic.go.go_base")
        if self.size != base.N:
            import_module("pettingzoo.classic.go.go").raw_env(board_size=self.size)

    def __exit__(self, *error: object) -> None:
        pass
