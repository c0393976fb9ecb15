"""The rows of finished matches on their way into a store: checked, and freed of what is there already."""

from collections.abc import Collection, Mapping, Sequence

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from league.store.migrations import layout

KEYS: Mapping[str, Sequence[str]] = {
    "matches": ("match_id",),
    "match_runs": ("match_id", "attempt", "started"),
    "episodes": ("match_id", "episode"),
    "turns": ("match_id", "episode", "turn", "seat", "attempt"),
    "reflections": ("match_id", "episode", "seat"),
    "generations": ("match_id", "episode", "turn", "seat", "attempt", "phase", "number"),
}
"""The tables of a batch, and what tells the rows of each apart."""


def checked(tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """The tables, in the form that `insert` wants, with nothing in them that a store would refuse.

    Raises ValueError, which marks a mistake of the program: an unknown table or column, a missing one that may not be
    NULL, or rows of a match without the match itself.
    """
    unknown = sorted(set(tables) - set(KEYS))
    if unknown:
        raise ValueError(f"no table of a batch: {', '.join(unknown)}; there are {', '.join(KEYS)}")
    batch = {name: _fitted(name, rows) for name, rows in tables.items() if rows.num_rows}
    whole = _ids(batch["matches"]) if "matches" in batch else pa.array([], pa.string())
    for name, rows in batch.items():
        ids = _ids(_finished(rows) if name == "match_runs" else rows)
        orphans = ids.filter(pc.invert(pc.is_in(ids, value_set=whole)))
        if len(orphans):
            raise ValueError(f"{name} of a match that is not in the same batch: {pc.min(orphans).as_py()}")
    return batch


def insert(connection: duckdb.DuckDBPyConnection, batch: Mapping[str, pa.Table]) -> int:
    """Insert a checked batch inside the open transaction and return how many of its matches are new.

    Rows of a match that is there already are left out, void attempts only where the same attempt is there.
    """
    present = _present(connection, batch["matches"]) if "matches" in batch else set()
    inserted = 0
    for name, rows in batch.items():
        fresh = _fresh_runs(connection, rows, present) if name == "match_runs" else _without(rows, present)
        if name == "matches":
            if fresh.num_rows != len(fresh.column("match_id").unique()):
                return insert(connection, {name: _distinct(name, rows) for name, rows in batch.items()})
            inserted = fresh.num_rows
        append(connection, name, fresh)
    return inserted


def append(connection: duckdb.DuckDBPyConnection, table: str, rows: pa.Table | pa.RecordBatchReader) -> None:
    """Append rows to a table by the names of their columns."""
    connection.register("arriving", rows)
    connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM arriving")
    connection.unregister("arriving")


def _fitted(name: str, rows: pa.Table) -> pa.Table:
    """The rows with plain match ids and times without a zone (UTC), their columns checked."""
    columns = {column.name: column.nullable for column in layout()[name]}
    unknown = sorted(set(rows.column_names) - set(columns))
    if unknown:
        raise ValueError(f"no column of {name}: {', '.join(unknown)}; there are {', '.join(columns)}")
    for column, nullable in columns.items():
        if not nullable and (column not in rows.column_names or rows.column(column).null_count):
            raise ValueError(f"{name}.{column} is missing or has NULLs")
    for index, field in enumerate(rows.schema):
        if field.name == "match_id" and field.type != pa.string():
            rows = rows.set_column(index, field.name, rows.column(index).cast(pa.string()))
        elif pa.types.is_timestamp(field.type) and field.type != pa.timestamp("us"):
            rows = rows.set_column(index, field.name, rows.column(index).cast(pa.timestamp("us")))
    return rows


def _ids(rows: pa.Table) -> pa.ChunkedArray:
    return rows.column("match_id")


def _finished(runs: pa.Table) -> pa.Table:
    return runs.filter(pc.not_equal(runs.column("status"), "void"))


def _present(connection: duckdb.DuckDBPyConnection, matches: pa.Table) -> set[str]:
    """Those of the matches that the store has. An id depends on the pair index, so only that range is read: where
    matches arrive in the order of pairs, DuckDB skips most of a large table by its minima and maxima."""
    pairs = pc.min_max(matches.column("pair"))
    connection.register("arriving", matches.select(["match_id"]))
    rows = connection.execute(
        "SELECT match_id FROM matches WHERE pair BETWEEN ? AND ? AND match_id IN (SELECT match_id FROM arriving)",
        [pairs["min"].as_py(), pairs["max"].as_py()],
    ).fetchall()
    connection.unregister("arriving")
    return {match_id for (match_id,) in rows}


def _without(rows: pa.Table, present: Collection[str]) -> pa.Table:
    if not present:
        return rows
    return rows.filter(pc.invert(pc.is_in(_ids(rows), value_set=pa.array(sorted(present), pa.string()))))


def _fresh_runs(connection: duckdb.DuckDBPyConnection, runs: pa.Table, present: Collection[str]) -> pa.Table:
    """One finished attempt for each new match, and the void attempts that the store does not have."""
    void = runs.filter(pc.equal(runs.column("status"), "void"))
    if not void.num_rows:
        return _without(runs, present)
    connection.register("arriving", void.select(["match_id"]))
    known = set(
        connection.execute(
            "SELECT match_id, attempt, started FROM match_runs "
            "WHERE status = 'void' AND match_id IN (SELECT match_id FROM arriving)"
        ).fetchall()
    )
    connection.unregister("arriving")
    keys = zip(*[void.column(column).to_pylist() for column in KEYS["match_runs"]], strict=True)
    fresh = void.filter(pa.array([key not in known for key in keys], pa.bool_()))
    return pa.concat_tables([_without(_finished(runs), present), fresh])


def _distinct(name: str, rows: pa.Table) -> pa.Table:
    """The first row of each key, for the rare batch that holds a match twice."""
    seen: set[tuple[object, ...]] = set()
    keep = []
    for index, key in enumerate(zip(*[rows.column(column).to_pylist() for column in KEYS[name]], strict=True)):
        if key not in seen:
            seen.add(key)
            keep.append(index)
    return rows.take(pa.array(keep, pa.int64()))
