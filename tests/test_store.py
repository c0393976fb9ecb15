"""The store: nothing lost, nothing twice, whoever else is at the file and whenever a process dies."""

import contextlib
import json
import multiprocessing
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.record import SCHEMAS
from arena.rules import MatchRules
from games.errors import RunError, UserError
from league.ratings import standings
from league.store import connection, fold_order, migrations, queries, registration, spill
from league.store import store as store_module
from league.store.batch import append
from league.store.health import Level, health
from league.store.store import Member, Store, StoreWarning
from tests.store_batches import MEMBERS, START, TOURNAMENT, batch, make, registered, void_run, write_many


def counted(store):
    """Rows of every table that a batch fills."""
    sql = "SELECT " + ", ".join([f"(SELECT count(*) FROM {name}) AS {name}" for name in SCHEMAS])
    return store.query(sql).to_pylist()[0]


def contents(store):
    """Everything that matches brought, sorted."""
    return {name: sorted(map(repr, store.query(f"SELECT * FROM {name}").to_pylist())) for name in SCHEMAS}


@pytest.fixture
def store(tmp_path):
    made = Store(tmp_path / "arena.duckdb")
    made.register(TOURNAMENT, MEMBERS)
    return made


@contextlib.contextmanager
def python(code, *arguments, **options):
    """A process that runs `code` and has said a line when the block begins; it is gone when the block ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, text=True, **options
    )
    try:
        process.stdout.readline()
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


HOLD = """
import sys, time, duckdb
connection = duckdb.connect(sys.argv[1], read_only=len(sys.argv) > 2)
print("held", flush=True)
time.sleep(60)
"""

# ---------------------------------------------------------------------------------------------- what is written


def test_what_is_written_is_read_back_column_for_column(store):
    tables = batch(range(5), turns=2)
    assert store.write(tables) == 5
    for name, rows in tables.items():
        read = store.query(f"SELECT {', '.join(rows.column_names)} FROM {name} ORDER BY ALL")
        assert read.to_pylist() == rows.to_pylist()


def test_types_that_say_the_same_are_stored_as_the_same(store, tmp_path):
    plain, other = batch(range(3), turns=1), Store(tmp_path / "other.duckdb")
    coded = dict(plain)
    for name, rows in plain.items():
        columns = {column: rows.column(column) for column in rows.column_names}
        columns["match_id"] = columns["match_id"].dictionary_encode()
        if "game" in columns:
            columns["game"] = columns["game"].dictionary_encode()
        if "agents" in columns:
            lists = columns["agents"].combine_chunks()
            columns["agents"] = pa.ListArray.from_arrays(lists.offsets, lists.values.dictionary_encode())
        if "started" in columns:
            columns["started"] = columns["started"].cast(pa.timestamp("us", tz="UTC"))
        coded[name] = pa.table(columns)
    store.write(plain)
    other.write(coded)
    assert contents(other) == contents(store)


def test_times_are_stored_as_utc_whatever_the_zone_of_the_machine(tmp_path):
    code = """
