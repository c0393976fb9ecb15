"""The games of TextWorldExpress, where its package and Java are there."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

pytest.importorskip("textworld_express", reason="the extra textworld-express is not installed")

from games.errors import UserError
from games.registry import make
from games.tasks.engines.textworld_express import _GOALS
from games.testing import check_game
from tests.task_play import played, plays_a_tournament, same_again, solved, task_of

FEW = {"sorting": 5}
"""Episodes looked at of a game that needs a Java machine for each, where more would take long."""


@pytest.mark.parametrize("name", _GOALS)
def test_a_game_keeps_the_promises_of_games(name: str) -> None:
    check_game(f"textworld_express(game={name},split=test)", decisions=300)


@pytest.mark.parametrize("name", _GOALS)
@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_the_solver_solves_what_random_play_hardly_does(name: str, split: str) -> None:
    task = task_of(f"textworld_express(game={name},split={split})")
    count, chance = FEW.get(name, 15), 0
    for seed in range(count):
        state = solved(task, seed)
        assert (state.success(), state.returns()) == ((True,), (pytest.approx(1.0),))
        chance += played(task, seed).success()[0]
    assert chance < count / 2


@pytest.mark.parametrize("name", _GOALS)
def test_an_episode_replays_exactly_beside_another(name: str) -> None:
    assert all(same_again(task_of(f"textworld_express(game={name})"), seed) for seed in range(FEW.get(name, 10)))


def test_any_line_is_taken_and_what_means_nothing_changes_nothing() -> None:
    state = task_of("textworld_express(game=coin)").new_episode(1)
    before = state.observe(0).legal_actions
    state.apply({0: "sing {a} [song] \u00e9"})
    assert (state.rewards(), state.observe(0).legal_actions) == ((0.0,), before)
    assert "Unknown action" in state.observe(0).text
    assert "You are in the" in state.observe(0).text, "the place is told all the same"
    with pytest.raises(ValueError, match="not allowed"):
        state.apply({0: "two\nlines"})


def test_parameters_of_a_game_shape_it() -> None:
    task = task_of("textworld_express(game=coin,numLocations=1,includeDoors=false)")
    assert task.spec.name == "textworld_express(game=coin,includeDoors=false,numLocations=1)"
    assert not any("move" in action for action in task.new_episode(0).observe(0).legal_actions)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("textworld_express(game=coinn)", "no game 'coinn'; did you mean coin"),
        ("textworld_express(game=coin,numLoc=3)", "Unrecognized property name .numLoc"),
        ("textworld_express(game=coin,numLocations=99)", "less than or equal to 11"),
        ("textworld_express(game=coin,numLocations=few)", "'numLocations' .* is few: a whole number"),
        ("textworld_express(game=twc,numLocations=99999999999999999999)", "'numLocations' .* of up to 1,000,000"),
        ("textworld_express(first=1000)", "the split has instances 0 to 999"),
        ("textworld_express(turns=-1)", "'turns' .* is -1"),
    ],
)
def test_what_cannot_be_played_is_one_line(text: str, words: str) -> None:
    with pytest.raises(UserError, match=words) as caught:
        make(text)
    assert "\n" not in str(caught.value)


def test_without_java_that_is_said() -> None:
    code = "from games.registry import make\nmake('textworld_express')"
    env = {key: value for key, value in os.environ.items() if key != "JAVA_HOME"} | {"PATH": "/nowhere"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert "needs Java, which is not installed" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, None])
def test_java_ends_with_the_process_that_started_it(number: signal.Signals | None) -> None:
    code = (
        "import sys\nfrom games.registry import make\n"
        "kept = [make(f'textworld_express(game={name})').new_episode(0) for name in ('sorting', 'coin')]\n"
        "print('ready', flush=True)\nsys.stdin.read()"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdin is not None
    process.stdout.readline()
    started = [child for child in psutil.Process(process.pid).children() if "java" in child.name()]
    assert len(started) == 2
    if number is None:
        process.stdin.close()
    else:
        process.send_signal(number)
    process.wait()
    deadline = time.monotonic() + 10
    while any(child.is_running() and child.status() != psutil.STATUS_ZOMBIE for child in started):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_games_are_played_in_worker_processes_and_replay(tmp_path: Path) -> None:
    plays_a_tournament("textworld_express(game=mapreader)", tmp_path, "--agent", "solver")
