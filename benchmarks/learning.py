"""What training comes to: `python -m benchmarks.learning [NAME...]` trains and writes docs/results; `--page` the page.

Each run is a process of its own; what is there already is not run again. A run that was stopped goes on.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

from benchmarks.cost import ROOT

RESULTS = ROOT / "docs" / "results"
STEP = (
    "update", "return", "faulty", "decisions", "learned", "entropy", "tokens", "tokens/learned", "seconds",
    "seconds/rollout", "seconds/update",
)  # fmt: skip
"""Metrics of an update that are kept."""
RECIPES = ROOT / "examples" / "training"


class Arm(NamedTuple):
    """One way to train, with what a recipe does not say."""

    recipe: str
    seeds: Sequence[int]
    matches: int
    """Of the evaluation at the end, against each opponent in each seat."""
    changes: Mapping[str, Any] = {}
    """Tables and keys over those of the recipe."""


_MAGE = {"credit": {"mode": "differential"}}
_LAMER = {"credit": {"mode": "cumulative", "gamma_episode": 0.9}}
_ALONE = {"match": {"episodes": 1}, "learner": {"memory": "none"}, "groups": {"size": 24}}
_SEEDS = (0, 1, 2)

ARMS: dict[str, Arm] = {
    "rps-mage": Arm("mage", _SEEDS, 400),
    "rps-lamer": Arm("lamer", _SEEDS, 400),
    "rps-grpo": Arm("grpo", _SEEDS, 400),
    "rps-no-memory": Arm("mage", _SEEDS, 400, {"learner": {"memory": "none"}}),
    "probe-mage": Arm("probe", _SEEDS, 4000, _MAGE),
    "probe-lamer": Arm("probe", _SEEDS, 4000, _LAMER),
    "probe-single": Arm("probe", _SEEDS, 4000, {"credit": {"mode": "single"}}),
    "probe-grpo": Arm("probe", _SEEDS, 4000, {**_ALONE, "credit": {"mode": "single", "estimator": "grpo"}}),
    "kuhn": Arm("kuhn", _SEEDS, 2400),
    "kuhn-mage": Arm("kuhn-scratch", (0,), 1000, _MAGE),
    "kuhn-lamer": Arm("kuhn-scratch", (0,), 1000, _LAMER),
    "kuhn-gigpo": Arm("kuhn-scratch", (0,), 1000, {**_ALONE, "credit": {"mode": "single", "estimator": "gigpo"}}),
    "kuhn-grpo": Arm("kuhn-scratch", (0,), 1000, {**_ALONE, "credit": {"mode": "single", "estimator": "grpo"}}),
    "tic-tac-toe": Arm("tic-tac-toe", (0,), 200),
    "smollm2": Arm("smollm2", (0,), 10),
}
"""Name of an arm -> what it is."""


def main() -> None:
    """Train what was named, then write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.learning", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*ARMS, []], help="arms; none for all that are short")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument("--work", type=Path, default=Path("runs/learning"), help="folder of the runs")
    parser.add_argument("--page", action="store_true", help="write docs/results.md and run nothing")
    parser.add_argument("--one", nargs=2, metavar=("NAME", "SEED"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        _one(options.one[0], int(options.one[1]), options.work)
        return
    if not options.page:
        tasks = [(name, seed) for name in options.names or ARMS for seed in ARMS[name].seeds]
        left = [task for task in tasks if not _file(*task).is_file()]
        with ThreadPoolExecutor(options.jobs) as pool:
            codes = pool.map(partial(_process, work=options.work), left)
            for (name, seed), code in zip(left, codes, strict=True):
                print(f"{name}, seed {seed}: {'done' if code == 0 else f'failed with {code}'}", flush=True)
    from benchmarks.learned import page

    (ROOT / "docs" / "results.md").write_text(page(list(found(ARMS))), encoding="utf-8")


def found(names: Sequence[str] | Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The results that there are, by arm and seed."""
    for name in names:
        for file in sorted(RESULTS.glob(f"{name}.[0-9].json")):
            yield json.loads(file.read_text(encoding="utf-8"))


def _file(name: str, seed: int) -> Path:
    return RESULTS / f"{name}.{seed}.json"


def _process(task: tuple[str, int], work: Path) -> int:
    """Run one arm in a process of its own; gives its exit code."""
    name, seed = task
    work.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "benchmarks.learning", "--one", name, str(seed), "--work", str(work)]
    with (work / f"{name}.{seed}.log").open("a") as log:
        return subprocess.run(command, cwd=ROOT, stdout=log, stderr=log, check=False).returncode


def _one(name: str, seed: int, work: Path) -> None:
    """Train one arm with one seed, look at it in many matches, and keep what came of it."""
    from training.config import TrainConfig
    from training.loop import Notices, run

    arm = ARMS[name]
    values = tomllib.loads((RECIPES / f"{arm.recipe}.toml").read_text(encoding="utf-8"))
    for key, change in arm.changes.items():
        values[key] = {**values.get(key, {}), **change} if isinstance(change, Mapping) else change
    if "warm_start" in values:
        values["warm_start"]["store"] = str(_teacher(work))
    config = TrainConfig(**{**values, "name": f"{name}.{seed}", "seed": seed, "out": str(work / f"{name}.{seed}")})
    began, cpu = time.monotonic(), time.process_time()
    outcome = run(config, None, Notices(lambda reached: print(reached.update, flush=True), print), Event())
    seconds = {"wall": time.monotonic() - began, "cpu": time.process_time() - cpu}
    timing = config.folder / "seconds.json"
    before = json.loads(timing.read_text()) if timing.is_file() else {"wall": 0.0, "cpu": 0.0}
    seconds = {key: value + before[key] for key, value in seconds.items()}  # a run may have been stopped and gone on
    timing.write_text(json.dumps(seconds))
    from benchmarks.learned import judged

    scores = judged(config, str(outcome.checkpoint), arm.matches)
    lines = [json.loads(line) for line in (config.folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    RESULTS.mkdir(parents=True, exist_ok=True)
    from league.identity import versions

    kept = {
        "arm": name,
        "seed": seed,
        "recipe": arm.recipe,
        "updates": outcome.update,
        "seconds": seconds,
        "scores": scores,
        "curve": [line for line in lines if line["kind"] == "evaluation"],
        "steps": _thinned([line for line in lines if line["kind"] == "update"]),
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "shares": {other.recipe.name: other.share for other in config.opponents},
        "versions": json.loads(versions()),
    }
    _file(name, seed).write_text(json.dumps(_rounded(kept), indent=None, separators=(",", ":")), encoding="utf-8")


def _thinned(lines: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What is kept of the updates, of at most a hundred of them."""
    some = lines[:: -(-len(lines) // 100)] if lines else []
    return [{key: line[key] for key in STEP if line.get(key) is not None} for line in some]


def _teacher(work: Path) -> Path:
    """The store that copies are made from."""
    from filelock import FileLock

    store = (work / "kuhn.duckdb").resolve()
    with FileLock(f"{store}.lock"):
        if not store.is_file():
            part = store.with_suffix(".part.duckdb")
            command = ["tournament", str(RECIPES / "kuhn-teacher.toml"), "--store", str(part), "--workers", "1"]
            arena = [sys.executable, "-c", "from tui.cli import main; main()"]
            subprocess.run([*arena, *command], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
            part.rename(store)
    return store


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 5)
    if isinstance(value, Mapping):
        return {key: _rounded(inner) for key, inner in value.items()}
    return [_rounded(inner) for inner in value] if isinstance(value, list | tuple) else value


if __name__ == "__main__":
    main()
