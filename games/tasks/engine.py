"""Environments of other packages behind one face: an engine plays one episode at a time and tells it in words."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import NamedTuple

from games.errors import RunError
from games.foreign import foreign_code
from games.game import Action
from games.tasks.task import Advisor, Task, TaskObservation, TaskState, is_line


class Moment(NamedTuple):
    """What an engine shows at the start, and after each action."""

    text: str
    legal: tuple[Action, ...]
    """The actions that are known to be legal, in a certain order; () at the end."""
    reward: float = 0.0
    over: bool = False
    solved: bool = False


class Sight(NamedTuple):
    """A moment with its number."""

    moment: Moment
    turn: int


class Engine(ABC):
    """One environment. When an episode is over, or left, another can begin."""

    @abstractmethod
    def begin(self, instance: int) -> Moment:
        """Start an instance, whatever was played before."""

    @abstractmethod
    def play(self, action: Action) -> Moment:
        """Go on by an action: one of the legal ones or, in a task that takes any line, a line."""

    def advise(self) -> Action:
        """The next action of a solution. Called where the task is `solvable`."""
        raise NotImplementedError


class EngineTask(Task):
    """A task that is played by engines, which are kept and used again. A subclass sets `spec`, `instances`, `turns`."""

    solvable = False
    turns: int

    def __init__(self) -> None:
        self._idle: list[Engine] = []

    @abstractmethod
    def engine(self) -> Engine:
        """A new engine."""

    def begin(self, instance: int) -> "EngineState":
        return EngineState(self, instance)

    def advisor(self) -> Advisor:
        return EngineAdvisor()

    def take(self) -> Engine:
        """An engine that nobody uses."""
        return self._idle.pop() if self._idle else self.engine()

    def give_back(self, engine: Engine) -> None:
        """Take an engine back that has not failed."""
        self._idle.append(engine)


class EngineState(TaskState):
    """One episode; its engine is its own until it is over."""

    __slots__ = ("_engine", "_sights")

    task: EngineTask

    def __init__(self, task: EngineTask, instance: int) -> None:
        super().__init__(task, instance)
        with foreign_code(f"{task.spec.name}: instance {instance} cannot begin", RunError):
            self._engine = task.take()
            first = self._engine.begin(instance)
        if first.over or not first.legal:
            raise RunError(f"{task.spec.name}: instance {instance} is over before the first action")
        self.sight = Sight(first, 0)
        self._sights = [self.sight]

    def _play(self, action: Action) -> float:
        if not self._allows(self.sight, action):
            raise ValueError(f"{action!r:.200} is not allowed here")
        with foreign_code(f"{self.task.spec.name} failed", RunError):
            moment = self._engine.play(action)
        if not math.isfinite(moment.reward):
            raise RunError(f"{self.task.spec.name} gives a reward of {moment.reward}")
        self.sight = Sight(moment, self.sight.turn + 1)
        self._sights.append(self.sight)
        self.solved = moment.solved
        self.over = moment.over or self.sight.turn >= self.task.turns
        if self.over:
            self.task.give_back(self._engine)
        return moment.reward

    def advise(self) -> Action:
        """The next action of a solution. Called where the task is `solvable` and the episode is not over."""
        with foreign_code(f"{self.task.spec.name} finds no solution", RunError):
            return self._engine.advise()

    def _told(self, sight: Sight) -> str:
        return f"{sight.moment.text}\nTurns taken: {sight.turn} of {self.task.turns}."

    def _legal(self, sight: Sight) -> tuple[Action, ...]:
        return sight.moment.legal

    def _allows(self, sight: Sight, action: Action) -> bool:
        return is_line(action) if self.task.free else action in sight.moment.legal

    def board(self) -> str:
        return f"{self._told(self.sight)}\nInstance {self.instance}."

    def _known(self, sight: Sight) -> str:
        return "\n".join([self._told(sight), *sight.moment.legal])

    def known_before(self, turns: int) -> Iterator[str]:
        return map(self._known, self._sights[:turns])


class EngineAdvisor(Advisor):
    """Plays what the engine itself knows to be a solution."""

    def advise(self, observation: TaskObservation) -> Action:
        """The next action, as things stood when the observation was made."""
        state = observation.then()
        assert isinstance(state, EngineState)
        return state.advise()