import sys
import tempfile
sys.path.insert(0, sys.argv[2])
from tests.store_batches import batch
from league.store.store import Store
import pyarrow as pa
tables = batch([0])
runs = tables["match_runs"]
started = runs.column("started").cast(pa.timestamp("us", tz="UTC"))
tables["match_runs"] = runs.set_column(runs.schema.get_field_index("started"), "started", started)
Store(sys.argv[1]).write(tables)
"""
    path = tmp_path / "arena.duckdb"
    subprocess.run(
        [sys.executable, "-c", code, path, Path(__file__).parent.parent],
        check=True,
        env={**os.environ, "TZ": "Pacific/Auckland"},
    )
    assert Store(path).query("SELECT started FROM match_runs").to_pylist() == [{"started": START}]


@given(st.lists(st.lists(st.integers(0, 9), max_size=8), min_size=1, max_size=4))
@settings(max_examples=10, deadline=None)
def test_no_match_is_there_twice_however_batches_overlap(tmp_path_factory, writes):
    store = Store(tmp_path_factory.mktemp("overlap") / "arena.duckdb")
    store.ensure()
    seen = set()
    for indices in writes:
        assert store.write(batch(indices, turns=2)) == len(set(indices) - seen)
        seen.update(indices)
    size = len(seen)
    assert counted(store) == {
        "matches": size,
        "match_runs": size,
        "episodes": size,
        "turns": 2 * size,
        "reflections": size,
        "generations": 3 * size,
    }


def test_a_match_that_is_there_already_keeps_its_first_rows(store):
    store.write(batch([1], places=(0, 1)))
    assert store.write(batch([1, 2], places=(1, 0))) == 1
    assert [row.places for row in queries.matches(store)] == [[0, 1], [1, 0]]


def test_void_attempts_are_kept_each_once(store):
    store.write(void_run(1))
    store.write(void_run(1, attempt=1))
    store.write(void_run(1))
    assert store.write({**batch([1]), **void_run(1)} | {"match_runs": batch([1])["match_runs"]}) == 1
    rows = store.query("SELECT attempt, status FROM match_runs ORDER BY ALL").to_pylist()
    assert [tuple(row.values()) for row in rows] == [(0, "finished"), (0, "void"), (1, "void")]


def test_a_void_attempt_and_a_finished_one_come_in_one_batch(store):
    tables = batch([1])
    tables["match_runs"] = pa.concat_tables([void_run(1)["match_runs"], tables["match_runs"]])
    assert [store.write(tables), store.write(tables)] == [1, 0]
    assert counted(store)["match_runs"] == 2


def blank(rows, column):
    return rows.set_column(rows.schema.get_field_index(column), column, pa.nulls(rows.num_rows, pa.string()))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: {**t, "ratings": t["matches"]}, "ratings"),
        (lambda t: {**t, "turns": t["turns"].append_column("prompt", t["turns"].column("raw"))}, "prompt"),
        (lambda t: {**t, "matches": t["matches"].drop_columns("seed")}, "matches.seed"),
        (lambda t: {name: rows for name, rows in t.items() if name != "matches"}, "not in the same batch: cup-000000"),
        (lambda t: {**t, "episodes": batch([9])["episodes"]}, "not in the same batch: cup-000009"),
        (lambda t: {**t, "matches": blank(t["matches"], "game")}, "matches.game is missing or has NULLs"),
    ],
)
def test_rows_that_cannot_be_right_are_refused_before_anything_is_written(store, change, words):
    with pytest.raises(ValueError, match=words):
        store.write(change(batch([0, 1], turns=1)))
    assert not any(counted(store).values())
    assert spill.waiting(store.path) == []


def test_rows_of_a_wrong_type_are_refused_whole(store):
    tables = batch([0])
    seed = tables["matches"].schema.get_field_index("seed")
    with pytest.raises(ValueError, match="do not fit"):
        store.write({**tables, "matches": tables["matches"].set_column(seed, "seed", pa.array(["many"]))})
    assert not any(counted(store).values())
    assert store.write(tables) == 1


def test_played_tells_finished_matches_from_others(store):
    store.write(batch(range(0, 100, 2)))
    wanted = [f"cup-{index:06d}" for index in range(50)]
    assert store.played(iter(wanted)) == set(wanted[::2])
    assert store.played([]) == set()


# ----------------------------------------------------------------------------------------------- who plays what


def test_registering_again_changes_nothing_and_ordinals_follow_arrival(store):
    assert store.register(TOURNAMENT, MEMBERS) == 0
    assert store.register(TOURNAMENT._replace(tournament="league"), MEMBERS[:1]) == 1
    assert store.register(TOURNAMENT._replace(config='{"pairs": 40}'), MEMBERS) == 0
    assert store.query("SELECT name FROM members ORDER BY 1").column("name").to_pylist() == ["a", "b"]
    assert store.query("SELECT count(*) AS n FROM tournaments").column("n").to_pylist() == [2]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seed": 5}, "seed 0 there and 5 now"),
        ({"format": "gauntlet"}, "format 'round_robin' there and 'gauntlet' now"),
        ({"rules": '{"episodes": 3, "deals": "fresh"}'}, "setup: episodes 1 there and 3 now;"),
        ({"rules": '{"max_turns": 9}'}, "setup: max_turns none there and 9 now;"),
        ({"rules": '{"seats": "rotate"}'}, "setup: seats 'fixed' there and 'rotate' now;"),
        ({"rules": '{"stop_on_win": true}'}, "setup: stop_on_win false there and true now;"),
    ],
)
def test_one_tournament_with_two_setups_is_refused_by_what_differs(store, change, words):
    with pytest.raises(UserError, match=words) as caught:
        store.register(TOURNAMENT._replace(**change), [Member("c", "always", "fc")])
    assert "deals" not in str(caught.value)
    assert store.query("SELECT name FROM members ORDER BY 1").column("name").to_pylist() == ["a", "b"]


@pytest.mark.parametrize("field", MatchRules.model_fields)
def test_a_rule_that_is_left_out_is_the_default_one(store, field):
    default = MatchRules().model_dump()[field]
    other = {"episodes": 3, "deals": "same", "seats": "rotate", "stop_on_win": True, "score_by": "last"}
    changed = {**other, "seconds_per_action": 1.5, "max_turns": 9, "on_fault": "retry(2)"}[field]
    words = "none" if default is None else re.escape(repr(default).lower())
    for name, there, here in (("one", {}, {field: changed}), ("two", {field: changed}, {})):
        row = TOURNAMENT._replace(tournament=name, rules=json.dumps(there))
        store.register(row, [])
        with pytest.raises(UserError, match=f"{field}.* {words} {'there' if here else 'now'}"):
            store.register(row._replace(rules=json.dumps(here)), [])
    row = TOURNAMENT._replace(tournament="same", rules=json.dumps({field: default}))
    assert store.register(row, []) == store.register(row._replace(rules="{}"), [])


def test_one_name_for_two_agents_is_refused_and_says_how_to_name_the_second(store):
    with pytest.raises(UserError, match=r"agent a is random .* cannot be mcts too; name the new one: NAME=mcts"):
        store.register(TOURNAMENT._replace(tournament="other"), [Member("a", "mcts", "fm")])
    assert store.query("SELECT tournament FROM tournaments").column("tournament").to_pylist() == ["cup"]


# --------------------------------------------------------------------------------------------- others at the file


def test_rows_spill_while_another_process_holds_the_file_and_are_merged_once(store, monkeypatch):
    monkeypatch.setattr(store, "_patience", 0.2)
    with python(HOLD, store.path) as holder:
        with pytest.warns(StoreWarning, match=rf"held by python.* \(PID {holder.pid}\).*3 finished matches wait"):
            assert store.write({**batch(range(3), turns=1)}) == 3
        with pytest.warns(StoreWarning):
            store.write({**void_run(7)})
        assert len(spill.waiting(store.path)) == 2
    assert store.played(["cup-000002", "cup-000003"]) == {"cup-000002"}
    assert store.write(batch([2, 3], turns=1)) == 1
    assert spill.waiting(store.path) == []
    assert not spill.folder(store.path).exists()
    there = {"matches": 4, "match_runs": 5, "episodes": 4, "turns": 4, "reflections": 4, "generations": 8}
    assert counted(store) == there
    assert store._patience == store_module.WRITE_PATIENCE


def test_a_batch_is_merged_once_though_the_process_died_before_it_removed_the_file(store):
    tables = {**batch(range(3)), "match_runs": void_run(1)["match_runs"]}
    tables["match_runs"] = pa.concat_tables([tables["match_runs"], batch(range(3))["match_runs"]])
    place = spill.save(store.path, {**tables, **registered()})
    copy = place.read_bytes()
    store.ensure()
    once = contents(store)
    place.parent.mkdir()
    place.write_bytes(copy)
    store.ensure()
    assert contents(store) == once
    assert len(once["matches"]) == 3
    assert len(once["match_runs"]) == 4


def test_a_batch_that_no_store_takes_is_set_aside_and_the_others_are_merged(store):
    good = spill.save(store.path, {**batch([1]), **registered()})
    good.with_name("0-0-0.arrow").write_bytes(good.read_bytes()[:100])
    with pytest.warns(StoreWarning, match=r"0-0-0\.bad"):
        store.ensure()
    assert counted(store)["matches"] == 1
    assert [path.name for path in spill.rejected(store.path)] == ["0-0-0.bad"]


WAITING = {
    "query": lambda s: s.query("SELECT 1"),
    "stream": lambda s: list(s.stream("SELECT $one", "SELECT 1 AS one")),
    "played": lambda s: s.played(["cup-000001"]),
    "ensure": lambda s: s.ensure(),
    "register": lambda s: s.register(TOURNAMENT, MEMBERS),
    "replace": lambda s: s.replace({}),
}


@pytest.mark.parametrize("use", WAITING.values(), ids=WAITING)
def test_reading_and_registering_say_once_who_holds_the_file_and_go_on_when_it_is_let_go(store, monkeypatch, use):
    monkeypatch.setattr(connection, "NAMED_AFTER", 0.1)
    said = []
    with python(HOLD, store.path) as holder:

        def let_go(message):
            said.append(message)
            holder.kill()

        use(Store(store.path, notify=let_go))
    (message,) = said
    assert re.fullmatch(rf"store {store.path} is held by python\S* \(PID {holder.pid}\); waiting", message)


@pytest.mark.parametrize("use", WAITING.values(), ids=WAITING)
def test_reading_and_registering_give_up_after_their_patience_and_name_the_holder(store, monkeypatch, use):
    monkeypatch.setattr(connection, "NAMED_AFTER", 0.1)
    monkeypatch.setattr(store_module, "READ_PATIENCE", 0.3)
    said = []
    words = r"has been held by python\S* \(PID {}\) for more than 0.3 s"
    with python(HOLD, store.path) as holder, pytest.raises(RunError, match=words.format(holder.pid)):
        use(Store(store.path, notify=said.append))
    assert len(said) == 1


def test_readers_do_not_wait_for_readers(store):
    with python(HOLD, store.path, "read-only"):
        assert store.query("SELECT 1 AS one").to_pylist() == [{"one": 1}]


@pytest.mark.parametrize("write", [True, False])
def test_a_file_that_stays_held_is_tried_ever_more_rarely(store, monkeypatch, write):
    tries, connect = [], duckdb.connect

    def counting(*arguments, **options):
        tries.append(1)
        return connect(*arguments, **options)

    monkeypatch.setattr(connection, "_PROMPT", 0.0)
    monkeypatch.setattr(duckdb, "connect", counting)
    opening = connection.opened(store.path, write=write, patience=2.0, held=pytest.fail)
    with python(HOLD, store.path), pytest.raises(RunError), opening:
        pytest.fail("it is held")
    assert len(tries) <= 14 + 2.0 / (connection._UNHURRIED / 2)  # until the pause has grown, and after that


def test_a_connection_of_the_same_process_counts_as_someone_who_holds_the_file(store, monkeypatch):
    monkeypatch.setattr(store, "_patience", 0.1)
    with duckdb.connect(store.path, read_only=True), pytest.warns(StoreWarning, match="this process itself"):
        store.write(batch([1]))
    store.ensure()
    assert counted(store)["matches"] == 1


def test_threads_of_one_process_take_turns(store):
    def work(number):
        for index in range(5):
            store.write(batch([number * 100 + index]))
            store.query("SELECT count(*) FROM matches")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counted(store)["matches"] == 20


PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.store_batches"])


@contextlib.contextmanager
def process(work, *arguments):
    """A process that does `work` and has begun with it when the block begins; it is gone when the block ends."""
    begun = PROCESSES.Event()
    started = PROCESSES.Process(target=work, args=(begun, *arguments))
    started.start()
    try:
        assert begun.wait(30)
        yield started
    finally:
        started.kill()
        started.join()


def test_a_reader_and_two_writers_lose_nothing_and_see_no_match_without_its_rows(store):
    writes = [range(first, first + 20) for first in range(0, 400, 20)]
    with process(write_many, store.path, writes[:10]) as one, process(write_many, store.path, writes[10:]) as two:
        looks = 0
        while one.is_alive() or two.is_alive():
            seen = counted(store)
            assert seen["matches"] == seen["episodes"] == seen["turns"] == seen["match_runs"]
            assert seen["matches"] % 20 == 0
            looks += 1
        assert (one.exitcode, two.exitcode) == (0, 0)
    store.ensure()
    assert looks > 1
    ids = store.query("SELECT match_id FROM matches").column("match_id").to_pylist()
    assert len(ids) == len(set(ids)) == 400


@pytest.mark.parametrize("kills", [12, pytest.param(200, marks=pytest.mark.slow)])
def test_a_writer_killed_at_any_moment_leaves_what_an_uninterrupted_one_does(store, tmp_path, kills):
    rng = random.Random(kills)
    writes = [range(first, first + 5) for first in range(0, 20 * kills, 5)]
    for number in range(kills):
        with process(write_many, store.path, writes[number * 4 :]) as writer:
            time.sleep(rng.uniform(0.0, 0.3))
            writer.kill()
            writer.join()
        seen = counted(store)
        assert seen["matches"] == seen["episodes"] == seen["turns"] == seen["reflections"]
    whole = Store(tmp_path / "whole.duckdb")
    for target in (store, whole):
        target.write(batch(range(20 * kills), turns=1))
    assert contents(store) == contents(whole)


def test_a_store_that_is_being_made_when_its_process_dies_is_made_by_the_next(tmp_path):
    path = tmp_path / "arena.duckdb"
    rng = random.Random(3)
    for _ in range(10):
        with process(make, str(path)) as maker:
            time.sleep(rng.uniform(0.0, 0.06))
            maker.kill()
    assert Store(path).write(batch([1])) == 1


# ------------------------------------------------------------------------------------------- files that are no use


def foreign(path):
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE sales (day DATE)")


def newer(path):
    Store(path).ensure()
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE meta SET version = 99")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: path.write_text("hello\n" * 1000), "is not a DuckDB file"),
        (lambda path: path.write_bytes(b"SQLite format 3\0" + bytes(5000)), "is not a DuckDB file"),
        (lambda path: path.touch(), "is not a DuckDB file"),
        (foreign, "is a DuckDB database of something else"),
        (newer, f"schema version 99, newer than {migrations.latest()}"),
        (lambda path: path.mkdir(), "is a folder"),
    ],
)
def test_a_file_that_is_no_store_is_refused_in_one_line_and_left_as_it_is(tmp_path, make, words):
    path = tmp_path / "arena.duckdb"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    for use in (lambda s: s.query("SELECT 1"), lambda s: s.ensure(), lambda s: s.register(TOURNAMENT, MEMBERS)):
        with pytest.raises(UserError, match=words) as caught:
            use(Store(path))
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)
    assert before is None or path.read_bytes() == before


def test_reading_a_store_that_does_not_exist_says_how_to_make_one_and_makes_none(tmp_path):
    with pytest.raises(UserError, match=r"none\.duckdb does not exist.*arena tournament --store"):
        queries.standings_rows(Store(tmp_path / "none.duckdb"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("folder", "words"),
    [
        ("nowhere", "cannot be made: there is no folder .*nowhere"),
        ("/proc", "cannot be made in /proc: "),
        ("file", "cannot be made in .*file: Not a directory"),
        ("file/below", "cannot be made in .*file/below: Not a directory"),
        ("dangling", "cannot be made.*there is no folder .*gone"),
    ],
)
def test_a_store_that_cannot_be_made_where_it_is_named_says_what_is_in_the_way(tmp_path, folder, words):
    (tmp_path / "file").touch()
    (tmp_path / "dangling").symlink_to(tmp_path / "gone")
    with pytest.raises(UserError, match=words) as caught:
        Store(tmp_path / folder / "arena.duckdb").ensure()
    assert ("there is no folder" in str(caught.value)) == (folder in ("nowhere", "dangling"))


def test_an_empty_database_becomes_a_store(tmp_path):
    path = tmp_path / "arena.duckdb"
    duckdb.connect(str(path)).close()
    assert Store(path).write(batch([1])) == 1


def test_what_a_killed_process_left_in_the_log_is_read_and_then_merged(store):
    code = """
