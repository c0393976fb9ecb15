"""What a language agent remembers of a match: its turns, its earlier episodes and its reflections."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

from agents import brief, telling
from agents.agent import Trajectory
from agents.telling import Turn
from games.game import Action, Event, GameSpec, Observation

Kept: TypeAlias = Literal["none", "history", "reflection", "both"]
"""What is kept of earlier episodes: how they went, the agent's reflections on them, both, or nothing."""

Telling: TypeAlias = Literal["words", "brief"]
"""How it is told: in sentences, or in the fewest words, for models that learn what they mean."""


class Teller(NamedTuple):
    """The functions that put what is remembered into words."""

    turns: Callable[[Sequence[Event], Sequence[Turn], int, int | None], list[str]]
    """Of what was seen before the first turn, the turns, the seat, and how many are told at most: an entry a turn."""
    episode: Callable[[Trajectory, str, int], str]
    """Of an episode, how it ended, and how many turns are told at most."""
    ending: Callable[[Trajectory, GameSpec, str], str]
    """How an episode ended, with the seat's last answer."""


TELLERS: Mapping[Telling, Teller] = MappingProxyType(
    {
        "words": Teller(telling.told, telling.episode_in_words, telling.outcome),
        "brief": Teller(brief.moves, brief.episode, brief.ending),
    }
)


class Limits(NamedTuple):
    """How much is told at most in one prompt, the latest of each."""

    turns: int
    """Of an episode."""
    episodes: int
    reflections: int


class Recall(NamedTuple):
    """What goes into one prompt, oldest first; each entry is told as it stands."""

    episodes: Sequence[str] = ()
    reflections: Sequence[str] = ()
    turns: Sequence[str] = ()
    dropped: int = 0
    """How many entries had to be left out for want of room."""

    def less(self, excess: int = 0) -> "Recall | None":
        """Without its oldest entries: episodes first, then reflections, then turns. None where nothing is left.

        One entry goes, and more until `excess` characters are gone: a token is hardly ever less than a character.
        """
        if not (self.episodes or self.reflections or self.turns):
            return None
        rest = self
        while excess > 0 or rest is self:
            oldest = next((field for field in ("episodes", "reflections", "turns") if getattr(rest, field)), None)
            if oldest is None:
                break
            first, *others = getattr(rest, oldest)
            rest = rest._replace(**{oldest: others}, dropped=rest.dropped + 1)
            excess -= len(first)
        return rest


class Memory:
    """The memory of one agent in one match. Nothing but what its seat saw ever goes in."""

    def __init__(self, kept: Kept, limits: Limits, telling: Telling = "words") -> None:
        self._kept = kept
        self._teller = TELLERS[telling]
        self._limits = limits
        self._past: list[str] = []
        self._reflections: list[str] = []
        self.episode = 1
        self._opening: Sequence[Event] = ()
        self._turns: list[Turn] = []
        self._now: Turn | None = None

    @property
    def reflects(self) -> bool:
        """Whether reflections are kept."""
        return self._kept in ("reflection", "both")

    @property
    def turn(self) -> int:
        """How many decisions of this episode are behind."""
        return len(self._turns)

    def see(self, observation: Observation) -> None:
        """A new decision is to be made; what came of the one before is known now."""
        if self._now is None:
            self._opening = observation.events
        else:
            self._turns.append(self._now._replace(after=observation.events))
        self._now = Turn(observation.text, None)

    def play(self, action: Action) -> None:
        """The decision to be made is a legal action."""
        if self._now is not None:
            self._now = self._now._replace(action=action)

    def recall(self, seat: int) -> Recall:
        """What is told at a decision."""
        turns = self._teller.turns(self._opening, self._turns, seat, self._limits.turns)
        return Recall(self._past[-self._limits.episodes :], self.reflections, turns)

    @property
    def reflections(self) -> Sequence[str]:
        """The reflections that are told."""
        return self._reflections[-self._limits.reflections :]

    def close(self, trajectory: Trajectory, ending: str, reflection: str) -> None:
        """Keep what is to be kept of an episode that is over; `ending` says how. The reflection may be empty."""
        if reflection:
            self._reflections.append(f"After episode {trajectory.episode}: {reflection}")
        if self._kept in ("history", "both"):
            self._past.append(self._teller.episode(trajectory, ending, self._limits.turns))
        self.episode = trajectory.episode + 1
        self._opening, self._turns, self._now = (), [], None
