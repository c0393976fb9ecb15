"""A game of another installed package plays like one of ours, and one that is unfit takes nothing down."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import ARENA

FAULTS = {
    "unimported": ("faulty_games_missing:X", "cannot be loaded: ModuleNotFoundError: No module named"),
    "exits": ("faulty_games_exits:X", "cannot be loaded: SystemExit: 3"),
    "misspelt": ("faulty_games:sund", "cannot be loaded: AttributeError"),
    "unreadable": ("not a module", "does not read module:class"),
    "module": ("faulty_games", "an object of type module is no loader"),
    "number": ("faulty_games:NO_LOADER", "an object of type int is no loader"),
    "odd name": ("faulty_games:sound", "its name is none that a game string can hold"),
    "double": ("faulty_games:sound", "have the same name"),
}
"""Name of an entry point -> what it names, and what must be said of it before it is called."""

LATE = {
    "foreigner": ("faulty_games:NoGame", "returns an object of type NoGame for foreigner, no games.game.Game"),
    "nothing": ("faulty_games:nothing", "failed for nothing: TypeError"),
    "failing": ("faulty_games:failing", "failed for failing: ValueError: no idea"),
    "leaving": ("faulty_games:leaving", "failed for leaving: SystemExit: 3"),
    "unspecified": ("faulty_games:Unspecified", "is an object of type Spec, no games.game.GameSpec"),
    "speechless": ("faulty_games:Speechless", "has no spec: RuntimeError: nothing to say"),
}
"""The same for what shows only once a game is asked for."""

OURS = ("tic_tac_toe", "pettingzoo")

ASK = """
import json, sys
from games import registry
from games.errors import UserError

said = {}
for name in json.load(sys.stdin):
    try:
        said[name] = registry.make(name).spec.title
    except UserError as error:
        said[name] = str(error)
print(json.dumps([said, registry.problems(), registry.names()]))
"""

UNREADABLE = {
    "no equals": b"[metarena.games]\nsound\n",
    "no text": b"[metarena.games]\nsound = \xff\xfe:x\n",
}
"""Files of entry points that Python itself cannot read."""


def install(folder: Path, package: str, points: bytes) -> None:
    info = folder / f"{package.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_bytes(points)


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of installed packages whose games are unfit in every way, beside one that is sound."""
    folder = tmp_path_factory.mktemp("faulty")
    points = {name: value for name, (value, _) in (FAULTS | LATE).items()}
    points |= dict.fromkeys(["sound", *OURS], "faulty_games:sound")
    for package, offered in {"faulty-games": points, "other": {"double": "faulty_games:failing"}}.items():
        lines = [f"{name} = {value}\n" for name, value in offered.items()]
        install(folder, package, ("[metarena.games]\n" + "".join(lines)).encode())
    shutil.copy(Path(__file__).with_name("faulty_games.py"), folder)
    (folder / "faulty_games_exits.py").write_text("raise SystemExit(3)\n")
    return folder


def run(folder: Path, *words: str, typed: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        words, env={**os.environ, "PYTHONPATH": str(folder)}, input=typed, cwd=folder, capture_output=True, text=True
    )


def test_every_unfit_game_is_one_line_that_names_it_and_its_package(faulty: Path) -> None:
    asked = [*FAULTS, *LATE, "sound", "sound(size=3)", "tic_tac_toe"]
    done = run(faulty, sys.executable, "-c", ASK, typed=json.dumps(asked))
    assert done.stderr == ""
    said, problems, names = json.loads(done.stdout)
    assert said.pop("sound") == said.pop("tic_tac_toe") == "Tic-tac-toe", "a game of this program keeps its name"
    assert said.pop("sound(size=3)") == "game 'sound' takes no parameters"
    listed = dict(problems)
    for name in OURS:
        assert "a game of this program has that name" in listed.pop(name)
    assert {name: said[name] for name in FAULTS} == listed
    for name, line in said.items():
        value, words = (FAULTS | LATE)[name]
        assert words in line
        assert "\n" not in line
        assert f"entry point {name!r} of package faulty-games ({value})" in line
    assert "of package other (faulty_games:failing)" in said["double"]
    assert {"sound", "failing", *OURS} <= set(names)
    assert not {"odd name", "double"} & set(names)


@pytest.mark.parametrize("name", ["unimported", "odd name", "failing", "leaving"])
def test_an_unfit_game_asked_for_is_wrong_input(name: str, faulty: Path) -> None:
    done = run(faulty, ARENA, "games", name)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("arena: ")
    assert (FAULTS | LATE)[name][1] in done.stderr
    assert done.stderr.count("\n") == 1


def test_doctor_warns_of_unfit_games(faulty: Path, tmp_path: Path) -> None:
    done = run(faulty, ARENA, "doctor", "--json", "--store", str(tmp_path / "none.duckdb"))
    warned = {line["part"] for line in json.loads(done.stdout) if line["state"] == "warning"}
    assert {f"game {name}" for name in (*OURS, *FAULTS)} <= warned


@pytest.mark.parametrize("how", UNREADABLE)
def test_entry_points_that_cannot_be_read_take_nothing_down(how: str, tmp_path: Path) -> None:
    install(tmp_path, "broken", UNREADABLE[how])
    install(tmp_path, "whole", b"[metarena.games]\nsound = faulty_games:sound\n")
    shutil.copy(Path(__file__).with_name("faulty_games.py"), tmp_path)
    asked = run(tmp_path, sys.executable, "-c", ASK, typed='["sound", "tic_tac_toe"]')
    assert asked.stderr == ""
    said, problems, _ = json.loads(asked.stdout)
    assert (said, problems) == ({"sound": "Tic-tac-toe", "tic_tac_toe": "Tic-tac-toe"}, [])
    listed = run(tmp_path, ARENA, "agents", "--json")
    assert (listed.returncode, listed.stderr) == (0, "")
    done = run(tmp_path, ARENA, "doctor", "--json", "--store", str(tmp_path / "none.duckdb"))
    (line,) = [line for line in json.loads(done.stdout) if line["part"] == "package broken"]
    assert line["state"] == "warning"
    assert line["what"].startswith("package broken: its entry_points.txt cannot be read: ")
