"""What a command costs, with every process that it starts: CPU seconds, wall time, memory."""

import ctypes
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

from games.errors import RunError, UserError

ROOT = Path(__file__).resolve().parent.parent
"""The checkout: commands run here."""
_SET_CHILD_SUBREAPER = 36
"""An option of prctl(2): processes whose parent has ended become our children, so that we can wait for them."""


class Cost(NamedTuple):
    """What one command came to."""

    cpu: float
    """CPU seconds, user and system, of the command and of all processes that it started."""
    own_cpu: float
    """The part of it that the command's first process took."""
    wall: float
    """Seconds from its start to its end."""
    peak_mib: float
    """Largest resident memory of its first process, in MiB."""
    output: str
    """What it wrote to stdout."""


def measured(command: Sequence[str], text: str = "", one_core: bool = False) -> Cost:
    """Run a command from the checkout, `text` on its stdin. Raises RunError with its last words if it fails.

    `one_core` keeps it and all that it starts on one processor core.

    Workers are children of a fork server that the command leaves behind, so waiting for the command alone would miss
    them: what is orphaned is adopted and waited for as well. Only one command may run at a time.
    """
    _adopt_orphans()
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(text.encode())
        given.seek(0)
        begun = time.perf_counter()
        with _cores(1 if one_core else None):
            process = subprocess.Popen(command, cwd=ROOT, stdin=given, stdout=out, stderr=err)
        _, status, own = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        cpu = own_cpu = own.ru_utime + own.ru_stime
        while (left := _reap()) is not None:
            cpu += left
        out.seek(0)
        err.seek(0)
        if process.returncode != 0:
            said = err.read().decode(errors="replace").strip().splitlines()
            raise RunError(f"{' '.join(command)} failed ({process.returncode}): {said[-1] if said else 'no words'}")
        return Cost(cpu, own_cpu, wall, own.ru_maxrss / 1024, out.read().decode())


@contextmanager
def _cores(count: int | None) -> Iterator[None]:
    """Processes that start meanwhile keep to so many cores; None: to those of this process."""
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, sorted(before)[:count])
        yield
    finally:
        os.sched_setaffinity(0, before)


def _reap() -> float | None:
    """Wait for one more process and return its CPU seconds; None when there is none left."""
    try:
        _, _, usage = os.wait4(-1, 0)
    except ChildProcessError:
        return None
    return usage.ru_utime + usage.ru_stime


@cache
def _adopt_orphans() -> None:
    if sys.platform != "linux":
        raise UserError(
            f"the benchmarks count the CPU seconds of orphaned processes, which needs Linux, not {sys.platform}"
        )
    if ctypes.CDLL(None, use_errno=True).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise RunError(f"processes cannot be adopted: {os.strerror(ctypes.get_errno())}")
