"""Training in the store: each step and checkpoint once, nothing lost, and ancestry that ends."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import duckdb
import numpy as np
import pytest

from games.errors import RunError, UserError
from league.store import migrations, spill
from league.store import store as store_module
from league.store.health import Level, health
from league.store.store import Store, StoreWarning
from league.store.training import (
    CheckpointRow,
    TrainingRun,
    TrainingStep,
    checkpoints,
    keep_checkpoint,
    keep_steps,
    lineage,
    register_run,
    runs,
    steps,
)
from tests.store_batches import MEMBERS, TOURNAMENT, batch

AT = datetime(2026, 1, 2, 3, 4, 5, 678901)
CONFIG = {"credit": {"gamma": 0.9, "form": "mage"}, "games": ["tic_tac_toe"], "lora": None, "mask": True}
RUN = TrainingRun("mage", json.dumps(CONFIG), '{"trl": "1.0"}', 2**62, AT)


def step(number: int, loss: float = 0.5, minutes: int = 0) -> TrainingStep:
    return TrainingStep(number, {"loss": loss}, 1.25, AT + timedelta(minutes=minutes))


def saved(number: int, digest: str, parent: str | None = None, run: str = "mage", minutes: int = 0) -> CheckpointRow:
    return CheckpointRow(
        *(run, number, f"runs/{run}/{number}", f"{run}@{number}", f"f-{digest}", digest, parent, "smollm2"),
        *({"win_rate": 0.75}, AT + timedelta(minutes=minutes)),
    )


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store(tmp_path / "arena.duckdb")
    register_run(made, RUN)
    return made


@contextmanager
def held(store: Store) -> Iterator[None]:
    """The file is open elsewhere; a connection of this process counts as someone who holds it."""
    with duckdb.connect(store.path):
        yield


# ---------------------------------------------------------------------------------------------------------- runs


def test_a_run_is_read_back_as_it_was_registered_and_runs_come_in_the_order_of_their_start(store: Store) -> None:
    earlier = RUN._replace(run="zero", started=AT - timedelta(days=1))
    register_run(store, earlier)
    assert runs(store) == [earlier, RUN]


def test_the_same_run_again_changes_nothing(store: Store) -> None:
    later = {"config": json.dumps(CONFIG, indent=1, sort_keys=True), "versions": '{"trl": "1.1"}'}
    register_run(store, RUN._replace(**later, started=AT + timedelta(days=1)))
    assert runs(store) == [RUN]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"credit": {"gamma": 1.0, "form": "gigpo"}}, "credit.gamma 0.9 there and 1.0 now"),
        ({"credit": {"gamma": 0.9, "form": "gi\ngpo"}}, r"credit.form 'mage' there and 'gi\ngpo' now"),
        ({"credit": {"gamma": 0.9}}, "credit.form 'mage' there and none now"),
        ({"credit": "mage"}, """credit {"gamma": 0.9, "form": "mage"} there and 'mage' now"""),
        ({"games": ["tic_tac_toe", "probe"]}, "games.1 none there and 'probe' now"),
        ({"lora": {"rank": 8}}, """lora none there and {"rank": 8} now"""),
        ({"mask": False}, "mask true there and false now"),
    ],
)
def test_one_run_with_two_configurations_is_refused_by_the_first_key_that_differs(
    store: Store, change: dict[str, object], words: str
) -> None:
    with pytest.raises(UserError) as caught:
        register_run(store, RUN._replace(config=json.dumps({**CONFIG, **change})))
    assert str(caught.value) == (
        f"training run mage is in store {store.path} with another setup: {words}; give this one another name"
    )
    assert runs(store) == [RUN]


def test_another_seed_is_refused_before_the_configuration_is_compared(store: Store) -> None:
    with pytest.raises(UserError, match=f"training run mage .* setup: seed {2**62} there and 7 now;"):
        register_run(store, RUN._replace(seed=7, config="{}"))


def test_a_key_that_is_null_is_as_good_as_none(store: Store) -> None:
    register_run(store, RUN._replace(config=json.dumps({key: value for key, value in CONFIG.items() if value})))
    register_run(store, RUN._replace(config=json.dumps({**CONFIG, "later": None})))
    assert runs(store) == [RUN]


# --------------------------------------------------------------------------------------------------------- steps


def test_steps_are_read_back_in_order_and_those_of_other_runs_are_left_out(store: Store) -> None:
    keep_steps(store, "mage", iter([step(2), step(1)]))
    keep_steps(store, "other", [step(1, 9.0)])
    keep_steps(store, "mage", [])
    assert steps(store, "mage") == [step(1), step(2)]
    assert steps(store, "nobody") == []


def test_a_step_that_is_taken_again_takes_the_place_of_the_older(store: Store) -> None:
    keep_steps(store, "mage", [step(number, 1.0) for number in (1, 2, 3)])
    keep_steps(store, "other", [step(2, 1.0)])
    keep_steps(store, "mage", [step(number, 2.0, minutes=9) for number in (2, 3, 4)])
    assert steps(store, "mage") == [step(1, 1.0), *[step(number, 2.0, minutes=9) for number in (2, 3, 4)]]
    assert steps(store, "other") == [step(2, 1.0)]


def test_of_a_step_that_comes_twice_at_once_the_last_one_stays(store: Store) -> None:
    keep_steps(store, "mage", [step(1, 1.0), step(2), step(1, 2.0)])
    assert steps(store, "mage") == [step(1, 2.0), step(2)]


def test_metrics_are_json_with_finite_numbers_only(store: Store) -> None:
    odd = {"nan": float("nan"), "inf": float("-inf"), "none": None, "np": np.float32(0.5), "n": np.int64(3), "k": 2**60}
    keep_steps(store, "mage", [TrainingStep(1, odd, 0.0, AT)])
    keep_checkpoint(store, saved(1, "d")._replace(metrics=odd))
    there = {"nan": None, "inf": None, "none": None, "np": 0.5, "n": 3, "k": 2**60}
    assert steps(store, "mage")[0].metrics == there
    assert checkpoints(store)[0].metrics == there
    told = store.query("SELECT (metrics->>'np')::DOUBLE AS np, metrics->>'nan' AS nan FROM training_steps")
    assert told.to_pylist() == [{"np": 0.5, "nan": None}]


def test_times_with_a_zone_are_kept_as_utc(store: Store) -> None:
    local = AT.replace(tzinfo=UTC).astimezone(timezone(timedelta(hours=13)))
    register_run(store, RUN._replace(run="south", started=local))
    keep_steps(store, "south", [step(1)._replace(created=local)])
    keep_checkpoint(store, saved(1, "d")._replace(created=local))
    assert [runs(store)[1].started, steps(store, "south")[0].created, checkpoints(store)[0].created] == [AT, AT, AT]


def test_steps_that_cannot_be_right_change_nothing(store: Store) -> None:
    keep_steps(store, "mage", [step(1, 1.0)])
    rows = store.query("SELECT run, step, metrics, seconds FROM training_steps")
    with pytest.raises(ValueError, match="do not fit the tables of a store"):
        store.keep({"training_steps": rows})
    assert steps(store, "mage") == [step(1, 1.0)]
    assert spill.waiting(store.path) == []


# --------------------------------------------------------------------------------------------------- checkpoints


def test_checkpoints_are_read_back_by_run_and_step_and_a_newer_one_takes_the_place_of_its_step(store: Store) -> None:
    rows = [saved(10, "m10"), saved(20, "m20", "m10"), saved(5, "a5", "m20", run="again")]
    for row in [rows[1]._replace(path="old", digest="old"), *rows]:
        keep_checkpoint(store, row)
    assert checkpoints(store) == [rows[2], rows[0], rows[1]]
    assert checkpoints(store, "mage") == rows[:2]
    assert checkpoints(store, "nobody") == []


def test_text_from_elsewhere_is_kept_as_it_is_and_is_no_sql(store: Store) -> None:
    text = 'a\'); DROP TABLE checkpoints; --\n"$run" ? ü'
    row = saved(1, text, text, run=text)._replace(path=text, agent=text, base=text, metrics={text: 1.0})
    register_run(store, RUN._replace(run=text))
    keep_steps(store, text, [TrainingStep(1, {text: 1.0}, 0.0, AT)])
    keep_checkpoint(store, row)
    assert checkpoints(store, text) == lineage(store, text) == [row]
    assert steps(store, text) == [TrainingStep(1, {text: 1.0}, 0.0, AT)]
    assert runs(store)[0].run == text


def test_lineage_leads_from_the_newest_to_the_oldest_across_runs_and_ends_where_the_store_does(store: Store) -> None:
    rows = [saved(1, "c", "b"), saved(2, "d", "c"), saved(3, "aside", "c"), saved(1, "e", "d", run="next")]
    for row in rows:
        keep_checkpoint(store, row)
    assert [row.digest for row in lineage(store, "e")] == ["e", "d", "c"]
    assert lineage(store, "c") == [rows[0]]
    assert lineage(store, "b") == []


def test_lineage_of_weights_that_come_from_each_other_ends(store: Store) -> None:
    for row in [saved(1, "a", "c"), saved(2, "b", "a"), saved(3, "c", "b"), saved(4, "self", "self")]:
        keep_checkpoint(store, row)
    assert [row.digest for row in lineage(store, "c")] == ["c", "b", "a"]
    assert [row.digest for row in lineage(store, "self")] == ["self"]


def test_weights_that_another_run_took_over_keep_the_ancestry_of_those_that_made_them(store: Store) -> None:
    keep_checkpoint(store, saved(0, "b", None, run="copy", minutes=5))
    keep_checkpoint(store, saved(2, "b", "a", minutes=2))
    keep_checkpoint(store, saved(1, "a", minutes=1))
    assert [(row.run, row.digest) for row in lineage(store, "b")] == [("mage", "b"), ("mage", "a")]


# ------------------------------------------------------------------------------------------- others at the file


def test_steps_and_checkpoints_wait_beside_a_file_that_is_held_and_are_merged_in_order(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_steps(store, "mage", [step(1, 1.0), step(2, 1.0)])
    monkeypatch.setattr(store, "_patience", 0.1)
    with held(store):
        with pytest.warns(StoreWarning, match=r"held by .*; 2 rows of training wait in .*arena\.duckdb\.pending"):
            keep_steps(store, "mage", [step(2, 2.0), step(3, 2.0)])
        with pytest.warns(StoreWarning, match="1 rows of training wait"):
            keep_steps(store, "mage", [step(3, 3.0)])
        with pytest.warns(StoreWarning):
            keep_checkpoint(store, saved(3, "d"))
    assert steps(store, "mage") == [step(1, 1.0), step(2, 1.0)]
    keep_steps(store, "mage", [step(4, 4.0)])
    assert steps(store, "mage") == [step(number, float(number)) for number in (1, 2, 3, 4)]
    assert checkpoints(store) == [saved(3, "d")]
    assert spill.waiting(store.path) == []


def test_rows_that_are_merged_twice_are_there_once(store: Store) -> None:
    keep_steps(store, "mage", [step(1)])
    tables = {name: store.query(f"SELECT * FROM {name}") for name in ("training_runs", "training_steps")}
    store.register(TOURNAMENT, MEMBERS)
    who = {name: store.query(f"SELECT * EXCLUDE ({left}) FROM {name}") for name, left in WITHOUT.items()}
    for _ in range(2):
        spill.save(store.path, {**tables, **who})
    store.ensure()
    assert (runs(store), steps(store, "mage")) == ([RUN], [step(1)])
    assert not spill.folder(store.path).exists()


WITHOUT = {"tournaments": "ordinal, created", "members": "created"}
"""What the store itself adds."""


def test_a_store_that_is_deleted_during_a_run_is_made_anew_with_the_run(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(store.path).unlink()
    keep_steps(store, "mage", [step(1)])
    assert (runs(store), steps(store, "mage")) == ([RUN], [step(1)])
    monkeypatch.setattr(store, "_patience", 0.1)
    with held(store), pytest.warns(StoreWarning):
        keep_steps(store, "mage", [step(2)])
    Path(store.path).unlink()
    other = Store(store.path)
    other.ensure()
    assert (runs(other), steps(other, "mage")) == ([RUN], [step(2)])


def test_a_store_replaced_by_something_else_loses_no_step(store: Store) -> None:
    Path(store.path).write_text("not a database")
    with pytest.raises(RunError, match=r"is not a DuckDB file.*; 1 rows of training wait in"):
        keep_steps(store, "mage", [step(1)])
    Path(store.path).unlink()
    store.ensure()
    assert (runs(store), steps(store, "mage")) == ([RUN], [step(1)])


def test_registering_gives_up_after_its_patience_and_changes_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "READ_PATIENCE", 0.1)
    with held(store), pytest.raises(RunError, match=r"has been held by .* for more than 0\.1 s"):
        register_run(store, RUN._replace(run="late"))
    assert runs(store) == [RUN]


def test_threads_that_keep_steps_and_matches_at_once_lose_none(store: Store) -> None:
    store.register(TOURNAMENT, MEMBERS)

    def work(number: int) -> None:
        register_run(store, RUN)
        keep_steps(store, "mage", [step(number), step(100, float(number))])
        store.write(batch([number]))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(1, 13)))
    assert [row.step for row in steps(store, "mage")] == [*range(1, 13), 100]
    assert runs(store) == [RUN]
    assert [(finding.level, "12 matches" in finding.text) for finding in health(store.path)] == [(Level.OK, True)]


# ------------------------------------------------------------------------------------------------------ the layout


def test_a_store_of_the_second_version_gets_the_tables_of_training_and_keeps_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "old.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute((Path(__file__).parent / "schema_version_1.sql").read_text(encoding="utf-8"))
        connection.execute("INSERT INTO meta VALUES ('metarena', 1)")
        migrations.migrate(connection, 1, {2: migrations.MIGRATIONS[2]})
        connection.execute("INSERT INTO members VALUES ('a', 'random', 'fa', now()::TIMESTAMP)")
        assert connection.execute("SELECT version FROM meta").fetchall() == [(2,)]
    old = Store(path)
    assert (runs(old), steps(old, "mage"), checkpoints(old)) == ([], [], [])
    register_run(old, RUN)
    keep_checkpoint(old, saved(1, "d"))
    assert (runs(old), checkpoints(old)) == ([RUN], [saved(1, "d")])
    assert old.query("SELECT name FROM members").to_pylist() == [{"name": "a"}]


def test_rows_have_the_columns_of_the_schema() -> None:
    columns = {name: [column.name for column in migrations.layout()[name]] for name in migrations.layout()}
    assert list(TrainingRun._fields) == columns["training_runs"]
    assert ["run", *TrainingStep._fields] == columns["training_steps"]
    assert list(CheckpointRow._fields) == columns["checkpoints"]
    assert [column.name for column in migrations.layout()["checkpoints"] if column.nullable] == ["parent"]
