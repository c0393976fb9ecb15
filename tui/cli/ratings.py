"""`arena standings`, `arena crosstable`, `arena refit`: who is better."""

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import click

from tui.cli.options import json_option, store_option
from tui.cli.output import narrate, print_json, print_table

if TYPE_CHECKING:
    from league.store.store import Store

game_option = click.option("--game", metavar="GAME", help="Only this game.")

_COLUMNS = (
    *("rank", "agent", "conservative", "mu", "sigma"),
    *("matches", "wins", "draws", "losses", "score", "faults", "void"),
)


@click.command()
@click.option("--game", metavar="GAME", help="Only this game, or `overall`.")
@store_option
@json_option
def standings(game: str | None, store: str, as_json: bool) -> None:
    """Rank the agents by TrueSkill, in each game and overall, by mu - 3 sigma."""
    kept = open_store(store)
    show_standings(kept, [game_name(kept, game)] if game else None, as_json)


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
    for name, met in groupby(rows, key=lambda row: row.game):
        cells = {(row.agent, row.opponent): row for row in met}
        agents = list(dict.fromkeys([agent for agent, _ in cells]))
        table = [[agent, *[_cell(cells.get((agent, other))) for other in agents]] for agent in agents]
        print_table(f"{name}: score (wins-draws-losses) distinct/episodes", ["", *agents], table)


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

    rows = ratings.standings(store)
    if games is not None:
        wanted = {*games, "overall"} if len(games) > 1 else set(games)
        rows = [row for row in rows if row.pool in wanted]
    if as_json:
        print_json([row._asdict() for row in rows])
        return
    for pool, ranked in groupby(rows, key=lambda row: row.pool):
        table: list[list[Any]] = [[getattr(row, column) for column in _COLUMNS] for row in ranked]
        print_table(pool, _COLUMNS, table)


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
    if game in there or game == "overall":
        return game
    from games import registry

    try:
        canonical = registry.make(game).spec.name
    except SpecError:
        canonical = game
    if canonical in there:
        return canonical
    raise UserError(f"no match of {game!r} in store {store.path}; {near(game, there)}")


def _cell(row: Any) -> str:
    if row is None:
        return ""
    return f"{row.score:.2f} ({row.wins}-{row.draws}-{row.losses}) {row.distinct}/{row.episodes}"
