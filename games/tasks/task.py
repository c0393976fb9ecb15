"""What all tasks share: one seat, episodes that are numbered instances, observations that stay true."""

import random
from abc import abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from games.game import (
    Action,
    Dynamics,
    Event,
    Game,
    GameSpec,
    Information,
    Observation,
    SampleError,
    State,
    Utility,
)
from games.seeding import digest
from games.tasks.instances import Instances, Walk

SEAT = (0,)
MOST_CHARACTERS = 500
"""Characters of an action in a task that takes any line."""


def task_spec(
    *,
    name: str,
    title: str,
    rules: str,
    turns: int,
    returns: tuple[float, float],
    perfect: bool,
    chance: bool,
    terminal_rewards: bool = False,
    can_sample_state: bool = False,
) -> GameSpec:
    """What is known of a task; `returns` are the least and the greatest, `perfect` whether the seat knows all."""
    return GameSpec(
        name=name,
        title=title,
        seats=1,
        dynamics=Dynamics.SEQUENTIAL,
        information=Information.PERFECT if perfect else Information.IMPERFECT,
        utility=Utility.GENERAL_SUM,
        min_utility=returns[0],
        max_utility=returns[1],
        max_turns=turns,
        rules=rules,
        chance=chance,
        terminal_rewards=terminal_rewards,
        can_sample_state=can_sample_state,
        task=True,
    )


def is_line(action: object) -> bool:
    """Whether a task that takes any line can take this as one."""
    return isinstance(action, str) and len(action) <= MOST_CHARACTERS and action.splitlines() == [action]


class Advisor(Protocol):
    """Solves a task, episode by episode; what it works out of an instance may be kept for the episodes to come."""

    def advise(self, observation: "TaskObservation") -> Action:
        """The best action that is known."""
        ...


class Task(Game):
    """A game of one seat whose episodes are the instances of a split."""

    instances: Instances
    free: bool = False
    """Whether text that is no legal action may be accepted, too: what it means is for `TaskState._allows` to say."""
    solvable: bool = True
    """Whether it brings along an advisor."""
    _walk: Walk | None = None

    def new_episode(self, seed: int) -> "TaskState":
        return self.begin(self.instances.number(seed))

    def deal(self, match_seed: int, place: int) -> int:
        """As `Instances.deal`; where numbers may come to the same instance, those are passed over that came before."""
        if self.likeness(self.instances.first) is None:
            return self.instances.deal(match_seed, place)
        if self._walk is None or self._walk.match_seed != match_seed:  # a match asks for one deal after the other
            self._walk = Walk(self.instances, match_seed, self.likeness)
        return self._walk.deal(place)

    def likeness(self, instance: int) -> Hashable:
        """What tells an instance from others; None where each number is one of its own."""
        return None

    @abstractmethod
    def begin(self, instance: int) -> "TaskState":
        """Start the instance of a number, which is one of `instances`."""

    @abstractmethod
    def advisor(self) -> Advisor:
        """A solver or scripted expert: the ceiling of what can be reached. Called where the task is `solvable`."""

    def sample(self, observation: "TaskObservation", rng: random.Random) -> "TaskState":
        """A state that the seat cannot tell from the true one. Called where the spec declares that it can."""
        return observation.state.at(observation.turns)


