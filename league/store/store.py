"""The store: one DuckDB file that no process holds open, so that runs, the terminal and notebooks can share it."""

import contextlib
import os
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import pyarrow as pa

from games.errors import RunError, UserError
from league.store import batch as batches
from league.store import migrations, registration, spill
from league.store.connection import BusyError, create, missing, one_line, opened
from league.store.registration import Member, Tournament

__all__ = ["Member", "Store", "StoreWarning", "Tournament"]

Kept = TypeVar("Kept")

READ_PATIENCE = 30.0
"""Seconds that reading, registering and replacing wait for another process."""
WRITE_PATIENCE = 5.0
"""Seconds that finished rows wait for another process before they spill."""
SPILLING_PATIENCE = 0.25
"""The same, while the process that made the last write spill may still be there."""
_MISTAKES = (duckdb.DataError, duckdb.IntegrityError, duckdb.ProgrammingError)
"""What DuckDB raises when rows do not fit the tables: no state of the file can cause it."""
_TRAINING = ("training_runs", "training_steps", "checkpoints")
"""The tables of training."""


class StoreWarning(UserWarning):
    """A store is held by another process, or finished rows wait beside it; nothing is lost."""


def _warn(message: str) -> None:
    warnings.warn(message, StoreWarning, stacklevel=4)


