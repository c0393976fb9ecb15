"""MineSweeper as a task: open every cell without a mine, within a few turns."""

import random
from collections.abc import Hashable
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from pydantic import Field as Parameter
from pydantic import model_validator

from games.errors import UserError
from games.game import Action
from games.spec import Spec
from games.tasks.minesweeper.field import Board, Field, field, generate
from games.tasks.minesweeper.odds import chances, drawn, layouts
from games.tasks.parameters import Parameters, canonical, read
from games.tasks.task import Advisor, Task, TaskObservation, TaskState, task_spec
from games.text.grid import draw

WIN, CASCADE, CELL, NOTHING, MINE = 10.0, 2.0, 0.5, -1.0, -0.1
"""Rewards of a turn: for the last safe cell, several cells, one cell, a cell that was open, a mine."""
TURNS = 7
MOST_LAYOUTS = 2_000
"""Layouts that the solver looks through for how much a cell would open."""
CLOSED, MINED = "?", "*"


class MinesweeperParameters(Parameters):
    """What `minesweeper(...)` takes."""

    rows: int = Parameter(6, ge=2, le=16, description="Rows of the board.")
    columns: int = Parameter(6, ge=2, le=16, description="Columns of the board.")
    mines: int = Parameter(3, ge=1, le=60, description="Mines on the board.")
    turns: int = Parameter(TURNS, ge=1, le=1_000, description="Turns of an episode.")

    @model_validator(mode="after")
    def _there_is_room(self) -> "MinesweeperParameters":
        if self.mines > self.rows * self.columns - 2:
            raise ValueError(f"mines = {self.mines} leaves fewer than two of {self.rows * self.columns} cells safe")
        return self


class Sight(NamedTuple):
    """What the player knows."""

    open: int
    """Open cells; their numbers follow from the board."""
    turn: int
    """Turns taken."""
    said: str
    """What the last turn did."""
    hit: int
    """The mines, once one was opened."""


class Minesweeper(Task):
    """Boards of one size."""

    free = True

    def __init__(self, spec: Spec) -> None:
        self.given = given = read(spec, MinesweeperParameters)
        self.instances = given.generated()
        self.field = field(given.rows, given.columns)
        self.names = tuple(
            [f"({row},{column})" for row in range(1, given.rows + 1) for column in range(1, given.columns + 1)]
        )
        self.cells = {name: cell for cell, name in enumerate(self.names)}
        self.safe = self.field.cells - given.mines
        self.layout = lru_cache(maxsize=1024)(self._board)
        self.layout(self.instances.first)
        self.spec = task_spec(
            name=canonical(spec.name, given),
            title="MineSweeper",
            rules=_rules(given),
            turns=given.turns,
            returns=(NOTHING * given.turns, CASCADE * (given.turns - 1) + WIN),
            perfect=False,
            chance=self.instances.size > 1,
            can_sample_state=True,
        )

    def begin(self, instance: int) -> "MinesweeperState":
        return MinesweeperState(self, instance, self.layout(instance))

    def likeness(self, instance: int) -> Hashable:
        return self.layout(instance)

    def advisor(self) -> "MinesweeperAdvisor":
        return MinesweeperAdvisor(self)

    def numbers(self, mines: int, open_: int) -> dict[int, int]:
        """Open cell -> mines around it."""
        masks = self.field.masks
        return {cell: (mines & masks[cell]).bit_count() for cell in range(self.field.cells) if open_ >> cell & 1}

    def sample(self, observation: TaskObservation, rng: random.Random) -> "MinesweeperState":
        state, sight = observation.state, observation.sight
        assert isinstance(state, MinesweeperState)
        mines = state.mines
        if not sight.hit:
            mines = drawn(self.field, self.numbers(mines, sight.open), self.given.mines, rng)
        return state.twin(observation, mines)

    def _board(self, instance: int) -> Board:
        given = self.given
        board = generate(given.rows, given.columns, given.mines, given.split, instance)
        if board is None:
            size = f"{given.rows} x {given.columns} with {given.mines} mines"
            raise UserError(f"no board of {size} is in split {given.split} that its first opening does not solve")
        return board


