"""What goes wrong around a training run is told in one line: of its file, its folder, its checkpoints, its samples."""

import json
import math
import multiprocessing
import resource
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl", reason="the extra train is not installed")

from agents.registry import recipe
from games import registry
from games.errors import RunError, UserError
from league.store.store import Store
from tests.play import match_of, play_here
from tests.training_runs import SMALL, config, lines, same, stopped_after, toml, trained, updates, weights
from training.config import TrainConfig, from_toml
from training.progress import Reached

LORA = {"lora": {"rank": 2, "alpha": 4, "targets": ["q_proj", "v_proj"]}}


def said(given: Callable[[], Any], kind: type[Exception] = UserError) -> str:
    """What an error says, in one line."""
    with pytest.raises(kind) as caught:
        given()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def of_file(place: Path, **changes: Any) -> TrainConfig:
    """A small run as a file tells it, with other values."""
    values = {**SMALL, "out": str(place / "run")}
    for key, value in changes.items():
        values[key] = {**values.get(key, {}), **value} if isinstance(value, dict) else value
    (place / "run.toml").write_text(toml(values))
    return from_toml(place / "run.toml", {})


# The file


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"held_out": [{"agent": "other=biased(weights=[1,0,0])"}]},
            "other=.* is an opponent in training, too",
        ),
        ({"held_out": [{"agent": "biased(weights = [1.0, 0.0, 0])"}]}, "is an opponent in training, too"),
        ({"learner": {"temperature": 0.0}}, "temperature=0 always says the same"),
        ({"learner": {"choice": "scored"}}, "choice=free"),
        ({"learner": {"top_k": 3}}, "top_k=0"),
        ({"learner": {"temperature": "warm"}}, "temperature.*warm"),
        ({"learner": {"model": "tiny(layers=0)"}}, r"tiny\(layers=0,hidden=64\): hidden is a multiple of 16"),
        ({"learner": {"model": "tiny(width=3)"}}, "tiny has the parameters layers and hidden"),
        ({"learner": {"model": "nowhere/model"}}, "model nowhere/model: there is no such folder"),
        ({"learner": {"checkpoint": "nowhere"}}, "checkpoint = 'nowhere' name two models; leave one out"),
        ({"game": "matrix_rsp"}, "matrix_rsp.*matrix_rps"),
        ({"game": "tic_tac_toe", "opponents": [{"agent": "kuhn(style=aggressive)"}]}, "cannot play tic_tac_toe"),
        ({"opponents": [{"agent": "biased(weights=[1,0"}]}, "biased"),
        ({"opponents": [{"agent": "rocky"}]}, "no agent 'rocky'"),
        ({"opponents": []}, "matrix_rps has 2 seats, and nobody is named for the others"),
        ({"opponents": [{"agent": "human"}]}, "human needs a person"),
        ({"opponents": [{"agent": "pupil@training=random"}]}, "two agents are named pupil@training"),
        ({"game": "minesweeper"}, "has one seat, and rock=.* would have none"),
        ({"groups": {"seats": [2]}}, "matrix_rps has no seat 2"),
        ({"optimise": {"updates": 0}}, "trains nothing without warm_start"),
        ({"optimise": {"kl": 0.1, "reference": "parent"}}, "needs learner.checkpoint or warm_start"),
        ({"report_to": ["smoke_signals"]}, "report_to: smoke_signals"),
        ({"warm_start": {"store": "nowhere.duckdb", "agents": ["a"]}}, "store nowhere.duckdb: there is no such file"),
        ({"samples": {"store": "nowhere.duckdb", "agents": ["a"]}}, "samples: they are of a model that is there"),
        ({"match": {"stop_on_win": True}}, r"needs groups.seats = \[0\]"),
    ],
)
def test_what_does_not_fit_together_is_told_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    store = Store(tmp_path / "s.duckdb")
    with pytest.raises(UserError, match=words) as caught:
        trained(of_file(tmp_path, **changes), store)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists(), "the file may be mended"
    trained(config(tmp_path / "run", optimise={"updates": 1}), store)


