"""Agents that look at nothing but the list of legal actions."""

from collections.abc import Mapping

from agents.agent import Agent, Decision, Pace, Setup
from games.game import Action, Observation
from games.seeding import Draws


class Uniform(Agent):
    """Plays each legal action with the same probability."""

    pace = Pace.BRIEF

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._draws = Draws(setup.seed)

    async def act(self, observation: Observation) -> Decision:
        legal = observation.legal_actions
        return Decision(legal[self._draws.below(len(legal))])

    def probabilities(self, observation: Observation) -> Mapping[Action, float]:
        legal = observation.legal_actions
        return dict.fromkeys(legal, 1 / len(legal))