class TaskState(State):
    """One instance in progress.

    A subclass keeps what the seat may know of a moment in `sight`, an immutable value that it replaces with every
    action, and tells it in words by `_told` and `_legal`.
    """

    __slots__ = ("_return", "_reward", "instance", "log", "over", "sight", "solved", "task")

    def __init__(self, task: Task, instance: int) -> None:
        self.task = task
        self.instance = instance
        self.log: list[Action] = []
        self.sight: Any = None
        self.over = False
        self.solved = False
        self._reward = 0.0
        self._return = 0.0

    @abstractmethod
    def _play(self, action: Action) -> float:
        """Carry an action out and return its reward; raises ValueError, and changes nothing, for one not allowed."""

    @abstractmethod
    def _told(self, sight: Any) -> str:
        """A moment in words."""

    def _known(self, sight: Any) -> str:
        """All that a moment tells the seat: its words, and the legal actions where these tell more."""
        return self._told(sight)

    @abstractmethod
    def _legal(self, sight: Any) -> tuple[Action, ...]:
        """The legal actions of a moment in which the episode is not over."""

    def _allows(self, sight: Any, action: Action) -> bool:
        """Whether an action is accepted at a moment in which the episode is not over."""
        return action in self._legal(sight)

    def seats_to_act(self) -> tuple[int, ...]:
        return () if self.over else SEAT

    def observe(self, seat: int) -> "TaskObservation":
        return TaskObservation(self)

    def apply(self, actions: Mapping[int, Action]) -> None:
        if self.over or len(actions) != 1 or 0 not in actions:
            raise ValueError(f"{dict(actions)!r:.200}: " + ("the episode is over" if self.over else "seat 0 is to act"))
        action = actions[0]
        self._reward = self._play(action)
        self._return += self._reward
        self.log.append(action)

    def rewards(self) -> tuple[float, ...]:
        return (self._reward,)

    def returns(self) -> tuple[float, ...]:
        return (self._return,)

    def success(self) -> tuple[bool, ...]:
        return (self.solved,)

    def board(self) -> str:
        return self._told(self.sight)

    def known_before(self, turns: int) -> Iterator[str]:
        """What the seat knew of the moment before each of the first actions."""
        state = self.task.begin(self.instance)
        for action in self.log[:turns]:
            yield state._known(state.sight)
            state.apply({0: action})

    def at(self, turns: int) -> "TaskState":
        """The same instance after its first actions."""
        state = self.task.begin(self.instance)
        for action in self.log[:turns]:
            state.apply({0: action})
        return state


class TaskObservation(Observation):
    """What the seat knows at one moment. `sight` is the state's own form of it, for advisors."""

    __slots__ = ("_over", "_turns", "sight", "solved", "state", "total")

    seat = 0

    def __init__(self, state: TaskState) -> None:
        self.state = state
        self.sight = state.sight
        self._turns = len(state.log)
        self._over = state.over
        self.solved = state.solved
        self.total = state._return

    @property
    def open(self) -> bool:  # type: ignore[override]
        return self.state.task.free and not self._over

    @property
    def turns(self) -> int:
        """How many actions came before."""
        return self._turns

    def then(self) -> TaskState:
        """The state as it was when this was made: itself if it has not moved on, else another. Not to be changed."""
        state = self.state
        return state if len(state.log) == self._turns else state.at(self._turns)

    @property
    def legal_actions(self) -> tuple[Action, ...]:
        return () if self._over else self.state._legal(self.sight)

    def allows(self, action: Action) -> bool:
        return not self._over and self.state._allows(self.sight, action)

    @property
    def text(self) -> str:
        return self._to_the_end(self.state._told(self.sight))

    def _to_the_end(self, told: str) -> str:
        if not self._over:
            return told
        return f"{told}\nOver: {'solved' if self.solved else 'not solved'}. Return: {self.total:g}"

    @property
    def key(self) -> str:
        now = self._to_the_end(self.state._known(self.sight))
        if self.state.task.spec.information is Information.PERFECT:
            return now
        chain = b""
        for known, action in zip(self.state.known_before(self._turns), self.state.log, strict=False):
            chain = digest(16, chain.hex(), known, action)
        return digest(16, chain.hex(), now).hex()

    @property
    def events(self) -> Sequence[Event]:
        return [Event(0, action) for action in self.state.log[max(0, self._turns - 1) : self._turns]]

    def sample_state(self, rng: random.Random) -> TaskState:
        if not self.state.task.spec.can_sample_state:
            raise SampleError(f"no state of {self.state.task.spec.name} can be sampled")
        return self.state.task.sample(self, rng)