@pytest.mark.parametrize(
    "table",
    "learner opponents groups match rewards credit optimise evaluate save lora samples warm_start".split(),
)
def test_an_unknown_key_is_told_with_its_line(tmp_path: Path, table: str) -> None:
    of_file(tmp_path)
    text = (tmp_path / "run.toml").read_text()
    if f"[{table}]" not in text:
        needed = 'store = "s"\nagents = ["a"]\n' if table in ("samples", "warm_start") else ""
        text += f"[{table}]\n{needed}"
    header = f"[[{table}]]" if f"[[{table}]]" in text else f"[{table}]"
    text = text.replace(f"{header}\n", f"{header}\nhocus = 1\n")
    (tmp_path / "run.toml").write_text(text)
    number = text.splitlines().index("hocus = 1") + 1
    words = said(lambda: from_toml(tmp_path / "run.toml", {}))
    assert words.startswith(f"{tmp_path / 'run.toml'}, line {number}: no key '{table}")
    assert "hocus'; " in words


def test_an_unknown_key_outside_of_tables_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text('name = "a"\nopponent = 3\n')
    assert "line 2: no key 'opponent'; " in said(lambda: from_toml(tmp_path / "run.toml", {}))
    (tmp_path / "run.toml").write_text('game = "matrix_rps"\n')
    assert "the run has no name" in said(lambda: from_toml(tmp_path / "run.toml", {}))


# The folder


def test_a_folder_of_another_run_or_of_something_else_is_left_alone(tmp_path: Path) -> None:
    given = config(tmp_path / "run", optimise={"updates": 1})
    trained(given)
    before = sorted(tmp_path.rglob("*"))
    words = said(lambda: trained(config(tmp_path / "run", optimise={"updates": 2})))
    assert "holds a run with another setup: optimise.updates 1 there and 2 now" in words
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("dear")
    assert "is there and holds no run" in said(lambda: trained(config(tmp_path / "other")))
    (tmp_path / "file").write_text("dear")
    assert "is a file" in said(lambda: trained(config(tmp_path / "file")))
    (tmp_path / "run" / "run.json").write_text("{")
    assert "run.json cannot be read" in said(lambda: trained(given))
    left = {tmp_path / "other", tmp_path / "other" / "letter.txt", tmp_path / "file"}
    there = {path for path in tmp_path.rglob("*") if path.suffix != ".lock"}
    assert there == {*before, *left} - {tmp_path / "run.lock"}


def test_a_folder_takes_one_run_at_a_time(tmp_path: Path) -> None:
    given, refused = config(tmp_path / "run", optimise={"updates": 1}), list[str]()

    def tell(reached: Reached) -> None:
        refused.append(said(lambda: trained(given)))  # a lock of a file holds within a process, too

    assert trained(given, tell=tell).update == 1
    assert set(refused) == {f"{tmp_path / 'run'}: another process trains there"}
    assert trained(given).update == 1, "it is free again"


def test_a_run_that_is_in_the_store_with_another_setup_keeps_its_place(tmp_path: Path) -> None:
    store = Store(tmp_path / "s.duckdb")
    trained(config(tmp_path / "one", optimise={"updates": 1}), store)
    words = said(lambda: trained(config(tmp_path / "two", optimise={"updates": 2}), store))
    assert "give this one another name" in words
    assert not (tmp_path / "two").exists()


def out_of_room(given: TrainConfig, told: Path, room: int) -> None:
    """Train where no file may be larger than the weights of the base and some bytes more."""
    size = (given.folder / "base" / "model.safetensors").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + room, size + room))
    try:
        trained(given)
    except RunError as error:
        told.write_text(str(error))


