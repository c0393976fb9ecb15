"""Small training runs for tests: their configuration, and what they leave."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event
from typing import Any

from safetensors.torch import load_file

from league.store.store import Store
from training.config import TrainConfig
from training.loop import Notices, Outcome, run
from training.progress import METRICS, Reached

ROCK = "rock=biased(weights=[1,0,0])"
SMALL: dict[str, Any] = {
    "name": "pupil",
    "game": "matrix_rps",
    "learner": {"model": "tiny(layers=1,hidden=16)"},
    "opponents": [{"agent": ROCK}],
    "groups": {"count": 3, "size": 4},
    "rewards": {"kind": "return"},
    "credit": {"mode": "single"},
    "optimise": {"updates": 3, "learning_rate": 2e-2},
    "evaluate": {"every": 2, "matches": 2},
    "save": {"every": 2},
}
"""A run of seconds."""
TIMES = ("seconds", "seconds/rollout", "seconds/credit", "seconds/update")


def config(out: Path, **changes: Any) -> TrainConfig:
    """A small run with other values. Tables are changed key by key, but a checkpoint is all of a learner."""
    values = {**SMALL, "out": str(out)}
    if "checkpoint" in changes:
        values["learner"] = {"checkpoint": str(changes.pop("checkpoint"))}
    for key, value in changes.items():
        values[key] = {**values.get(key, {}), **value} if isinstance(value, dict) else value
    return TrainConfig(**values)


def trained(
    given: TrainConfig,
    store: Store | None = None,
    stop: Event | None = None,
    tell: Callable[[Reached], None] = lambda reached: None,
    say: Callable[[str], None] = lambda line: None,
) -> Outcome:
    """Train in this process."""
    return run(given, store, Notices(tell, say), stop or Event())


def train_alone(given: TrainConfig, store: Path) -> None:
    """Train, in a process of its own."""
    trained(given, Store(store))


def stopped_after(update: int, given: TrainConfig, store: Store | None = None) -> Outcome:
    """Train until an update is told, as a person who presses Ctrl-C then."""
    stop = Event()

    def tell(reached: Reached) -> None:
        if reached.update >= update and reached.metrics:
            stop.set()

    return trained(given, store, stop, tell)


def weights(place: Path | None) -> dict[str, Any]:
    """The tensors of a checkpoint."""
    assert place is not None
    (file,) = place.glob("*model.safetensors")
    found: dict[str, Any] = load_file(file)
    return found


def lines(folder: Path) -> list[dict[str, Any]]:
    """The lines of a run's metrics, without what they took."""
    told = [json.loads(line) for line in (folder / METRICS).read_text().splitlines()]
    return [{key: value for key, value in line.items() if key not in TIMES} for line in told]


def updates(folder: Path) -> list[dict[str, Any]]:
    """Those of its updates."""
    return [line for line in lines(folder) if line["kind"] == "update"]


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether tensors are equal bit for bit."""
    return one.keys() == other.keys() and all([bool((one[key] == other[key]).all()) for key in one])


def furthest(one: dict[str, Any], other: dict[str, Any]) -> float:
    """How far tensors lie apart at most."""
    assert one.keys() == other.keys()
    return max([float((one[key] - other[key]).abs().max()) for key in one])


def toml(values: dict[str, Any]) -> str:
    """Values as a TOML file; tables, lists of tables and plain values."""
    plain = [f"{key} = {json.dumps(value)}\n" for key, value in values.items() if not _table(value)]
    for key, value in values.items():
        if _table(value):
            for one in value if isinstance(value, Sequence) else [value]:
                plain.append(f"[[{key}]]\n" if isinstance(value, Sequence) else f"[{key}]\n")
                plain += [f"{name} = {json.dumps(inner)}\n" for name, inner in one.items()]
    return "".join(plain)


def _table(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and bool(value) and isinstance(value[0], dict))
