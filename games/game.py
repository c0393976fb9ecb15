"""The words every game shares: Game, State, Observation and what is known of a game before it is played."""

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, TypeAlias

from games.errors import UserError
from games.seeding import derive

Action: TypeAlias = str
"""One move in the game's own notation: unique within a position; the same in records, prompts and typed input."""

CHANCE = -1
"""The seat that events give to chance."""


class Dynamics(Enum):
    """Whether seats move one at a time."""

    SEQUENTIAL = "sequential"
    SIMULTANEOUS = "simultaneous"


class Information(Enum):
    """Whether a seat that is to move knows everything that has happened."""

    PERFECT = "perfect"
    IMPERFECT = "imperfect"


class Utility(Enum):
    """How the returns of the seats relate."""

    ZERO_SUM = "zero_sum"
    CONSTANT_SUM = "constant_sum"
    GENERAL_SUM = "general_sum"
    IDENTICAL = "identical"


class Termination(Enum):
    """Why an episode ended. All but the first two are the fault of one seat, the offender."""

    FINISHED = "finished"
    MAX_TURNS = "max_turns"
    ILLEGAL = "illegal"
    UNPARSABLE = "unparsable"
    TOO_SLOW = "too_slow"
    CRASHED = "crashed"
    HUNG = "hung"
    OUT_OF_MEMORY = "out_of_memory"
    FORFEITED = "forfeited"
    """Not played: the offender had crashed or hung in an earlier episode of the match."""


class Event(NamedTuple):
    """Something a seat saw happen: who moved (CHANCE for chance) and what."""

    seat: int
    action: Action


class SampleError(UserError):
    """No state consistent with an observation can be drawn, or none was found within the bound."""


@dataclass(frozen=True)
class GameSpec:
    """What is known of a game without playing it."""

    name: str
    """Canonical string that makes the game again, such as `kuhn_poker(players=3)`."""
    title: str
    """Name for people, such as `Kuhn poker`."""
    seats: int
    dynamics: Dynamics
    information: Information
    utility: Utility
    min_utility: float
    """Lowest return of one seat in one episode, in the game's own units."""
    max_utility: float
    max_turns: int
    """Upper bound on the decisions (not chance events) of one episode."""
    rules: str
    """The rules in plain English."""
    chance: bool = False
    """Whether chance takes part after or before the first decision."""
    terminal_rewards: bool = True
    """Whether rewards come at the end only."""
    can_sample_state: bool = False
    """Whether `Observation.sample_state` is expected to succeed."""
    task: bool = False
    """Whether it is a single-agent task."""


class Observation(ABC):
    """All that one seat may know at one moment. Text is rendered only when asked for.

    Most are made for a seat that is to act. One of a seat that is not, or of an episode that is over, has no legal
    actions and allows none; the rest of it tells what that seat may know then. At the end that is how it ended, and
    what the rules show everybody: a hand that was folded stays hidden.

    An observation stays true: read later, after the state has moved on, it still tells what it told then.
    """

    __slots__ = ()

    open: bool = False
    """Whether text other than a legal action is accepted too, where the seat is to act."""
    seat: int

    @property
    @abstractmethod
    def legal_actions(self) -> tuple[Action, ...]:
        """Every legal action, in the game's order; never empty for a seat to act, and () for any other."""

    def allows(self, action: Action) -> bool:
        """Whether the referee accepts an action."""
        return action in self.legal_actions

    @property
    @abstractmethod
    def text(self) -> str:
        """What this seat sees, in words; never empty. Legal actions are not listed.

        At the end it says that the episode is over, and how.
        """

    @property
    @abstractmethod
    def key(self) -> str:
        """The information state: equal keys of one seat mean equal knowledge, so equal text and legal actions.

        That holds among the decisions of a seat, among its moments of waiting, and among the ends of its episodes.
        """

    @property
    @abstractmethod
    def events(self) -> Sequence[Event]:
        """What this seat saw happen since (and with) its own last decision, oldest first.

        In a game of perfect information that is everything; else the seat's own moves and what is public.
        """

    @abstractmethod
    def sample_state(self, rng: random.Random) -> "State":
        """Return a state that this seat cannot tell from the true one, its future chance fresh from `rng`.

        Raises SampleError where the game cannot do that, and may do so where the seat is not to act.
        """


class State(ABC):
    """One episode in progress."""

    __slots__ = ()

    @abstractmethod
    def seats_to_act(self) -> tuple[int, ...]:
        """Seats that must move now: none when the episode is over, several when they move at once."""

    @abstractmethod
    def observe(self, seat: int) -> Observation:
        """What a seat may know now: any seat at any time, whether or not it is to act, also once the episode is over.

        Changes nothing.
        """

    @abstractmethod
    def apply(self, actions: Mapping[int, Action]) -> None:
        """Play one legal action for each seat to act, then all chance that follows.

        Raises ValueError for a missing seat or an action that is not legal; the state is then unchanged.
        """

    @abstractmethod
    def rewards(self) -> tuple[float, ...]:
        """Rewards of all seats since the last `apply`."""

    @abstractmethod
    def returns(self) -> tuple[float, ...]:
        """Sum of the rewards of each seat so far."""

    def success(self) -> tuple[bool, ...]:
        """Whether each seat won: in a game, the strictly highest return of all seats; a task declares its own."""
        return sole_winner(self.returns())

    @abstractmethod
    def board(self) -> str:
        """Everything, for spectators."""


def sole_winner(returns: Sequence[float]) -> tuple[bool, ...]:
    """Mark the seat whose return is strictly the highest; nobody where the highest is shared."""
    best = max(returns)
    if returns.count(best) > 1:
        return (False,) * len(returns)
    return tuple([value == best for value in returns])


class Game(ABC):
    """The rules. (game, seed, actions) determines an episode completely."""

    spec: GameSpec

    @abstractmethod
    def new_episode(self, seed: int) -> State:
        """Start an episode; all its chance comes from the 63-bit `seed`."""

    def deal(self, match_seed: int, place: int) -> int:
        """The seed of a match's deal (from 1). Raises UserError where a match cannot have so many different ones."""
        return derive(match_seed, "deal", place)
