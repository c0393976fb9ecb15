"""`arena train`: one training run, or its continuation."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from games.foreign import need
from tui.cli.options import json_option, store_option
from tui.cli.output import narrate
from tui.cli.stopping import EXIT_INTERRUPTED, stopped_by_ctrl_c

if TYPE_CHECKING:
    from training.evaluation import Score
    from training.progress import Reached


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--out", metavar="FOLDER", help="Folder of the run, in the place of the file's.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Seed, in the place of the file's.")
@click.option("--name", metavar="NAME", help="Name of the run, in the place of the file's.")
@store_option
@json_option
@click.pass_context
def train(context: click.Context, /, file: Path, store: str, as_json: bool, **flags: Any) -> None:
    """Train an agent as FILE.toml says; the same command goes on where it stopped.

    A line for each update goes to stdout, and with what was measured to metrics.jsonl in the run's folder and to the
    store. The checkpoints there are agents: `arena play GAME "checkpoint(path=FOLDER)" ...`.
    """
    from training.config import from_toml

    config = from_toml(file, {key: value for key, value in flags.items() if value is not None})
    need("trl", "train")
    from league.store.store import Store
    from training.loop import Notices, run

    shares = {other.recipe.name: other.share for other in config.opponents}
    with stopped_by_ctrl_c() as stop, _bar(config.optimise.updates) as show:

        def tell(reached: "Reached") -> None:
            show(reached)
            for line in _told(reached, shares, as_json):
                click.echo(line)

        outcome = run(config, Store(store, notify=narrate), Notices(tell, narrate), stop)
    where = f"; checkpoint(path={outcome.checkpoint}) plays it" if outcome.checkpoint is not None else ""
    if outcome.stopped:
        narrate(f"stopped after {outcome.update} of {outcome.updates} updates; the same command goes on from there")
        context.exit(EXIT_INTERRUPTED)
    narrate(f"{outcome.update} of {outcome.updates} updates are done{where}")


def _told(reached: "Reached", shares: dict[str, float], as_json: bool) -> Iterator[str]:
    """An update in a line, a look at the learner in a line for each kind of opponent and arm."""
    if as_json:
        from training.progress import finite

        scores = [score.told() for score in reached.scores]
        yield json.dumps(finite({"update": reached.update, "metrics": reached.metrics, "scores": scores}))
        return
    if reached.metrics:
        yield _update(reached)
    if reached.scores:
        yield from _look(reached.update, reached.scores, shares)


def _update(reached: "Reached") -> str:
    found = reached.metrics
    returns = [found[key] for key in found if key.startswith("return/")]
    times = [found[f"seconds/{part}"] for part in ("rollout", "credit", "update")]
    shares = "/".join([f"{time / max(found['seconds'], 1e-9):.0%}" for time in times])
    return (
        f"{reached.update:>5}/{reached.updates}  returns {' '.join([f'{value:+.3f}' for value in returns])}  "
        f"faulty {found['faulty']:.1%}  learned {found['learned']:.0f} of {found['decisions']:.0f}  "
        f"entropy {found.get('entropy', 0.0):.2f}  {found['seconds']:.2f} s (rollout/credit/update {shares})"
    )


def _look(update: int, scores: "list[Score] | Any", shares: dict[str, float]) -> Iterator[str]:
    from training.evaluation import overall

    for held, whom in ((False, "pool"), (True, "held out")):
        for arm in dict.fromkeys([score.arm for score in scores]):
            if means := overall(scores, shares, arm, held):
                some = [score for score in scores if score.arm == arm and score.held_out == held]
                faulty = sum([score.faulty for score in some]) / len(some)
                matches = sum([score.matches for score in some])
                returns = " ".join([f"{value:+.3f}" for value in means])
                yield f"{update:>5} {whom}, {arm}: returns {returns}  faulty {faulty:.1%}  ({matches} matches)"


@contextmanager
def _bar(total: int) -> Iterator[Any]:
    """A progress bar with the time left on stderr, where that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("training"), BarColumn(), MofNCompleteColumn(), TextColumn("ETA"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty(), transient=True) as progress:
        task = progress.add_task("training", total=total)

        def show(reached: "Reached") -> None:
            progress.update(task, total=reached.updates, completed=reached.update)

        yield show