import os, sys, duckdb
connection = duckdb.connect(sys.argv[1])
connection.execute("INSERT INTO members VALUES ('late', 'random', 'f', now()::TIMESTAMP)")
os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", code, store.path], check=False)
    assert Path(f"{store.path}.wal").exists()
    names = "SELECT name FROM members ORDER BY 1"
    assert store.query(names).column("name").to_pylist() == ["a", "b", "late"]
    store.write(batch([1]))
    assert store.query(names).column("name").to_pylist() == ["a", "b", "late"]
    assert not Path(f"{store.path}.wal").exists()


def test_a_log_of_another_file_is_named_and_left_alone(store):
    log = Path(f"{store.path}.wal")
    code = """
import os, sys, duckdb
connection = duckdb.connect(sys.argv[1])
connection.execute("CREATE TABLE t (i INT)")
os.kill(os.getpid(), 9)
"""
    other = Path(store.path).with_name("other.duckdb")
    subprocess.run([sys.executable, "-c", code, other], check=False)
    Path(f"{other}.wal").rename(log)
    with pytest.raises(UserError, match=r"arena\.duckdb\.wal belongs to another file"):
        store.query("SELECT 1")
    with pytest.raises(RunError, match=r"belongs to another file.*2 finished matches wait"):
        store.write(batch(range(2)))
    log.unlink()
    store.ensure()
    assert counted(store)["matches"] == 2


