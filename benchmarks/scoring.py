"""Moves scored by the embedded model through our engine, beside a bare prefill of the same prompts, by turns.

    python -m benchmarks.scoring THREADS RUNS

Prints JSON: of each run the tokens of the prompts and the seconds both ways took, first for prompts that share the
rules, then for prompts that share nothing.
"""

import asyncio
import json
import os
import random
import sys
import time
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from agents.models import local
from agents.models.model import Message, Scores
from agents.models.pool import Models
from agents.models.source import Source
from benchmarks.cost import measured
from benchmarks.table import Figure, Goal, Row

PROMPTS = 32
CELLS = [f"({row},{column})" for row in range(3) for column in range(3)]
MOVES = [f"<action>x{cell}</action>" for cell in CELLS]
RULES = (
    "You play tic-tac-toe. Episodes in this match: 3. Try to get the highest return you can in each.\n\nRules:\n"
    "Two players put their marks on a board of three rows and three columns by turns; x begins and o follows. "
    "A mark stays where it was put, and no cell takes a second one. Who first has three marks in one row, one column "
    "or one of the two diagonals wins and gets 1, the other player gets -1. A full board without such a line is a "
    "draw, and both get 0. A move is the mark with its cell: x(0,2) puts an x into the first row and the last column, "
    "x(1,1) into the middle. Rows are counted from the top and columns from the left, both from 0."
)
AS_FAST = Goal(0.85, at_least=True, of_ratio=True)


class Timed(NamedTuple):
    """One batch, both ways."""

    tokens: int
    """Tokens of the prompts."""
    ours: float
    """Seconds; the scores of the moves are in it."""
    bare: float
    """Seconds."""


def rows(runs: int) -> list[Row]:
    """Measure both ways by turns in a process of their own. Raises RunError without the packages and the model."""
    threads = os.cpu_count() or 1
    run = measured([sys.executable, "-m", "benchmarks.scoring", str(threads), str(runs)])
    table = []
    for how, told in zip(("share the rules", "share nothing"), json.loads(run.output), strict=True):
        timed = [Timed(*one) for one in told]
        ours, bare = median([one.tokens / one.ours for one in timed]), median([one.tokens / one.bare for one in timed])
        what = f"SmolLM2, {len(MOVES)} moves scored for each of {PROMPTS} prompts that {how}, {threads} threads"
        beside = "bare prefill of the prompts, left-padded"
        table.append(Row(what, Figure(ours, "prompt tokens/s"), beside, Figure(bare, "prompt tokens/s"), AS_FAST))
    return table


def main() -> None:
    """Measure and print."""
    threads, runs = int(sys.argv[1]), int(sys.argv[2])
    local.check(Source())
    asyncio.run(_scored(threads, _prompts(-1, shared=True)[:2]))  # what the first batch alone pays
    timed = [(_by_turns(threads, run, shared=True), _by_turns(threads, run, shared=False)) for run in range(runs)]
    print(json.dumps(list(zip(*timed, strict=True))))


def _by_turns(threads: int, run: int, shared: bool) -> Timed:
    prompts = _prompts(run, shared)
    begun = time.perf_counter()
    ours = asyncio.run(_scored(threads, prompts))
    seconds = time.perf_counter() - begun
    ids = [scores.prompt_ids for scores in ours]
    return Timed(sum(map(len, ids)), seconds, _bare(threads, ids))


async def _scored(threads: int, prompts: Sequence[Sequence[Message]]) -> Sequence[Scores]:
    models = Models(threads=lambda: threads)
    model = await models.get(Source())
    return await asyncio.gather(*[model.score(prompt, MOVES) for prompt in prompts])


def _prompts(run: int, shared: bool) -> list[list[Message]]:
    """Prompts of 300 to 500 tokens: the rules, and episodes of which no two prompts have the same."""
    rng = random.Random(f"{run} {shared}")
    prompts = []
    for match in range(PROMPTS):
        own = "" if shared else f"{match} is the number of match {run}. "
        episodes = "\n".join(
            [
                " ".join([mark + rng.choice(CELLS) for mark in "xoxoxox"[: rng.randint(5, 7)]])
                for _ in range(rng.randint(3, 8))
            ]
        )
        asked = f"# Earlier episodes of this match\n{episodes}\n\n# Now\nYou are seat 0. It is your move.\nAnswer:"
        prompts.append([Message("system", own + RULES), Message("user", asked)])
    return prompts


def _bare(threads: int, prompts: Sequence[Sequence[int]]) -> float:
    """Seconds of one padded forward pass that gives what follows each prompt."""
    import torch

    from agents.models import smollm2
    from agents.models.weights import Weights

    weights = Weights.of("smollm2", smollm2.converted(), "auto")
    torch.set_num_threads(threads)
    width = max(map(len, prompts))
    ids = torch.tensor([[weights.vocabulary.pad] * (width - len(prompt)) + list(prompt) for prompt in prompts])
    mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts])
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    begun = time.perf_counter()
    with torch.inference_mode():
        weights.model(ids, attention_mask=mask, position_ids=positions, logits_to_keep=1, use_cache=False)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
