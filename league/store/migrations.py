"""The version of a store's schema: how a new store is laid out and an old one brought up to date."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import NamedTuple

import duckdb

from games.errors import UserError

APPLICATION = "metarena"

_WITH_GENERATIONS = """
CREATE TABLE generations (
    match_id VARCHAR NOT NULL,
    episode INTEGER NOT NULL,
    turn INTEGER,
    seat INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    phase VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    model VARCHAR NOT NULL,
    raw VARCHAR NOT NULL,
    prompt_ids INTEGER[],
    completion_ids INTEGER[],
    logprobs FLOAT[],
    finish_reason VARCHAR NOT NULL,
    sampling VARCHAR NOT NULL,
    constrained BOOLEAN NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    seconds DOUBLE NOT NULL,
    price DOUBLE,
    prompt VARCHAR,
    notes VARCHAR NOT NULL
);
DROP TABLE ratings;
CREATE TABLE ratings (
    pool VARCHAR NOT NULL,
    agent VARCHAR NOT NULL,
    mu DOUBLE NOT NULL,
    sigma DOUBLE NOT NULL,
    matches INTEGER NOT NULL,
    wins INTEGER NOT NULL,
    draws INTEGER NOT NULL,
    losses INTEGER NOT NULL,
    score DOUBLE NOT NULL,
    faults INTEGER NOT NULL,
    answers BIGINT NOT NULL,
    void INTEGER NOT NULL
);
DELETE FROM fitted;
"""

_WITH_TRAINING = """
CREATE TABLE training_runs (
    run VARCHAR NOT NULL,
    config VARCHAR NOT NULL,
    versions VARCHAR NOT NULL,
    seed BIGINT NOT NULL,
    started TIMESTAMP NOT NULL
);
CREATE TABLE training_steps (
    run VARCHAR NOT NULL,
    step INTEGER NOT NULL,
    metrics VARCHAR NOT NULL,
    seconds DOUBLE NOT NULL,
    created TIMESTAMP NOT NULL
);
CREATE TABLE checkpoints (
    run VARCHAR NOT NULL,
    step INTEGER NOT NULL,
    path VARCHAR NOT NULL,
    agent VARCHAR NOT NULL,
    fingerprint VARCHAR NOT NULL,
    digest VARCHAR NOT NULL,
    parent VARCHAR,
    base VARCHAR NOT NULL,
    metrics VARCHAR NOT NULL,
    created TIMESTAMP NOT NULL
);
"""

MIGRATIONS: Mapping[int, str] = MappingProxyType({2: _WITH_GENERATIONS, 3: _WITH_TRAINING})
"""Version -> the SQL that leads to it from the version before. `schema.sql` always shows the newest; version 1 was its
first. A change of the schema adds an entry here and edits `schema.sql`."""


class Column(NamedTuple):
    """A column of a table."""

    name: str
    nullable: bool


def latest(migrations: Mapping[int, str] = MIGRATIONS) -> int:
    """The version this program writes."""
    return max(migrations, default=1)


def schema_sql(version: int | None = None) -> str:
    """The statements that lay out an empty store."""
    tables = files("league.store").joinpath("schema.sql").read_text(encoding="utf-8")
    return f"{tables}\nINSERT INTO meta VALUES ('{APPLICATION}', {version or latest()});"


@cache
def layout() -> Mapping[str, tuple[Column, ...]]:
    """Table name -> its columns, read off `schema.sql`."""
    with duckdb.connect(":memory:", config={"threads": "1"}) as connection:
        connection.execute(schema_sql())
        rows = connection.execute(
            "SELECT table_name, column_name, is_nullable FROM duckdb_columns() WHERE NOT internal "
            "ORDER BY table_oid, column_index"
        ).fetchall()
    tables: dict[str, tuple[Column, ...]] = {}
    for table, column, nullable in rows:
        tables[table] = (*tables.get(table, ()), Column(column, nullable))
    return MappingProxyType(tables)


def version_of(connection: duckdb.DuckDBPyConnection, path: str) -> int | None:
    """The schema version of an open database, None if it has no tables at all.

    Raises UserError for a database of something else and for a store that a newer program wrote.
    """
    version = _version(connection)
    if version is None:
        if connection.execute("SELECT count(*) FROM duckdb_tables() WHERE NOT internal").fetchall() == [(0,)]:
            return None
        raise UserError(f"store {path} is a DuckDB database of something else and is left alone; name another")
    if version > latest():
        raise UserError(
            f"store {path} has schema version {version}, newer than {latest()}, the newest this program knows: upgrade"
        )
    return version


def migrate(
    connection: duckdb.DuckDBPyConnection, version: int | None, migrations: Mapping[int, str] = MIGRATIONS
) -> None:
    """Bring a database open for writing from `version` (None: empty) up to date, in one transaction."""
    if version == latest(migrations):
        return
    connection.begin()
    if version is None:
        connection.execute(schema_sql(latest(migrations)))
    else:
        for step in range(version + 1, latest(migrations) + 1):
            connection.execute(migrations[step])
        connection.execute("UPDATE meta SET version = ?", [latest(migrations)])
    connection.commit()


def _version(connection: duckdb.DuckDBPyConnection) -> int | None:
    try:
        rows = connection.execute("SELECT version FROM meta WHERE application = ?", [APPLICATION]).fetchall()
    except duckdb.ProgrammingError:  # no such table, or a table of another shape
        return None
    return int(rows[0][0]) if rows else None
