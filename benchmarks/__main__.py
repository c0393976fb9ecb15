"""The command: `python -m benchmarks [NAME...]` prints a table of each part; `--write` renews it in the page, too."""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

from benchmarks.cost import ROOT
from benchmarks.page import section, write
from benchmarks.random_play import installed
from benchmarks.table import Row, busy, machine, rendered
from games.errors import RunError, UserError

PARTS = {
    "play": ("benchmarks.random_play", "random games a second, beside the bare loop and other arenas"),
    "workers": ("benchmarks.workers", "two workers beside one, and the memory of a long run"),
    "search": ("benchmarks.search", "MCTS against itself, beside a bare loop"),
    "roshambo": ("benchmarks.roshambo", "the 43 bots of the RoShamBo competition, everyone against everyone"),
    "language": ("benchmarks.language", "SmolLM2 through our engine, beside a bare generate"),
    "scoring": ("benchmarks.scoring", "moves scored by SmolLM2 through our engine, beside a bare prefill"),
    "matches": ("benchmarks.language_matches", "32 matches of SmolLM2 at once, and a quarter of them slow"),
    "turns": ("benchmarks.language_turns", "a turn of a language agent beside its model"),
    "tasks": ("benchmarks.tasks", "single-agent tasks: steps, instances, solvers, on one core"),
    "credit": ("benchmarks.credit", "credit for the decisions of matches"),
    "training": ("benchmarks.updates", "an update beside the step of trl, and the memory of 500 updates"),
    "refit": ("benchmarks.refit", "TrueSkill, beside the package"),
    "store": ("benchmarks.million", "a store of a million matches"),
}
"""Name -> module with `rows`, and what it measures; in the order of the table.

Those that fill this process with data come last: the peak memory of a command counts what its parent held at its start.
"""
PEERS = ROOT / ".venv-bench" / "bin" / "python"
"""The interpreter of the environment that `make bench` makes for the peers."""
PAGE = ROOT / "docs" / "benchmarks.md"


def main() -> None:
    """Run the parts that were named. Exits 1 if one fails, 2 for wrong input."""
    options = _parser().parse_args()
    try:
        for name, began, table in _measured(options.names or list(PARTS), options.runs, options.peers):
            peers = installed(options.peers) if name == "play" else {}
            text = section(name, PARTS[name][1], f"{rendered(table)}\n\n{machine(peers, options.runs, began)}")
            print(text, flush=True)
            if options.write:
                write(PAGE, {name: text}, list(PARTS))
    except (UserError, RunError) as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, UserError) else 1)


def _parser() -> argparse.ArgumentParser:
    parts = "\n".join([f"  {name:10}{what}" for name, (_, what) in PARTS.items()])
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure this program beside its peers and print a table of each part.",
        epilog=f"parts:\n{parts}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="parts to run; all without one")
    parser.add_argument("--runs", type=int, default=3, help="interleaved runs of which medians are taken (3)")
    parser.add_argument("--peers", type=Path, default=PEERS, help="interpreter that has the peers (.venv-bench)")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks.md, too")
    return parser


def _measured(names: list[str], runs: int, peers: Path) -> Iterator[tuple[str, str | None, list[Row]]]:
    """Of each part its name, what `busy` said before, and its rows."""
    for name in names:
        if name not in PARTS:
            raise UserError(f"no part {name!r}: there are {', '.join(PARTS)}")
    if runs < 1:
        raise UserError(f"runs = {runs}: it must be at least 1")
    if "play" in names and not peers.exists():
        print(f"benchmarks: the peers are left out: {peers} is not there; `make bench` makes it", file=sys.stderr)
    for name, (module, what) in PARTS.items():
        if name in names:
            print(f"benchmarks: {name}: {what} ...", file=sys.stderr, end="", flush=True)
            if (began := busy()) is not None:
                print(f" {began} ...", file=sys.stderr, end="", flush=True)
            begun = time.monotonic()
            rows: Callable[..., list[Row]] = import_module(module).rows
            table = rows(runs, peers) if name == "play" else rows(runs)
            print(f" {time.monotonic() - begun:.0f} s", file=sys.stderr)
            yield name, began, table


if __name__ == "__main__":
    main()
