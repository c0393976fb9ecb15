"""What holds where the packages of other people's tasks are not installed."""

import subprocess
import sys

import pytest

from games.registry import TABLE, TASKS

EXTRAS = {
    "alfworld(games=made_up)": ("alfworld", "alfworld"),
    "gymnasium(id=Taxi-v4)": ("gymnasium", "gymnasium"),
    "minihack": ("minihack", "minihack"),
    "pettingzoo(env=classic/chess_v6)": ("pettingzoo", "pettingzoo"),
    "textarena": ("textarena", "textarena"),
    "textworld_express": ("textworld_express", "textworld-express"),
}
"""Game string -> the package it needs, and the extra that brings it."""


def test_every_game_that_needs_an_extra_is_looked_at() -> None:
    assert {text.partition("(")[0] for text in EXTRAS} == set(TABLE) - {*TASKS, "probe"}


@pytest.mark.parametrize("text", EXTRAS)
def test_without_the_package_the_extra_to_install_is_told_in_one_line(text: str) -> None:
    package, extra = EXTRAS[text]
    code = (
        "import sys, importlib.util as u\n"
        f"find, u.find_spec = u.find_spec, lambda name, *rest: None if name == {package!r} else find(name, *rest)\n"
        "sys.argv[0] = 'arena'\n"
        "from tui.cli import main\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code, "play", text, "random"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.endswith(f'arena: {package} is not installed: pip install "metarena[{extra}]"\n')
    assert done.stderr.count("\n") <= 2
