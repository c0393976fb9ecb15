"""What a run tells on the way: to whoever started it, to a file of JSON lines, and to the store."""

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from league.store.store import Store
from league.store.training import TrainingStep, keep_steps
from training.collect import Collection
from training.evaluation import Score

METRICS = "metrics.jsonl"
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
    """Writes what a run reaches. A run that is taken up again forgets what came after the update it goes on from."""

    def __init__(self, folder: Path, store: Store | None, run: str, update: int, tell: Tell) -> None:
        self._file = folder / METRICS
        self._store = store
        self._run = run
        self._tell = tell
        self._waiting: list[TrainingStep] = []
        self._written = time.monotonic()
        if self._file.is_file():
            lines = self._file.read_text(encoding="utf-8").splitlines()
            kept = [line for line in lines if (found := _update_of(line)) is not None and found <= update]
            self._file.write_text("".join([f"{line}\n" for line in kept]), encoding="utf-8")

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
        self._tell(reached)

    def flush(self) -> None:
        """Write to the store what waits."""
        if self._store is not None and self._waiting:
            keep_steps(self._store, self._run, self._waiting)
        self._waiting, self._written = [], time.monotonic()

    def _line(self, values: Mapping[str, Any]) -> None:
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(_finite(values)) + "\n")


def measured(last: Collection, logged: Mapping[str, Any], seconds: float) -> dict[str, float]:
    """The metrics of an update: what was collected, what trl logged, and where the time went."""
    other = max(seconds - last.rollout_seconds - last.credit_seconds, 0.0)
    found = {
        "return": sum(last.returns) / max(len(last.returns), 1),
        **{f"return/episode_{number}": value for number, value in enumerate(last.returns, start=1)},
        "faulty": last.faulty,
        "matches": float(last.matches),
        "decisions": float(last.decisions),
        "learned": float(len(last.samples)),
        **{f"left_out/{reason}": float(count) for reason, count in sorted(last.left_out.items())},
        "seconds": seconds,
        "seconds/rollout": last.rollout_seconds,
        "seconds/credit": last.credit_seconds,
        "seconds/update": other,
    }
    for key in ("loss", "entropy", "kl", "grad_norm", "learning_rate", "clip_ratio/region_mean", "entropy_coef"):
        if isinstance(value := logged.get(key), int | float):
            found[key] = float(value)
    return found


def _update_of(line: str) -> int | None:
    """The update of a line; None for one that was cut off."""
    try:
        found = json.loads(line).get("update")
    except (ValueError, AttributeError):
        return None
    return found if isinstance(found, int) else None


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, list | tuple) else value
