"""Level files of Boxoban: plain text, each level under a line `; NUMBER`, or levels apart by empty lines."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from games.errors import UserError
from games.tasks.files import content, place_of, read_text
from games.tasks.instances import SplitName
from games.tasks.sokoban.deadlock import is_lost
from games.tasks.sokoban.room import Level, bits, read_level

MAX_BYTES = 50_000_000
FOLDERS: Mapping[SplitName, tuple[str, ...]] = {
    "train": ("train",),
    "validation": ("valid", "validation"),
    "test": ("test",),
}
"""Split -> names that its folder may have."""


class LevelFile(NamedTuple):
    """What a file, or the files of a folder, hold."""

    levels: tuple[Level, ...]
    digest: str


def level_files(path: str, split: SplitName) -> tuple[Path, ...]:
    """The file of a path; of a folder its files `*.txt` in the order of their names, from a folder of the split in it.

    Raises UserError for a folder without such files.
    """
    place = place_of(path)
    if not place.is_dir():
        return (place,)
    inner = [place / name for name in FOLDERS[split] if (place / name).is_dir()]
    found = tuple(sorted((inner or [place])[0].glob("*.txt")))
    if not found:
        raise UserError(f"level folder {str((inner or [place])[0])!r}: there is no file *.txt in it")
    return found


def has_splits(path: str) -> bool:
    """Whether a path is a folder with a folder for each of some splits."""
    return any((place_of(path) / name).is_dir() for names in FOLDERS.values() for name in names)


@lru_cache(maxsize=8)
def read_levels(files: tuple[Path, ...]) -> LevelFile:
    """All levels of some files. Raises UserError with file, line and what was expected for what cannot be read."""
    texts = [read_text(file, f"level file {str(file)!r}", MAX_BYTES) for file in files]
    levels: list[Level] = []
    for file, text in zip(files, texts, strict=True):
        for line, lines in _blocks(text):
            level = read_level(lines, f"level file {str(file)!r}", line)
            for box in bits(level.boxes & ~level.room.targets):
                if is_lost(level.room, level.boxes, box):
                    row, column = divmod(box, level.room.columns)
                    place = f"level file {str(file)!r}, line {line + row}, column {column + 1}"
                    raise UserError(f"{place}: this box can never be brought to a target")
            levels.append(level)
    if not levels:
        raise UserError(f"level file {str(files[0])!r}: it has no level; rows of # @ + $ * . and space were expected")
    return LevelFile(tuple(levels), content([text.encode() for text in texts]))


def _blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of each level, and the line (from 1) of its first."""
    rows: list[str] = []
    begins = 0
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        row = line.rstrip()
        if row and not row.startswith(";"):
            begins = begins if rows else number
            rows.append(row)
        elif rows:
            yield begins, rows
            rows = []
