"""What a run tells on the way: to whoever started it, to a file of JSON lines, and to the store."""

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from games.errors import RunError
from league.store.store import Store
from league.store.training import TrainingStep, keep_steps
from training.collect import Collection
from training.evaluation import Score

METRICS = "metrics.jsonl"
CUT_OFF = "cut off"
"""Why a decision teaches nothing, though it is a sample: its answer was too long."""
STORE_SECONDS = 5.0
"""Longest time that a step waits to be written to the store."""


class Reached(NamedTuple):
    """An update that is done, a look at the learner, or both."""

    update: int
    updates: int
    metrics: Mapping[str, float]
    """Empty for a look alone."""
    scores: Sequence[Score] = ()


Tell = Callable[[Reached], None]


class Journal:
    """Writes what a run reaches. A run that is taken up again forgets what came after the update it goes on from.

    Raises RunError where its file cannot be written.
    """

    def __init__(self, folder: Path, store: Store | None, run: str, update: int, tell: Tell) -> None:
        self._file = folder / METRICS
        self._store = store
        self._run = run
        self._tell = tell
        self.looked = -1
        """The latest update after which the learner was looked at; -1 for none."""
        self._waiting: list[TrainingStep] = []
        self._written = time.monotonic()
        if self._file.is_file():
            lines = self._file.read_text(encoding="utf-8").splitlines()
            kept = [found for line in lines if (found := _read(line)) is not None and found["update"] <= update]
            self.looked = max([found["update"] for found in kept if "scores" in found], default=-1)
            part = folder / f"{METRICS}.part"
            part.write_text("".join([f"{json.dumps(found)}\n" for found in kept]), encoding="utf-8")
            part.replace(self._file)

    def update(self, reached: Reached, seconds: float) -> None:
        """An update is done."""
        self._line({"kind": "update", "update": reached.update, **reached.metrics})
        self._waiting.append(TrainingStep(reached.update, reached.metrics, seconds, datetime.now(UTC)))
        if time.monotonic() - self._written > STORE_SECONDS:
            self.flush()
        self._tell(reached)

    def look(self, reached: Reached) -> None:
        """The learner was looked at."""
        self._line({"kind": "evaluation", "update": reached.update, "scores": [one.told() for one in reached.scores]})
        self.looked = reached.update
        self._tell(reached)

    def flush(self) -> None:
        """Write to the store what waits."""
        if self._store is not None and self._waiting:
            keep_steps(self._store, self._run, self._waiting)
        self._waiting, self._written = [], time.monotonic()

    def _line(self, values: Mapping[str, Any]) -> None:
        try:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(finite(values)) + "\n")
        except OSError as error:
            raise RunError(f"{self._file} cannot be written: {error.strerror}") from error


def measured(last: Collection, idle: bool, seconds: float) -> dict[str, float]:
    """The metrics of an update: what was collected, and where the time went."""
    other = max(seconds - last.rollout_seconds - last.credit_seconds, 0.0)
    rows = [one for one in last.samples if one.learns]
    learned = len(rows)
    left_out = {**last.left_out, CUT_OFF: len(last.samples) - learned}
    return {
        "return": sum(last.returns) / max(len(last.returns), 1),
        **{f"return/episode_{number}": value for number, value in enumerate(last.returns, start=1)},
        "faulty": last.faulty,
        "matches": float(last.matches),
        "void": float(last.void),
        "decisions": float(last.decisions),
        "learned": float(learned),
        **{f"left_out/{reason}": float(count) for reason, count in sorted(left_out.items()) if count},
        "tokens": float(last.tokens),
        "tokens/learned": float(sum([len(row.prompt_ids) + len(row.completion_ids) for row in rows])),
        "idle": float(idle),
        "seconds": seconds,
        "seconds/rollout": last.rollout_seconds,
        "seconds/credit": last.credit_seconds,
        "seconds/update": other,
    }


def of_trl(logged: Mapping[str, Any]) -> dict[str, float]:
    """Those of trl's metrics of an update that are kept."""
    keys = ("loss", "entropy", "kl", "grad_norm", "learning_rate", "clip_ratio/region_mean", "entropy_coef")
    return {key: float(value) for key in keys if isinstance(value := logged.get(key), int | float)}


def _read(line: str) -> dict[str, Any] | None:
    """What a line says; None for one that was cut off."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) and isinstance(found.get("update"), int) else None


def finite(value: Any) -> Any:
    """A value for JSON, with None for numbers that are not finite."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: finite(inner) for key, inner in value.items()}
    return [finite(inner) for inner in value] if isinstance(value, list | tuple) else value
