"""A language model that takes no time, or just a second, to measure all that is not it; it takes a back end's place."""

import asyncio
from collections.abc import Sequence

from agents.generation import Generation
from agents.models.model import Message, Model, Sampling, Score, Scores
from agents.models.pool import Models
from agents.models.source import Source

PROMPT_TOKENS, ANSWER_TOKENS = 300, 20
"""Tokens of each prompt and answer that it states, as many as a short game's have."""
SLOW, SLOW_SECONDS = "slow", 1.0
"""The model that takes its time, and how much."""


class Instant(Model):
    """Names the first legal action."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._seconds = SLOW_SECONDS if name == SLOW else 0.0

    async def generate(
        self, prompt: Sequence[Message], sampling: Sampling, seed: int, choices: Sequence[str] = ()
    ) -> Generation:
        """One pass of the event loop, or its second, then the same answer every time."""
        await asyncio.sleep(self._seconds)
        return Generation(
            self.name,
            choices[0] if choices else "<action>1</action>",
            list(range(PROMPT_TOKENS)),
            list(range(ANSWER_TOKENS)),
            [-0.5] * ANSWER_TOKENS,
            sampling=sampling.told(seed),
            prompt_tokens=PROMPT_TOKENS,
            completion_tokens=ANSWER_TOKENS,
        )

    async def score(self, prompt: Sequence[Message], choices: Sequence[str]) -> Scores:
        """All the same."""
        await asyncio.sleep(0)
        return Scores([Score([1], [-1.0]) for _ in choices], list(range(PROMPT_TOKENS)), 0.0)


def check(source: Source) -> None:
    """It is always there."""


def traits(source: Source) -> Sequence[str]:
    """There is one."""
    return ()


async def open_model(source: Source, models: Models) -> Model:
    """The model."""
    return Instant(source.model)
