"""The installed `arena` command, run as a person would run it."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path
from typing import Any

ARENA = str(Path(sys.executable).with_name("arena"))


def arena(
    *words: str | Path, folder: Path, code: int | None = 0, seconds: float = 300
) -> subprocess.CompletedProcess[str]:
    """Run one command in a folder, whose `arena.duckdb` is then the store, and check its exit code."""
    done = subprocess.run(
        [ARENA, *map(str, words)],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=seconds,
        stdin=subprocess.DEVNULL,
    )
    assert code is None or done.returncode == code, (words, done.returncode, done.stdout[-2000:], done.stderr[-4000:])
    return done


def arena_json(*words: str | Path, folder: Path) -> Any:
    """What a command prints with --json."""
    return json.loads(arena(*words, "--json", folder=folder).stdout)


def environment() -> dict[str, str]:
    """The environment of this process without what would point the command elsewhere."""
    return {key: value for key, value in os.environ.items() if key != "ARENA_STORE"} | {"COLUMNS": "100"}


def in_terminal(*words: str, folder: Path, columns: int) -> str:
    """What a command shows on a real terminal of some width, stdout and stderr together."""
    lead, follow = pty.openpty()
    fcntl.ioctl(follow, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    env = {key: value for key, value in environment().items() if key != "COLUMNS"} | {"TERM": "xterm"}
    process = subprocess.Popen([ARENA, *words], cwd=folder, env=env, stdin=follow, stdout=follow, stderr=follow)
    os.close(follow)
    shown = bytearray()
    try:
        while block := os.read(lead, 65536):
            shown += block
    except OSError:  # Linux says so when the other end is closed
        pass
    finally:
        os.close(lead)
    assert process.wait() == 0, shown
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())
