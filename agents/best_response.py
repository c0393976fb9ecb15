"""The best answer to a known opponent, in small games."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from random import Random
from typing import Any, Literal

from agents import values
from agents.agent import Agent, Decision, Setup
from agents.opponents import AgentSpec, policy, unfit
from agents.registry import recipe
from agents.tree import layout
from agents.values import Goal, Response
from games.game import Action, Game, Observation


class BestResponse(Agent):
    """Plays a best response to an agent that it knows, in either seat of a two-seat game; ties drawn from its seed.

    to: the spec of that agent, which must state its probabilities; goal: the highest expected return, or the highest
    probability to win (a draw is then worth as little as a loss).

    It is exact against `to` alone: it sees what its seat sees, and information sets that `to` never lets it reach are
    played at random.
    """

    def __init__(
        self,
        setup: Setup,
        *,
        to: AgentSpec,
        goal: Literal["return", "win"] = "return",
    ) -> None:
        super().__init__(setup)
        self._rng = Random(setup.seed)
        self._to, self._goal = to, Goal(goal)
        self._tree = layout(setup.game)

    @classmethod
    def misfit(cls, game: Game, **params: Any) -> str | None:
        """An opponent that cannot play the game or states no probabilities, or a game that is too large."""
        return unfit("best_response", game, [params["to"]], layout)

    @classmethod
    def follows(cls, **params: Any) -> Sequence[str]:
        return [params["to"]]

    @classmethod
    def prepare(cls, game: Game, **params: Any) -> None:
        recipe(params["to"]).prepare(game)

    async def act(self, observation: Observation) -> Decision:
        legal = observation.legal_actions
        return Decision(legal[self._rng.choice(self._best(observation))])

    def probabilities(self, observation: Observation) -> Mapping[Action, float]:
        """All best actions with the same probability."""
        best = self._best(observation)
        return {action: (place in best) / len(best) for place, action in enumerate(observation.legal_actions)}

    def _best(self, observation: Observation) -> tuple[int, ...]:
        answer = response(self.setup.game, observation.seat, self._to, self._goal)
        return answer.choices[self._tree.key(observation)]


@lru_cache(maxsize=16)
def response(game: Game, seat: int, to: str, goal: Goal) -> Response:
    """The best response of a seat to the agent of a spec in the other seat."""
    return values.best_response(game, seat, [policy(game, to, 1 - seat)], goal)
