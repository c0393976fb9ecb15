"""Short connections to one DuckDB file that several processes share, and their failures in one line."""

import contextlib
import os
import random
import re
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb

from games.errors import RunError, UserError

ONE_A_PROCESS = threading.Lock()
"""DuckDB refuses a read-only connection beside a read-write one in the same process, so there is one at a time."""

NAMED_AFTER = 5.0
"""Seconds of waiting after which one is told who holds the file."""

_PROMPT = 0.5  # seconds for which trying again is quick: others in a run let go within milliseconds
_UNHURRIED = 0.25  # seconds between tries after that: a try takes five milliseconds of the processor
_HOLDER = re.compile(r"Conflicting lock is held in (.+?)\s*\(PID (\d+)\)")
_BUSY = ("Could not set lock", "different configuration than existing connections")
_DAMAGED = ("Corrupt", "Could not read enough bytes", "Failure while replaying WAL")
_FOREIGN = ("not a valid DuckDB database file", "sqlite")


class BusyError(RunError):
    """Another process held the file for longer than one would wait."""

    def __init__(self, path: str, holder: str, waited: float) -> None:
        super().__init__(f"store {path} has been held by {holder} for more than {waited:g} s")
        self.holder = holder
        """Program and process id of the one who holds it, as far as they are known."""


@contextlib.contextmanager
def opened(
    path: str, *, write: bool, patience: float, held: Callable[[str], None]
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Connect to an existing file for the length of a `with` block, waiting up to `patience` seconds for others.

    `held` is told once who holds the file, after NAMED_AFTER seconds of waiting. Raises BusyError when they do not let
    go, UserError when the file cannot be used. A log that a killed process left behind is replayed by DuckDB: in
    memory when reading, for good when writing.
    """
    with ONE_A_PROCESS:
        connection = _connect(path, write, patience, held)
        try:
            yield connection
        finally:
            connection.close()


def create(path: str, schema: str) -> None:
    """Make the file with these tables, unless it is there already.

    It is built beside its place and linked into it, so that no other process, and no restart after a kill, meets
    half of a database.
    """
    target = Path(path)
    try:
        with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as folder:
            draft = Path(folder) / target.name
            with duckdb.connect(str(draft), config=_config(path)) as connection:
                connection.execute(schema)
            _link(draft, target)
    except (OSError, duckdb.Error) as error:
        if isinstance(error, FileNotFoundError) and not os.path.lexists(target.parent):
            raise UserError(f"store {path} cannot be made: there is no folder {target.parent}") from error
        raise UserError(f"store {path} cannot be made in {target.parent}: {one_line(error)}") from error


def one_line(error: BaseException) -> str:
    """The first line of an error's text, without DuckDB's or the operating system's prefix."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    lines = str(error).strip().splitlines()
    return re.sub(r"^[\w ]*Error: ", "", lines[0]) if lines else type(error).__name__


def missing(path: str) -> UserError:
    """What to say of a store that is not there."""
    return UserError(
        f"store {path} does not exist; `arena tournament --store {path} ...` makes it, "
        "--store or $ARENA_STORE names another"
    )


def _link(draft: Path, target: Path) -> None:
    try:
        os.link(draft, target)
    except FileExistsError:
        pass  # another process was first
    except OSError:  # a file system without hard links
        if not target.exists():
            draft.rename(target)


def _config(path: str) -> dict[str, str | bool | int | float | list[str]]:
    """Settings of every connection.

    One thread: a write is small, reading is not faster on two, and no thread pool is started and ended each time.
    Sorting beyond the memory limit goes to the system's temporary folder, since the store's may be read-only.
    """
    return {
        "threads": "1",
        "memory_limit": "1GB",
        "temp_directory": str(Path(tempfile.gettempdir()) / f"{Path(path).name}-{os.getpid()}.tmp"),
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
    }


def _connect(path: str, write: bool, patience: float, held: Callable[[str], None]) -> duckdb.DuckDBPyConnection:
    """Connect, trying again while another process is at it: at random moments, writers more often, so that readers
    in a loop do not starve them, and more and more rarely when it takes long."""
    begun, pause, longest, named = time.monotonic(), 0.001, 0.01 if write else 0.05, False
    while True:
        try:
            return duckdb.connect(path, read_only=not write, config=_config(path))
        except duckdb.Error as error:
            if not any(phrase in str(error) for phrase in _BUSY):
                raise _refusal(path, error) from error
            holder, waited = _holder(str(error)), time.monotonic() - begun
            if waited >= patience:
                raise BusyError(path, holder, patience) from error
        if waited >= NAMED_AFTER and not named:
            held(holder)
            named = True
        time.sleep(random.Random().uniform(0.5, 1.5) * pause)
        pause = min(pause * 1.5, longest if waited < _PROMPT else _UNHURRIED)


def _holder(message: str) -> str:
    found = _HOLDER.search(message)
    if found:
        return f"{Path(found[1]).name} (PID {found[2]})"
    return "this process itself" if "different configuration" in message else "another process"


def _refusal(path: str, error: duckdb.Error) -> UserError:
    """Why DuckDB did not open a file, for a person."""
    text, reason = str(error), one_line(error)
    if "does not exist" in text or "No such file" in text:
        return missing(path)
    if "Is a directory" in text:
        return UserError(f"store {path} is a folder; name a file in it, such as {Path(path) / 'arena.duckdb'}")
    if "WAL does not match" in text:
        return UserError(f"store {path} was replaced: {path}.wal belongs to another file; move it away")
    if any(phrase in text for phrase in _FOREIGN):
        return UserError(f"store {path} is not a DuckDB file; --store or $ARENA_STORE names another")
    if "version number" in text or "newer version" in text:
        return UserError(f"store {path} was written by a newer DuckDB than {duckdb.__version__}: {reason}")
    if any(phrase in text for phrase in _DAMAGED):
        return UserError(f"store {path} is damaged: {reason}")
    return UserError(f"store {path} cannot be opened: {reason}")
