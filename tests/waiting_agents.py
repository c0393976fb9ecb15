"""Agents of another package that await something, in every way a test of the event loop asks for."""

import asyncio
import os
import random
import stat
import time
from pathlib import Path
from typing import ClassVar

from agents.agent import Agent, Decision, Pace, ProviderError, Reflection, Setup, Trajectory
from agents.generation import Generation
from games.errors import UserError
from games.game import Observation

PASSES = 10_000
"""Passes of the event loop after which nobody else will come."""


class Awaiting(Agent):
    """Draws its actions, after some passes of the event loop; tells in its reflections what it was told.

    words: whether each decision carries a text and a generation; log: a file in which each act writes a line.
    """

    pace = Pace.AWAITS

    def __init__(self, setup: Setup, *, passes: int = 1, words: bool = False, log: str = "") -> None:
        super().__init__(setup)
        self._rng = random.Random(setup.seed)
        self._passes, self._words, self._log = passes, words, log

    async def act(self, observation: Observation) -> Decision:
        for _ in range(self._passes):
            await asyncio.sleep(0)
        if self._log:
            with Path(self._log).open("a") as file:
                file.write("acted\n")
        action = self._rng.choice(observation.legal_actions)
        if not self._words:
            return Decision(action)
        said = f"<action>{action}</action>"
        return Decision(action, said, {"legal": len(observation.legal_actions)}, (Generation("scripted", said),))

    async def reflect(self, trajectory: Trajectory) -> Reflection | None:
        await asyncio.sleep(0)
        seen = " ".join(f"{step.observation.seat}:{step.action}" for step in trajectory.steps)
        return Reflection(f"{trajectory.episode} [{seen}] {trajectory.total:g} {trajectory.termination.value}")


class Meeting(Awaiting):
    """Answers only once another of its kind has been asked, too; what was asked stays so until both have answered."""

    asked: ClassVar[list[int]] = []

    async def act(self, observation: Observation) -> Decision:
        self.asked.append(observation.seat)
        for _ in range(PASSES):
            if len(self.asked) % 2 == 0:
                return await super().act(observation)
            await asyncio.sleep(0)
        raise RuntimeError("the other seat is not asked before this one has answered")


class Unserved(Awaiting):
    """Has no provider for the first `times` acts; a file counts them."""

    def __init__(self, setup: Setup, *, times: int, count: str) -> None:
        super().__init__(setup)
        self._times, self._count = times, Path(count)

    async def act(self, observation: Observation) -> Decision:
        asked = len(self._count.read_text()) if self._count.exists() else 0
        if asked < self._times:
            self._count.write_text("x" * (asked + 1))
            raise ProviderError("the server is down")
        return await super().act(observation)


class Spending(Awaiting):
    """Spends tokens of the run's budget with each act."""

    def __init__(self, setup: Setup, *, tokens: int) -> None:
        super().__init__(setup)
        self._tokens = tokens

    async def act(self, observation: Observation) -> Decision:
        models = self.setup.models
        assert models is not None
        models.spending.check()
        await asyncio.sleep(0)
        models.spending.add(self._tokens, None)
        return await super().act(observation)


class Endless(Awaiting):
    """Awaits what never comes; a stubborn one does not let itself be cancelled."""

    def __init__(self, setup: Setup, *, flag: str, stubborn: bool = False) -> None:
        super().__init__(setup)
        self._flag, self._stubborn = Path(flag), stubborn

    async def act(self, observation: Observation) -> Decision:
        self._flag.touch()
        while True:
            try:
                await asyncio.sleep(1e6)
            except asyncio.CancelledError:
                if not self._stubborn:
                    raise


class Lingering(Awaiting):
    """Awaits for some seconds."""

    def __init__(self, setup: Setup, *, seconds: float) -> None:
        super().__init__(setup)
        self._seconds = seconds

    async def act(self, observation: Observation) -> Decision:
        await asyncio.sleep(self._seconds)
        return await super().act(observation)


class Refusing(Awaiting):
    """Says that something was asked for that cannot be."""

    async def act(self, observation: Observation) -> Decision:
        raise UserError("no such model")


class Cancelling(Awaiting):
    """Cancels the task that it is asked in."""

    async def act(self, observation: Observation) -> Decision:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)
        return await super().act(observation)


class Computing(Awaiting):
    """Says that it awaits, and computes."""

    def __init__(self, setup: Setup, *, seconds: float) -> None:
        super().__init__(setup)
        self._seconds = seconds

    async def act(self, observation: Observation) -> Decision:
        time.sleep(self._seconds)
        return await super().act(observation)


