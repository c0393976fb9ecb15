"""What is asked of a store: matches, results between agents, and the derived tables of ratings."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa

from games.errors import UserError
from games.spec import near
from league.store.fold_order import OUTCOMES, slices
from league.store.records import stored
from league.store.rows import (
    OVERALL,
    Counts,
    CrossRow,
    EpisodeRow,
    EpisodeSolved,
    MatchRecord,
    MatchRow,
    Standing,
    Tally,
)
from league.store.store import Store

Row = TypeVar("Row", bound=NamedTuple)

_COUNTS = "SELECT (SELECT count(*) FROM matches) AS matches, (SELECT count(*) FROM match_runs) AS runs"

# Equal results are counted first, which leaves few rows for the rest.
_CROSSTABLE = """
WITH alike AS (
    SELECT game, agents, places, count(*) AS n FROM matches WHERE $game IS NULL OR game = $game GROUP BY ALL
), seated AS (
    SELECT *, unnest(agents) AS agent, unnest(places) AS place FROM alike
), met AS (
    SELECT game, n, agent, place, unnest(agents) AS opponent, unnest(places) AS other FROM seated
), results AS (
    SELECT game, agent, opponent, sum(n)::BIGINT AS matches,
           coalesce(sum(n) FILTER (place < other), 0)::BIGINT AS wins,
           coalesce(sum(n) FILTER (place = other), 0)::BIGINT AS draws
    FROM met WHERE agent <> opponent GROUP BY ALL
), plays AS (
    SELECT m.game, m.agents, e.trajectory_hash AS hash, count(*) AS n
    FROM matches m JOIN episodes e USING (match_id) WHERE $game IS NULL OR game = $game GROUP BY ALL
), players AS (
    SELECT *, unnest(agents) AS agent FROM plays
), variety AS (
    SELECT game, agent, opponent, sum(n)::BIGINT AS episodes, count(DISTINCT hash) AS different
    FROM (SELECT game, hash, n, agent, unnest(agents) AS opponent FROM players)
    WHERE agent < opponent GROUP BY ALL
)
SELECT r.game, r.agent, r.opponent, matches, wins, draws, matches - wins - draws AS losses,
       (wins + draws / 2) / matches AS score, coalesce(v.episodes, 0) AS episodes, coalesce(different, 0) AS different
FROM results r LEFT JOIN variety v
  ON v.game = r.game AND v.agent = least(r.agent, r.opponent) AND v.opponent = greatest(r.agent, r.opponent)
ORDER BY r.game, r.agent, r.opponent
"""

# An answer is a turn that was played as the agent said, or a fault. Where the rules play something else after a fault,
# the turn has attempts that were faults and none that was not.
# Halves are whole numbers (2 for an opponent beaten, 1 for a tie), so that no order of summing changes a digit.
_TALLIES = """
WITH alike AS (
    SELECT game, agents, places, faults, count(*) AS n FROM matches GROUP BY ALL
), seated AS (
    SELECT game, n, places, unnest(agents) AS agent, unnest(places) AS place, unnest(faults) AS fault FROM alike
), judged AS (
    SELECT game, agent, n, fault, place, len(places) AS seats,
           len(list_filter(places, lambda p: p = place)) AS equal,
           len(list_filter(places, lambda p: p > place)) AS worse
    FROM seated
), voided AS (
    SELECT game, unnest(agents) AS agent FROM match_runs WHERE status = 'void'
), sittings AS (
    SELECT match_id, seats, turn_seats, unnest(range(len(seats))) AS seat FROM episodes
), moves AS (
    SELECT match_id, seats[seat + 1] AS agent, len(list_filter(turn_seats, lambda s: s = seat)) AS n FROM sittings
), troubled AS (
    SELECT match_id, episode, turn, seat FROM turns WHERE fault IS NOT NULL OR attempt > 0
    GROUP BY ALL HAVING bool_and(fault IS NOT NULL)
), replaced AS (
    SELECT t.match_id, e.seats[t.seat + 1] AS agent, -1 AS n
    FROM troubled t JOIN episodes e USING (match_id, episode) WHERE t.turn < len(e.turn_seats)
), legal AS (
    SELECT game, agent, n FROM (SELECT * FROM moves UNION ALL SELECT * FROM replaced) JOIN matches USING (match_id)
)
SELECT game, agent, seats, sum(n)::BIGINT AS matches,
       coalesce(sum(n) FILTER (place = 0 AND equal = 1), 0)::BIGINT AS wins,
       coalesce(sum(n) FILTER (place = 0 AND equal > 1), 0)::BIGINT AS draws,
       sum(n * (2 * worse + equal - 1))::BIGINT AS halves, sum(n * fault)::BIGINT AS faults,
       sum(n * fault)::BIGINT AS answers, 0::BIGINT AS void
