"""`arena train` as a person runs it: what it prints, how it is stopped, and what wrong input gets."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl", reason="the extra train is not installed")

from tests.command_line import ARENA, arena, environment
from tests.training_runs import SMALL, toml


def written(folder: Path, **changes: Any) -> Path:
    """A file of a small run."""
    values: dict[str, Any] = {**SMALL, "out": "run", "report_to": []}
    for key, value in changes.items():
        values[key] = {**values.get(key, {}), **value} if isinstance(value, dict) else value
    (folder / "run.toml").write_text(toml(values))
    return folder / "run.toml"


def test_a_line_an_update_a_look_and_where_the_checkpoint_is(tmp_path: Path) -> None:
    file = written(tmp_path, held_out=[{"agent": "repeat_last"}])
    done = arena("train", file, folder=tmp_path)
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == [*["0"] * 4, "1/3", "2/3", *["2"] * 4, "3/3", *["3"] * 4]
    look = [line.split(None, 1)[1].split(": returns")[0] for line in lines[:4]]
    assert look == ["pool, memory", "pool, no memory", "held out, memory", "held out, no memory"]
    assert all(["faulty" in line and "learned" in line and "rollout/credit/update" in line for line in lines[4:6]])
    assert done.stderr == "3 of 3 updates are done; checkpoint(path=run/checkpoint-3) plays it\n"


@pytest.mark.slow
def test_with_json_each_line_is_an_object_and_flags_count_more_than_the_file(tmp_path: Path) -> None:
    flags = ("--json", "--out", "elsewhere", "--seed", "5", "--name", "other")
    done = arena("train", written(tmp_path, evaluate={"matches": 1}), *flags, folder=tmp_path)

    def refuse(word: str) -> None:
        raise ValueError(f"{word} is no JSON")

    told = [json.loads(line, parse_constant=refuse) for line in done.stdout.splitlines()]
    assert [(one["update"], bool(one["metrics"]), len(one["scores"])) for one in told] == [
        (0, False, 4), (1, True, 0), (2, True, 0), (2, False, 4), (3, True, 0), (3, False, 4),
    ]  # fmt: skip
    assert set(told[0]["scores"][0]) == {
        "opponent", "held_out", "arm", "seat", "matches", "returns", "errors", "success", "faulty"
    }  # fmt: skip
    assert told[1]["metrics"]["decisions"] == 12
    assert "checkpoint(path=elsewhere/checkpoint-3)" in done.stderr
    assert json.loads((tmp_path / "elsewhere" / "run.json").read_text())["seed"] == 5
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_ctrl_c_ends_it_with_a_checkpoint_and_the_same_command_goes_on(tmp_path: Path, number: int) -> None:
    file = written(tmp_path, optimise={"updates": 500}, save={"every": 500}, evaluate={"every": 500})
    process = subprocess.Popen(
        [ARENA, "train", str(file)], cwd=tmp_path, env=environment(), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    until = time.monotonic() + 100
    metrics = tmp_path / "run" / "metrics.jsonl"
    while not (metrics.is_file() and '"update": 3' in metrics.read_text()) and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    (place,) = (tmp_path / "run").glob("checkpoint-*")
    step = int(place.name.removeprefix("checkpoint-"))
    assert err == f"stopped after {step} of 500 updates; the same command goes on from there\n"
    assert len([line for line in metrics.read_text().splitlines() if '"update", "update"' in line]) == step
    assert f'"update": {step},' in metrics.read_text().splitlines()[-1]


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"optimise": {"learning_rat": 1.0}}, 2, "line 19: no key 'optimise.learning_rat'; "),
        ({"optimise": {"learning_rate": 1e30}}, 1, "the model's logits are not numbers"),
    ],
)
def test_what_goes_wrong_is_one_line_and_no_traceback(
    tmp_path: Path, changes: dict[str, Any], code: int, words: str
) -> None:
    done = arena("train", written(tmp_path, **changes), folder=tmp_path, code=code)
    assert done.stderr.startswith("arena: ")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_help_tells_what_it_does_without_loading_what_it_needs(tmp_path: Path) -> None:
    program = (
        "import sys; sys.argv = ['arena', 'train', '--help']; import tui.cli\n"
        "try: tui.cli.main()\n"
        "finally: print([name for name in ('torch', 'trl', 'duckdb', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "goes on where it stopped" in done.stdout
    assert all([flag in done.stdout for flag in ("--out", "--seed", "--name", "--store", "--json")])
    assert done.stdout.endswith("[]\n")


def test_without_the_package_the_extra_to_install_is_told_in_one_line(tmp_path: Path) -> None:
    program = (
        "import sys, importlib.util as u\n"
        "find, u.find_spec = u.find_spec, lambda name, *rest: None if name == 'trl' else find(name, *rest)\n"
        "sys.argv[0] = 'arena'\n"
        "from tui.cli import main\nmain()"
    )
    command = [sys.executable, "-c", program, "train", str(written(tmp_path))]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == 'arena: trl is not installed: pip install "metarena[train]"\n'
    assert not (tmp_path / "run").exists()
