"""The words every agent shares: Agent, Decision, Trajectory, Reflection."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from agents.generation import Generation
from games.game import Action, Game, Observation, Termination

if TYPE_CHECKING:
    from agents.models.pool import Models


class Decision(NamedTuple):
    """What an agent answers: its action, and what it wants kept with it."""

    action: Action
    """Must be one of the observation's legal actions; the referee rules on anything else."""
    raw: str | None = None
    """The text the action was read from, kept as it was."""
    extra: Mapping[str, Any] | None = None
    """JSON-ready facts about the decision, such as the visits of a search; kept in the record's `turns`."""
    generations: Sequence[Generation] = ()
    """The answers of language models that led to it, in order; kept in the record's `generations`."""


class Reflection(NamedTuple):
    """What an agent tells itself between episodes."""

    text: str
    generations: Sequence[Generation] = ()
    """The answers of language models that it was made from."""


class Step(NamedTuple):
    """One decision of a seat, as that seat saw it."""

    observation: Observation
    action: Action


class Trajectory(NamedTuple):
    """One seat's turns in one episode, and how it ended for that seat."""

    episode: int
    """Counted from 1."""
    seat: int
    steps: Sequence[Step]
    total: float
    """The seat's return, in the game's units."""
    success: bool
    termination: Termination
    at_fault: bool
    """Whether this seat was the offender that ended the episode."""
    final: Observation
    """What the seat may know at the end: the events since its last decision, and nothing that stayed hidden.

    It has legal actions only where a fault ended the episode while the seat was to move.
    """
    drawn: bool = False
    """Whether no seat won."""


class Setup(NamedTuple):
    """What an agent is told when it is made for one match."""

    game: Game
    seat: int
    """Its seat in the first episode; seats may rotate, so `observation.seat` counts from then on."""
    seed: int
    """63-bit seed of everything that the agent draws."""
    episodes: int = 1
    """How many episodes the match has."""
    models: "Models | None" = None
    """The language models of the run, for agents that ask one; None outside of a run."""


class Pace(Enum):
    """How an agent comes to its decisions, which says where it runs in a match that waits for language models."""

    AWAITS = "awaits"
    """It awaits a model or a server and hardly computes: it runs in the event loop, beside many other matches."""
    BRIEF = "brief"
    """It computes for a few milliseconds at most: an agent of this program runs in the event loop, too."""
    COMPUTES = "computes"
    """It may compute as long as it likes: it runs in a process of its own, so that nobody else waits."""


class ProviderError(Exception):
    """The agent could not play for a reason that is not its own (a server down, a quota spent): the match is void."""


class Agent(ABC):
    """One seat's player for the length of one match; its memory is its own attributes.

    A subclass takes a Setup and then its parameters as keyword-only arguments with annotations and defaults; the
    registry reads them off the signature. Same setup and same observations must give the same decisions.
    """

    version: ClassVar[int] = 1
    """Raised when the same parameters begin to play differently: part of the fingerprint."""
    draws_from_process: ClassVar[bool] = False
    """Whether it draws from a generator of the whole process, so that one such match at a time runs in a process."""
    interactive: ClassVar[bool] = False
    """Whether a person must be there: such an agent plays in `arena play` only."""
    pace: ClassVar[Pace] = Pace.COMPUTES
    """How it comes to its decisions."""
    apart: ClassVar[frozenset[str]] = frozenset()
    """Parameters that do not change what it is, such as the address of a server: left out of the fingerprint."""
    answers_freely: bool = False
    """Whether it may answer with what is not legal, as a language model does: a ruling on it breaks no promise."""
    retries: int = 0
    """How often the referee asks again after a faulty decision, before the match's own rule on faults applies."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup

    @classmethod
    def misfit(cls, game: Game, **params: Any) -> str | None:
        """Why an agent with these parameters cannot play this game, or None. Must be cheap for cheap agents."""
        return None

    @classmethod
    def follows(cls, **params: Any) -> Sequence[str]:
        """Specs of the agents that its play is worked out from: their fingerprints become part of its own."""
        return ()

    @classmethod
    def traits(cls, **params: Any) -> Sequence[str]:
        """What else it is made of, such as the hash of a prompt or of weights: part of its fingerprint."""
        return ()

    @classmethod
    def prepare(cls, game: Game, **params: Any) -> None:
        """Do once, before matches start, what may take long: solve a table and keep it in the cache folder."""
        return

    @abstractmethod
    async def act(self, observation: Observation) -> Decision:
        """Choose one of the legal actions."""

    def refused(self, observation: Observation, why: str) -> None:
        """Called when the referee refused the last decision and is about to ask for another one."""
        return

    async def reflect(self, trajectory: Trajectory) -> Reflection | None:
        """Called after every episode of a match but the last."""
        return None


class TabularPolicy(Protocol):
    """An agent whose policy can be read without playing: what exploitability and best responses need."""

    def probabilities(self, observation: Observation) -> Mapping[Action, float]:
        """Probability of each legal action in this information state; they sum to 1."""
        ...