FROM judged GROUP BY game, agent, seats
UNION ALL SELECT game, agent, 1, 0, 0, 0, 0, 0, 0, count(*) FROM voided GROUP BY game, agent
UNION ALL SELECT game, agent, 1, 0, 0, 0, 0, 0, sum(n)::BIGINT, 0 FROM legal GROUP BY game, agent
ORDER BY game, agent, seats
"""

# A task takes part in its matches, and has no return: so its matches are told without a look at their episodes.
_SOLVED = """
WITH own AS (
    SELECT m.game, m.agents[1] AS agent, coalesce(t.rules->>'deals', 'fresh') AS deals,
           coalesce((t.rules->>'episodes')::INTEGER, 1) AS planned, m.match_id
    FROM matches m JOIN tournaments t USING (tournament)
    WHERE len(m.agents) > len(m.mean_returns) AND ($game IS NULL OR m.game = $game)
), plays AS (
    SELECT o.*, e.episode, e.success[1] AS solved, e.returns[1] AS value, len(e.actions) AS turns,
           min(e.episode) FILTER (e.success[1]) OVER (PARTITION BY o.match_id) AS first
    FROM own o JOIN episodes e USING (match_id)
), wholes AS (
    SELECT game, agent, deals, planned, count(DISTINCT match_id) AS matches,
           list(first) FILTER (episode = 1 AND first IS NOT NULL) AS firsts
    FROM plays GROUP BY ALL
), counted AS (
    SELECT game, agent, deals, planned, episode, count(*) AS played, count(*) FILTER (solved) AS solved,
           fsum(value) AS total, sum(turns)::BIGINT AS turns
    FROM plays GROUP BY ALL
)
SELECT c.game, c.agent, c.deals, c.planned, c.episode, w.matches, c.played, c.solved,
       len(list_filter(coalesce(w.firsts, []), lambda one: one <= c.episode)) AS passed, c.total, c.turns
FROM counted c JOIN wholes w USING (game, agent, deals, planned)
ORDER BY c.game, c.planned DESC, c.deals, c.agent, c.episode
"""

_STANDINGS = """
SELECT pool, rank() OVER (PARTITION BY pool ORDER BY mu - 3 * sigma DESC) AS rank, agent, mu, sigma,
       mu - 3 * sigma AS conservative, matches, wins, draws, losses, score, faults, void,
       answers, CASE WHEN answers > 0 THEN faults / answers END AS fault_rate
