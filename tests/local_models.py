"""Models in this process, as tests use them: asked in a run of their own, and checked against a plain pass."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from agents.generation import Generation
from agents.models.limits import ModelLimits
from agents.models.model import Message, Model
from agents.models.pool import Models
from agents.models.source import Source

T = TypeVar("T")
ASK = [Message("system", "You play rock paper scissors."), Message("user", "Your move?")]


def with_model(source: Source, use: Callable[[Model], Awaitable[T]], limits: ModelLimits | None = None) -> T:
    """What `use` gives for the model of a source."""

    async def run() -> T:
        models = Models(limits, threads=lambda: 1)
        try:
            return await use(await models.get(source))
        finally:
            await models.close()

    return asyncio.run(run())


def answer(source: Source, *args: Any, **named: Any) -> Generation:
    return with_model(source, lambda model: model.generate(*args, **named))


def forward(
    folder: str | Path, prompt: Sequence[int], completion: Sequence[int], temperature: float = 1.0
) -> list[float]:
    """Log-probabilities of a completion's tokens by one pass of the model that transformers loads."""
    return by_forward(fresh_model(folder), prompt, completion, temperature)


def fresh_model(folder: str | Path) -> Any:
    """The model of a folder in float32, as transformers loads it."""
    import transformers

    return transformers.AutoModelForCausalLM.from_pretrained(folder, dtype="float32")


def by_forward(model: Any, prompt: Sequence[int], completion: Sequence[int], temperature: float = 1.0) -> list[float]:
    """Log-probabilities of a completion's tokens by one pass of a model."""
    import torch

    logits = logits_of(model, [*prompt, *completion])[len(prompt) - 1 : -1] / temperature
    return logits.log_softmax(-1).gather(1, torch.tensor(completion)[:, None])[:, 0].tolist()


def logits_of(model: Any, ids: Sequence[int]) -> Any:
    """Logits after each token, (tokens, vocabulary)."""
    import torch

    with torch.inference_mode():
        return model(torch.tensor([ids])).logits[0]