def test_a_store_deleted_or_replaced_during_a_run_goes_on_with_its_tournament_and_members(store):
    store.write(batch([1]))
    Path(store.path).unlink()
    store.write(batch([2]))
    Path(store.path).unlink()
    Store(store.path).ensure()
    store.write(batch([3]))
    assert [row.match_id for row in queries.matches(store)] == ["cup-000003"]
    assert store.query("SELECT tournament FROM tournaments").column("tournament").to_pylist() == ["cup"]
    assert counted(store)["matches"] == 1


def test_a_store_replaced_by_something_else_loses_no_rows(store):
    Path(store.path).write_text("not a database")
    with pytest.raises(RunError, match=r"is not a DuckDB file.*2 finished matches wait in"):
        store.write(batch(range(2)))
    Path(store.path).unlink()
    again = Store(store.path)
    again.ensure()
    assert counted(again)["matches"] == 2
    assert again.query("SELECT name FROM members ORDER BY 1").column("name").to_pylist() == ["a", "b"]


FULL = """
import resource, sys, warnings
sys.path.insert(0, sys.argv[2])
from tests.store_batches import batch
from games.errors import RunError
from league.store.store import Store
store = Store(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), int(sys.argv[3])))
try:
    print("written", store.write(batch(range(2000))))
except RunError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("limit", "words", "kept"),
    [(600_000, "File too large; 2000 finished matches wait in", 2000), (0, "2000 finished matches are lost", 0)],
)
def test_a_write_that_the_system_cuts_short_spills_or_says_what_is_lost(store, limit, words, kept):
    store.write(batch(range(10_000, 10_010)))
    ran = subprocess.run(
        [sys.executable, "-c", FULL, store.path, Path(__file__).parent.parent, str(limit)],
        check=True,
        capture_output=True,
        text=True,
    )
    assert words in ran.stdout
    assert len(ran.stdout.splitlines()) == 1
    assert counted(store)["matches"] == 10
    store.ensure()
    assert counted(store)["matches"] == 10 + kept


READ_ONLY = """
import os, sys
from games.errors import RunError, UserError
from league.store.store import Member, Store, Tournament
from league.store import migrations, queries
migrations.schema_sql()
if os.getuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
for use in (lambda s: queries.counts(s), lambda s: s.ensure(), lambda s: s.register(Tournament(*"abcdef"), [])):
    try:
        print(use(Store(sys.argv[1])))
    except (UserError, RunError) as error:
        print(type(error).__name__, error)
