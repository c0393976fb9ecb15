"""The recipes of examples/training: each is read, each runs, and the page of training tells every key."""

import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl", reason="the extra train is not installed")

from pydantic import BaseModel

from league.config import TournamentConfig
from league.config import from_toml as tournament_of
from league.plan import plan
from league.store.store import Store
from league.tournament import run as play
from tests.training_runs import trained
from training.config import TrainConfig, from_toml

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / "examples" / "training").glob("*.toml"))
TEACHER = "kuhn-teacher"
TRAINED = [file for file in FILES if file.stem != TEACHER]
PAGES = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
SMALL: dict[str, dict[str, Any]] = {
    "groups": {"count": 2, "size": 2},
    "optimise": {"updates": 1, "parts": 1},
    "evaluate": {"matches": 1},
}


def large(file: Path) -> bool:
    return "smollm2" in file.read_text(encoding="utf-8")


def small(file: Path, out: Path) -> TrainConfig:
    """A recipe, with so little to do that it takes seconds; what else it says stays."""
    values = tomllib.loads(file.read_text(encoding="utf-8"))
    for table, changes in SMALL.items():
        values[table] = {**values.get(table, {}), **changes}
    if values["optimise"].get("updates") and file.stem == "imitate":
        values["optimise"]["updates"] = 0
    if "warm_start" in values:
        values["warm_start"] = {**values["warm_start"], "store": str(out / "kuhn.duckdb"), "epochs": 0.1}
        teach(out / "kuhn.duckdb")
    return TrainConfig(**{**values, "out": str(out / "run")})


def teach(path: Path) -> None:
    config = tournament_of(ROOT / "examples" / "training" / f"{TEACHER}.toml", {"pairs": 2, "workers": 1})
    play(plan(config), Store(path), lambda *_: None)


@pytest.mark.parametrize("file", TRAINED, ids=lambda file: file.stem)
def test_every_recipe_is_read_and_named_as_its_file(file: Path) -> None:
    assert from_toml(file, {}).name == file.stem


def test_the_teacher_plays_as_many_hands_as_its_pupils() -> None:
    config = tournament_of(ROOT / "examples" / "training" / f"{TEACHER}.toml", {})
    assert isinstance(config, TournamentConfig)
    for name in ("kuhn", "imitate", "kuhn-scratch"):
        pupil = from_toml(ROOT / "examples" / "training" / f"{name}.toml", {})
        assert pupil.match.episodes == config.episodes
        if pupil.warm_start is not None:
            assert set(pupil.warm_start.agents) <= {agent.partition("=")[0] for agent in config.agents}


@pytest.mark.parametrize(
    "file",
    [pytest.param(file, marks=pytest.mark.slow) if large(file) else file for file in TRAINED],
    ids=lambda file: file.stem,
)
def test_every_recipe_runs(file: Path, tmp_path: Path) -> None:
    config = small(file, tmp_path)
    outcome = trained(config)
    assert outcome.update == config.optimise.updates
    assert outcome.checkpoint is not None
    assert outcome.checkpoint.is_dir()
    shutil.rmtree(tmp_path)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_page_names_every_recipe(file: Path) -> None:
    assert f"`{file.name}`" in PAGES


def tables() -> list[tuple[str, str]]:
    """Every key of a recipe with the table it is in."""
    found = [("", key) for key in TrainConfig.model_fields]
    for table, field in TrainConfig.model_fields.items():
        kinds = [field.annotation, *getattr(field.annotation, "__args__", ())]
        for kind in kinds:
            if isinstance(kind, type) and issubclass(kind, BaseModel) and table != "match":
                found += [(table, key) for key in kind.model_fields]
    return found


@pytest.mark.parametrize(("table", "key"), tables())
def test_the_page_names_every_key(table: str, key: str) -> None:
    names = [f"`{key}`", f"`[{key}]`", f"`[[{key}]]`"]
    assert any([name in PAGES for name in names]), f"{table}.{key}"