class AwaitingGate(Awaiting):
    """Awaits that a file is there."""

    def __init__(self, setup: Setup, *, file: str) -> None:
        super().__init__(setup)
        self._file = Path(file)

    async def act(self, observation: Observation) -> Decision:
        while not self._file.exists():
            await asyncio.sleep(0.01)
        return await super().act(observation)


class Gated(AwaitingGate):
    """Computes until a file is there."""

    pace = Pace.COMPUTES

    async def act(self, observation: Observation) -> Decision:
        while not self._file.exists():
            time.sleep(0.01)
        return await super().act(observation)


class Hasty(Agent):
    """Says that it is brief."""

    pace = Pace.BRIEF

    async def act(self, observation: Observation) -> Decision:
        time.sleep(0.01)
        return Decision(observation.legal_actions[0])


class Handshake(Awaiting):
    """Makes its own file, and answers once the other's is there."""

    def __init__(self, setup: Setup, *, mine: str, other: str) -> None:
        super().__init__(setup)
        self._mine, self._other = Path(mine), Path(other)

    async def act(self, observation: Observation) -> Decision:
        self._mine.touch()
        while not self._other.exists():
            await asyncio.sleep(0.01)
        return await super().act(observation)


class HandshakeHosted(Handshake):
    """The same, as one that computes."""

    pace = Pace.COMPUTES


class OddGenerations(Agent):
    """Hands over answers of a model that are a little odd, in its decisions and reflections."""

    async def act(self, observation: Observation) -> Decision:
        return Decision(observation.legal_actions[0], extra={1: ("a", 0.1)}, generations=odd_generations())

    async def reflect(self, trajectory: Trajectory) -> Reflection | None:
        return Reflection("odd \ud800", odd_generations())


def odd_generations() -> list[Generation]:
    """One in which everything is set, and one in which nothing is that need not be."""
    sampling = {"temperature": 0.5, "stop": ("a", "b"), "deep": {"x": [1, None]}}
    odd = Generation("m", "half \ud800", [1, 2], [3], [-0.25], "length", sampling, True, 2, 1, 0.125, 1e-9, "[]")
    return [odd, Generation("m", "plain")]


class Insistent(Agent):
    """Wants to be asked twice more, and answers legally once it has been told twice, of one observation, why not."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.retries = 2
        self._told: list[tuple[Observation, str]] = []

    async def act(self, observation: Observation) -> Decision:
        told = [why for seen, why in self._told if seen is observation]
        said = Generation("m", f"told {len(told)} times")
        if len(told) < 2:
            return Decision(f"no {len(told)}", None, None, (said,))
        return Decision(observation.legal_actions[-1], " and ".join(told), None, (said,))

    def refused(self, observation: Observation, why: str) -> None:
        self._told.append((observation, why))


class Reading(Agent):
    """Says all that it is shown: at each decision, and again, and at the end, when it looks back."""

    async def act(self, observation: Observation) -> Decision:
        return Decision(observation.legal_actions[0], _shown(observation))

    async def reflect(self, trajectory: Trajectory) -> Reflection | None:
        steps = [f"{_shown(step.observation)} -> {step.action}" for step in trajectory.steps]
        return Reflection("\n".join([*steps, _shown(trajectory.final), str(trajectory._replace(steps=(), final=None))]))


def _shown(observation: Observation) -> str:
    return f"{observation.seat} {observation.text} {observation.events} {observation.key}"


class Forging(Agent):
    """Writes what is no answer to all that it can write to."""

    async def act(self, observation: Observation) -> Decision:
        for number in range(3, 64):
            try:
                if stat.S_ISSOCK(os.fstat(number).st_mode):
                    os.write(number, (3).to_bytes(8, "big") + b"{}!")
            except OSError:
                continue
        return Decision(observation.legal_actions[0])


AGENTS = {
    "awaiting": "Awaiting",
    "awaiting_gate": "AwaitingGate",
    "cancelling": "Cancelling",
    "computing": "Computing",
    "endless": "Endless",
    "forging": "Forging",
    "gated": "Gated",
    "handshake": "Handshake",
    "handshake_hosted": "HandshakeHosted",
    "hasty": "Hasty",
    "insistent": "Insistent",
    "lingering": "Lingering",
    "meeting": "Meeting",
    "odd_generations": "OddGenerations",
    "reading": "Reading",
    "refusing": "Refusing",
    "spending": "Spending",
    "unserved": "Unserved",
}
"""Name in a spec -> class."""
