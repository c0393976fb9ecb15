"""An agent of another installed package plays like one of ours, and one that is unfit takes nothing down."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import ARENA

DOCS = Path(__file__).parents[1] / "docs" / "agents.md"

PLAY = """
from agents import registry
from agents.testing import check_agent

assert "last" in registry.names() and "last" not in registry.TABLE
check_agent("last", "tic_tac_toe")
check_agent("last(place=2)", "kuhn_poker")
print(registry.recipe("theirs=last(place=1)").spec, registry.agent_class("last").__module__)
try:
    registry.recipe("latst")
except Exception as error:
    print(error)
"""


def documented_agent() -> str:
    """The module that the agents page shows as an example."""
    found = re.search(r"```python\n(.*?class .*?)```", DOCS.read_text(), re.S)
    assert found
    return found[1]


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder of installed packages that holds one tiny distribution."""
    info = tmp_path / "somebody_elses_agents-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: somebody-elses-agents\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[metarena.agents]\nlast = somebody_elses_agents:Last\n")
    (tmp_path / "somebody_elses_agents.py").write_text(documented_agent())
    return tmp_path


def test_an_agent_of_an_installed_package_is_found_checked_and_played(installed: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PLAY],
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["last somebody_elses_agents", "no agent 'latst'; did you mean last?"]


FAULTS = {
    "unimported": ("faulty_offers_missing:X", "cannot be loaded: ModuleNotFoundError: No module named"),
    "exits": ("faulty_offers_exits:X", "cannot be loaded: SystemExit: 3"),
    "misspelt": ("faulty_offers:Sund", "cannot be loaded: AttributeError"),
    "unreadable": ("not a module", "does not read module:class"),
    "module": ("faulty_offers", "an object of type module is no subclass of agents.agent.Agent"),
    "foreigner": ("faulty_offers:NoAgent", "NoAgent is no subclass of agents.agent.Agent"),
    "object": ("faulty_offers:NO_CLASS", "an object of type Sound is no subclass"),
    "idle": ("faulty_offers:Idle", "class Idle does not define act"),
    "bare": ("faulty_offers:Bare", "parameter 'place' of class Bare has no annotation"),
    "placed": ("faulty_offers:Placed", "parameter 'place' of class Placed is not keyword-only"),
    "open": ("faulty_offers:Open", "parameter 'options' of class Open is not keyword-only"),
    "unset": ("faulty_offers:Unset", "class Unset does not take a Setup"),
    "unresolved": ("faulty_offers:Unresolved", "name 'Unknown' is not defined"),
    "unchecked": ("faulty_offers:Unchecked", "parameter 'place' of class Unchecked cannot check values"),
    "odd name": ("faulty_offers:Sound", "its name is none that an agent string can hold"),
    "called()": ("faulty_offers:Sound", "its name is none that an agent string can hold"),
    "double": ("faulty_offers:Sound", "have the same name"),
}
"""Name of an entry point -> what it names, and what must be said of it."""

ASK = """
import json, sys
from agents import registry
from games.errors import UserError

said = {}
for name in json.load(sys.stdin):
    try:
        registry.recipe(name)
        said[name] = None
    except UserError as error:
        said[name] = str(error)
print(json.dumps([said, registry.problems()]))
"""


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of installed packages whose agents are unfit in every way, beside one that is sound."""
    folder = tmp_path_factory.mktemp("faulty")
    points = {name: value for name, (value, _) in FAULTS.items()}
    points |= {"sound": "faulty_offers:Sound", "random": "faulty_offers:Sound"}
    for package, offered in {"faulty-offers": points, "other": {"double": "faulty_offers:Bare"}}.items():
        info = folder / f"{package.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = [f"{name} = {value}\n" for name, value in offered.items()]
        (info / "entry_points.txt").write_text("[metarena.agents]\n" + "".join(lines))
    shutil.copy(Path(__file__).with_name("faulty_offers.py"), folder)
    (folder / "faulty_offers_exits.py").write_text("raise SystemExit(3)\n")
    return folder


def with_faulty(folder: Path, *words: str, typed: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        words, env={**os.environ, "PYTHONPATH": str(folder)}, input=typed, cwd=folder, capture_output=True, text=True
    )


def test_every_unfit_offer_is_one_line_that_names_it_and_its_package(faulty: Path) -> None:
    done = with_faulty(faulty, sys.executable, "-c", ASK, typed=json.dumps([*FAULTS, "sound(place=1)", "random"]))
    assert done.stderr == ""
    said, problems = json.loads(done.stdout)
    assert said.pop("sound(place=1)") is None
    assert said.pop("random") is None, "an agent of this program keeps its name"
    listed = dict(problems)
    assert "an agent of this program has that name" in listed.pop("random")
    assert said == listed
    for name, line in said.items():
        value, words = FAULTS[name]
        assert words in line
        assert "\n" not in line
        assert f"entry point {name!r} of package faulty-offers ({value})" in line
    assert "of package other (faulty_offers:Bare)" in said["double"]


def test_unfit_offers_stand_in_the_list_of_agents_beside_all_others(faulty: Path) -> None:
    done = with_faulty(faulty, ARENA, "agents", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    rows = json.loads(done.stdout)
    assert {"random", "mcts", "sound"} <= {row["agent"] for row in rows if row["problem"] is None}
    assert {row["agent"] for row in rows if row["problem"]} == {"random", *FAULTS}
    (sound,) = [row for row in rows if row["agent"] == "sound"]
    assert sound["parameters"] == "sound(place=None)"
    assert sound["about"] == "Plays the first legal action; its reasons take more than one line."
    table = with_faulty(faulty, ARENA, "agents")
    assert (table.returncode, table.stderr) == (0, "")
    for name, (_, words) in FAULTS.items():
        assert re.search(rf"^ {re.escape(name)} +cannot be used: .*{re.escape(words)}", table.stdout, re.M)


@pytest.mark.parametrize("name", FAULTS)
def test_an_unfit_agent_asked_for_is_wrong_input(name: str, faulty: Path) -> None:
    done = with_faulty(faulty, ARENA, "agents", name)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("arena: ")
    assert FAULTS[name][1] in done.stderr
    assert done.stderr.count("\n") == 1


def test_doctor_warns_of_unfit_offers(faulty: Path, tmp_path: Path) -> None:
    done = with_faulty(faulty, ARENA, "doctor", "--json", "--store", str(tmp_path / "none.duckdb"))
    warned = {line["part"] for line in json.loads(done.stdout) if line["state"] == "warning"}
    assert {f"agent {name}" for name in ("random", *FAULTS)} <= warned