"""


@pytest.fixture
def public_folder():
    """A folder that other users can enter, so that a process can give up root's rights and still come here."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
        folder.chmod(0o755)


def without_rights(path):
    ran = subprocess.run([sys.executable, "-c", READ_ONLY, path], check=True, capture_output=True, text=True)
    return ran.stdout.splitlines()


def test_a_store_in_a_read_only_folder_can_be_read_and_says_why_it_cannot_be_written(public_folder):
    path = public_folder / "arena.duckdb"
    Store(path).write(batch(range(3)))
    path.chmod(0o444)
    public_folder.chmod(0o555)
    read, made, registered_ = without_rights(path)
    assert read == "Counts(matches=3, runs=3)"
    assert made.startswith("UserError store ")
    assert made.endswith("Permission denied")
    assert registered_ == made


def test_a_store_cannot_be_made_in_a_read_only_folder_and_it_says_so(public_folder):
    public_folder.chmod(0o555)
    read, made, registered_ = without_rights(public_folder / "arena.duckdb")
    assert "does not exist" in read
    assert made.startswith("UserError store ")
    assert made.endswith(f"cannot be made in {public_folder}: Permission denied")
    assert registered_ == made


# ----------------------------------------------------------------------------------------------------- migrations


def test_an_old_store_is_brought_up_to_date_step_by_step_in_one_transaction(store):
    now = migrations.latest()
    steps = {now + 1: "ALTER TABLE members ADD COLUMN note VARCHAR", now + 2: "UPDATE members SET note = spec || '!'"}
    with duckdb.connect(store.path) as connection:
        with pytest.raises(duckdb.CatalogException):
            migrations.migrate(connection, now, {**steps, now + 3: "SELECT * FROM nothing"})
        connection.rollback()
        assert migrations.version_of(connection, store.path) == now
        migrations.migrate(connection, now, steps)
        assert connection.execute("SELECT version FROM meta").fetchall() == [(now + 2,)]
        assert connection.execute("SELECT note FROM members ORDER BY 1").fetchall() == [("heuristic!",), ("random!",)]
    with pytest.raises(UserError, match=f"schema version {now + 2}, newer than {now}"):
        store.query("SELECT 1")