class Store:
    """Reads and writes one store. Every method opens the file, does one thing and closes it again.

    Methods raise UserError when the file cannot be used and RunError when it failed on the way or another process
    does not let go of it; who holds it is told after five seconds of waiting. They may be called from several
    threads, which then take turns.
    """

    def __init__(self, path: str | os.PathLike[str], notify: Callable[[str], None] = _warn) -> None:
        """Name a file, which need not exist.

        `notify` is told in one line when another process holds the file for long, when rows spill or a batch is set
        aside; by default that is a StoreWarning.
        """
        self.path = os.fspath(path)
        """As it was given; messages use it."""
        self._notify = notify
        self._patience = WRITE_PATIENCE
        self._registered: dict[str, tuple[Tournament, tuple[Member, ...]]] = {}
        self._runs: dict[str, pa.Table] = {}

    def ensure(self) -> None:
        """Make the file unless it exists, bring an old schema up to date, merge what waits: it can be written."""
        with self._writing(READ_PATIENCE):
            pass

    def register(self, tournament: Tournament, members: Iterable[Member]) -> int:
        """Add a tournament and its members, unless they are there, and return the tournament's ordinal (from 0).

        Raises UserError when the tournament is there with another seed, format or rules, or a name stands for
        another agent.
        """
        known = tuple(members)
        with self.transaction() as connection:
            ordinal = registration.register(connection, tournament, known, self.path)
        self._registered[tournament.tournament] = (tournament, known)
        return ordinal

    def write(self, tables: Mapping[str, pa.Table]) -> int:
        """Add finished matches and void attempts in one transaction; return how many of the matches are new.

        `tables` maps `matches`, `match_runs`, `episodes`, `turns`, `reflections`, `generations` to rows with the
        columns of schema.sql; all rows of a match come together. A match that is there already is left as it is, with
        all its rows; void attempts are always kept. Writing the same twice changes nothing.

        When another process holds the file for long, the rows spill into `<store>.pending` (all of them count as
        new), `notify` is told, and the next write merges them. When the file cannot be written for another reason
        they spill likewise and RunError says so; only if they cannot spill either they are lost, and it says that.
        """
        batch = batches.checked(tables)

        def insert(connection: duckdb.DuckDBPyConnection) -> int:
            registration.remember(connection, **registration.tables(self._registered.values()))
            return batches.insert(connection, batch)

        return self._insert_or_spill(batch, insert, _count(batch))

    def keep(self, tables: Mapping[str, pa.Table]) -> None:
        """Add rows of `training_steps` and `checkpoints` in one transaction, each in the place of the one of the same
        run and step, if there is one; a table has each of its steps once.

        The runs that were remembered are added where they are missing. Rows spill as those of `write` do.
        """
        self._insert_or_spill(tables, lambda connection: _put(connection, {**self._remembered(), **tables}), None)

    def remember(self, run: str, row: pa.Table) -> None:
        """Take a registered row of `training_runs` along with whatever is kept from now on: the file may be replaced
        by another meanwhile."""
        self._runs[run] = row

    @contextlib.contextmanager
    def transaction(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection for one transaction: committed when the block ends, taken back when it raises.

        No other method of a store may be called inside the block, since all of them take turns.
        """
        with self._writing(READ_PATIENCE) as connection, _transaction(connection):
            yield connection

    def replace(self, tables: Mapping[str, pa.Table | pa.RecordBatchReader]) -> None:
        """Empty derived tables and fill them with these rows, in one transaction."""
        with self.transaction() as connection:
            for name, rows in tables.items():
                connection.execute(f"DELETE FROM {name}")
                batches.append(connection, name, rows)

    def played(self, match_ids: Iterable[str]) -> set[str]:
        """Which of these matches are finished, those that wait to be merged included."""
        wanted = pa.table({"match_id": pa.array(match_ids, pa.string())})
        found = spill.match_ids(self._file).intersection(wanted.column("match_id").to_pylist())
        with self._reading() as connection:  # after the look at what waits, which may be merged meanwhile
            connection.register("wanted", wanted)
            rows = connection.sql("SELECT match_id FROM matches WHERE match_id IN (SELECT match_id FROM wanted)")
            found.update(rows.to_arrow_table().column("match_id").to_pylist())
        return found

    def query(self, sql: str, params: list[Any] | dict[str, Any] | None = None) -> pa.Table:
        """The result of one SELECT, with parameters for its `?` or `$name`."""
        with self._reading() as connection:
            return connection.sql(sql, params=params).to_arrow_table()

    def stream(self, sql: str, parts: str, rows: int = 16_384) -> Iterator[pa.RecordBatch]:
        """The results of one SELECT for each row of `parts`, a SELECT too, one after the other; all of one moment.

        The columns of `parts` are the parameters for the `$name`s of `sql`. Batches have up to `rows` rows. They pass
        through a temporary file, so that memory holds one part at most, and the store is held for no longer than the
        queries take, however slowly the batches are used up.
        """
        with tempfile.TemporaryFile() as file:
            with self._reading() as connection, contextlib.ExitStack() as stack:
                writer: pa.RecordBatchWriter | None = None
                for part in connection.sql(parts).to_arrow_table().to_pylist():
                    reader = connection.sql(sql, params=part).to_arrow_reader(rows)
                    writer = writer or stack.enter_context(pa.ipc.new_stream(file, reader.schema))
                    for batch in reader:
                        writer.write_batch(batch)
            if writer is None:
                return
            file.seek(0)
            with pa.ipc.open_stream(file) as result:
                yield from result

    @property
    def _file(self) -> str:
        """Where the file really is: what waits for it lies beside it, whatever link leads there."""
        return os.path.realpath(self.path)

    @contextlib.contextmanager
    def _reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        for outdated in (True, False):
            if not os.path.exists(self._file):
                raise missing(self.path)
            with self._explained(), self._opened(write=False, patience=READ_PATIENCE) as connection:
                if migrations.version_of(connection, self.path) == migrations.latest():
                    yield connection
                    return
            if outdated:
                self.ensure()

    @contextlib.contextmanager
    def _writing(self, patience: float) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection to a store that exists, is up to date, and has taken in what waited for it."""
        if not os.path.exists(self._file):
            create(self._file, migrations.schema_sql())
        with self._explained(), self._opened(write=True, patience=patience) as connection:
            migrations.migrate(connection, migrations.version_of(connection, self.path))
            for waiting in spill.waiting(self._file):
                self._merge(connection, waiting)
            yield connection

    def _opened(self, *, write: bool, patience: float) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        def held(holder: str) -> None:
            self._notify(f"store {self._file} is held by {holder}; waiting")  # the path that errors name

        return opened(self._file, write=write, patience=patience, held=held)

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what DuckDB or the system says of a file that fails on the way into one line."""
        try:
            yield
        except _MISTAKES:
            raise
        except (duckdb.Error, OSError) as error:
            raise RunError(f"store {self.path} failed: {one_line(error)}") from error

    def _merge(self, connection: duckdb.DuckDBPyConnection, waiting: Path) -> None:
        """Take in one batch and remove its file. Dying between the two is harmless: a batch may be merged twice."""
        try:
            tables = spill.load(waiting)
            training = {name: tables.pop(name) for name in _TRAINING if name in tables}
            with _transaction(connection):
                registration.remember(connection, tables.pop("tournaments"), tables.pop("members"))
                batches.insert(connection, batches.checked(tables))
                _put(connection, training)
        except (*_MISTAKES, ValueError, KeyError) as error:
            kept = spill.set_aside(waiting)
            self._notify(f"store {self.path} does not take the rows in {kept}, which stay there: {one_line(error)}")
            return
        spill.merged(waiting)

    def _remembered(self) -> dict[str, pa.Table]:
        return {"training_runs": pa.concat_tables(self._runs.values())} if self._runs else {}

    def _insert_or_spill(
        self, batch: Mapping[str, pa.Table], insert: Callable[[duckdb.DuckDBPyConnection], Kept], spilled: Kept
    ) -> Kept:
        """What `insert` returns after its transaction, or `spilled` where the rows wait beside the store instead."""
        try:
            with self._writing(self._patience) as connection, _transaction(connection):
                inserted = insert(connection)
        except _MISTAKES as error:
            raise ValueError(f"rows that do not fit the tables of a store: {one_line(error)}") from error
        except BusyError as busy:
            self._patience = SPILLING_PATIENCE
            self._notify(f"{busy}; {self._spill(batch, busy)}")
            return spilled
        except (UserError, RunError) as error:
            raise RunError(f"{error}; {self._spill(batch, error)}") from error
        self._patience = WRITE_PATIENCE
        return inserted

    def _spill(self, batch: Mapping[str, pa.Table], cause: Exception) -> str:
        """Keep a batch beside the store and say where; raises RunError if that fails too."""
        place = spill.folder(self._file)
        try:
            spill.save(self._file, {**batch, **registration.tables(self._registered.values()), **self._remembered()})
        except OSError as error:
            raise RunError(
                f"{cause}; {place} cannot be written either ({one_line(error)}), so the last {_amount(batch)} are "
                "lost; all that were written before are kept"
            ) from error
        return f"{_amount(batch)} wait in {place} until the store can be written"


@contextlib.contextmanager
def _transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    connection.begin()
    try:
        yield
    except BaseException:
        with contextlib.suppress(duckdb.Error):  # a failed file may have ended the transaction itself
            connection.rollback()
        raise
    connection.commit()


def _count(batch: Mapping[str, pa.Table]) -> int:
    return len(batch["matches"].column("match_id").unique()) if "matches" in batch else 0


def _amount(batch: Mapping[str, pa.Table]) -> str:
    """How much a batch holds, for a person."""
    steps = [rows.num_rows for name, rows in batch.items() if name in _TRAINING]
    return f"{sum(steps)} rows of training" if steps else f"{_count(batch)} finished matches"


def _put(connection: duckdb.DuckDBPyConnection, tables: Mapping[str, pa.Table]) -> None:
    """Add rows of training inside the open transaction. Of a step that is there already the newer row stays, of a run
    the first."""
    for name, rows in tables.items():
        connection.register("arriving", rows)
        if name == "training_runs":
            connection.execute(f"INSERT INTO {name} BY NAME SELECT * FROM arriving ANTI JOIN {name} USING (run)")
        else:
            connection.execute(f"DELETE FROM {name} o USING arriving n WHERE o.run = n.run AND o.step = n.step")
            connection.execute(f"INSERT INTO {name} BY NAME SELECT * FROM arriving")
        connection.unregister("arriving")
