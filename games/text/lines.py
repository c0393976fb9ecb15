"""Words of the games of marks in a line: tic-tac-toe and connect four."""

from typing import Any

from games.text.grid import draw
from games.text.words import Words

MARKS = ("x", "o")
"""Marks of seats 0 and 1, the same as OpenSpiel's."""


class _Lines(Words):
    """What both games share: the board is OpenSpiel's, one character a cell, drawn with labels."""

    fixed_names = True

    def grid(self, state: Any) -> str:
        raise NotImplementedError

    def seat_name(self, seat: int) -> str:
        return MARKS[seat]

    def board(self, state: Any) -> str:
        return f"{self.grid(state)}\n{self.status(state)}"

    def view(self, state: Any, seat: int) -> str:
        return f"You play {MARKS[seat]}.\n{self.grid(state)}"


class TicTacToe(_Lines):
    """A cell is named by its row and column, counted from 0 at the top left: r0c2 is the top right cell.

    The name needs no quotes in an agent string and cannot be taken for a number.
    """

    def title(self) -> str:
        return "Tic-tac-toe"

    def rules(self) -> str:
        return (
            "Tic-tac-toe. Two players mark the cells of a board of 3 rows and 3 columns in turn. "
            "Seat 0 plays x and moves first; seat 1 plays o.\n"
            "An action names the empty cell to mark by its row and column, counted from 0 at the top left: "
            "r0c0 is the top left cell, r0c2 the top right, r1c1 the centre, r2c2 the bottom right.\n"
            "The first player with three own marks in one row, column or diagonal wins and the game ends. "
            "If the board is full and nobody has that, the game is drawn.\n"
            "Returns: +1 for the winner and -1 for the loser, or 0 for both in a draw."
        )

    def grid(self, state: Any) -> str:
        return draw(["c0", "c1", "c2"], ["r0", "r1", "r2"], str(state).split())

    def action(self, state: Any, seat: int, action: int) -> str:
        return f"r{action // 3}c{action % 3}"


class ConnectFour(_Lines):
    """A column is named by its number, counted from 0 at the left."""

    def __init__(self, game: Any) -> None:
        super().__init__(game)
        params = game.get_parameters()
        self.rows, self.columns, self.length = params["rows"], params["columns"], params["x_in_row"]

    def title(self) -> str:
        return "Connect four"

    def rules(self) -> str:
        return (
            f"Connect four. Two players drop discs into an upright board of {self.columns} columns and "
            f"{self.rows} rows in turn. Seat 0 plays x and moves first; seat 1 plays o.\n"
            "An action is the number of a column that is not full, counted from 0 at the left, such as "
            f"{self.columns - 1} for the rightmost; the disc falls to the lowest empty cell of that column.\n"
            f"The first player with {self.length} own discs in an unbroken line (level, upright or diagonal) wins "
            "and the game ends. If the board is full and nobody has that, the game is drawn.\n"
            "Returns: +1 for the winner and -1 for the loser, or 0 for both in a draw."
        )

    def grid(self, state: Any) -> str:
        return draw([str(column) for column in range(self.columns)], [""] * self.rows, str(state).split())

    def action(self, state: Any, seat: int, action: int) -> str:
        return str(action)
