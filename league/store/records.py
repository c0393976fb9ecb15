"""Whole matches out of a store, or out of what was just played: all that is kept of each."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa

from agents.generation import Generation
from league.store.rows import EpisodeRow, GenerationRow, MatchRecord, MatchRow, ReflectionRow, TurnRow
from league.store.store import Store

Row = TypeVar("Row", bound=NamedTuple)

_PLACE = GenerationRow._fields[:-1]
"""Columns of `generations` that say where an answer belongs."""
_COLUMNS: Mapping[str, Sequence[str]] = {
    "matches": MatchRow._fields,
    "episodes": EpisodeRow._fields,
    "turns": ("match_id", *TurnRow._fields),
    "reflections": ("match_id", *ReflectionRow._fields),
    "generations": ("match_id", *_PLACE, *Generation._fields),
}
"""Table -> what of it belongs to a match."""


def stored(
    store: Store, game: str | None = None, agent: str | None = None, match_ids: Sequence[str] | None = None
) -> list[MatchRecord]:
    """The matches of a store: of a game, with an agent, or by their ids; in the order of their ids."""
    which = (
        "SELECT match_id FROM matches WHERE ($game IS NULL OR game = $game) "
        "AND ($agent IS NULL OR list_contains(agents, $agent)) AND ($ids IS NULL OR list_contains($ids, match_id))"
    )
    given = {"game": game, "agent": agent, "ids": None if match_ids is None else list(match_ids)}
    names = {table: ", ".join([f'"{column}"' for column in columns]) for table, columns in _COLUMNS.items()}
    return recorded(
        {
            table: store.query(
                f"SELECT {names[table]} FROM {table} WHERE match_id IN ({which}) ORDER BY match_id", given
            )
            for table in _COLUMNS
        }
    )


def recorded(tables: Mapping[str, pa.Table]) -> list[MatchRecord]:
    """The matches of some tables, as they are written: of a store, or of matches that are in none."""
    episodes = _by_match(tables, "episodes", EpisodeRow)
    turns = _by_match(tables, "turns", lambda _, *values: TurnRow(*values))
    reflections = _by_match(tables, "reflections", lambda _, *values: ReflectionRow(*values))
    generations = _by_match(tables, "generations", lambda _, *values: _answer(values))
    return [
        MatchRecord(
            match,
            sorted(episodes[match.match_id], key=lambda row: row.episode),
            sorted(turns[match.match_id], key=lambda row: (row.episode, row.turn, row.attempt, row.seat)),
            sorted(reflections[match.match_id], key=lambda row: (row.episode, row.seat)),
            sorted(generations[match.match_id], key=_order),
        )
        for (match,) in _by_match(tables, "matches", MatchRow).values()
    ]


def _by_match(tables: Mapping[str, pa.Table], name: str, make: Any) -> dict[str, list[Any]]:
    """The rows of a table by match, whose id is their first value."""
    found: dict[str, list[Any]] = defaultdict(list)
    if name in tables:
        table = tables[name].select(list(_COLUMNS[name]))
        for values in zip(*[column.to_pylist() for column in table.columns], strict=True):
            found[values[0]].append(make(*values))
    return found


def _answer(values: Sequence[Any]) -> GenerationRow:
    said = Generation(*values[len(_PLACE) :])
    said = said._replace(sampling=json.loads(str(said.sampling)), notes=json.loads(str(said.notes)))
    return GenerationRow(*(*values[: len(_PLACE)], said))


def _order(row: GenerationRow) -> tuple[int, ...]:
    """Where an answer stands in its match; a reflection after all turns of its episode."""
    return row.episode, row.turn is None, row.turn or 0, row.seat, row.attempt, row.number
