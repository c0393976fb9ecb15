"""Match results as columns: the Arrow tables that a store takes and that travel between processes cheaply."""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from agents.generation import Generation
from arena.generations import MAX_RAW
from arena.match import Match, MatchResult

_TEXTS = pa.list_(pa.string())
_NUMBERS = pa.list_(pa.float64())
_INTEGERS = pa.list_(pa.int32())

SCHEMAS: Mapping[str, pa.Schema] = {
    "matches": pa.schema(
        {
            "match_id": pa.string(),
            "tournament": pa.string(),
            "game": pa.string(),
            "round": pa.int32(),
            "pair": pa.int32(),
            "replica": pa.int32(),
            "seed": pa.int64(),
            "agents": _TEXTS,
            "fingerprints": _TEXTS,
            "mean_returns": _NUMBERS,
            "places": _INTEGERS,
            "faults": _INTEGERS,
            "episodes": pa.int32(),
        }
    ),
    "match_runs": pa.schema(
        {
            "match_id": pa.string(),
            "tournament": pa.string(),
            "game": pa.string(),
            "agents": _TEXTS,
            "attempt": pa.int32(),
            "status": pa.string(),
            "reason": pa.string(),
            "worker": pa.int32(),
            "started": pa.timestamp("us"),
            "seconds": pa.float64(),
        }
    ),
    "episodes": pa.schema(
        {
            "match_id": pa.string(),
            "episode": pa.int32(),
            "seed": pa.int64(),
            "seats": _TEXTS,
            "turn_seats": _INTEGERS,
            "actions": _TEXTS,
            "returns": _NUMBERS,
            "success": pa.list_(pa.bool_()),
            "termination": pa.string(),
            "offender": pa.int32(),
            "trajectory_hash": pa.string(),
        }
    ),
    "turns": pa.schema(
        {
            "match_id": pa.string(),
            "episode": pa.int32(),
            "turn": pa.int32(),
            "seat": pa.int32(),
            "attempt": pa.int32(),
            "action": pa.string(),
            "raw": pa.string(),
            "fault": pa.string(),
            "extra": pa.string(),
        }
    ),
    "reflections": pa.schema(
        {
            "match_id": pa.string(),
            "episode": pa.int32(),
            "seat": pa.int32(),
            "agent": pa.string(),
            "text": pa.string(),
        }
    ),
    "generations": pa.schema(
        {
            "match_id": pa.string(),
            "episode": pa.int32(),
            "turn": pa.int32(),
            "seat": pa.int32(),
            "attempt": pa.int32(),
            "phase": pa.string(),
            "number": pa.int32(),
            "model": pa.string(),
            "raw": pa.string(),
            "prompt_ids": _INTEGERS,
            "completion_ids": _INTEGERS,
            "logprobs": pa.list_(pa.float32()),
            "finish_reason": pa.string(),
            "sampling": pa.string(),
            "constrained": pa.bool_(),
            "prompt_tokens": pa.int32(),
            "completion_tokens": pa.int32(),
            "seconds": pa.float64(),
            "price": pa.float64(),
            "prompt": pa.string(),
            "notes": pa.string(),
        }
    ),
}
"""Table name -> columns, in the order of the rows that a Recorder keeps."""


PLAY, REFLECT = "play", "reflect"
"""What a model was asked for: a decision, or a look back on an episode."""


class Run(NamedTuple):
    """One attempt at a match: when, where and how long; the only facts of a match that differ from run to run."""

    attempt: int
    worker: int | None
    started: int
    """Microseconds since 1970, UTC."""
    seconds: float


def utc_now() -> int:
    """The time as a Run states it."""
    return time.time_ns() // 1000