@pytest.mark.parametrize("room", [2000, -2000])
def test_a_checkpoint_without_room_leaves_the_one_before_and_a_run_with_room_goes_on(tmp_path: Path, room: int) -> None:
    """Whether it is the optimizer's state that does not fit, or the weights."""
    how: dict[str, Any] = {"optimise": {"updates": 4}, "save": {"every": 2}}
    given = config(tmp_path / "run", **how)
    whole = trained(config(tmp_path / "whole", **how))
    shutil.copytree(tmp_path / "whole", tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "checkpoint-4")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.training_runs"])
    process = context.Process(target=out_of_room, args=(given, tmp_path / "told", room))
    process.start()
    process.join()
    assert process.exitcode == 0
    words = (tmp_path / "told").read_text()
    assert words.startswith(f"{tmp_path / 'run' / 'checkpoint-4'} could not be saved: ")
    assert words.endswith(f"{tmp_path / 'run' / 'checkpoint-2'} is whole")
    assert "\n" not in words
    assert [place.name for place in (tmp_path / "run").glob("checkpoint-*")] == ["checkpoint-2"]
    plays(tmp_path / "run" / "checkpoint-2")
    assert same(weights(trained(given).checkpoint), weights(whole.checkpoint))
    assert lines(tmp_path / "run") == lines(tmp_path / "whole")


def plays(place: Path) -> None:
    result = play_here(match_of("matrix_rps", f"checkpoint(path={place})", "random"))
    assert len(result.episodes) == 1


def test_metrics_that_cannot_be_written_end_the_run(tmp_path: Path) -> None:
    given = config(tmp_path / "run")
    stopped_after(1, given)
    (tmp_path / "run" / "metrics.jsonl").unlink()
    (tmp_path / "run" / "metrics.jsonl").mkdir()
    assert "metrics.jsonl cannot be written: Is a directory" in said(lambda: trained(given), RunError)


