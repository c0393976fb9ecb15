"""Batches of the embedded model through our engine and by bare `generate`, by turns in one process.

    python -m benchmarks.generating THREADS RUNS

Prints JSON: of each run the tokens of the answers, and the seconds both ways took. With 0 runs one batch of long
prompts goes through our engine, for what its memory comes to.
"""

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from agents.generation import Generation
from agents.models import local
from agents.models.model import Message, Sampling
from agents.models.pool import Models
from agents.models.source import Source

ROWS = 32
PROMPT = 200
"""Tokens of a prompt, about."""
SHORT, LONG = 24, 48
"""Tokens of the shortest and the longest answers."""
SENTENCE = "The board is empty but for one stone of yours and two stones of the other player. "


class Timed(NamedTuple):
    """One batch, both ways."""

    tokens: int
    """Tokens of the answers."""
    ours: float
    """Seconds."""
    bare: float
    """Seconds."""


def main() -> None:
    """Measure and print."""
    threads, runs = int(sys.argv[1]), int(sys.argv[2])
    local.check(Source())
    if runs == 0:
        asyncio.run(_batch(threads, sentences=36, answer=64, seed=0))
        return
    asyncio.run(_batch(threads, sentences=1, answer=2, seed=0))  # what the first batch alone pays
    print(json.dumps([_by_turns(threads, run) for run in range(runs)]))


def _by_turns(threads: int, run: int) -> Timed:
    begun = time.perf_counter()
    answers = asyncio.run(_batch(threads, sentences=11, answer=LONG, seed=run))
    ours = time.perf_counter() - begun
    lengths = [len(one.completion_ids or ()) for one in answers]
    return Timed(sum(lengths), ours, bare(threads, [one.prompt_ids or () for one in answers], max(lengths)))


async def _batch(threads: int, sentences: int, answer: int, seed: int) -> Sequence[Generation]:
    """Answers to prompts that begin differently and are of different lengths."""
    models = Models(threads=lambda: threads)
    model = await models.get(Source())
    asks = []
    for row in range(ROWS):
        text = f"Game {row} of run {seed}. " + SENTENCE * (sentences - row % 2) + "What do you say to that?"
        sampling = Sampling(max_tokens=answer - (row % 4) * (answer // 8))
        asks.append(model.generate([Message("user", text)], sampling, seed * ROWS + row))
    return await asyncio.gather(*asks)


def bare(threads: int, prompts: Sequence[Sequence[int]], length: int) -> float:
    """Seconds of transformers' own sampling: one padded batch, as many steps as the longest answer has tokens."""
    import torch

    from agents.models import smollm2
    from agents.models.weights import Weights

    weights = Weights.of("smollm2", smollm2.converted(), "auto")
    torch.set_num_threads(threads)
    width = max(map(len, prompts))
    pad = weights.vocabulary.pad
    ids = torch.tensor([[pad] * (width - len(prompt)) + list(prompt) for prompt in prompts])
    mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts])
    how: dict[str, Any] = {"do_sample": True, "top_k": 0, "pad_token_id": pad}
    begun = time.perf_counter()
    with torch.inference_mode():
        weights.model.generate(ids, attention_mask=mask, max_new_tokens=length, min_new_tokens=length, **how)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
