"""Samples as files for other trainers: parquet, or JSON lines."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from games.errors import UserError
from games.spec import near
from training.samples import Sample

COLUMNS: dict[str, tuple[pa.DataType, str]] = {
    "prompt_ids": (pa.list_(pa.int32()), "tokens of the prompt, as the model read them"),
    "completion_ids": (pa.list_(pa.int32()), "tokens of the answer, the one that ended it included"),
    "logprobs": (pa.list_(pa.float32()), "natural logarithms when it was sampled, one a token; null if not known"),
    "advantage": (pa.float64(), "what it is trained on"),
    "learns": (pa.bool_(), "false where the answer was cut off: to be masked"),
    "phase": (pa.string(), "play, or reflect"),
    "match_id": (pa.string(), "where it comes from, as in the next four"),
    "episode": (pa.int32(), "from 1"),
    "turn": (pa.int32(), "from 0; null for a reflection"),
    "attempt": (pa.int32(), "from 0; above 0 after a retry"),
    "seat": (pa.int32(), "from 0"),
    "game": (pa.string(), "canonical game string"),
    "opponents": (pa.list_(pa.string()), "names of the others; of a task its game string"),
    "group": (pa.int32(), "number of the group that it was compared in"),
    "anchor": (pa.string(), "key of the information state"),
    "reward": (pa.float64(), "what the seat earned up to its next turn, in the game's units"),
    "penalty": (pa.float64(), "fine for its form, 0 or less"),
    "returns": (pa.float64(), "credited return"),
    "fault": (pa.string(), "illegal, unparsable ...; null for none"),
    "finish_reason": (pa.string(), "stop, length, or what a server says"),
    "agent": (pa.string(), "name of the learner"),
    "fingerprint": (pa.string(), "what the learner was"),
    "model": (pa.string(), "with its adapter, where it has one"),
    "sampling": (pa.string(), "settings and seed, as JSON"),
}
"""Column -> its type, and what it holds; the fields of `Sample` in their order."""
FORMATS = ("parquet", "jsonl")
_BATCH = 10_000


def export(samples: Sequence[Sample], path: Path | str) -> Path:
    """Write samples to a file `*.parquet` or `*.jsonl`, which must not be there. Gives its path.

    Raises UserError for a name of another form, a file that is there, or a place that cannot be written.
    """
    file = Path(path)
    form = file.suffix.removeprefix(".")
    if form not in FORMATS:
        raise UserError(f"{str(file)!r}: samples are written as parquet or jsonl; {near(form, FORMATS)}")
    try:
        with file.open("xb") as out:
            if form == "parquet":
                _parquet(samples, out)
            else:
                out.writelines([json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in map(_row, samples)])
    except FileExistsError:
        raise UserError(f"{str(file)!r} is there already") from None
    except OSError as error:
        raise UserError(f"{str(file)!r} cannot be written: {error.strerror}") from error
    return file


def _parquet(samples: Sequence[Sample], out: Any) -> None:
    schema = pa.schema([pa.field(name, kind, metadata={"about": about}) for name, (kind, about) in COLUMNS.items()])
    with pq.ParquetWriter(out, schema, compression="zstd") as writer:
        for rows in _batches(samples):
            writer.write_table(pa.Table.from_pylist(rows, schema))


def _batches(samples: Sequence[Sample]) -> Iterator[list[dict[str, Any]]]:
    for first in range(0, len(samples), _BATCH):
        yield [_row(sample) for sample in samples[first : first + _BATCH]]


def _row(sample: Sample) -> dict[str, Any]:
    plain = sample._asdict()
    lists = {name: list(plain[name]) for name in ("prompt_ids", "completion_ids", "opponents")}
    logprobs = None if sample.logprobs is None else [float(value) for value in sample.logprobs]
    return {**plain, **lists, "logprobs": logprobs, "sampling": json.dumps(dict(sample.sampling), sort_keys=True)}
