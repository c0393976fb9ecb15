"""Checkpoints of a run on disk: each is whole, or it is none; what was there before stays until then."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from safetensors import SafetensorError

from agents.models import marked
from games.errors import RunError, UserError, in_words

PREFIX = "checkpoint-"
_FAILED = (OSError, SafetensorError, RuntimeError)
"""What transformers and torch raise when a file cannot be written."""
_STATE = "trainer_state.json"


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
        files={file.name: file.stat().st_size for file in sorted(place.iterdir()) if file.is_file()},
        windows=about.windows,
        metrics=dict(metrics),
    )
    part = place / f"{marked.MARK}.part"
    part.write_text(made.model_dump_json(indent=1), encoding="utf-8")
    part.rename(place / marked.MARK)
    return made


def latest(folder: Path) -> tuple[Path | None, list[str]]:
    """The newest whole checkpoint of a run, and a line for each newer one that is torn, which is removed."""
    torn: list[str] = []
    for place in sorted(folder.glob(f"{PREFIX}*"), key=_step, reverse=True):
        try:
            marked.read(str(place))
        except UserError as error:
            torn.append(f"{error}; it is passed over")
            shutil.rmtree(place)
        else:
            return place, torn
    return None, torn


def forget(folder: Path, keep: int) -> None:
    """Remove all but the newest checkpoints."""
    for place in sorted(folder.glob(f"{PREFIX}*"), key=_step, reverse=True)[keep:]:
        shutil.rmtree(place)


def failed(place: Path, folder: Path, error: BaseException) -> RunError:
    """What to say of a checkpoint that could not be saved; what there is of it is removed, to make room."""
    shutil.rmtree(place, ignore_errors=True)
    before, _ = latest(folder)
    kept = f"{before} is whole" if before is not None else "there is none before it"
    return RunError(f"{place} could not be saved: {in_words(error)}; {kept}")


def _step(place: Path) -> int:
    number = place.name.removeprefix(PREFIX)
    return int(number) if number.isdecimal() else -1
