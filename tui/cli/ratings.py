"""`arena standings`, `arena crosstable`, `arena refit`: who is better."""

from collections.abc import Sequence
from contextlib import suppress
from itertools import groupby
from typing import TYPE_CHECKING

import click

from tui.cli.options import json_option, store_option
from tui.cli.output import narrate, print_json
from tui.cli.tables import fits, print_table

if TYPE_CHECKING:
    from league.solved import TaskResult
    from league.store.rows import CrossRow, Standing
    from league.store.store import Store

game_option = click.option("--game", metavar="GAME", help="Only this game.")

_COLUMNS = ("rank", "agent", "rating", "mu", "sigma", "matches", "w-d-l", "score", "faults", "fault %", "void")
_TASK_COLUMNS = ("agent", "episodes", "success %", "return", "turns")
_TASK_SPARE = ("turns", "episodes")
_SPARE = ("sigma", "mu", "void", "matches", "faults", "score")


@click.command()
@click.option("--game", metavar="GAME", help="Only this game, or `overall`.")
@store_option
@json_option
def standings(game: str | None, store: str, as_json: bool) -> None:
    """Rank the agents by TrueSkill, in each game and overall, by mu - 3 sigma."""
    kept = open_store(store)
    pools = None if game is None else [game if game == "overall" else game_name(kept, game)]
    show_standings(kept, pools, as_json)


@click.command()
@game_option
@store_option
@json_option
def crosstable(game: str | None, store: str, as_json: bool) -> None:
    """Show how each agent fared against each other: score, wins-draws-losses, distinct trajectories / episodes."""
    from league.store import queries

    kept = open_store(store)
    rows = queries.crosstable(kept, game_name(kept, game) if game else None)
    if as_json:
        print_json([row._asdict() for row in rows])
        return
    if not rows:
        narrate(f"no matches in {store} yet")
    for name, met in groupby(rows, key=lambda row: row.game):
        _show_crosstable(name, list(met))


@click.command()
@store_option
def refit(store: str) -> None:
    """Fit all ratings again from the recorded matches."""
    from league import ratings

    kept = open_store(store)
    ratings.refit(kept)
    narrate(f"ratings in {store} are fitted")


def show_standings(store: "Store", games: Sequence[str] | None, as_json: bool) -> None:
    """Print the standings of some games, of all where None; `overall` comes with more than one."""
    from league import ratings
    from league.solved import task_results

    rows = ratings.standings(store)
    if games is not None:
        wanted = {*games, "overall"} if len(games) > 1 else set(games)
        rows = [row for row in rows if row.pool in wanted]
    tasks = task_results(store)
    if as_json:
        reached: dict[tuple[str, str], list[dict[str, object]]] = {}
        for result in tasks:
            reached.setdefault((result.game, result.agent), []).append(_task_json(result))
        print_json([{**row._asdict(), "task": reached.get((row.pool, row.agent), [])} for row in rows])
        return
    if not rows:
        narrate(f"no matches in {store.path} yet")
    for pool, ranked in groupby(rows, key=lambda row: row.pool):
        table = [_line(row) for row in ranked]
        print_table(f"{pool} (rating = mu - 3 sigma)", _COLUMNS, table, spare=_SPARE)
        solved = [result for result in tasks if result.game == pool]
        for (planned, deals), alike in groupby(solved, key=lambda result: (result.planned, result.deals)):
            columns = [*_TASK_COLUMNS, *([f"pass@{planned}", f"retry@{planned}"] if planned > 1 else [])]
            matches = f"matches of {planned} episodes, {deals} deals" if planned > 1 else "matches of one episode"
            print_table(f"{pool}: solved in {matches}", columns, list(map(_solved_line, alike)), spare=_TASK_SPARE)


def _solved_line(result: "TaskResult") -> list[object]:
    line: list[object] = [result.agent, result.played, 100 * result.success, result.mean_return, result.mean_turns]
    return line if result.planned == 1 else [*line, result.pass_at[-1], result.retry_at[-1]]


def _task_json(result: "TaskResult") -> dict[str, object]:
    """What an agent reached in a task, as the documented JSON object."""
    return {
        "deals": result.deals,
        "match_episodes": result.planned,
        "episodes": result.played,
        "success": result.success,
        "mean_return": result.mean_return,
        "mean_turns": result.mean_turns,
        "success_by_episode": [row.solved / row.played for row in result.episodes],
        "pass_at": result.pass_at,
        "retry_at": result.retry_at,
    }


def _line(row: "Standing") -> list[object]:
    results = f"{row.wins}-{row.draws}-{row.losses}"
    first = [row.rank, row.agent, row.conservative, row.mu, row.sigma]
    share = None if row.fault_rate is None else 100 * row.fault_rate
    return [*first, row.matches, results, row.score, row.faults, share, row.void]


def _show_crosstable(game: str, rows: "Sequence[CrossRow]") -> None:
    """As a matrix where there is room for it, else as a list."""
    cells = {(row.agent, row.opponent): row for row in rows}
    agents = list(dict.fromkeys([row.agent for row in rows]))
    matrix = [[agent, *[_cell(cells.get((agent, other))) for other in agents]] for agent in agents]
    if fits(["", *agents], matrix):
        print_table(f"{game}: score (wins-draws-losses) distinct/episodes", ["", *agents], matrix)
        return
    columns = ["agent", "opponent", "score", "w-d-l", "distinct/episodes"]
    table = [
        [row.agent, row.opponent, row.score, f"{row.wins}-{row.draws}-{row.losses}", f"{row.distinct}/{row.episodes}"]
        for row in rows
    ]
    print_table(game, columns, table, spare=("distinct/episodes",))


def open_store(path: str) -> "Store":
    """The store at a path, which must exist."""
    from league.store.store import Store

    return Store(path, notify=narrate)


def game_name(store: "Store", game: str) -> str:
    """The name under which a game's matches are kept. Raises UserError, with the near ones, where there are none."""
    from games.errors import UserError
    from games.spec import SpecError, near
    from league.store import queries

    there = queries.games(store)
    if game in there:
        return game
    from games import registry

    try:
        canonical = registry.make(game).spec.name
    except SpecError:
        canonical = game
    if canonical in there:
        return canonical
    raise UserError(f"no match of {game!r} in store {store.path}; {near(game, there)}")


def agent_name(store: "Store", agent: str) -> str:
    """The name under which an agent's matches are kept. Raises UserError, with the near ones, where there are none."""
    from agents.registry import recipe
    from games.errors import UserError
    from games.spec import SpecError, near
    from league.store import queries

    there = queries.members(store)
    if agent not in there:
        with suppress(SpecError):
            agent = recipe(agent).name
    if agent not in there:
        raise UserError(f"no match of agent {agent!r} in store {store.path}; {near(agent, there)}")
    return agent


def _cell(row: "CrossRow | None") -> str:
    if row is None:
        return ""
    return f"{row.score:.2f} ({row.wins}-{row.draws}-{row.losses}) {row.distinct}/{row.episodes}"
