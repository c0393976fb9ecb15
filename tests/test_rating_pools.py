"""Pools, histories and the refit of a store: the same whoever finished first, however the rows were cut."""

import json
import random
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.record import SCHEMAS
from games.errors import RunError, UserError
from league.rating_history import LIMIT, Thinned
from league.rating_pools import fold_pools
from league.ratings import Outcome, Rating, TrueSkill, refit, standings
from league.store import spill
from league.store.queries import ratings_stale, standings_rows
from league.store.registration import Tournament
from league.store.store import Store
from tests.store_batches import MEMBERS, batch, registered
from tests.store_batches import TOURNAMENT as CUP

GAMES = {"tic_tac_toe": 2, "kuhn_poker(players=3)": 3, "leduc_poker": 2}
SHARES = {"tic_tac_toe": 0.4, "kuhn_poker(players=3)": 0.05, "leduc_poker": 0.0, "overall": 0.2}
COLUMNS = pa.schema([SCHEMAS["matches"].field(name) for name in ("game", "agents", "places")])


def played(matches, seed=0, games=GAMES, agents="abcdef"):
    """Rows (game, agents, places) of random matches."""
    rng = random.Random(seed)
    rows = []
    for _ in range(matches):
        game = rng.choice(sorted(games))
        points = [rng.randrange(3) for _ in range(games[game])]
        places = [sum(other > own for other in points) for own in points]
        rows.append((game, rng.sample(agents, games[game]), places))
    return rows


def batches(rows, size):
    """The rows as record batches of up to `size`."""
    for first in range(0, len(rows), size):
        columns = zip(*rows[first : first + size], strict=True)
        yield pa.record_batch([pa.array(c, field.type) for c, field in zip(columns, COLUMNS, strict=True)], COLUMNS)


def fill(path, rows, order=None, runs=()):
    """A store with these matches of one tournament, written in any order; match k is pair k."""
    store = Store(path)
    store.register(Tournament("cup", "round_robin", 0, "{}", "{}", "{}"), [])
    indices = list(range(len(rows))) if order is None else order
    common = {
        "match_id": [f"m{index:05d}" for index in indices],
        "tournament": ["cup"] * len(rows),
        "game": [rows[index][0] for index in indices],
        "agents": [rows[index][1] for index in indices],
    }
    matches = common | {
        "round": [0] * len(rows),
        "pair": indices,
        "replica": [0] * len(rows),
        "seed": indices,
        "fingerprints": common["agents"],
        "mean_returns": [[-float(place) for place in rows[index][2]] for index in indices],
        "places": [rows[index][2] for index in indices],
        "faults": [[1] + [0] * (len(rows[index][1]) - 1) for index in indices],
        "episodes": [1] * len(rows),
    }
    finished = [attempt(*row, "finished") for row in zip(*common.values(), strict=True)]
    attempts = [*finished, *(attempt(f"v{k}", "cup", game, seats, "void") for k, (game, seats) in enumerate(runs))]
    store.write({"matches": table("matches", matches), "match_runs": pa.concat_tables(attempts)})
    return store


def attempt(match_id, tournament, game, agents, status):
    row = {
        "match_id": match_id,
        "tournament": tournament,
        "game": game,
        "agents": agents,
        "attempt": 0,
        "status": status,
        "reason": None if status == "finished" else "the provider is down",
        "worker": 0,
        "started": datetime(2026, 1, 2),
        "seconds": 0.5,
    }
    return table("match_runs", {name: [value] for name, value in row.items()})


def table(name, columns):
    schema = SCHEMAS[name]
    return pa.table({column: pa.array(rows, schema.field(column).type) for column, rows in columns.items()})


def as_json(lines):
    return json.dumps([line._asdict() for line in lines])


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_batches_of_any_size_give_the_same_bits(size):
    rows = played(700)
    assert fold_pools(batches(rows, size), SHARES, TrueSkill()) == fold_pools(batches(rows, 700), SHARES, TrueSkill())


