"""`arena tournament`: play a tournament, go on where it stopped, show the standings."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agents.models.limits import BudgetError, Spent
from games.errors import RunError
from league.config import TournamentConfig, checked, from_toml
from tui.cli.options import field_options, given, json_option, store_option
from tui.cli.output import narrate
from tui.cli.stopping import EXIT_INTERRUPTED, stopped_by_ctrl_c
from tui.cli.words import counted

if TYPE_CHECKING:
    from league.plan import Plan
    from league.tournament import Outcome, Reached


@click.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--game", "games", multiple=True, metavar="GAME", help="A game to play; repeat for more.")
@click.option("--agent", "agents", multiple=True, metavar="[NAME=]SPEC", help="An agent that takes part; repeat.")
@field_options(TournamentConfig, leave_out=frozenset({"games", "agents"}))
@store_option
@json_option
@click.pass_context
def tournament(context: click.Context, /, file: Path | None, store: str, as_json: bool, **flags: Any) -> None:
    """Play a tournament and rate it; the same command goes on where it stopped.

    A FILE.toml may hold any of these settings (`games = [...]`, `agents = [...]`, `pairs = 20`, ...); flags count more.
    """
    config = from_toml(file, given(flags)) if file else checked(given(flags))
    from league.plan import plan
    from league.preparation import warn_of_prices
    from league.store.store import Store
    from league.tournament import prepare

    planned = plan(config)
    _introduce(planned)
    members = {recipe.name: recipe for game_plan in planned.games for recipe in game_plan.recipes}
    warn_of_prices(list(members.values()), config.budget_dollars, narrate)
    kept = Store(store, notify=narrate)
    prepare(planned, narrate)
    outcome = _play(planned, kept, store)
    _conclude(outcome, store)
    if outcome.stopped:
        context.exit(EXIT_INTERRUPTED)
    from tui.cli.ratings import show_standings

    narrate(f"ratings from all matches of these games in {store}:")
    show_standings(kept, [game_plan.game.spec.name for game_plan in planned.games], as_json)
    if outcome.unfinished:
        match, reason = outcome.unfinished[0]
        raise RunError(
            f"{len(outcome.unfinished)} matches could not be played, the first of them {match.game} between "
            f"{' and '.join(match.names)}: {reason}"
        )


def _introduce(planned: "Plan") -> None:
    for (agent, _), same in groupby(planned.left_out, key=lambda left: (left.agent, left.gist)):
        left = list(same)
        narrate(f"{agent} does not play {', '.join(out.game for out in left)}: {left[0].reason}")
    for game_plan in planned.games:
        narrate(f"{game_plan.game.spec.name}: {len(game_plan.recipes)} agents, {game_plan.total} matches")


def _play(planned: "Plan", store: Any, place: str) -> "Outcome":
    """Play what is left, under a bar; what that cost is said also where it fails on the way."""
    from league.tournament import run

    spent, done = Spent(), 0
    try:
        with stopped_by_ctrl_c() as stop, _bar(planned.total) as show:

            def tell(reached: "Reached", notices: Sequence[str]) -> None:
                nonlocal spent, done
                spent, done = reached.spent, reached.before + reached.finished
                show(reached, notices)

            return run(planned, store, tell, stop)
    except BudgetError:
        _tell_kept(done, planned.total, place, "with a larger budget the same command goes on from there")
        raise
    finally:
        if spent.requests:
            price = f", ${spent.dollars:.4g}" if spent.dollars else ""
            narrate(f"language models: {counted(spent.requests, 'answer')}, {spent.tokens:,} tokens{price}")


def _conclude(outcome: "Outcome", store: str) -> None:
    if outcome.stopped:
        kept = outcome.before + outcome.finished
        _tell_kept(kept, outcome.total, store, "the same command goes on from there")
    elif outcome.finished == 0 and not outcome.unfinished:
        narrate(f"all {outcome.total} matches are in {store} already; nothing to play")


def _tell_kept(kept: int, total: int, store: str, next_step: str) -> None:
    narrate(f"stopped: {kept} of {total} matches are kept in {store}; {next_step}")


@contextmanager
def _bar(total: int) -> Iterator[Any]:
    """A progress bar with rate and time left on stderr, where that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TextColumn("ETA"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty(), transient=True) as progress:
        task = progress.add_task("playing", total=total, rate="")

        def show(reached: "Reached", notices: Sequence[str]) -> None:
            for line in notices:
                narrate(line)
            done = reached.before + reached.finished
            speed = progress.tasks[0].speed
            progress.update(task, completed=done, rate=f"{speed:,.0f}/s" if speed else "")

        yield show
