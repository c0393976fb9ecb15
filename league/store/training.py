"""Training in a store: its runs, the steps that they took, and their checkpoints with their ancestry."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import pyarrow as pa

from games.errors import UserError
from league.store.batch import append
from league.store.store import Store


class TrainingRun(NamedTuple):
    """What a run was started with."""

    run: str
    """Its name."""
    config: str
    """The whole resolved configuration, a JSON object."""
    versions: str
    """Versions of this package and of what it trains with, as JSON."""
    seed: int
    started: datetime
    """UTC unless it has a zone; read back without one."""


class TrainingStep(NamedTuple):
    """One update of a run."""

    step: int
    """From 1."""
    metrics: Mapping[str, float | None]
    """None for what was not finite."""
    seconds: float
    created: datetime
    """When it was done; UTC unless it has a zone; read back without one."""


class CheckpointRow(NamedTuple):
    """Weights on disk, and what they came from."""

    run: str
    step: int
    """Updates up to it."""
    path: str
    agent: str
    """The name by which it plays, such as `mage@200`."""
    fingerprint: str
    """What the agent is, its name left out."""
    digest: str
    """Of the weights."""
    parent: str | None
    """Digest of the weights that it came from, None for none."""
    base: str
    """The model that it builds on."""
    metrics: Mapping[str, float | None]
    """None for what was not finite."""
    created: datetime
    """When it was saved; UTC unless it has a zone; read back without one."""


_TIME = pa.timestamp("us")
_KINDS = {"step": pa.int32(), "seed": pa.int64(), "seconds": pa.float64(), "started": _TIME, "created": _TIME}


def _schema(*fields: str) -> pa.Schema:
    return pa.schema([(field, _KINDS.get(field, pa.string())) for field in fields])


_RUNS = _schema(*TrainingRun._fields)
_STEPS = _schema("run", *TrainingStep._fields)
_CHECKPOINTS = _schema(*CheckpointRow._fields)


def register_run(store: Store, run: TrainingRun) -> None:
    """Add a run, unless it is there; its versions and time of start stay those of the first.

    Raises UserError when the run is there with another seed or configuration.
    """
    row = pa.Table.from_pylist([run._asdict()], _RUNS)
    with store.transaction() as connection:
        found = connection.execute("SELECT seed, config FROM training_runs WHERE run = ?", [run.run]).fetchall()
        if not found:
            append(connection, "training_runs", row)
        _same_setup(store, run, found)
    store.remember(run.run, row)


def check_run(store: Store, run: TrainingRun) -> None:
    """Raises UserError as `register_run` does, and adds nothing."""
    _same_setup(store, run, [(known.seed, known.config) for known in runs(store) if known.run == run.run])


def _same_setup(store: Store, run: TrainingRun, found: Iterable[tuple[int, str]]) -> None:
    for seed, known in found:
        if differs := difference(seed, run.seed, "seed") or difference(json.loads(known), json.loads(run.config)):
            raise UserError(
                f"training run {run.run} is in store {store.path} with another setup: {differs}; "
                "give this one another name"
            )


def keep_steps(store: Store, run: str, steps: Iterable[TrainingStep]) -> None:
    """Write steps of a run in one transaction; of a step that was there, or comes twice, the last one stays.

    They wait beside the store while another process holds it for long, as `Store.write` tells.
    """
    rows = {step.step: {**step._asdict(), "run": run, "metrics": _json(step.metrics)} for step in steps}
    if rows:
        store.keep({"training_steps": pa.Table.from_pylist(list(rows.values()), _STEPS)})


def keep_checkpoint(store: Store, row: CheckpointRow) -> None:
    """Write a checkpoint in the place of the one of the same run and step, if there is one.

    It waits beside the store while another process holds it for long, as `Store.write` tells.
    """
    values = {**row._asdict(), "metrics": _json(row.metrics)}
    store.keep({"checkpoints": pa.Table.from_pylist([values], _CHECKPOINTS)})


def runs(store: Store) -> list[TrainingRun]:
    """All runs in the order in which they were started."""
    found = store.query(f"SELECT {', '.join(TrainingRun._fields)} FROM training_runs ORDER BY started, run")
    return [TrainingRun(**values) for values in found.to_pylist()]


def steps(store: Store, run: str) -> list[TrainingStep]:
    """The steps of a run in order; none of a run that is not there."""
    fields = ", ".join(TrainingStep._fields)
    found = store.query(f"SELECT {fields} FROM training_steps WHERE run = ? ORDER BY step", [run])
    return [TrainingStep(**values) for values in _measured(found)]


def checkpoints(store: Store, run: str | None = None) -> list[CheckpointRow]:
    """The checkpoints of one run or of all, by run and step."""
    found = store.query(
        f"SELECT {', '.join(CheckpointRow._fields)} FROM checkpoints WHERE $run IS NULL OR run = $run "
        "ORDER BY run, step",
        {"run": run},
    )
    return [CheckpointRow(**values) for values in _measured(found)]


def lineage(store: Store, digest: str) -> list[CheckpointRow]:
    """The checkpoint with these weights and those that it came from, the newest first, as far as the store has them.

    Where several have the same weights, the one that was saved first stands for them. Empty if none has.
    """
    first: dict[str | None, CheckpointRow] = {}
    for row in sorted(checkpoints(store), key=lambda row: row.created):
        first.setdefault(row.digest, row)
    line: list[CheckpointRow] = []
    following = first.pop(digest, None)
    while following:  # what was popped is not met again, so a circle ends
        line.append(following)
        following = first.pop(following.parent, None)
    return line


def _measured(table: pa.Table) -> Iterator[dict[str, Any]]:
    """The rows with their metrics read."""
    for values in table.to_pylist():
        yield {**values, "metrics": json.loads(values["metrics"])}


def _json(metrics: Mapping[str, float | None]) -> str:
    """Numbers of any kind, such as those of numpy, as JSON."""
    return json.dumps({name: _finite(value) for name, value in metrics.items()}, allow_nan=False)


def _finite(value: float | None) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    return value if type(value) is int else float(value)


def difference(there: object, here: object, key: str = "") -> str:
    """The first key that differs with both values, or nothing. Items of lists count from 0; null is as good as no
    value at all."""
    known, new = _inside(there), _inside(here)
    if known is None or new is None:
        return "" if there == here else f"{key} {_shown(there)} there and {_shown(here)} now"
    for name in dict.fromkeys([*known, *new]):
        found = difference(known.get(name), new.get(name), f"{key}.{name}" if key else name)
        if found:
            return found
    return ""


def _inside(value: object) -> dict[str, object] | None:
    """What a value of JSON holds, by key, or None where it holds nothing."""
    if isinstance(value, list):
        return {str(index): item for index, item in enumerate(value)}
    return value if isinstance(value, dict) else None


def _shown(value: object) -> str:
    """A value as registered rules are shown: strings in quotes, `none` for no value."""
    if value is None:
        return "none"
    return repr(value) if isinstance(value, str) else json.dumps(value)
