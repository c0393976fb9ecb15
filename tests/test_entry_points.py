"""An agent of another installed package plays like one of ours."""

import subprocess
import sys
from pathlib import Path

import pytest

AGENT = '''
"""An agent of somebody else."""

from agents.agent import Agent, Decision, Setup


class Last(Agent):
    """Plays the legal action at one place from the end.

    place: 1 for the last one.
    """

    def __init__(self, setup: Setup, *, place: int = 1) -> None:
        super().__init__(setup)
        self._place = place

    async def act(self, observation):
        return Decision(observation.legal_actions[-self._place])
'''

PLAY = """
from agents import registry
from agents.testing import check_agent

assert "last" in registry.names() and "last" not in registry.TABLE
check_agent("last", "tic_tac_toe")
check_agent("last(place=1)", "kuhn_poker")
print(registry.recipe("theirs=last(place=1)").spec, registry.agent_class("last").__module__)
try:
    registry.recipe("lats")
except Exception as error:
    print(error)
"""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder of installed packages that holds one tiny distribution."""
    info = tmp_path / "somebody_elses_agents-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: somebody-elses-agents\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[metarena.agents]\nlast = somebody_elses_agents:Last\n")
    (tmp_path / "somebody_elses_agents.py").write_text(AGENT)
    return tmp_path


def test_an_agent_of_an_installed_package_is_found_checked_and_played(installed: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PLAY],
        env={"PYTHONPATH": str(installed), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["last somebody_elses_agents", "no agent 'lats'; did you mean last?"]