@pytest.fixture
def first_version(tmp_path):
    """A store as the first release laid it out, with two matches, one batch that waits, and ratings."""
    path = tmp_path / "old.duckdb"
    tables = {name: rows for name, rows in batch(range(2), turns=1).items() if name != "generations"}
    with duckdb.connect(str(path)) as connection:
        connection.execute((Path(__file__).parent / "schema_version_1.sql").read_text(encoding="utf-8"))
        connection.execute("INSERT INTO meta VALUES ('metarena', 1)")
        registration.register(connection, TOURNAMENT, MEMBERS, str(path))
        for name, rows in tables.items():
            append(connection, name, rows)
        connection.execute("INSERT INTO ratings VALUES ('tic_tac_toe', 'a', 25, 8, 2, 2, 0, 0, 1, 0, 0)")
        connection.execute("INSERT INTO fitted VALUES (2, 2)")
    waiting = {name: rows for name, rows in batch([2], turns=1).items() if name != "generations"}
    spill.save(str(path), {**waiting, **registered()})
    return Store(path)


@pytest.mark.parametrize("use", [queries.matches, lambda store: store.write(batch([5])), lambda store: store.ensure()])
def test_a_store_of_the_first_version_is_brought_up_to_date_by_whoever_opens_it(first_version, use):
    use(first_version)
    assert first_version.query("SELECT version FROM meta").to_pylist() == [{"version": migrations.latest()}]
    there = counted(first_version)
    assert (there["turns"], there["generations"]) in [(3, 0), (3, 1)]
    with duckdb.connect(first_version.path) as migrated, duckdb.connect(":memory:") as made:
        made.execute(migrations.schema_sql())
        shapes = [
            connection.execute(
                "SELECT table_name, column_name, data_type, is_nullable FROM duckdb_columns() WHERE NOT internal "
                "ORDER BY table_name, column_index"
            ).fetchall()
            for connection in (migrated, made)
        ]
    assert shapes[0] == shapes[1]


def test_ratings_of_a_store_of_the_first_version_are_fitted_again(first_version):
    assert [(line.agent, line.matches, line.answers) for line in standings(first_version, "tic_tac_toe")] == [
        ("a", 3, 3),
        ("b", 3, 6),
    ]


def test_the_tables_of_a_batch_have_the_columns_of_the_schema():
    for name, schema in SCHEMAS.items():
        assert schema.names == [column.name for column in migrations.layout()[name]]


def test_every_table_and_column_is_documented():
    page = (Path(__file__).parent.parent / "docs" / "store.md").read_text(encoding="utf-8")
    for table, columns in migrations.layout().items():
        section = page.split(f"### `{table}`")[1].split("###")[0]
        assert [column.name for column in columns if f"| `{column.name}` |" not in section] == [], table


@pytest.mark.parametrize(
    "page",
    [
        *(
            "docs/store.md",
            "docs/tasks.md",
            "docs/tasks-extras.md",
            "docs/household.md",
            "docs/shop.md",
            "docs/training.md",
            "docs/imitation.md",
        ),
        *("docs/ratings.md", "docs/matches.md", "docs/decisions.md", "CHANGELOG.md", "CONTRIBUTING.md"),
    ],
)
def test_prose_is_wrapped(page):
    lines = (Path(__file__).parent.parent / page).read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if len(line) > 120 and not line.startswith("|")] == []


# -------------------------------------------------------------------------------------------------------- queries


@pytest.fixture
def league(store):
    """Two tournaments, two games, three seats in one of them, draws and a void attempt."""
    store.register(TOURNAMENT._replace(tournament="later"), [])
    store.write(batch([0, 1], "later", ("b", "a"), (0, 1)))
    store.write(batch([5, 3, 1], "cup", ("a", "b"), (0, 1)))
    store.write(batch([4, 0], "cup", ("b", "a"), (0, 0)))
    store.write(batch([9], "cup", ("a", "b", "c"), (2, 0, 0), game="kuhn_poker(players=3)"))
    store.write(batch([11], "cup", ("c", "a", "b"), (0, 1, 2), game="kuhn_poker(players=3)"))
    store.write(void_run(2))
    return store


