"""Who plays what: the rows of tournaments and members, and the refusal of one name for two things."""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import duckdb
import pyarrow as pa

from games.errors import UserError


class Tournament(NamedTuple):
    """What is kept of a tournament; the store adds when it came and its place in the order of arrival."""

    tournament: str
    format: str
    seed: int
    rules: str
    """MatchRules as JSON; those that are the defaults may be left out."""
    config: str
    """The whole resolved configuration as JSON."""
    versions: str
    """Versions of this package and of what it plays with, as JSON."""


class Member(NamedTuple):
    """A name and what it stands for in every tournament of a store."""

    name: str
    spec: str
    fingerprint: str


_TOURNAMENTS = pa.schema(
    [(field, pa.int64() if kind is int else pa.string()) for field, kind in Tournament.__annotations__.items()]
)
_MEMBERS = pa.schema([(field, pa.string()) for field in Member._fields])


def register(
    connection: duckdb.DuckDBPyConnection, tournament: Tournament, members: Iterable[Member], path: str
) -> int:
    """Add what is new inside the open transaction and return the tournament's ordinal.

    Raises UserError where a name stands for something else already.
    """
    found = _found(connection, tournament)
    if found is None:
        ordinal = _add_tournament(connection, tournament)
    else:
        ordinal = found[0]
        _check_tournament(tournament, found, path)
    for member in members:
        known = _known(connection, member)
        if known is None:
            _add_member(connection, member)
        else:
            _check_member(member, known, path)
    return ordinal


def tables(known: Iterable[tuple[Tournament, Sequence[Member]]]) -> dict[str, pa.Table]:
    """What was registered as two tables, `tournaments` and `members`."""
    tournaments: list[Tournament] = []
    members: dict[str, Member] = {}
    for tournament, others in known:
        tournaments.append(tournament)
        members.update({member.name: member for member in others})
    return {
        "tournaments": pa.Table.from_pylist([row._asdict() for row in tournaments], _TOURNAMENTS),
        "members": pa.Table.from_pylist([row._asdict() for row in members.values()], _MEMBERS),
    }


def remember(connection: duckdb.DuckDBPyConnection, tournaments: pa.Table, members: pa.Table) -> None:
    """Add those that are missing, inside the open transaction: the file may have been replaced since they were
    registered."""
    for values in tournaments.to_pylist():
        tournament = Tournament(**values)
        if _found(connection, tournament) is None:
            _add_tournament(connection, tournament)
            for row in members.to_pylist():
                member = Member(**row)
                if _known(connection, member) is None:
                    _add_member(connection, member)


def _found(connection: duckdb.DuckDBPyConnection, row: Tournament) -> tuple[int, str, int, str] | None:
    found: list[tuple[int, str, int, str]] = connection.execute(
        "SELECT ordinal, format, seed, rules FROM tournaments WHERE tournament = ?", [row.tournament]
    ).fetchall()
    return found[0] if found else None


def _known(connection: duckdb.DuckDBPyConnection, row: Member) -> tuple[str, str] | None:
    known: list[tuple[str, str]] = connection.execute(
        "SELECT spec, fingerprint FROM members WHERE name = ?", [row.name]
    ).fetchall()
    return known[0] if known else None


def _add_tournament(connection: duckdb.DuckDBPyConnection, row: Tournament) -> int:
    added: list[tuple[int]] = connection.execute(
        "INSERT INTO tournaments SELECT ?, coalesce(max(ordinal) + 1, 0), ?, ?, ?, ?, ?, ? FROM tournaments "
        "RETURNING ordinal",
        [*row, _now()],
    ).fetchall()
    return added[0][0]


def _add_member(connection: duckdb.DuckDBPyConnection, row: Member) -> None:
    connection.execute("INSERT INTO members VALUES (?, ?, ?, ?)", [*row, _now()])


def _check_tournament(row: Tournament, found: tuple[int, str, int, str], path: str) -> None:
    _, kind, seed, rules = found
    there = {"format": kind, "seed": seed, **_all_rules(rules)}
    here = {"format": row.format, "seed": row.seed, **_all_rules(row.rules)}
    differences = [
        f"{key} {_shown(there.get(key))} there and {_shown(here.get(key))} now"
        for key in dict.fromkeys([*there, *here])
        if there.get(key) != here.get(key)
    ]
    if differences:
        raise UserError(
            f"tournament {row.tournament} is in store {path} with another setup: {', '.join(differences)}; "
            "give this one another --name"
        )


def _all_rules(rules: str) -> dict[str, object]:
    """The rules, those that were left out because they are the defaults included."""
    from arena.rules import MatchRules  # pydantic starts slowly, and few commands register anything

    return {**{name: rule.default for name, rule in MatchRules.model_fields.items()}, **json.loads(rules)}


def _shown(value: object) -> str:
    """A rule's value as one writes it: strings in quotes, `none` for no limit."""
    return repr(value) if isinstance(value, str) else str(value).lower()


def _check_member(row: Member, known: tuple[str, str], path: str) -> None:
    spec, fingerprint = known
    if fingerprint == row.fingerprint:
        return
    other = f"{spec}" if spec != row.spec else f"an earlier {spec} that played differently"
    raise UserError(
        f"agent {row.name} is {other} in store {path} and cannot be {row.spec} too; name the new one: NAME={row.spec}"
    )


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)
