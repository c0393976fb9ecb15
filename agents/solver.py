"""The solver or scripted expert that a task brings along: the ceiling of what can be reached in it."""

from typing import Any

from agents.agent import Agent, Decision, Setup
from games.game import Game, Observation
from games.tasks.task import Task, TaskObservation


class Solver(Agent):
    """Plays a task as its own solver or scripted expert does, which may know more than what the seat is told."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        assert isinstance(setup.game, Task)
        self._advisor = setup.game.advisor()

    @classmethod
    def misfit(cls, game: Game, **params: Any) -> str | None:
        """A game that is no task, or a task without a solver."""
        if not isinstance(game, Task):
            return f"solver plays single-agent tasks, and {game.spec.name} is none"
        return None if game.solvable else f"{game.spec.name} brings along no solver"

    async def act(self, observation: Observation) -> Decision:
        assert isinstance(observation, TaskObservation)
        return Decision(self._advisor.advise(observation))
