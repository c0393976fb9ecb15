"""The folder of a run: it takes one run, told by its whole configuration, in one process at a time."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

from filelock import FileLock, Timeout

from games.errors import UserError, in_words
from league.store.training import difference
from training.config import TrainConfig

CONFIG = "run.json"
"""The whole configuration of a run, in its folder."""


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep other processes out of a folder; the file beside it that says so stays. Raises UserError where one is in."""
    lock = FileLock(f"{folder}.lock", timeout=0)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise UserError(f"{folder}: another process trains there") from None
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror}") from error
    try:
        yield
    finally:
        lock.release()


def claim(config: TrainConfig) -> bool:
    """Take a folder for a run; gives whether it is new. Raises UserError for one of another run."""
    folder = config.folder
    file, told = folder / CONFIG, setup(config)
    part = file.with_name(f"{CONFIG}.part")
    if file.is_file():
        try:
            there = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UserError(f"{file} cannot be read: {in_words(error)}") from error
        if differs := difference(there, json.loads(told)):
            raise UserError(f"{folder} holds a run with another setup: {differs}; name another folder, or remove it")
        return False
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file; name a folder by out")
    if folder.is_dir() and set(folder.iterdir()) - {part}:
        raise UserError(f"{folder} is there and holds no run; name another folder by out")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        part.write_text(told, encoding="utf-8")
        part.rename(file)
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror}") from error
    return True


def setup(config: TrainConfig) -> str:
    """The whole configuration as JSON, without where it is kept."""
    return json.dumps(config.model_dump(mode="json", exclude={"out", "report_to"}), indent=1)


def digest(config: TrainConfig) -> str:
    """16 hexadecimal digits of it: what a checkpoint can be taken up with."""
    return blake2b(setup(config).encode(), digest_size=8).hexdigest()