def test_a_pool_is_the_fold_of_its_own_matches():
    rows = played(300, games={"leduc_poker": 2, "tic_tac_toe": 2})
    share = sum(places == [0, 0] for _, _, places in rows) / len(rows)
    shares = dict.fromkeys(["leduc_poker", "tic_tac_toe", "overall"], share)
    pools = {pool.pool: pool.ratings for pool in fold_pools(batches(rows, 50), shares, TrueSkill())}
    assert list(pools) == ["leduc_poker", "tic_tac_toe", "overall"]
    everything = TrueSkill().rate([Outcome(tuple(agents), tuple(places)) for _, agents, places in rows])
    assert {agent: Rating(*rating) for agent, rating in pools["overall"].items()} == everything
    assert pools["leduc_poker"] != pools["tic_tac_toe"]


def test_the_only_game_and_overall_are_the_same():
    rows = played(100, games={"tic_tac_toe": 2})
    only, overall = fold_pools(batches(rows, 30), {"tic_tac_toe": 0.3, "overall": 0.3}, TrueSkill())
    assert only.ratings == overall.ratings
    assert only.history == overall.history


def test_a_game_that_appeared_after_the_counting_is_left_out():
    rows = played(200)
    known = [row for row in rows if row[0] != "leduc_poker"]
    shares = {game: share for game, share in SHARES.items() if game != "leduc_poker"}
    assert fold_pools(batches(rows, 64), shares, TrueSkill()) == fold_pools(batches(known, 64), shares, TrueSkill())


def test_agents_that_meet_only_in_the_overall_pool_stay_newcomers_elsewhere():
    rows = [("leduc_poker", ["a", "b"], [0, 1]), ("tic_tac_toe", ["c", "d"], [0, 1])]
    leduc, tic_tac_toe, overall = fold_pools(batches(rows, 1), SHARES | {"overall": 0.0}, TrueSkill())
    assert list(leduc.ratings) == ["a", "b"]
    assert list(tic_tac_toe.ratings) == ["c", "d"]
    assert list(overall.ratings) == ["a", "b", "c", "d"]


def test_dictionary_encoded_and_sliced_columns_are_read_alike():
    rows = played(50)
    (batch,) = batches(rows, 50)
    names = batch.column("agents")
    coded = pa.ListArray.from_arrays(names.offsets, names.values.dictionary_encode())
    again = pa.record_batch([batch.column("game").dictionary_encode(), coded, batch.column("places")], COLUMNS.names)
    expected = fold_pools([batch], SHARES, TrueSkill())
    assert fold_pools([again.slice(0, 20), again.slice(20)], SHARES, TrueSkill()) == expected


