"""Checkpoints of training runs: a mark in the folder says what it is, and whether all of it is there.

The mark is written last. What it says comes from elsewhere and is checked before it is believed.
"""

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agents.models import folder
from agents.models.source import SMOLLM2
from games.errors import UserError

MARK = "metarena.json"
"""Name of the mark."""
FORMAT = 1
BESIDE = "../"
"""What the name of a base model begins with that lies beside the checkpoint."""
TEMPLATES = "templates"
"""Folder of prompts in it, where it has its own."""
MANNERS = frozenset(
    {
        *("style", "choice", "legal", "retries", "temperature", "top_p", "top_k", "max_tokens", "reflection_tokens"),
        *("memory", "telling", "turns", "episodes", "reflections", "context"),
    }
)
"""Parameters of `llm` that a mark may state."""


class TornError(UserError):
    """A checkpoint that was not saved to the end, or whose files are not as they were saved."""


class Mark(BaseModel):
    """What a checkpoint is."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    format: int
    name: str = Field(max_length=100)
    """RUN@UPDATE."""
    run: str
    update: int
    game: str
    manners: dict[str, str | int | float]
    """Parameters of `llm` that it was trained with."""
    base: str | None
    """Model that its adapter is for; None where all weights are here. In the file, a folder beside the checkpoint is
    `../NAME`, so that a run's folder can be moved."""
    base_digest: str | None
    digest: str
    """Of its weights."""
    parent: str | None
    """Digest of the weights that the run began with, where these were a checkpoint."""
    files: dict[str, int]
    """Name of each file that must be here, with its bytes."""
    contents: str = ""
    """Of all these files, as a digest; "" for a mark that does not say."""
    windows: str
    """What the run trains on, as a digest: what it can be taken up with."""
    metrics: dict[str, float | None]


def read(name: str) -> tuple[Path, Mark]:
    """The folder of a checkpoint and its mark.

    Raises TornError for one that is not whole, UserError for none, one of another base or of another program.
    """
    place = Path(name).expanduser()
    if not place.is_dir():
        raise UserError(f"checkpoint {name}: there is no such folder")
    place = place.resolve()
    if not (place / MARK).is_file():
        inner = sorted(place.glob(f"*/{MARK}"), key=lambda path: path.stat().st_mtime)
        hint = f"; there is one in {inner[-1].parent}" if inner else ""
        raise TornError(f"checkpoint {name}: it has no {MARK}, so it is none, or it was not saved to the end{hint}")
    try:
        settings = folder.config(place / MARK)
    except UserError as error:
        raise TornError(f"checkpoint {name}: it is torn, {error}") from error
    if settings.get("format") != FORMAT:
        raise UserError(f"checkpoint {name}: its format is {settings.get('format')!r:.40}, and {FORMAT} is read here")
    try:
        mark = Mark.model_validate(settings)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        raise UserError(f"checkpoint {name}: {MARK}: {'.'.join(map(str, fault['loc']))}: {fault['msg']}") from None
    if unknown := sorted(mark.manners.keys() - MANNERS):
        raise UserError(f"checkpoint {name}: {MARK}: manners has no {unknown[0]!r:.60}")
    if mark.base is not None and mark.base.startswith(BESIDE):
        mark = mark.model_copy(update={"base": str(place.parent / mark.base.removeprefix(BESIDE))})
    _whole(name, place, mark)
    return place, mark


def beside(place: Path, base: str) -> str:
    """How the mark of a checkpoint names its base model."""
    path = Path(base)
    return f"{BESIDE}{path.name}" if path.is_absolute() and path.parent == place.resolve().parent else base


def stamp(name: str) -> int:
    """What changes when a checkpoint is written anew; 0 for none."""
    mark = Path(name).expanduser() / MARK
    return mark.stat().st_mtime_ns if mark.is_file() else 0


def _whole(name: str, place: Path, mark: Mark) -> None:
    """Raises TornError where a file is missing, or another one, UserError where the base model is another one."""
    for file, size in mark.files.items():
        path = place / file
        if Path(file).name != file or not path.is_file():
            raise TornError(f"checkpoint {name}: it is torn, {file!r:.100} is missing")
        if path.stat().st_size != size:
            raise TornError(f"checkpoint {name}: it is torn, {file} has {path.stat().st_size} bytes in place of {size}")
    if (found := digest(place)) != mark.digest:
        raise TornError(f"checkpoint {name}: its weights are others ({found}) than its mark says ({mark.digest})")
    if mark.contents and contents(place, mark.files) != mark.contents:
        raise TornError(f"checkpoint {name}: it is torn, its files are others than its mark says")
    if mark.base is not None and (base := base_digest(mark.base)) != mark.base_digest:
        raise UserError(
            f"checkpoint {name}: its adapter is for a model {mark.base} with digest {mark.base_digest}, "
            f"and the one there has {base}"
        )


def digest(place: Path) -> str:
    """16 hexadecimal digits of the weights in a folder: see `contents`."""
    return contents(place, [file.name for file in place.glob(f"*{folder.WEIGHTS}")])


def contents(place: Path, files: Iterable[str]) -> str:
    """16 hexadecimal digits of some files in a folder: of their names, sizes, beginnings and ends."""
    hashed = blake2b(digest_size=8)
    for name in sorted(files):
        hashed.update(repr((name, (place / name).stat().st_size)).encode())
        for part in folder.ends(place / name):
            hashed.update(part)
    return hashed.hexdigest()


def base_digest(model: str) -> str:
    """What a base model is, as a digest. Raises UserError for a folder that is none."""
    from agents.models import smollm2

    if model == SMOLLM2:
        return blake2b(repr(smollm2.traits()).encode(), digest_size=8).hexdigest()
    return digest(folder.model_folder(model))


def parameters(place: Path, mark: Mark) -> Mapping[str, Any]:
    """Parameters of `llm` that play a checkpoint as it was trained."""
    templates = {"templates": str(place / TEMPLATES)} if (place / TEMPLATES).is_dir() else {}
    weights = {"model": str(place)} if mark.base is None else {"model": mark.base, "adapter": str(place)}
    return {**mark.manners, **weights, **templates}
