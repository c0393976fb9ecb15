"""Sokoban as a task: a turn is a list of moves, a solved room pays, a lost one ends the episode."""

import time
from collections.abc import Hashable, Mapping
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from pydantic import Field, model_validator

from games.errors import RunError
from games.game import Action
from games.spec import Spec
from games.tasks.files import FromFiles, held
from games.tasks.instances import chosen
from games.tasks.parameters import canonical, read
from games.tasks.sokoban.deadlock import is_lost
from games.tasks.sokoban.generate import LONGEST, generate
from games.tasks.sokoban.levels import has_splits, level_files, read_levels
from games.tasks.sokoban.room import MOVES, Level
from games.tasks.sokoban.search import few_pushes, fewest_moves
from games.tasks.task import Advisor, Task, TaskObservation, TaskState, task_spec

MOVE, ON_TARGET, SOLVED = -0.1, 1.0, 10.0
"""Rewards: of a move, of a box that comes onto a target (and, lost again, when it leaves), and of the solution."""
LEVEL_TURNS = 120
"""Turns for rooms of a level file."""
MOST_POSITIONS = 50_000
"""Positions after which the shortest solution is given up for any."""
SECONDS = 30.0


class SokobanParameters(FromFiles):
    """What `sokoban(...)` takes."""

    rows: int = Field(6, ge=4, le=20, description="Rows of a generated room, walls counted.")
    columns: int = Field(6, ge=4, le=20, description="Columns of a generated room, walls counted.")
    boxes: int = Field(2, ge=1, le=6, description="Boxes of a generated room.")
    moves: int = Field(3, ge=1, le=4, description="Most moves of a turn.")
    turns: int = Field(
        0, ge=0, le=10_000, description="Turns of an episode; 0 for as many as 21 moves take, or 120 with levels."
    )
    levels: str = Field("", description="A level file (Boxoban's form), or a folder of such; levels are the instances.")

    @model_validator(mode="after")
    def _levels_are_as_they_are(self) -> "SokobanParameters":
        made = self.model_fields_set & {"rows", "columns", "boxes"}
        if self.levels and made:
            raise ValueError(f"{min(made)} is of generated rooms, and levels names a file")
        if self.levels and "split" in self.model_fields_set and not has_splits(self.levels):
            raise ValueError("split is of generated rooms, or of a folder of levels with folders train, valid and test")
        return self


class Sight(NamedTuple):
    """What the player sees."""

    player: int
    boxes: int
    turn: int
    """Turns taken."""
    lost: bool
    """Whether some box can reach no target any more."""


