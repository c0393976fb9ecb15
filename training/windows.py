"""Windows: which samples are trained on together, the same for any number of processes.

A window is what a trainer takes at once. Its rows are padded to the longest, so samples of like length come together;
rows that are missing in the last window are None and weigh nothing.
"""

import random
from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple, TypeAlias

from training.samples import Sample

Window: TypeAlias = Sequence[Sample | None]


class Shape(NamedTuple):
    """How many rows a window has."""

    rows: int
    """Of one process at once."""
    processes: int = 1


def windows(samples: Sequence[Sample], shape: Shape, seed: int) -> list[Window]:
    """All samples, each once, in windows of rows * processes; the order of windows is drawn from the seed.

    Process p takes the rows p, p + processes, and so on (`share`), so that each has rows of all lengths of a window.
    Raises ValueError for fewer than one row or process.
    """
    if shape.rows < 1 or shape.processes < 1:
        raise ValueError(f"a window needs a row and a process at least, not {shape.rows} and {shape.processes}")
    size = shape.rows * shape.processes
    ranked = sorted(samples, key=_place)
    found: list[list[Sample | None]] = [list(ranked[first : first + size]) for first in range(0, len(ranked), size)]
    if found:
        found[-1] += [None] * (size - len(found[-1]))
    random.Random(seed).shuffle(found)
    return list(found)


def share(window: Window, process: int, processes: int) -> Window:
    """The rows of one process."""
    return window[process::processes]


def _place(sample: Sample) -> tuple[int, str, int, int, int, str]:
    """Length first; the rest makes the order the same however the samples came."""
    turn = -1 if sample.turn is None else sample.turn
    length = len(sample.prompt_ids) + len(sample.completion_ids)
    return length, sample.match_id, sample.episode, turn, sample.attempt, sample.agent


def digest_of(given: Sequence[Window]) -> str:
    """Sixteen hexadecimal digits of windows: which decisions they hold, in which order, with which advantages."""
    whole = blake2b(digest_size=8)
    for window in given:
        for one in window:
            whole.update(b"-" if one is None else repr((*_place(one), round(one.advantage, 9))).encode())
        whole.update(b";")
    return whole.hexdigest()