@given(
    matches=st.integers(1, 3_000),
    cuts=st.lists(st.integers(1, 900), min_size=1, max_size=20),
    extra=st.integers(0, 3),
)
def test_history_is_bounded_ends_with_the_last_match_and_does_not_depend_on_batches(matches, cuts, extra):
    """Agent 0 plays every match, agents 1 .. extra the first few."""
    numbers = np.arange(1, matches + 1, dtype=float)
    agents = np.zeros(matches, np.int64)
    agents[:extra] = np.arange(1, extra + 1)[:matches]

    def thinned(edges):
        history = Thinned()
        for low, high in zip(edges, [*edges[1:], matches], strict=True):
            history.add(agents[low:high], numbers[low:high], numbers[low:high])
        last = np.array([numbers[agents == agent].max(initial=0.0) for agent in range(len(history.matches))])
        return [column.tolist() for column in history.points(last, last)]

    edges = sorted({0, *[cut for cut in np.cumsum(cuts).tolist() if cut < matches]})
    by_agent, number, mu, _ = thinned(edges)
    assert [by_agent, number, mu] == thinned([0])[:3]
    for agent in set(by_agent):
        own = [n for a, n in zip(by_agent, number, strict=True) if a == agent]
        assert own == sorted(set(own))
        assert own[-1] == (agents == agent).sum()
        assert len(own) <= LIMIT
        assert len(own) >= min(own[-1], LIMIT // 2)


def test_history_holds_the_beliefs_after_those_matches():
    rows = played(40, games={"tic_tac_toe": 2})
    *_, overall = fold_pools(batches(rows, 16), {"tic_tac_toe": 0.1, "overall": 0.1}, TrueSkill())
    points = overall.history.to_pylist()
    for cut in (11, 40):
        so_far = rows[:cut]
        *_, early = fold_pools(batches(so_far, 16), {"tic_tac_toe": 0.1, "overall": 0.1}, TrueSkill())
        for agent, (mu, sigma) in early.ratings.items():
            matches = sum(agent in agents for _, agents, _ in so_far)
            assert {"agent": agent, "matches": matches, "mu": mu, "sigma": sigma} in points


def test_memory_of_the_history_does_not_grow_with_the_matches():
    history = Thinned()
    rng = np.random.default_rng(0)
    for _ in range(60):
        agents = rng.integers(0, 5, 20_000)
        history.add(agents, rng.random(20_000), rng.random(20_000))
        assert history.held <= 2**16 + 20_000


REFIT = """
import sys
from pathlib import Path
from league.ratings import refit
from league.store.store import Store
refit(Store(sys.argv[1]))
print(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])  # rusage counts the parent's, too
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")
def test_memory_of_a_refit_does_not_grow_with_the_matches(tmp_path):
    peaks = []
    for size in (100_000, 600_000):
        store = Store(tmp_path / f"{size}.duckdb")
        store.register(CUP, MEMBERS)
        with duckdb.connect(store.path) as connection:
            connection.execute(
                "INSERT INTO matches SELECT md5(i::VARCHAR), 'cup', 'tic_tac_toe', 0, i // 200, 0, i, "
                "['agent ' || i % 16, 'agent ' || (i + 1 + i % 15) % 16], ['f', 'f'], [1.0, -1.0], [0, i % 2], "
                f"[0, 0], 1 FROM range({size}) numbers(i)"
            )
        ran = subprocess.run([sys.executable, "-c", REFIT, store.path], check=True, capture_output=True, text=True)
        peaks.append(int(ran.stdout))
        assert sum(line.matches for line in standings_rows(store, "overall")) == 2 * size
    assert peaks[1] < 1.25 * peaks[0], peaks


def test_standings_do_not_depend_on_who_finished_first(tmp_path):
    rows = played(120)
    shuffled = random.Random(1).sample(range(120), 120)
    one, other = fill(tmp_path / "one.duckdb", rows), fill(tmp_path / "other.duckdb", rows, shuffled)
    assert as_json(standings(one)) == as_json(standings(other))
    ratings = "SELECT * FROM rating_history ORDER BY ALL"
    assert one.query(ratings) == other.query(ratings)


def test_refit_fits_every_pool_and_leaves_nothing_stale(tmp_path):
    store = fill(tmp_path / "arena.duckdb", played(120))
    assert ratings_stale(store)
    assert refit(store) == (120, 120)
    assert not ratings_stale(store)
    first = standings_rows(store)
    pools = list(dict.fromkeys([line.pool for line in first]))
    assert pools == ["overall", *sorted(GAMES)]
    assert sum(line.matches for line in first if line.pool == "tic_tac_toe") == 2 * sum(
        game == "tic_tac_toe" for game, _, _ in played(120)
    )
    refit(store)
    assert as_json(standings_rows(store)) == as_json(first)
    history = store.query("SELECT pool, agent, max(matches) FROM rating_history GROUP BY ALL ORDER BY ALL").to_pylist()
    assert [tuple(row.values()) for row in history] == sorted((line.pool, line.agent, line.matches) for line in first)


def test_draw_share_of_a_pool_comes_from_its_matches(tmp_path):
    rows = [("tic_tac_toe", ["a", "b"], [0, 0])] * 3 + [("leduc_poker", ["a", "b"], [0, 1])] * 5
    store = fill(tmp_path / "arena.duckdb", rows)
    by_pool = {line.pool: line for line in standings(store) if line.agent == "a"}
    for pool, wanted in [("tic_tac_toe", rows[:3]), ("leduc_poker", rows[3:]), ("overall", rows)]:
        rating = TrueSkill().rate([Outcome(tuple(agents), tuple(places)) for _, agents, places in wanted])["a"]
        assert (by_pool[pool].mu, by_pool[pool].sigma) == (rating.mu, rating.sigma)


def test_standings_count_wins_draws_losses_score_faults_and_void_attempts(tmp_path):
    rows = [
        ("tic_tac_toe", ["a", "b"], [0, 1]),
        ("tic_tac_toe", ["b", "a"], [0, 0]),
        ("kuhn_poker(players=3)", ["a", "b", "c"], [1, 0, 1]),
    ]
    store = fill(tmp_path / "arena.duckdb", rows, runs=[("tic_tac_toe", ["a", "lost"])])
    lines = {(line.pool, line.agent): line for line in standings(store)}
    a = lines["tic_tac_toe", "a"]
    assert (a.matches, a.wins, a.draws, a.losses, a.score, a.faults, a.void) == (2, 1, 1, 0, 0.75, 1, 1)
    a = lines["overall", "a"]
    assert (a.matches, a.wins, a.draws, a.losses, a.faults, a.void) == (3, 1, 1, 1, 2, 1)
    assert a.score == pytest.approx((1 + 0.5 + 0.25) / 3)
    lost = lines["tic_tac_toe", "lost"]
    assert (lost.mu, lost.sigma, lost.matches, lost.score, lost.void) == (25.0, 25.0 / 3.0, 0, 0.0, 1)


def test_standings_are_refitted_when_matches_came_in_and_only_then(tmp_path):
    store = fill(tmp_path / "arena.duckdb", played(30))
    before = standings(store)
    assert standings(store) == before
    fill(tmp_path / "arena.duckdb", played(60))  # the first 30 are there already
    after = standings(store)
    assert sum(line.matches for line in after) > sum(line.matches for line in before)
    assert after == standings(fill(tmp_path / "fresh.duckdb", played(60)))


@pytest.mark.parametrize("error", [UserError, RunError])
def test_a_store_that_cannot_be_written_has_the_same_standings(tmp_path, error):
    class ReadOnly(Store):
        """Stands for a file on a read-only disk, which a test that may run as root cannot make."""

        def replace(self, tables):
            raise error("read-only")

    rows = [*played(60), ("tic_tac_toe", ["x", "y"], [0, 0])]  # x and y have the same rating
    fill(tmp_path / "arena.duckdb", rows)
    store = ReadOnly(tmp_path / "arena.duckdb")
    in_memory = standings(store)
    assert standings(store, "tic_tac_toe") == [line for line in in_memory if line.pool == "tic_tac_toe"]
    assert ratings_stale(store)
    assert as_json(in_memory) == as_json(standings(Store(tmp_path / "arena.duckdb")))


def test_equal_ratings_share_a_rank_and_stand_by_name(tmp_path):
    lines = standings(fill(tmp_path / "arena.duckdb", [("tic_tac_toe", ["y", "x"], [0, 0])]), "tic_tac_toe")
    assert [(line.rank, line.agent) for line in lines] == [(1, "x"), (1, "y")]


def test_matches_that_wait_beside_the_store_are_rated_too(tmp_path):
    store = Store(tmp_path / "arena.duckdb")
    store.register(CUP, MEMBERS)
    spill.save(store.path, {**batch(range(6)), **registered()})
    refit(store)
    assert not ratings_stale(store)
    assert [line.matches for line in standings(store, "overall")] == [6, 6]


def test_an_empty_store_has_no_standings_and_can_be_refitted(tmp_path):
    store = Store(tmp_path / "arena.duckdb")
    store.ensure()
    assert standings(store) == []
    assert refit(store) == (0, 0)
    assert standings(store) == []


def test_a_missing_store_is_an_error_of_one_line(tmp_path):
    with pytest.raises(UserError, match="does not exist"):
        standings(Store(tmp_path / "none.duckdb"))


def test_another_system_can_be_put_in(tmp_path):
    class Sums:
        """Points: the number of others behind."""

        newcomer = (0.0, 1.0)

        def fold(self, draw_share):
            return SumsFold()

    class SumsFold:
        def __init__(self):
            self.sums = np.zeros(10)

        def add(self, block):
            seats = np.repeat(block.seats, block.seats)
            np.add.at(self.sums, block.agents, seats - 1.0 - block.places)
            return self.sums[block.agents], np.ones(len(block.agents))

        def beliefs(self):
            return self.sums, np.ones(10)

    store = fill(tmp_path / "arena.duckdb", [("tic_tac_toe", ["a", "b"], [0, 1])] * 3)
    refit(store, Sums())
    assert [(line.agent, line.mu) for line in standings_rows(store, "overall")] == [("a", 3.0), ("b", 0.0)]
