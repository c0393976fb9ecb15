"""The exact adaptive player of small games: it works out whom of a pool it meets, and plays the best answer."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any

from pydantic import Field

from agents.agent import Agent, Decision, Reflection, Setup, Trajectory
from agents.opponents import AgentSpec, policy, unfit
from agents.pool import Pool, histories
from agents.registry import recipe
from agents.values import Response
from games.game import Game, Observation

_TRACE = 1e-15
"""The least weight of an agent: where what happens excludes all others it is back, and else it decides nothing."""

Members = Annotated[list[AgentSpec], Field(min_length=1)]


class Posterior(Agent):
    """Plays the best response to a pool of agents, one of which it meets, each weighted by what its seat saw so far.

    pool: the specs of those agents, which must state their probabilities; at first each is as likely.

    After every episode the weights are multiplied by how likely each agent makes what was seen (Bayes' rule), hidden
    cards averaged over; within an episode the same is done at each decision. It plays for the episode at hand, not for
    what it might learn, and takes the first of equally good actions. What no agent of the pool could have done changes
    no weight.
    """

    def __init__(self, setup: Setup, *, pool: Members) -> None:
        super().__init__(setup)
        self._pool = tuple(pool)
        self.weights: tuple[float, ...] = (1 / len(pool),) * len(pool)
        """How likely each agent of the pool is, by all episodes before this one."""
        self._tree = histories(setup.game).tree

    @classmethod
    def misfit(cls, game: Game, **params: Any) -> str | None:
        """An agent that cannot play the game or states no probabilities, or a game that is too large."""
        return unfit("posterior", game, params["pool"], histories)

    @classmethod
    def follows(cls, **params: Any) -> Sequence[str]:
        return list(params["pool"])

    @classmethod
    def prepare(cls, game: Game, **params: Any) -> None:
        for member in params["pool"]:
            recipe(member).prepare(game)

    async def act(self, observation: Observation) -> Decision:
        """The weights of the pool at the start of the episode are kept with the decision."""
        answer = response(self.setup.game, observation.seat, self._pool, self.weights)
        first, *_ = answer.choices[self._tree.key(observation)]
        return Decision(observation.legal_actions[first], extra={"posterior": list(self.weights)})

    async def reflect(self, trajectory: Trajectory) -> Reflection | None:
        likelihoods = met(self.setup.game, trajectory.seat, self._pool).likelihoods(trajectory)
        products = [weight * likelihood for weight, likelihood in zip(self.weights, likelihoods, strict=True)]
        if total := sum(products):
            self.weights = tuple([max(product / total, _TRACE) for product in products])
        return None


@lru_cache(maxsize=16)
def met(game: Game, seat: int, pool: tuple[str, ...]) -> Pool:
    """The agents of some specs as a seat meets them."""
    return Pool(game, seat, [policy(game, spec, 1 - seat) for spec in pool])


@lru_cache(maxsize=256)
def response(game: Game, seat: int, pool: tuple[str, ...], weights: tuple[float, ...]) -> Response:
    """The best response of a seat, in one episode, to a pool with some weights."""
    return met(game, seat, pool).response(weights)
