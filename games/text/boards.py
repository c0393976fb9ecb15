"""Words of the two-player board games: breakthrough, hex and othello."""

from typing import Any

from games.spec import SpecError
from games.text.grid import draw, letters
from games.text.words import Words


class _Board(Words):
    """What the three share: two colours, and cells named by column letter and row number such as b3."""

    fixed_names = True
    colours = ("black (x)", "white (o)")
    """Of seats 0 and 1, with the character that stands for them."""

    def grid(self, state: Any) -> str:
        raise NotImplementedError

    def task(self, seat: int) -> str:
        """What a seat of this colour is after, in a few words."""
        return ""

    def seat_name(self, seat: int) -> str:
        return self.colours[seat]

    def board(self, state: Any) -> str:
        return f"{self.grid(state)}\n{self.status(state)}"

    def view(self, state: Any, seat: int) -> str:
        return f"You play {self.colours[seat]}{self.task(seat)}.\n{self.grid(state)}"


class Breakthrough(_Board):
    """A move is named by the cells it leaves and enters, such as a7-b6; row 1 is the bottom row."""

    colours = ("black (b)", "white (w)")

    def __init__(self, game: Any) -> None:
        super().__init__(game)
        params = game.get_parameters()
        self.rows, self.columns = params["rows"], params["columns"]
        self.files = letters(self.columns)

    def rules(self) -> str:
        start = self.game.new_initial_state()
        home = sum("b" in row for row in self._rows(start))
        side = "row" if home == 1 else f"{home} rows"
        example = self.action(start, 0, start.legal_actions()[0])
        return (
            f"Breakthrough on a board of {self.rows} rows, numbered from 1 at the bottom to {self.rows} at the top, "
            f"and {self.columns} columns, {self.files[0]} to {self.files[-1]}. Seat 0 plays black (b) and moves first: "
            f"its pieces fill the top {side} and move down. Seat 1 plays white (w): its pieces fill the bottom "
            f"{side} and move up.\n"
            "The players take turns to move one own piece one row forward, straight or diagonally. A straight move "
            "needs an empty cell. A diagonal move may enter an empty cell or one with an opposing piece, which is "
            "captured; capturing is never forced.\n"
            "An action is the cell the piece leaves and the cell it enters, each as column letter and row number, "
            f"joined by a hyphen: {example} for example.\n"
            f"Black wins by reaching row 1, white by reaching row {self.rows}; a player also wins by capturing all "
            "opposing pieces.\n"
            "Returns: +1 for the winner and -1 for the loser; there are no draws."
        )

    def _rows(self, state: Any) -> list[str]:
        """OpenSpiel's rows from the top, each without the label in its first character."""
        return [line[1:] for line in str(state).split("\n")[: self.rows]]

    def grid(self, state: Any) -> str:
        return draw(self.files, [str(row) for row in range(self.rows, 0, -1)], self._rows(state))

    def task(self, seat: int) -> str:
        return f" and move {'down' if seat == 0 else 'up'} to row {1 if seat == 0 else self.rows}"

    def action(self, state: Any, seat: int, action: int) -> str:
        # OpenSpiel numbers (row from the top, column, direction of 6, capture of 2) in mixed radix;
        # directions 0 to 2 go down and 3 to 5 up, each left, straight, right.
        place, direction = divmod(action // 2, 6)
        row, column = divmod(place, self.columns)
        to_row = row + (1 if direction < 3 else -1)
        return f"{self._cell(row, column)}-{self._cell(to_row, column + direction % 3 - 1)}"

    def _cell(self, row: int, column: int) -> str:
        return f"{self.files[column]}{self.rows - row}"


class Hex(_Board):
    """A cell is named by column letter and row number, row 1 at the top; `swap` is the pie rule."""

    def __init__(self, game: Any) -> None:
        super().__init__(game)
        params = game.get_parameters()
        self.rows, self.columns, self.swap = params["num_rows"], params["num_cols"], params["swap"]
        self.files = letters(self.columns)
        if min(self.rows, self.columns) < 2:
            raise SpecError(
                f"hex of {self.rows} rows and {self.columns} columns cannot be won; take at least 2 of each"
            )
        if self.swap and self.rows != self.columns:
            raise SpecError(
                f"hex with swap=true needs as many rows as columns, not {self.rows} and {self.columns}: "
                "OpenSpiel loses the swapped stone"
            )

    def rules(self) -> str:
        swap = (
            "\nOn its first move seat 1 may instead answer swap: the x stone is taken off, an o stone is put on the "
            "cell with row and column exchanged (b1 becomes a2), and it is seat 0's move."
        )
        return (
            f"Hex on a board of {self.rows} rows, numbered from 1 at the top, and {self.columns} columns, "
            f"{self.files[0]} to {self.files[-1]}. Seat 0 plays black (x) and moves first; seat 1 plays white (o). "
            "The players take turns to put one own stone on an empty cell; stones never move.\n"
            "Cells are hexagons, drawn with each row half a cell further right than the one above. A cell touches its "
            "left and right neighbours, in the row above those in the same column and the next column to the right, "
            "and in the row below those in the same column and the next to the left: b2 touches a2, c2, b1, c1, "
            "a3 and b3.\n"
            "An action is the column letter and row number of an empty cell: a1 is the top left, "
            f"{self.files[-1]}{self.rows} the bottom right.{swap if self.swap else ''}\n"
            "Black (x) wins by an unbroken chain of touching x stones from the top row to the bottom row, white (o) by "
            "a chain of o stones from the leftmost to the rightmost column. One of them must happen.\n"
            "Returns: +1 for the winner and -1 for the loser; there are no draws."
        )

    def grid(self, state: Any) -> str:
        # The representation `explicit` tells stones joined to an edge apart: X, y, z are x and O, p, q are o.
        plain = str(state).translate(str.maketrans("XyzOpq", "xxxooo"))
        return draw(
            self.files, [str(row + 1) for row in range(self.rows)], [row.split() for row in plain.split("\n")], 1
        )

    def task(self, seat: int) -> str:
        return " and join " + ("the top and bottom rows" if seat == 0 else "the leftmost and rightmost columns")

    def action(self, state: Any, seat: int, action: int) -> str:
        if action == self.rows * self.columns:
            return "swap"
        return f"{self.files[action % self.columns]}{action // self.columns + 1}"


class Othello(_Board):
    """A cell is named by column letter and row number, row 1 at the top; `pass` where there is no other move."""

    def rules(self) -> str:
        return (
            "Othello on a board of 8 rows, numbered from 1 at the top, and 8 columns, a to h. Seat 0 plays black (x) "
            "and moves first; seat 1 plays white (o). Each has two discs in the middle at the start.\n"
            "A move puts an own disc on an empty cell so that at least one straight line (level, upright or diagonal) "
            "of opposing discs, with no gap, lies between it and another own disc. All opposing discs in all such "
            "lines turn to the mover's colour; a move must turn at least one.\n"
            "An action is the column letter and row number of the cell, such as d3. A player who has no such move, and "
            "only then, must pass: its one action is pass.\n"
            "The game ends when neither player can move, as when the board is full. Whoever has more discs wins; equal "
            "numbers are a draw.\n"
            "Returns: +1 for the winner and -1 for the loser, or 0 for both in a draw."
        )

    def grid(self, state: Any) -> str:
        rows = [line.split()[1:9] for line in str(state).replace("-", ".").split("\n")[2:10]]
        discs = "".join(map("".join, rows))
        count = f"Discs: black (x) {discs.count('x')}, white (o) {discs.count('o')}"
        return f"{draw(letters(8), [str(row) for row in range(1, 9)], rows)}\n{count}"

    def action(self, state: Any, seat: int, action: int) -> str:
        return "pass" if action == 64 else f"{'abcdefgh'[action % 8]}{action // 8 + 1}"
