"""Agents that look at nothing but the list of legal actions."""

import random
from collections.abc import Mapping

from agents.agent import Agent, Decision, Setup
from games.game import Action, Observation


class Uniform(Agent):
    """Plays each legal action with the same probability."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._rng = random.Random(setup.seed)

    async def act(self, observation: Observation) -> Decision:
        legal = observation.legal_actions
        return Decision(legal[int(self._rng.random() * len(legal))])

    def probabilities(self, observation: Observation) -> Mapping[Action, float]:
        legal = observation.legal_actions
        return dict.fromkeys(legal, 1 / len(legal))