class Sokoban(Task):
    """Rooms of one size, or those of a file."""

    def __init__(self, spec: Spec) -> None:
        given = read(spec, SokobanParameters)
        self.levels: tuple[Level, ...] = ()
        digest, what = "", "a generated room"
        if given.levels:
            self.levels, digest = read_levels(level_files(given.levels, given.split))
            what = f"level file {given.levels!r}"
        self.given = given = held(given, digest, what)
        self.instances = chosen(range(len(self.levels)), given.first, given.count) if self.levels else given.generated()
        self.turns = given.turns or (LEVEL_TURNS if self.levels else -(-LONGEST // given.moves))
        self.lists = _lists(given.moves)
        self.legal = tuple(self.lists)
        self._level = lru_cache(maxsize=256)(self._made)
        boxes = max([level.boxes.bit_count() for level in self.levels], default=given.boxes)
        self._level(self.instances.first)
        self.spec = task_spec(
            name=canonical(spec.name, given),
            title="Sokoban",
            rules=_rules(given.moves, self.turns),
            turns=self.turns,
            returns=(
                round(MOVE * self.turns * given.moves - ON_TARGET * boxes, 6),
                ON_TARGET * boxes + SOLVED + MOVE,
            ),
            perfect=True,
            chance=self.instances.size > 1,
            can_sample_state=True,
        )

    def begin(self, instance: int) -> "SokobanState":
        return SokobanState(self, instance, self._level(instance))

    def likeness(self, instance: int) -> Hashable:
        if self.levels:
            return None
        room, boxes, player = self._level(instance)
        return room.walls, room.targets, boxes, player

    def advisor(self) -> "SokobanAdvisor":
        return SokobanAdvisor(self.given.moves)

    def _made(self, instance: int) -> Level:
        if self.levels:
            return self.levels[instance]
        given = self.given
        return generate(given.rows, given.columns, given.boxes, given.split, instance)


class SokobanState(TaskState):
    """One room in progress."""

    __slots__ = ("_delta", "_lists", "_room")

    task: Sokoban

    def __init__(self, task: Sokoban, instance: int, level: Level) -> None:
        super().__init__(task, instance)
        self._room = level.room
        self._lists = task.lists
        self._delta = level.room.steps
        self.sight = Sight(level.player, level.boxes, 0, False)

    def _play(self, action: Action) -> float:
        moves = self._lists.get(action)
        if moves is None:
            raise ValueError(f"{action!r:.200} is not a list of 1 to {self.task.given.moves} moves out of {MOVES}")
        player, boxes, turn, _ = self.sight
        room, deltas = self._room, self._delta
        walls, targets = room.walls, room.targets
        made = pushed = 0
        lost = False
        for move in moves:
            made += 1
            delta = deltas[move]
            to = player + delta
            if walls >> to & 1:
                continue
            if boxes >> to & 1:
                beyond = to + delta
                if (walls | boxes) >> beyond & 1:
                    continue
                boxes ^= 1 << to | 1 << beyond
                pushed += (targets >> beyond & 1) - (targets >> to & 1)
                if boxes == targets:
                    self.solved = True
                elif is_lost(room, boxes, beyond):
                    lost = True
            player = to
            if self.solved or lost:
                break
        turn += 1
        self.sight = Sight(player, boxes, turn, lost)
        self.over = self.solved or lost or turn >= self.task.turns
        return round(MOVE * made + ON_TARGET * pushed + (SOLVED if self.solved else 0.0), 6)

    def _legal(self, sight: Sight) -> tuple[Action, ...]:
        return self.task.legal

    def _allows(self, sight: Sight, action: Action) -> bool:
        return action in self._lists

    def _told(self, sight: Sight) -> str:
        room = self._room
        on = (sight.boxes & room.targets).bit_count()
        lines = [
            room.draw(sight.boxes, sight.player),
            f"Boxes on targets: {on} of {sight.boxes.bit_count()}. Turns taken: {sight.turn} of {self.task.turns}.",
        ]
        if sight.lost:
            lines.append("A box can never be brought to a target any more.")
        return "\n".join(lines)


class SokobanAdvisor(Advisor):
    """Plays the shortest solution; in rooms too large for that search, one with few pushes."""

    def __init__(self, moves: int) -> None:
        self._moves = moves
        self._plan: list[str] = []
        self._expected: tuple[object, int, int] | None = None

    def advise(self, observation: TaskObservation) -> Action:
        """The next moves of the solution. Raises RunError where none was found."""
        state, sight = observation.state, observation.sight
        assert isinstance(state, SokobanState)
        assert isinstance(sight, Sight)
        room = state._room
        if self._expected != (room, sight.player, sight.boxes):
            begun = time.monotonic()
            found = fewest_moves(room, sight.boxes, sight.player, MOST_POSITIONS)
            found = found or few_pushes(room, sight.boxes, sight.player, SECONDS)
            if found is None:
                gone = time.monotonic() - begun
                why = f"no solution was found within {SECONDS:g} s" if gone >= SECONDS else "there is no solution"
                raise RunError(f"{why} for\n{observation.text}")
            self._plan = found
        now, self._plan = self._plan[: self._moves], self._plan[self._moves :]
        player, boxes = sight.player, sight.boxes
        for move in now:
            step = room.steps[MOVES.index(move)]
            player += step
            if boxes >> player & 1:
                boxes ^= 1 << player | 1 << player + step
        self._expected = room, player, boxes
        return ",".join(now)


def load(spec: Spec) -> Sokoban:
    """Make `sokoban(...)`. Raises UserError for parameters and level files that are none."""
    return Sokoban(spec)


@lru_cache(maxsize=8)
def _lists(most: int) -> Mapping[Action, tuple[int, ...]]:
    """Every list of moves that a turn may hold, shorter ones first."""
    return {
        ",".join([MOVES[move] for move in moves]): moves
        for length in range(1, most + 1)
        for moves in product(range(len(MOVES)), repeat=length)
    }


def _rules(moves: int, turns: int) -> str:
    several = f"a list of 1 to {moves} moves such as up,left,up" if moves > 1 else "one move"
    return (
        "Push every box onto a target. The room is drawn with # for a wall, - for floor, . for a target, $ for a box, "
        "* for a box on a target, @ for you, and + for you on a target. You move up, down, left or right by one cell. "
        "Moving against a box pushes it one cell further if the cell behind it is free; a box cannot be pulled, and "
        "two boxes in a row cannot be pushed. A move that is not possible changes nothing. "
        f"A turn is {several}, and there are {turns} turns. "
        "Every move costs 0.1; a box that comes onto a target earns 1, one that leaves a target costs 1, and the "
        "solved room earns 10. The episode ends when the room is solved, when a box is pushed to where it can never be "
        "brought to a target (a corner, for one), or when the turns are used up."
    )