class MinesweeperState(TaskState):
    """One board in progress."""

    __slots__ = ("mines",)

    task: Minesweeper

    def __init__(self, task: Minesweeper, instance: int, board: Board) -> None:
        super().__init__(task, instance)
        self.mines = board.mines
        self.sight = Sight(board.open, 0, "", 0)

    def twin(self, observation: TaskObservation, mines: int) -> "MinesweeperState":
        """A state as it was at a moment, with other mines."""
        other = MinesweeperState(self.task, self.instance, Board(mines, observation.sight.open))
        other.log, other.sight = self.log[: observation.turns], observation.sight
        other.over, other.solved = not observation.legal_actions, observation.solved
        other._return = observation.total
        return other

    def _play(self, action: Action) -> float:
        cell = self.task.cells.get(action)
        if cell is None:
            raise ValueError(f"{action!r:.200} is no cell: (1,1) to {self.task.names[-1]}")
        open_, turn, _, _ = self.sight
        turn += 1
        hit = 0
        if open_ >> cell & 1:
            reward, said = NOTHING, f"{action} was open already."
        elif self.mines >> cell & 1:
            reward, said, hit = MINE, f"{action} was a mine.", self.mines
            self.over = True
        else:
            before = open_.bit_count()
            open_ = self.task.field.opened(self.mines, open_, cell)
            count = open_.bit_count()
            self.solved = count == self.task.safe
            reward = WIN if self.solved else CELL if count == before + 1 else CASCADE
            said = f"{action} opened {count - before} cell{'s' if count > before + 1 else ''}."
        self.over = self.over or self.solved or turn >= self.task.given.turns
        self.sight = Sight(open_, turn, said, hit)
        return reward

    def _legal(self, sight: Sight) -> tuple[Action, ...]:
        open_ = sight.open
        return tuple([name for cell, name in enumerate(self.task.names) if not open_ >> cell & 1])

    def _allows(self, sight: Sight, action: Action) -> bool:
        return action in self.task.cells

    def _told(self, sight: Sight) -> str:
        task = self.task
        signs = [self._sign(sight, cell) for cell in range(task.field.cells)]
        width = task.given.columns
        grid = draw(
            [str(column) for column in range(1, width + 1)],
            [str(row) for row in range(1, task.given.rows + 1)],
            [signs[first : first + width] for first in range(0, len(signs), width)],
        )
        left = task.safe - sight.open.bit_count()
        status = f"Safe cells still closed: {left}. Turns taken: {sight.turn} of {task.given.turns}."
        return "\n".join([grid, status, *([sight.said] if sight.said else [])])

    def _sign(self, sight: Sight, cell: int) -> str:
        if sight.open >> cell & 1:
            return str((self.mines & self.task.field.masks[cell]).bit_count())
        return MINED if sight.hit >> cell & 1 else CLOSED

    def board(self) -> str:
        return self._told(self.sight._replace(hit=self.mines))


class MinesweeperAdvisor(Advisor):
    """Opens the cell that is the least likely to be a mine, by exact probabilities; of equals, what opens the most."""

    def __init__(self, task: Minesweeper) -> None:
        self._task = task

    def advise(self, observation: TaskObservation) -> Action:
        """A closed cell; what the mines are is not looked at, only what the numbers tell."""
        task, state, sight = self._task, observation.state, observation.sight
        assert isinstance(state, MinesweeperState)
        numbers = task.numbers(state.mines, sight.open)
        risks = chances(task.field, numbers, task.given.mines)
        least = min(risks.values())
        best = [cell for cell, risk in sorted(risks.items()) if risk == least]
        if len(best) > 1 and (found := layouts(task.field, numbers, task.given.mines, MOST_LAYOUTS)):
            gains = {cell: _gain(task.field, found, sight.open, cell) for cell in best}
            best.sort(key=lambda cell: (-gains[cell], cell))
        return task.names[best[0]]


def load(spec: Spec) -> Minesweeper:
    """Make `minesweeper(...)`. Raises UserError for wrong parameters."""
    return Minesweeper(spec)


def _gain(here: Field, found: list[int], open_: int, cell: int) -> Fraction:
    """How many cells a cell opens on average, over layouts in which it is no mine."""
    safe = [mines for mines in found if not mines >> cell & 1]
    opened = sum([(here.opened(mines, open_, cell) & ~open_).bit_count() for mines in safe])
    return Fraction(opened, max(1, len(safe)))


def _rules(given: MinesweeperParameters) -> str:
    mines = f"{given.mines} mine{'s' if given.mines > 1 else ''}"
    return (
        f"Find the cells without a mine. The board has {given.rows} rows and {given.columns} columns, counted from 1 "
        f"at the top left, and {mines}. An open cell shows how many of the up to eight cells around it are mines; "
        f"{CLOSED} is a closed cell, and some are open at the start. An action is a cell to open, written "
        "(row,column), such as (2,3). A cell with no mine around it opens all its neighbours, and so on. A mine ends "
        f"the episode; it is won when all cells without a mine are open. There are {given.turns} turns. Rewards of a "
        "turn: 10 for winning, else 2 if several cells open, 0.5 if one does, -1 if the cell was open already, -0.1 "
        "for a mine."
    )
