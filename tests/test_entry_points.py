"""An agent of another installed package plays like one of ours."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

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
