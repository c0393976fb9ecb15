"""Finished rows that could not be written to a store yet: files beside it, merged once it can be written again."""

import contextlib
import itertools
import os
import time
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

_counter = itertools.count()
_FORMAT = pa.schema({"table": pa.string(), "rows": pa.large_binary()})


def folder(path: str) -> Path:
    """Where the rows of the store at `path` wait."""
    return Path(f"{path}.pending")


def save(path: str, tables: Mapping[str, pa.Table]) -> Path:
    """Write one batch into one file that is there whole or not at all, also after a crash of the machine.

    Raises OSError, after which no file is left.
    """
    place = folder(path)
    name = f"{time.time_ns():020d}-{os.getpid()}-{next(_counter)}"
    final, draft = place / f"{name}.arrow", place / f"{name}.tmp"
    payload = pa.table({"table": list(tables), "rows": [_packed(rows) for rows in tables.values()]}, schema=_FORMAT)
    for attempt in range(3):  # another process may remove the emptied folder just now
        place.mkdir(exist_ok=True)
        try:
            _write(draft, payload)
            draft.rename(final)
            break
        except FileNotFoundError:
            if attempt == 2:
                raise
        except OSError:
            draft.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                place.rmdir()
            raise
    _sync(place)
    return final


def waiting(path: str) -> list[Path]:
    """The batches that wait for the store at `path`, oldest first."""
    return sorted(folder(path).glob("*.arrow"))


def load(batch: Path) -> dict[str, pa.Table]:
    """The tables of a batch; raises FileNotFoundError when another process has merged it meanwhile."""
    with pa.OSFile(str(batch)) as file, pa.ipc.open_file(file) as reader:
        payload = reader.read_all()
    names, rows = payload.column("table").to_pylist(), payload.column("rows")
    return {name: pa.ipc.open_stream(rows[index].as_buffer()).read_all() for index, name in enumerate(names)}


def match_ids(path: str) -> set[str]:
    """The finished matches that wait for the store at `path`."""
    found: set[str] = set()
    for batch in waiting(path):
        with contextlib.suppress(FileNotFoundError):
            tables = load(batch)
            if "matches" in tables:
                found.update(tables["matches"].column("match_id").to_pylist())
    return found


def merged(batch: Path) -> None:
    """Remove a batch whose rows are committed, and the folder with the last of them."""
    batch.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        batch.parent.rmdir()


def set_aside(batch: Path) -> Path:
    """Keep a batch that no store will take, out of the way of the others; returns its new name."""
    return batch.rename(batch.with_suffix(".bad"))


def rejected(path: str) -> list[Path]:
    """The batches that were set aside."""
    return sorted(folder(path).glob("*.bad"))


def unfinished(path: str) -> list[Path]:
    """What processes left that died while they wrote a batch, or are writing now."""
    return sorted(folder(path).glob("*.tmp"))


def _packed(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(rows)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def _write(draft: Path, payload: pa.Table) -> None:
    with draft.open("wb") as file:
        with pa.ipc.new_file(file, payload.schema) as writer:
            writer.write_table(payload)
        file.flush()
        os.fsync(file.fileno())


def _sync(place: Path) -> None:
    descriptor = os.open(place, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