def test_outcomes_come_in_the_order_of_the_fold_whatever_the_order_of_writing(league):
    rows = [row for block in queries.outcomes(league) for row in block.to_pylist()]
    assert [(row["agents"], row["places"]) for row in rows] == [
        (["a", "b"], [0, 1]),  # cup, pair 0
        (["b", "a"], [0, 0]),
        (["a", "b"], [0, 1]),  # pair 1
        (["a", "b"], [0, 1]),  # pair 2
        (["b", "a"], [0, 0]),
        (["a", "b", "c"], [2, 0, 0]),  # pair 4
        (["c", "a", "b"], [0, 1, 2]),  # pair 5
        (["b", "a"], [0, 1]),  # later
        (["b", "a"], [0, 1]),
    ]
    assert {row["game"] for row in rows[5:7]} == {"kuhn_poker(players=3)"}


def test_outcomes_let_go_of_the_file_before_they_are_used(league):
    blocks = queries.outcomes(league)
    first = next(blocks)
    league.write(batch([100]))
    assert first.num_rows + sum([block.num_rows for block in blocks]) == 9


@pytest.mark.parametrize("size", [1, 3, 50, 10_000])
@pytest.mark.parametrize(("tournaments", "rounds", "pairs"), [(1, 1, 300), (40, 1, 1), (3, 4, 6), (1, 1, 1)])
def test_slices_of_any_size_hold_every_match_once_in_the_order_of_the_fold(tmp_path, size, tournaments, rounds, pairs):
    fields = "tournament VARCHAR, ordinal INTEGER, round INTEGER, pair INTEGER, replica INTEGER, match_id VARCHAR"
    rng = random.Random(size)
    with duckdb.connect(str(tmp_path / "any.duckdb")) as rows:
        rows.execute(f"CREATE TABLE all_rows ({fields}, game VARCHAR, agents VARCHAR[], places INTEGER[])")
        made = [
            (rng.randrange(tournaments), rng.randrange(rounds), rng.randrange(pairs), rng.sample("abcd", 2))
            for _ in range(400)
        ]
        rows.executemany(
            "INSERT INTO all_rows VALUES (?, ?, ?, ?, ?, ?, 'g', ?, [0, 1])",
            [(f"t{t}", t if t % 5 != 3 else None, r, p, n % 2, f"m{n}", a) for n, (t, r, p, a) in enumerate(made)],
        )
        rows.execute("CREATE VIEW matches AS SELECT * EXCLUDE (ordinal) FROM all_rows")
        rows.execute("CREATE VIEW tournaments AS SELECT DISTINCT tournament, ordinal FROM all_rows WHERE ordinal >= 0")
        slices = rows.sql(fold_order.slices(size)).to_arrow_table().to_pylist()
        outcomes = fold_order.OUTCOMES.replace("m.places", "m.places, m.match_id")
        found = [[row[-1] for row in rows.execute(outcomes, part).fetchall()] for part in slices]
        wanted = rows.execute(
            "SELECT match_id FROM all_rows ORDER BY ordinal NULLS LAST, round, pair, list_sort(agents), agents, "
            "replica, match_id"
        ).fetchall()
    assert [match_id for part in found for match_id in part] == [match_id for (match_id,) in wanted]
    crowd = max(Counter((t if t % 5 != 3 else None, r, p) for t, r, p, _ in made).values())
    assert max(map(len, found)) <= 2 * size + 2 * crowd


def test_tallies_count_wins_draws_losses_points_faults_answers_and_void_attempts(league):
    found = {(row.game, row.agent): row[2:] for row in queries.tallies(league)}
    assert found == {
        ("tic_tac_toe", "a"): (7, 3, 2, 2, 4.0, 4, 11, 1),
        ("tic_tac_toe", "b"): (7, 2, 2, 3, 3.0, 3, 10, 1),
        ("kuhn_poker(players=3)", "a"): (2, 0, 0, 2, 0.5, 0, 2, 0),
        ("kuhn_poker(players=3)", "b"): (2, 0, 1, 1, 0.75, 1, 2, 0),
        ("kuhn_poker(players=3)", "c"): (2, 1, 1, 0, 1.75, 1, 2, 0),
    }


def test_the_crosstable_shows_both_sides_of_every_meeting(league):
    found = {(row.game, row.agent, row.opponent): row[3:] for row in queries.crosstable(league)}
    assert found["tic_tac_toe", "a", "b"] == (7, 3, 2, 2, 4 / 7, 7, 3)
    assert found["tic_tac_toe", "b", "a"] == (7, 2, 2, 3, 3 / 7, 7, 3)
    assert found["kuhn_poker(players=3)", "b", "c"] == (2, 0, 1, 1, 0.25, 2, 2)
    assert len(found) == 2 + 6
    assert {row.game for row in queries.crosstable(league, "tic_tac_toe")} == {"tic_tac_toe"}


def test_matches_are_listed_newest_tournament_first_and_filtered(league):
    assert [row.match_id for row in queries.matches(league, limit=3)] == ["later-000000", "later-000001", "cup-000009"]
    assert {row.game for row in queries.matches(league, game="kuhn_poker(players=3)")} == {"kuhn_poker(players=3)"}
    assert len(queries.matches(league, agent="c")) == 2
    assert queries.matches(league, agent="nobody") == []
    assert len(queries.matches(league)) == 9


