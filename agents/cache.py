"""The cache folder: what was solved once and may be thrown away at any time."""

import os
import sys
import tempfile
from hashlib import blake2b
from pathlib import Path

from games.seeding import digest

_CHECK = 16
"""Bytes of checksum in front of what is kept."""


def folder() -> Path:
    """Where solved tables are kept: `$METARENA_CACHE`, else the platform's place for caches. It need not exist yet."""
    given = os.environ.get("METARENA_CACHE")
    if given:
        return Path(given).expanduser()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "metarena"


def path(kind: str, *parts: int | str) -> Path:
    """The file that keeps what `kind` and `parts` (everything that the content depends on) identify."""
    return folder() / f"{kind}-{digest(12, *parts).hex()}"


def load(kind: str, *parts: int | str) -> bytes | None:
    """What was kept under these parts; None where nothing was, or where the file is damaged."""
    try:
        content = path(kind, *parts).read_bytes()
    except OSError:
        return None
    payload = content[_CHECK:]
    return payload if content[:_CHECK] == _checksum(payload, kind, *parts) else None


def store(payload: bytes, kind: str, *parts: int | str) -> bool:
    """Keep a payload, in one step: another process reads all of it or nothing. Whether it could be kept.

    A folder that cannot be written costs time later, not the answer now, so that is no error.
    """
    target = path(kind, *parts)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        number, name = tempfile.mkstemp(prefix=target.name, dir=target.parent)
    except OSError:
        return False
    try:
        with os.fdopen(number, "wb") as file:
            file.write(_checksum(payload, kind, *parts) + payload)
        Path(name).replace(target)
    except OSError:
        Path(name).unlink(missing_ok=True)
        return False
    return True


def _checksum(payload: bytes, kind: str, *parts: int | str) -> bytes:
    return blake2b(payload, digest_size=_CHECK, key=digest(32, kind, *parts)).digest()