FROM ratings WHERE $pool IS NULL OR pool = $pool
ORDER BY pool <> $overall, pool, rank, agent
"""


def matches(
    store: Store, game: str | None = None, agent: str | None = None, limit: int | None = None
) -> list[MatchRow]:
    """Finished matches, those of the newest tournament first, within it by round, pair and seats."""
    return _rows(
        MatchRow,
        store.query(
            f"SELECT {_columns(MatchRow)} FROM matches "
            "LEFT JOIN (SELECT tournament, ordinal FROM tournaments) USING (tournament) "
            "WHERE ($game IS NULL OR game = $game) AND ($agent IS NULL OR list_contains(agents, $agent)) "
            "ORDER BY ordinal DESC NULLS LAST, game, round, pair, agents, replica, match_id LIMIT $limit",
            {"game": game, "agent": agent, "limit": 2**62 if limit is None else limit},
        ),
    )


def episodes(store: Store, match_ids: Sequence[str]) -> list[EpisodeRow]:
    """The episodes of these matches, in the order of ids and episodes."""
    return _rows(
        EpisodeRow,
        store.query(
            f"SELECT {_columns(EpisodeRow)} FROM episodes WHERE match_id IN (SELECT unnest($ids)) ORDER BY 1, 2",
            {"ids": list(match_ids)},
        ),
    )


def match_record(store: Store, match_id: str) -> MatchRecord:
    """One match by its id or the beginning of it.

    Raises UserError, with the near ones, where no match or more than one begins like that.
    """
    found = _rows(
        MatchRow,
        store.query(
            f"SELECT {_columns(MatchRow)} FROM matches WHERE starts_with(match_id, $id) ORDER BY 1 LIMIT 4",
            {"id": match_id},
        ),
    )
    exact = [row for row in found if row.match_id == match_id]
    if not found:
        raise UserError(f"no match {match_id} in store {store.path}; {_near_ids(store, match_id)}")
    if len(found) > 1 and not exact:
        some = ", ".join([row.match_id for row in found[:3]])
        raise UserError(f"match {match_id} is ambiguous: {some}{' and more' if len(found) > 3 else ''}")
    (record,) = stored(store, match_ids=[(exact or found)[0].match_id])
    return record


def specs(store: Store, names: Sequence[str]) -> dict[str, str]:
    """The specs of some agents of a store, by name."""
    found = store.query("SELECT name, spec FROM members WHERE name IN (SELECT unnest($names))", {"names": list(names)})
    return dict(_tuples(found))


def count_matches(store: Store, tournament: str) -> int:
    """How many matches of a tournament are finished."""
    found = store.query("SELECT count(*) AS n FROM matches WHERE tournament = ?", [tournament])
    return int(found.column("n")[0].as_py())


def members(store: Store) -> list[str]:
    """The names of all agents of the store, sorted."""
    return [str(name) for (name,) in _tuples(store.query("SELECT DISTINCT name FROM members ORDER BY name"))]


def games(store: Store) -> list[str]:
    """The games of which there are matches, sorted."""
    return [str(game) for (game,) in _tuples(store.query("SELECT DISTINCT game FROM matches ORDER BY game"))]


def crosstable(store: Store, game: str | None = None) -> list[CrossRow]:
    """Results of each agent against each other that it met, by game; of more than two seats, of each two of them."""
    return _rows(CrossRow, store.query(_CROSSTABLE, {"game": game}))


def outcomes(store: Store) -> Iterator[pa.RecordBatch]:
    """The results of all matches in the order in which ratings are folded, in batches, all of one moment.

    Columns: game (string), agents (list<string>) and places (list<int32>) in parallel. The order is by tournament (as
    they came), round, pair, agents as a set, agents by seat, game, replica and id, so it does not depend on who
    finished first. They are sorted in slices, so memory does not grow with the number of matches, only with those of
    one pair index where they are more than SLICE. The file is let go before the first batch.
    """
    return store.stream(OUTCOMES, slices())


def tallies(store: Store) -> list[Tally]:
    """Counts of every agent in every game, ordered by game and agent. All sums are exact, in any order of rows."""
    sums: dict[tuple[str, str], Tally] = {}
    for game, agent, seats, played, wins, draws, halves, faults, answers, void in _tuples(store.query(_TALLIES)):
        before = sums.get((game, agent), Tally(game, agent, 0, 0, 0, 0, 0.0, 0, 0, 0))
        points = halves / (2 * (seats - 1)) if seats > 1 else float(wins)
        added = (played, wins, draws, played - wins - draws, points, faults, answers, void)
        sums[game, agent] = Tally(game, agent, *[old + new for old, new in zip(before[2:], added, strict=True)])
    return list(sums.values())


def solved_by_episode(store: Store, game: str | None = None) -> list[EpisodeSolved]:
    """How tasks went, by game, agent and episode of a match."""
    return _rows(EpisodeSolved, store.query(_SOLVED, {"game": game}))


def counts(store: Store) -> Counts:
    """How many matches and attempts there are now. To be asked before `outcomes`: what is written between the two
    then makes the ratings stale, and does not go unnoticed."""
    return _rows(Counts, store.query(_COUNTS))[0]


def save_ratings(
    store: Store,
    ratings: pa.Table | pa.RecordBatchReader,
    history: pa.Table | pa.RecordBatchReader,
    fitted: Counts | None = None,
) -> None:
    """Put fitted ratings in the place of the last ones, in one transaction.

    The columns are those of the tables `ratings` and `rating_history`; readers keep memory small. `fitted` is what
    `counts` said before the fit began; without it, what is there now.
    """
    basis = fitted or counts(store)
    store.replace(
        {"ratings": ratings, "rating_history": history, "fitted": pa.table({"matches": [basis[0]], "runs": [basis[1]]})}
    )


def ratings_stale(store: Store) -> bool:
    """Whether matches or attempts came in since the ratings were fitted."""
    stale = store.query(
        f"SELECT (now.matches, now.runs) <> (coalesce(max(f.matches), 0), coalesce(max(f.runs), 0)) AS stale "
        f"FROM ({_COUNTS}) now LEFT JOIN fitted f ON true GROUP BY now.matches, now.runs"
    )
    return bool(stale.column("stale")[0].as_py())


def standings_rows(store: Store, pool: str | None = None) -> list[Standing]:
    """The standings as they were fitted last: `overall` first, then by game; in each pool the best first."""
    return _rows(Standing, store.query(_STANDINGS, {"pool": pool, "overall": OVERALL}))


def _near_ids(store: Store, match_id: str) -> str:
    """The ids that look most like one that is not there, among those that begin with the same character."""
    some = store.query("SELECT match_id FROM matches WHERE match_id[1] = ? ORDER BY 1 LIMIT 1000", [match_id[:1]])
    ids = some.column("match_id").to_pylist()
    return near(match_id, ids, listed_by="arena matches") if ids else "`arena matches` lists them"


def _columns(row: type[Row]) -> str:
    """The fields of a row type as a list of SQL columns."""
    return ", ".join([f'"{field}"' for field in row._fields])


def _tuples(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    return zip(*[column.to_pylist() for column in table.columns], strict=True)


def _rows(kind: type[Row], table: pa.Table) -> list[Row]:
    return [kind(*values) for values in _tuples(table)]
