"""Who plays in the event loop for an agent that computes in a host: it passes on what the seat is asked."""

from typing import Protocol

from agents.agent import Decision, Pace, ProviderError, Reflection, Setup, Trajectory
from arena.answer import Answer
from arena.host import Act, LookBack, Request, Since
from arena.match import Told
from arena.referee import FaultError, StandIn
from games.game import Observation


class Line(Protocol):
    """The way to an agent in a host."""

    number: int
    """By which the host knows the agent."""

    async def ask(self, request: Request) -> Answer:
        """Ask the host for something. Does not come back where the host, or the game in it, fails."""
        ...


class Seat(StandIn):
    """Stands in for an agent that does not look back."""

    pace = Pace.AWAITS

    def __init__(self, setup: Setup, line: Line, told: Told) -> None:
        """`told` is kept up to date while the match goes on."""
        super().__init__(setup)
        self._line = line
        self._told = told
        self._episode = 0
        self._sent = 0
        self._refused: list[str] = []

    async def act(self, observation: Observation) -> Decision:
        """Let the agent decide. Raises FaultError for a fault, ProviderError where the agent could not be served."""
        since = self._since(len(self._told.episodes) + 1, observation.seat)
        refused, self._refused = self._refused, []
        answer = checked(await self._line.ask(Act(self._line.number, since, refused)))
        self.retries = answer.retries
        assert answer.decision is not None
        return answer.decision

    def refused(self, observation: Observation, why: str) -> None:
        """Keep what to tell the agent with the next question."""
        self._refused.append(why)

    def _since(self, episode: int, seat: int) -> Since:
        """The turns that the host has not been told."""
        if episode != self._episode:
            self._episode, self._sent = episode, 0
        if episode > len(self._told.episodes):
            turns = self._told.turns[self._sent :]
        else:
            record = self._told.episodes[episode - 1]
            turns = list(zip(record.turn_seats, record.actions, strict=True))[self._sent :]
        self._sent += len(turns)
        return Since(episode, seat, turns)


class ReflectingSeat(Seat):
    """Stands in for an agent that looks back."""

    async def reflect(self, trajectory: Trajectory) -> Reflection | None:
        """Let the agent look back; it is shown what it saw in its host. Raises as `act` does."""
        since = self._since(trajectory.episode, trajectory.seat)
        looking = LookBack(
            self._line.number,
            since,
            [step.action for step in trajectory.steps],
            trajectory.total,
            trajectory.success,
            trajectory.termination,
            trajectory.at_fault,
            trajectory.drawn,
        )
        return checked(await self._line.ask(looking)).reflection


def checked(answer: Answer) -> Answer:
    """Raise what an answer says: FaultError, ProviderError."""
    if answer.fault is not None:
        raise FaultError(answer.fault)
    if answer.unserved is not None:
        raise ProviderError(answer.unserved)
    return answer