def test_a_match_is_found_by_the_beginning_of_its_id(store):
    store.write(batch([1, 12], turns=2))
    record = queries.match_record(store, "cup-00001")
    assert record.match.match_id == "cup-000012"
    assert record.episodes[0].actions == ["x(1,1)", "o(0,0)"]
    assert [turn.turn for turn in record.turns] == [0, 1]
    assert queries.episodes(store, ["cup-000001"])[0].match_id == "cup-000001"
    with pytest.raises(UserError, match=r"match cup-0 is ambiguous: cup-000001, cup-000012"):
        queries.match_record(store, "cup-0")
    with pytest.raises(UserError, match=r"no match cup-000003 in store .*did you mean cup-00000?1"):
        queries.match_record(store, "cup-000003")
    with pytest.raises(UserError, match=r"no match xyz in store .*arena matches"):
        queries.match_record(store, "xyz")


def ratings(*rows):
    columns = ("pool", "agent", "mu", "sigma", "matches", "wins", "draws", "losses", "score")
    columns = (*columns, "faults", "void", "answers")
    return pa.table({column: [row[index] for row in rows] for index, column in enumerate(columns)})


HISTORY = pa.table({"pool": ["overall"], "agent": ["a"], "matches": [1], "mu": [25.0], "sigma": [8.0]})


def test_ratings_are_replaced_whole_and_stale_once_more_is_played(store):
    assert not queries.ratings_stale(store)
    store.write(batch([1]))
    assert queries.ratings_stale(store)
    row = (30.0, 2.0, 1, 1, 0, 0, 1.0, 1, 0, 4)
    for _ in range(2):
        table = ratings(("tic_tac_toe", "b", *row), ("tic_tac_toe", "a", *row), ("overall", "c", 31.0, *row[1:]))
        queries.save_ratings(store, table, HISTORY)
    found = queries.standings_rows(store)
    assert [(line.pool, line.rank, line.agent) for line in found] == [
        ("overall", 1, "c"),
        ("tic_tac_toe", 1, "a"),
        ("tic_tac_toe", 1, "b"),
    ]
    assert found[0] == ("overall", 1, "c", 31.0, 2.0, 25.0, 1, 1, 0, 0, 1.0, 1, 0, 4, 0.25)
    assert [line.agent for line in queries.standings_rows(store, "overall")] == ["c"]
    assert not queries.ratings_stale(store)
    store.write(void_run(5))
    assert queries.ratings_stale(store)


def test_ratings_fitted_before_another_match_came_are_stale(store):
    store.write(batch([1]))
    before = queries.counts(store)
    store.write(batch([2]))
    queries.save_ratings(store, ratings(), HISTORY, before)
    assert queries.ratings_stale(store)


def test_history_can_come_as_a_stream(store):
    reader = pa.RecordBatchReader.from_batches(HISTORY.schema, iter(HISTORY.to_batches() * 3))
    queries.save_ratings(store, ratings(), reader)
    assert store.query("SELECT count(*) AS n FROM rating_history").to_pylist() == [{"n": 3}]


# --------------------------------------------------------------------------------------------------------- health


def levels(path):
    return [finding.level for finding in health(path)]


def test_a_sound_store_has_nothing_to_report_but_its_size(league):
    (finding,) = health(league.path)
    assert finding.level is Level.OK
    assert finding.text.endswith(f"schema {migrations.latest()}, 2 tournaments, 9 matches, 1 void attempts")


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("INSERT INTO matches SELECT * FROM matches LIMIT 1", "1 matches that are there more than once"),
        ("DELETE FROM matches WHERE match_id = 'later-000000'", "1 episodes without a match"),
        ("DELETE FROM episodes WHERE match_id = 'later-000000'", "1 matches whose number of episodes"),
        ("UPDATE generations SET match_id = 'gone' WHERE match_id = 'cup-000009'", "1 generations without a match"),
        ("DELETE FROM tournaments WHERE tournament = 'later'", "2 matches of a tournament that is not registered"),
    ],
)
def test_health_names_rows_that_contradict_each_other(league, damage, words):
    with duckdb.connect(league.path) as connection:
        connection.execute(damage)
    assert any(words in finding.text and finding.level is Level.ERROR for finding in health(league.path))


def test_health_looks_beside_the_file_and_says_what_stops_it(store, tmp_path):
    assert levels(tmp_path / "none.duckdb") == [Level.OK]
    place = spill.save(store.path, {**batch([1]), **registered()})
    place.with_suffix(".bad").touch()
    place.with_suffix(".tmp").touch()
    assert levels(store.path) == [Level.OK, Level.WARNING, Level.ERROR, Level.WARNING]
    Path(store.path).write_text("no database")
    assert levels(store.path)[0] is Level.ERROR


def test_health_says_that_it_waits_and_finds_who_holds_the_file(store, monkeypatch):
    monkeypatch.setattr(connection, "NAMED_AFTER", 0.1)
    monkeypatch.setattr(store_module, "READ_PATIENCE", 0.3)
    said = []
    with python(HOLD, store.path) as holder:
        finding, *_ = health(store.path, said.append)
    assert (finding.level, f"(PID {holder.pid})" in finding.text) == (Level.ERROR, True)
    assert [f"(PID {holder.pid}); waiting" in message for message in said] == [True]
