"""How far each action's cell is from the middle of the board, for games that place on a rectangle."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from agents.foresight import Move
from games.game import Game
from games.spiel import SpielGame

Cells = Mapping[int, Sequence[tuple[int, int]]]
"""OpenSpiel's action number -> the cells (row, column) that it may fill."""


@lru_cache(maxsize=64)
def centre_distances(game: Game) -> Mapping[Move, int] | None:
    """Squared distance, in half cells, of each action from the middle of the board; None where there is no such thing.

    Read off OpenSpiel's observation shape (planes, rows, columns): with one action a cell, or a cell and a pass, the
    actions number the cells row by row; with one a column, they number the columns. Whether that is so is then tried:
    each action of the first position must change the cell, or a cell of the column, that it is taken to name. A pass
    is farther than any cell.
    """
    if not isinstance(game, SpielGame) or game.has_chance or not game.spiel.get_type().provides_observation_tensor:
        return None
    shape = game.spiel.observation_tensor_shape()
    if len(shape) != 3:
        return None
    _, rows, columns = shape
    count = game.spiel.num_distinct_actions()
    if count in (rows * columns, rows * columns + 1):
        cells = {action: [divmod(action, columns)] for action in range(rows * columns)}
    elif count == columns:
        cells = {column: [(row, column) for row in range(rows)] for column in range(columns)}
    else:
        return None
    if not _fills(game.spiel, cells):
        return None
    farthest = rows**2 + columns**2
    near = {action: _distance(places, rows, columns) for action, places in cells.items()}
    return {action: near.get(action, farthest) for action in range(count)}


def _distance(cells: Sequence[tuple[int, int]], rows: int, columns: int) -> int:
    """Of a cell; of a column, along the rows only."""
    across = (2 * cells[0][1] - columns + 1) ** 2
    return across if len(cells) > 1 else across + (2 * cells[0][0] - rows + 1) ** 2


def _fills(spiel: Any, cells: Cells) -> bool:
    """Whether each action of the first position changes what is seen of a cell that it is taken to name."""
    start = spiel.new_initial_state()
    before = _planes(start)
    for action in start.legal_actions():
        changed = (_planes(start.child(action)) != before).any(axis=0)
        if action in cells and not any(changed[cell] for cell in cells[action]):
            return False
    return True


def _planes(state: Any) -> "np.ndarray[Any, np.dtype[np.float32]]":
    shape = state.get_game().observation_tensor_shape()
    return np.array(state.observation_tensor(0), dtype=np.float32).reshape(shape)
