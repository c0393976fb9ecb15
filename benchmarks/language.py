"""Answers of the embedded model through our engine, beside a bare `generate` of the same batch, and their memory."""

import json
import os
import sys
from statistics import median

from benchmarks.cost import measured
from benchmarks.generating import LONG, PROMPT, ROWS, SHORT, Timed
from benchmarks.table import Figure, Goal, Row

AS_FAST = Goal(0.85, at_least=True, of_ratio=True)
SMALL = Goal(2000 / 1.048576, at_least=False)
"""2 GB in MiB."""


def rows(runs: int) -> list[Row]:
    """Measure both ways by turns in a process of their own. Raises RunError without the packages and the model."""
    threads = os.cpu_count() or 1
    run = measured([sys.executable, "-m", "benchmarks.generating", str(threads), str(runs)])
    timed = [Timed(*one) for one in json.loads(run.output)]
    ours, bare = median([one.tokens / one.ours for one in timed]), median([one.tokens / one.bare for one in timed])
    what = f"SmolLM2, {ROWS} answers of {SHORT} to {LONG} tokens at once, prompts of about {PROMPT}, {threads} threads"
    beside = "bare generate, left-padded, the same prompts and lengths"
    large = measured([sys.executable, "-m", "benchmarks.generating", str(threads), "0"])
    return [
        Row(what, Figure(ours, "tokens/s"), beside, Figure(bare, "tokens/s"), AS_FAST),
        Row(
            f"its whole process, {ROWS} prompts of 600 tokens and more, peak memory",
            Figure(large.peak_mib, "MiB"),
            goal=SMALL,
        ),
    ]
