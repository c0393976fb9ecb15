"""One of several agents, drawn anew for each episode."""

import random
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from agents.agent import Agent, Decision, Reflection, Setup, Trajectory
from agents.opponents import AgentSpec
from agents.registry import recipe
from games.game import Game, Observation
from games.seeding import derive

Members = Annotated[list[AgentSpec], Field(min_length=1)]
Weights = list[Annotated[float, Field(ge=0, allow_inf_nan=False)]]
EVEN: Weights = []


class Mixture(Agent):
    """Plays each episode as one of several agents.

    of: the specs of those agents; weights: how often each is drawn, beside the others; none for equally often.
    """

    def __init__(self, setup: Setup, *, of: Members, weights: Weights = EVEN) -> None:
        super().__init__(setup)
        self._weights = weights or [1.0] * len(of)
        self._members = [
            recipe(spec).make(setup._replace(seed=derive(setup.seed, "member", place))) for place, spec in enumerate(of)
        ]
        self._drawn = self._draw(1)

    @classmethod
    def misfit(cls, game: Game, **params: Any) -> str | None:
        """Weights that do not fit, or an agent that cannot play the game."""
        of, weights = params["of"], params["weights"]
        if weights and (len(weights) != len(of) or not any(weights)):
            return f"mixture needs a weight for each of its {len(of)} agents, one of them above 0"
        return next(filter(None, [recipe(spec).misfit(game) for spec in of]), None)

    @classmethod
    def follows(cls, **params: Any) -> Sequence[str]:
        return list(params["of"])

    @classmethod
    def prepare(cls, game: Game, **params: Any) -> None:
        for spec in params["of"]:
            recipe(spec).prepare(game)

    async def act(self, observation: Observation) -> Decision:
        return await self._drawn.act(observation)

    async def reflect(self, trajectory: Trajectory) -> Reflection | None:
        """Whoever played looks back; then the next one is drawn."""
        found = await self._drawn.reflect(trajectory)
        self._drawn = self._draw(trajectory.episode + 1)
        return found

    def _draw(self, episode: int) -> Agent:
        rng = random.Random(derive(self.setup.seed, "mixture", episode))
        return rng.choices(self._members, self._weights)[0]
