"""Files that tasks are read from: how they are named, read and told apart, and what is said where that fails."""

import json
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

from pydantic import Field

from games.errors import UserError
from games.spec import SpecError
from games.tasks.parameters import Parameters


class FromFiles(Parameters):
    """What a task takes whose instances are read from files."""

    digest: str = Field("", max_length=16, description="What the files hold; it is put in, and compared where given.")


_F = TypeVar("_F", bound=FromFiles)


def held(given: _F, found: str, what: str) -> _F:
    """The parameters with the digest of the files, "" where there are none.

    Raises SpecError where another digest was asked for.
    """
    if given.digest and not found:
        raise SpecError(f"digest={given.digest} is of files, and {what} has none")
    if given.digest and given.digest != found:
        raise SpecError(f"{what} has changed: digest={given.digest} was asked for, and it is {found} now")
    return given.model_copy(update={"digest": found})


def content(parts: Iterable[bytes]) -> str:
    """Eight hexadecimal digits of what files hold: games of other files are other games."""
    whole = blake2b(digest_size=4)
    for part in parts:
        whole.update(len(part).to_bytes(8, "big") + part)
    return whole.hexdigest()


def place_of(text: str) -> Path:
    """A file or folder that a person named. Raises SpecError for a home folder that there is not."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise SpecError(f"{text!r:.200}: there is no such home folder") from None


def read_text(file: Path, what: str, most: int | None = None) -> str:
    """The text of a file, `what` before it in messages. Raises UserError for more bytes than `most`, or no text."""
    try:
        if most is not None and (size := file.stat().st_size) > most:
            raise UserError(f"{what}: {size:,} bytes; at most {most:,} were expected")
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UserError(f"{what} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{what}, byte {error.start}: it is not text in UTF-8") from None


def read_json(text: str, what: str) -> object:
    """What a JSON text holds. Raises UserError, with line and column where they are known, for one that is none."""
    try:
        found: object = json.loads(text)
    except json.JSONDecodeError as error:
        raise UserError(f"{what}, line {error.lineno}, column {error.colno}: {error.msg}; JSON was expected") from None
    except RecursionError:
        raise UserError(f"{what}: it is nested too deep; JSON of a few levels was expected") from None
    except ValueError as error:  # such as a number of thousands of digits
        raise UserError(f"{what}: {' '.join(str(error).split())}; JSON was expected") from None
    return found
