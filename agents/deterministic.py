"""Agents whose action is a function of what they see now."""

from abc import abstractmethod
from collections.abc import Mapping

from agents.agent import Agent, Decision
from games.game import Action, Observation


class Deterministic(Agent):
    """An agent that draws and remembers nothing: a subclass says what it plays in each position."""

    @abstractmethod
    def choice(self, observation: Observation) -> Action:
        """The legal action that it plays here."""

    async def act(self, observation: Observation) -> Decision:
        return Decision(self.choice(observation))

    def probabilities(self, observation: Observation) -> Mapping[Action, float]:
        """1 for the action that it plays, 0 for the others."""
        chosen = self.choice(observation)
        return {action: float(action == chosen) for action in observation.legal_actions}
