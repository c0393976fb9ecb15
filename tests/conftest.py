"""What every test gets: a cache folder of its own run, so that no test reads or leaves files of the person's."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents import registry
from agents.offers import offers


@pytest.fixture(scope="session", autouse=True)
def _own_cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("cache")
    before = os.environ.get("METARENA_CACHE")
    os.environ["METARENA_CACHE"] = str(folder)
    yield folder
    if before is None:
        del os.environ["METARENA_CACHE"]
    else:
        os.environ["METARENA_CACHE"] = before


@pytest.fixture
def troublemakers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Install the agents and games of `tests/troublemakers.py`; gives the folder to put on a path of packages."""
    from tests.troublemakers import AGENTS

    folder = tmp_path_factory.mktemp("packages")
    shutil.copy(Path(__file__).with_name("troublemakers.py"), folder / "metarena_troublemakers.py")
    info = folder / "metarena_troublemakers-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: metarena-troublemakers\nVersion: 1.0\n")
    points = [f"{name} = metarena_troublemakers:{place}" for name, place in AGENTS.items()]
    lines = ["[metarena.agents]", *points, "[metarena.games]", "plain = metarena_troublemakers:PlainGame", ""]
    (info / "entry_points.txt").write_text("\n".join(lines))
    sys.path.insert(0, str(folder))
    _forget_agents()
    yield folder
    sys.path.remove(str(folder))
    _forget_agents()


def _forget_agents() -> None:
    offers.cache_clear()
    registry.recipe.cache_clear()
