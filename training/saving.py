"""Checkpoints of a run on disk: each is whole, or it is none; what was there before stays until then."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from safetensors import SafetensorError

from agents.models import marked
from games.errors import RunError, in_words

PREFIX = "checkpoint-"
FAILED = (OSError, SafetensorError, RuntimeError, ValueError)
"""What transformers and torch raise when a file cannot be written."""


class About(NamedTuple):
    """What a run's checkpoints have in common."""

    run: str
    game: str
    params: Mapping[str, Any]
    """All parameters of the learner, as an `llm`."""
    base: str | None
    parent: str | None
    windows: str


def mark(place: Path, about: About, update: int, metrics: Mapping[str, float | None]) -> marked.Mark:
    """Say that a folder is a whole checkpoint. Raises OSError where that cannot be written."""
    manners = {key: about.params[key] for key in sorted(marked.MANNERS)}
    if about.params["templates"]:
        (place / marked.TEMPLATES).mkdir(exist_ok=True)
        for file in sorted(Path(about.params["templates"]).glob("*.txt")):
            shutil.copy(file, place / marked.TEMPLATES)
    files = {file.name: file.stat().st_size for file in sorted(place.iterdir()) if file.is_file()}
    made = marked.Mark(
        format=marked.FORMAT,
        name=f"{about.run}@{update}",
        run=about.run,
        update=update,
        game=about.game,
        manners=manners,
        base=about.base,
        base_digest=None if about.base is None else marked.base_digest(about.base),
        digest=marked.digest(place),
        parent=about.parent,
        files=files,
        contents=marked.contents(place, files),
        windows=about.windows,
        metrics=dict(metrics),
    )
    part = place / f"{marked.MARK}.part"
    told = made.model_copy(update={"base": None if made.base is None else marked.beside(place, made.base)})
    part.write_text(told.model_dump_json(indent=1), encoding="utf-8")
    part.rename(place / marked.MARK)
    return made


def latest(folder: Path) -> Path | None:
    """The newest whole checkpoint of a run. Raises UserError for one that is whole and cannot be gone on from."""
    for place in _newest_first(folder):
        if _torn(place) is None:
            return place
    return None


def clear(folder: Path) -> list[str]:
    """Remove what is torn and newer than the newest whole checkpoint; gives a line for each. Raises as `latest`."""
    told: list[str] = []
    for place in _newest_first(folder):
        if (why := _torn(place)) is None:
            break
        told.append(f"{why}; it is passed over and removed")
        shutil.rmtree(place)
    return told


def _torn(place: Path) -> str | None:
    try:
        marked.read(str(place))
    except marked.TornError as error:
        return str(error)
    return None


def forget(folder: Path, keep: int) -> None:
    """Remove all but the newest checkpoints."""
    for place in _newest_first(folder)[keep:]:
        shutil.rmtree(place)


def failed(place: Path, folder: Path, error: BaseException) -> RunError:
    """What to say of a checkpoint that could not be saved; what there is of it is removed, to make room."""
    shutil.rmtree(place, ignore_errors=True)
    before = latest(folder)
    kept = f"{before} is whole" if before is not None else "there is none before it"
    return RunError(f"{place} could not be saved: {in_words(error)}; {kept}")


def _newest_first(folder: Path) -> list[Path]:
    places = [place for place in folder.glob(f"{PREFIX}*") if place.name.removeprefix(PREFIX).isdecimal()]
    return sorted(places, key=lambda place: int(place.name.removeprefix(PREFIX)), reverse=True)
