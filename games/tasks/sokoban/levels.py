"""Level files of Boxoban: plain text, each level under a line `; NUMBER`, or levels apart by empty lines."""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from games.errors import UserError
from games.tasks.sokoban.room import Level, read_level

MAX_BYTES = 50_000_000


@lru_cache(maxsize=8)
def read_levels(path: str) -> tuple[Level, ...]:
    """All levels of a file. Raises UserError with file, line and what was expected for what cannot be read."""
    file = Path(path).expanduser()
    try:
        if file.stat().st_size > MAX_BYTES:
            raise UserError(f"{file}: {file.stat().st_size:,} bytes; a level file has at most {MAX_BYTES:,}")
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"level file {str(file)!r} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"level file {str(file)!r}, byte {error.start}: it is not text in UTF-8") from None
    levels = [read_level(lines, f"level file {str(file)!r}, line {line}") for line, lines in _blocks(text)]
    if not levels:
        raise UserError(f"level file {str(file)!r}: it has no level; rows of # @ + $ * . and space were expected")
    return tuple(levels)


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