class Recorder:
    """Collects results as rows and hands them over as Arrow tables."""

    def __init__(self) -> None:
        self._rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in SCHEMAS}

    def __len__(self) -> int:
        """How many attempts are waiting, finished or void."""
        return len(self._rows["match_runs"])

    def finished(self, result: MatchResult, run: Run) -> None:
        """Keep a finished match."""
        match, rows = result.match, self._rows
        rows["matches"].append(
            (
                match.match_id,
                match.tournament,
                match.game,
                match.round,
                match.pair,
                match.replica,
                match.seed,
                match.names if len(result.places) == len(match.names) else (*match.names, match.game),
                match.fingerprints,
                result.mean_returns,
                result.places,
                result.faults,
                len(result.episodes),
            )
        )
        self._attempt(match, run, "finished", None)
        self._episodes(result)
        for note in result.reflections:
            rows["reflections"].append(
                (match.match_id, note.episode, note.seat, match.names[note.agent], _valid(note.text))
            )
            if note.generations:
                place = (match.match_id, note.episode, None, note.seat, 0, REFLECT)
                rows["generations"] += _generations(place, note.generations)

    def void(self, match: Match, run: Run, reason: str) -> None:
        """Keep an attempt that came to nothing, and why."""
        self._attempt(match, run, "void", _valid(reason))

    def take(self) -> dict[str, pa.Table]:
        """Hand over what was collected, as one table a name (empty tables left out), and start anew."""
        tables = {name: _table(name, rows) for name, rows in self._rows.items() if rows}
        self._rows = {name: [] for name in SCHEMAS}
        return tables

    def _attempt(self, match: Match, run: Run, status: str, reason: str | None) -> None:
        self._rows["match_runs"].append(
            (
                match.match_id,
                match.tournament,
                match.game,
                match.names,
                run.attempt,
                status,
                reason,
                run.worker,
                run.started,
                run.seconds,
            )
        )

    def _episodes(self, result: MatchResult) -> None:
        match_id, names = result.match.match_id, result.match.names
        for record in result.episodes:
            self._rows["episodes"].append(
                (
                    match_id,
                    record.episode,
                    record.seed,
                    [names[agent] for agent in record.order],
                    record.turn_seats,
                    record.actions,
                    record.returns,
                    record.success,
                    record.termination.value,
                    record.offender,
                    record.trajectory_hash,
                )
            )
            for note in record.notes:
                self._rows["turns"].append(
                    (
                        match_id,
                        record.episode,
                        note.turn,
                        note.seat,
                        note.attempt,
                        note.action,
                        _valid(note.raw),
                        note.fault.value if note.fault else None,
                        note.extra,
                    )
                )
                if note.generations:
                    place = (match_id, record.episode, note.turn, note.seat, note.attempt, PLAY)
                    self._rows["generations"] += _generations(place, note.generations)


def merge(batches: Iterable[Mapping[str, pa.Table]]) -> dict[str, pa.Table]:
    """Put batches of tables one under the other."""
    parts: dict[str, list[pa.Table]] = {}
    for batch in batches:
        for name, table in batch.items():
            parts.setdefault(name, []).append(table)
    return {name: pa.concat_tables(tables) for name, tables in parts.items()}


def _generations(place: tuple[Any, ...], generations: Sequence[Generation]) -> list[tuple[Any, ...]]:
    """The rows of what models answered, one after the other, for one decision or reflection.

    `place` holds match_id, episode, turn, seat, attempt and phase.
    """
    return [
        (
            *place,
            number,
            _valid(generation.model),
            _valid(generation.raw[:MAX_RAW]),
            generation.prompt_ids,
            generation.completion_ids,
            generation.logprobs,
            _valid(generation.finish_reason),
            json.dumps(generation.sampling),
            generation.constrained,
            generation.prompt_tokens,
            generation.completion_tokens,
            generation.seconds,
            generation.price,
            _valid(generation.prompt),
            json.dumps(generation.notes),
        )
        for number, generation in enumerate(generations)
    ]


def _table(name: str, rows: list[tuple[Any, ...]]) -> pa.Table:
    schema = SCHEMAS[name]
    columns = zip(*rows, strict=True)
    return pa.table([pa.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)], schema)


def _valid(text: str | None) -> str | None:
    """Text that can be kept as UTF-8: a lone surrogate, which no file can hold, becomes a question mark."""
    return text if text is None or text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
