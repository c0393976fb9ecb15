"""Agents that each break one promise, for the check of agents to catch."""

import ctypes
import random
from collections.abc import Mapping
from itertools import count
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator

from agents.agent import Agent, Decision, Setup, Trajectory
from agents.generation import Generation
from games.errors import UserError
from games.game import Action, Game, Observation


class First(Agent):
    """Keeps every promise: plays the first legal action."""

    async def act(self, observation: Observation) -> Decision:
        return Decision(observation.legal_actions[0])


class Illegal(First):
    """Plays what is not legal."""

    async def act(self, observation: Observation) -> Decision:
        return Decision("resign")


class Bare(First):
    """Returns the action without a Decision."""

    async def act(self, observation: Observation) -> Any:
        return observation.legal_actions[0]


class Unkept(First):
    """Keeps what no record can hold."""

    async def act(self, observation: Observation) -> Decision:
        return Decision(observation.legal_actions[0], extra={"seen": {1, 2}})


class Babbling(First):
    """Keeps every promise: it may answer with anything, keeps what it said, and is heard the second time."""

    answers_freely = True
    retries = 1

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._told = ""

    def refused(self, observation: Observation, why: str) -> None:
        self._told = why

    async def act(self, observation: Observation) -> Decision:
        told, self._told = self._told, ""
        return Decision(observation.legal_actions[-1] if told else "resign", raw=f"I resign. {told}")


class Unheard(Babbling):
    """Answers with anything and does not keep what it said."""

    async def act(self, observation: Observation) -> Decision:
        return Decision("resign")


class Scribbling(First):
    """Keeps notes on a generation that no record can hold."""

    async def act(self, observation: Observation) -> Decision:
        said = Generation("none", "yes", notes={"seen": {1, 2}})
        return Decision(observation.legal_actions[0], raw="yes", generations=(said,))


class Wordless(First):
    """Keeps a raw answer that is no text."""

    async def act(self, observation: Observation) -> Any:
        return Decision(observation.legal_actions[0], raw=3)  # type: ignore[arg-type]


class Forgetful(First):
    """Draws from a generator without a seed."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._rng = random.Random()

    async def act(self, observation: Observation) -> Decision:
        return Decision(self._rng.choice(observation.legal_actions))


class Remembering(First):
    """Lets one match colour the next."""

    matches = count()

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._odd = next(self.matches) % 2

    async def act(self, observation: Observation) -> Decision:
        return Decision(observation.legal_actions[-self._odd])


class PythonGlobal(First):
    """Draws from Python's global generator."""

    async def act(self, observation: Observation) -> Decision:
        random.random()
        return await super().act(observation)


class NumpyGlobal(First):
    """Draws from numpy's global generator."""

    async def act(self, observation: Observation) -> Decision:
        np.random.random()
        return await super().act(observation)


class NativeGlobal(First):
    """Draws from the C library's generator and does not say so."""

    async def act(self, observation: Observation) -> Decision:
        ctypes.CDLL(None).random()
        return await super().act(observation)


class PythonGlobalDeclared(PythonGlobal):
    """Declares one generator and draws from another."""

    draws_from_process = True


class Undocumented(First):
    """Has a parameter that this text leaves out."""

    def __init__(self, setup: Setup, *, secret: int = 1) -> None:
        super().__init__(setup)


class Mute(First):
    __doc__ = None


class Verbose(First):
    """Gives a reason of two lines."""

    @classmethod
    def misfit(cls, game: Game, **params: Any) -> str | None:
        return "no\nno"


class Choosy(First):
    """Fits nothing."""

    @classmethod
    def misfit(cls, game: Game, **params: Any) -> str | None:
        return f"it does not like {game.spec.name}"


class Rambling(First):
    """Reflects in a bare string."""

    async def reflect(self, trajectory: Trajectory) -> Any:
        return "well played"


_readings = count()


def _next_reading(value: int) -> int:
    return next(_readings)


class Unread(First):
    """mood: a value that changes each time it is read."""

    def __init__(self, setup: Setup, *, mood: Annotated[int, AfterValidator(_next_reading)] = -1) -> None:
        super().__init__(setup)


class Partial(First):
    """States probabilities of the first action only."""

    def probabilities(self, observation: Observation) -> Mapping[Action, float]:
        return {observation.legal_actions[0]: 1.0}


class Unsummed(First):
    """States probabilities that sum to less than 1."""

    def probabilities(self, observation: Observation) -> Mapping[Action, float]:
        return dict.fromkeys(observation.legal_actions, 0.01)


class Lying(First):
    """States that it never plays what it plays."""

    def probabilities(self, observation: Observation) -> Mapping[Action, float]:
        legal = observation.legal_actions
        return {action: float(action == legal[-1]) for action in legal} if len(legal) > 1 else {legal[0]: 1.0}


class Skewed(First):
    """States even chances and plays the first action."""

    def probabilities(self, observation: Observation) -> Mapping[Action, float]:
        return dict.fromkeys(observation.legal_actions, 1 / len(observation.legal_actions))


class CrashingMade(First):
    """Cannot be made."""

    def __init__(self, setup: Setup) -> None:
        raise KeyError("no\nsetup")


class CrashingAct(First):
    """Cannot decide."""

    async def act(self, observation: Observation) -> Decision:
        raise UserError("no move")


class CrashingReflect(First):
    """Cannot look back."""

    async def reflect(self, trajectory: Trajectory) -> Any:
        raise SystemExit


class CrashingProbabilities(First):
    """Cannot state its policy."""

    def probabilities(self, observation: Observation) -> Mapping[Action, float]:
        raise ZeroDivisionError("division by zero")


class CrashingMisfit(First):
    """Cannot say what it fits."""

    @classmethod
    def misfit(cls, game: Game, **params: Any) -> str | None:
        raise ValueError("no reason")


class CrashingPrepare(First):
    """Cannot get ready."""

    @classmethod
    def prepare(cls, game: Game, **params: Any) -> None:
        raise ValueError("not ready")


class Synchronous(First):
    """Decides without being awaited."""

    def act(self, observation: Observation) -> Any:
        return Decision(observation.legal_actions[0])
