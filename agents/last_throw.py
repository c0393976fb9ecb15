"""Agents that go by a throw of the episode before, the other's or their own, in games of one joint throw."""

from random import Random
from typing import Annotated, Any

from pydantic import Field

from agents.agent import Agent, Decision, Pace, Reflection, Setup, Trajectory
from games.game import Action, Dynamics, Game, Information, Observation


class _Thrower(Agent):
    """What both share: the games that they play."""

    pace = Pace.BRIEF

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._rng = Random(setup.seed)
        self._last: Action | None = None
        """The throw to go by; None before the first."""

    @classmethod
    def misfit(cls, game: Game, **params: Any) -> str | None:
        """Anything but two seats that choose once, at the same time, and then see what was chosen."""
        spec = game.spec
        once = spec.dynamics is Dynamics.SIMULTANEOUS and spec.max_turns == spec.seats == 2
        if once and spec.information is Information.PERFECT and not spec.chance:
            return None
        return f"it plays games in which two seats choose once, at the same time, and {spec.name} is none"


class CounterLast(_Thrower):
    """Throws what would have earned it the most against the other's last throw; at first, and among equals, it draws.

    The last throw is that of the episode before, as its seat was shown it.
    """

    async def act(self, observation: Observation) -> Decision:
        return Decision(self._rng.choice(self._answers(observation)))

    async def reflect(self, trajectory: Trajectory) -> Reflection | None:
        """Keep the other's throw; an episode that a fault ended may have none, and then the one before stays."""
        for event in trajectory.final.events:
            if event.seat == 1 - trajectory.seat:
                self._last = event.action
        return None

    def _answers(self, observation: Observation) -> list[Action]:
        """The best throws against the last one; all of them where there is none, or the other cannot repeat it."""
        legal, other = observation.legal_actions, 1 - observation.seat
        if self._last not in self.setup.game.new_episode(0).observe(other).legal_actions:
            return list(legal)
        worth = {action: self._worth(observation.seat, action, self._last) for action in legal}
        return [action for action in legal if worth[action] == max(worth.values())]

    def _worth(self, seat: int, own: Action, others: Action) -> float:
        """What a throw earns against another by the rules, which have no chance in them."""
        state = self.setup.game.new_episode(0)
        state.apply({seat: own, 1 - seat: others})
        return state.returns()[seat]


class RepeatLast(_Thrower):
    """Draws its first throw and repeats its own last throw from then on.

    stay: probability that it does so, each time; else it draws one of all throws anew.
    """

    def __init__(self, setup: Setup, *, stay: Annotated[float, Field(ge=0, le=1)] = 1.0) -> None:
        super().__init__(setup)
        self._stay = stay

    async def act(self, observation: Observation) -> Decision:
        legal = observation.legal_actions
        if self._last not in legal or self._rng.random() >= self._stay:
            self._last = self._rng.choice(legal)
        return Decision(self._last)
