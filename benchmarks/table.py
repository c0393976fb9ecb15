"""The table that a run prints: figures, what they stand beside, what was to be reached, and on which machine."""

import os
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("metarena", "open-spiel", "duckdb", "pyarrow", "numpy", "trueskill", "torch", "transformers")
"""Our side's packages that the table names with their versions."""
BUSY, LOOK_SECONDS = 0.1, 1.0
"""Share of the processors in use from which a machine is called busy, and how long that is looked at."""


@dataclass(frozen=True)
class Figure:
    """A measured value."""

    value: float
    unit: str
    """Such as games/s, s, MiB."""

    def __str__(self) -> str:
        return f"{_short(self.value)} {self.unit}"


@dataclass(frozen=True)
class Goal:
    """What is to be reached."""

    limit: float
    at_least: bool
    """Whether more is better; else the value must not be above the limit."""
    of_ratio: bool = False
    """Whether it is about the ratio to the other side, not about the figure itself."""

    def reached(self, value: float) -> bool:
        """Whether a value is on the right side of the limit."""
        return value >= self.limit if self.at_least else value <= self.limit


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    what: str
    ours: Figure
    beside: str = ""
    """Who or what our figure stands beside."""
    theirs: Figure | None = None
    """None where there is nothing beside it, or it was not to be had."""
    goal: Goal | None = None

    @property
    def ratio(self) -> float | None:
        """Our figure divided by the other."""
        return None if self.theirs is None else self.ours.value / self.theirs.value

    @property
    def reached(self) -> bool | None:
        """Whether the goal is reached; None without a goal, or where the other side is missing."""
        if self.goal is None:
            return None
        value = self.ratio if self.goal.of_ratio else self.ours.value
        return None if value is None else self.goal.reached(value)


def rendered(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    head = ("what", "figure", "beside", "its figure", "ratio", "to reach", "reached")
    lines = [head, ("---", "---:", "---", "---:", "---:", "---:", "---"), *[_cells(row) for row in rows]]
    return "\n".join([f"| {' | '.join(cells)} |" for cells in lines])


def machine(peers: Mapping[str, str], runs: int, began: str | None) -> str:
    """Where, when and with which versions the figures were measured, in Markdown.

    `peers`: version by name; `began`: what `busy` said at the start.
    """
    cores = os.cpu_count() or 1
    ours = [f"{name} {found}" for name in PACKAGES if (found := _version(name)) is not None]
    beside = [f"{name} {found}" for name, found in peers.items()]
    lines = [
        f"- {date.today().isoformat()}, {_processor()}, {cores} core{'s' if cores > 1 else ''}, "
        f"{platform.system()}, Python {platform.python_version()}",
        f"- Our side: {', '.join(ours)}",
        *([f"- Peers, in an environment of their own: {', '.join(beside)}"] if beside else []),
        f"- Medians of {runs} interleaved run{'s' if runs > 1 else ''}; {began or 'the machine was quiet'}",
    ]
    return "\n".join(lines)


def busy() -> str | None:
    """A line that says so when others are at work on this machine, which is looked at for a moment, or None."""
    (idle, total) = _ticks()
    time.sleep(LOOK_SECONDS)
    idle_by_now, total_by_now = _ticks()
    used = 1 - (idle_by_now - idle) / max(1, total_by_now - total)
    if used < BUSY:
        return None
    return f"others used {used:.0%} of the processors just before: the figures may be too low"


def _ticks() -> tuple[int, int]:
    """What all processors have idled, and all they have done, since the machine started: proc(5), /proc/stat."""
    first = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0]
    user, nice, system, idle, iowait, irq, softirq, steal = map(int, first.split()[1:9])
    return idle + iowait, user + nice + system + idle + iowait + irq + softirq + steal


def _cells(row: Row) -> tuple[str, ...]:
    ratio = "" if row.ratio is None else f"{_short(row.ratio)} x"
    goal = ""
    if row.goal is not None:
        unit = "x" if row.goal.of_ratio else row.ours.unit
        goal = f"at {'least' if row.goal.at_least else 'most'} {row.goal.limit:,g} {unit}"
    reached = {True: "yes", False: "**no**", None: "" if row.goal is None else "not measured"}[row.reached]
    return row.what, str(row.ours), row.beside, "" if row.theirs is None else str(row.theirs), ratio, goal, reached


def _short(value: float) -> str:
    """Three digits or so: 15,432 or 1.04 or 0.0031."""
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.3g}"


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    """The processor's own name where the system tells it."""
    listing = Path("/proc/cpuinfo")
    if listing.exists():
        for line in listing.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