# Checkpoints


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of two updates with a checkpoint of each."""
    place = tmp_path_factory.mktemp("done") / "run"
    trained(config(place, optimise={"updates": 2}, save={"every": 1}))
    return place


FILES = [
    "chat_template.jinja", "config.json", "generation_config.json", "metarena.json", "model.safetensors",
    "optimizer.pt", "rng_state.pth", "scheduler.pt", "tokenizer.json", "tokenizer_config.json", "trainer_state.json",
    "training_args.bin", "windows.json",
]  # fmt: skip


def test_every_file_of_a_checkpoint_is_looked_at(done: Path) -> None:
    assert sorted(file.name for file in (done / "checkpoint-2").iterdir()) == FILES


@pytest.mark.parametrize("harm", ["cut", "removed", "changed"])
@pytest.mark.parametrize("file", FILES)
def test_a_torn_checkpoint_is_refused_as_an_agent(done: Path, tmp_path: Path, file: str, harm: str) -> None:
    place = tmp_path / "checkpoint-2"
    shutil.copytree(done / "checkpoint-2", place)
    harmed(place / file, harm)
    words = said(lambda: recipe(f"checkpoint(path={place})").fingerprint)
    assert words.startswith(f"checkpoint {place}: ")
    assert recipe(f"checkpoint(path={place})").misfit(registry.make("matrix_rps")) == words


def harmed(file: Path, harm: str) -> None:
    whole = file.read_bytes()
    if harm == "removed":
        file.unlink()
    else:
        middle = len(whole) // 2
        file.write_bytes(
            whole[:middle] + (b"" if harm == "cut" else bytes([whole[middle] ^ 255]) + whole[middle + 1 :])
        )


@pytest.mark.parametrize(
    ("file", "harm"), [("metarena.json", "cut"), ("optimizer.pt", "changed"), ("config.json", "removed")]
)
def test_a_torn_checkpoint_is_passed_over_with_a_notice(done: Path, tmp_path: Path, file: str, harm: str) -> None:
    shutil.copytree(done, tmp_path / "run")
    harmed(tmp_path / "run" / "checkpoint-2" / file, harm)
    notices: list[str] = []
    given = config(tmp_path / "run", optimise={"updates": 2}, save={"every": 1})
    assert same(weights(trained(given, say=notices.append).checkpoint), weights(done / "checkpoint-2"))
    assert lines(tmp_path / "run") == lines(done)
    (notice,) = notices
    assert notice.startswith(f"checkpoint {tmp_path / 'run' / 'checkpoint-2'}: ")
    assert notice.endswith("; it is passed over and removed")


def marked_otherwise(place: Path, **changes: Any) -> None:
    mark = json.loads((place / "metarena.json").read_text())
    (place / "metarena.json").write_text(json.dumps({**mark, **changes}))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format": 2}, "its format is 2, and 1 is read here"),
        ({"format": None}, "its format is None"),
        ({"manners": {"mood": "good"}}, "manners has no 'mood'"),
        ({"manners": {"base_url": "http://elsewhere"}}, "manners has no 'base_url'"),
        ({"manners": {"memory": "elephant"}}, "memory.*elephant"),
        ({"manners": {"memory": ["history"]}}, "metarena.json: manners"),
        ({"update": "two"}, "metarena.json: update"),
        ({"surprise": 1}, "metarena.json: surprise"),
    ],
)
def test_a_mark_that_says_something_else_is_refused_and_nothing_is_removed(
    done: Path, tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    shutil.copytree(done, tmp_path / "run")
    place = tmp_path / "run" / "checkpoint-2"
    marked_otherwise(place, **changes)
    with pytest.raises(UserError, match=words):
        play_here(match_of("matrix_rps", f"checkpoint(path={place})", "random"))
    if "memory" not in changes.get("manners", {}) or isinstance(changes["manners"]["memory"], list):
        with pytest.raises(UserError, match=words):
            trained(config(tmp_path / "run", optimise={"updates": 2}, save={"every": 1}))
    assert place.is_dir()


@pytest.mark.parametrize("text", ["", "[]", "{", "null", '"a"'])
def test_a_mark_that_is_none_is_refused(done: Path, tmp_path: Path, text: str) -> None:
    place = tmp_path / "checkpoint-2"
    shutil.copytree(done / "checkpoint-2", place)
    (place / "metarena.json").write_text(text)
    assert "metarena.json" in said(lambda: recipe(f"checkpoint(path={place})").fingerprint)


def test_an_adapter_of_another_base_is_refused_and_stays(tmp_path: Path) -> None:
    given = config(tmp_path / "run", optimise={"updates": 1}, **LORA)
    place = trained(given).checkpoint
    assert place is not None
    other = config(tmp_path / "other", seed=4, optimise={"updates": 1}, **LORA)
    trained(other)
    shutil.copy(tmp_path / "other" / "base" / "model.safetensors", tmp_path / "run" / "base" / "model.safetensors")
    words = said(lambda: recipe(f"checkpoint(path={place})").fingerprint)
    assert "its adapter is for a model" in words
    assert said(lambda: trained(given)) == words
    assert place.is_dir()


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({}, "lora.rank = none: the adapter of .* has rank 2"),
        ({"lora": {"rank": 3}}, "lora.rank = 3: the adapter of .* has rank 2"),
    ],
)
def test_an_adapter_goes_on_as_an_adapter_of_its_rank(tmp_path: Path, how: dict[str, Any], words: str) -> None:
    place = trained(config(tmp_path / "run", optimise={"updates": 1}, **LORA)).checkpoint
    given = config(tmp_path / "next", checkpoint=place, optimise={"updates": 1}, **how)
    with pytest.raises(UserError, match=words):
        trained(given)


# Numbers


def test_a_loss_that_is_no_number_ends_the_run_and_the_checkpoint_before_stays(tmp_path: Path) -> None:
    given = config(tmp_path, optimise={"updates": 4, "learning_rate": 1e30}, save={"every": 1}, evaluate={"every": 99})
    words = said(lambda: trained(given), RunError)
    assert "the model's logits are not numbers" in words
    for line in updates(tmp_path):
        assert all([value is None or math.isfinite(value) for value in line.values() if not isinstance(value, str)])
