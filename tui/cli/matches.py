"""`arena matches` and `arena replay`: what was played."""

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import click

from tui.cli.options import json_option, store_option
from tui.cli.output import narrate, print_json, safe
from tui.cli.ratings import agent_name, game_name, game_option, open_store
from tui.cli.tables import print_table

if TYPE_CHECKING:
    from league.store.rows import EpisodeRow, MatchRecord, MatchRow, TurnRow


SHOWN_ID = 12
"""Characters of a match id in a table; `replay` takes any beginning that only one match has."""


@click.command()
@game_option
@click.option("--agent", metavar="NAME", help="Only matches of this agent.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="How many to show at most.")
@store_option
@json_option
def matches(game: str | None, agent: str | None, limit: int, store: str, as_json: bool) -> None:
    """List matches, those of the newest tournament first; the JSON has every move."""
    from league.store import queries

    kept = open_store(store)
    found = queries.matches(
        kept, game_name(kept, game) if game else None, agent_name(kept, agent) if agent else None, limit
    )
    if as_json:
        by_match: dict[str, list[EpisodeRow]] = defaultdict(list)
        for episode in queries.episodes(kept, [row.match_id for row in found]):
            by_match[episode.match_id].append(episode)
        print_json([match_json(row, by_match[row.match_id]) for row in found])
        return
    if not found:
        narrate(f"no matches in {store} yet")
    rows = [
        [row.match_id[:SHOWN_ID], row.game, " - ".join(row.agents), _scores(row), row.episodes, sum(row.faults)]
        for row in found
    ]
    columns = ["match", "game", "agents by seat", "mean returns", "episodes", "faults"]
    print_table("", columns, rows, spare=("faults", "episodes", "game", "mean returns"))


@click.command()
@click.argument("match", metavar="MATCH")
@click.option("--episode", type=click.IntRange(1), help="Only this episode.")
@store_option
@json_option
def replay(match: str, episode: int | None, store: str, as_json: bool) -> None:
    """Step through the boards of a recorded match, named by its id or the beginning of it."""
    from games.errors import UserError
    from league.store import queries

    record = queries.match_record(open_store(store), match)
    chosen = [row for row in record.episodes if episode is None or row.episode == episode]
    if not chosen:
        raise UserError(f"match {record.match.match_id} has {len(record.episodes)} episodes, no episode {episode}")
    if as_json:
        print_json(match_json(record.match, chosen))
        return
    print(safe(f"{record.match.game}: {' against '.join(record.match.agents)}, match {record.match.match_id}"))
    for row in chosen:
        _show(record, row)


def match_json(match: "MatchRow", episodes: "list[EpisodeRow]") -> dict[str, Any]:
    """A recorded match as the documented JSON object."""
    columns = ("seed", "seats", "turn_seats", "actions", "returns", "success", "termination", "offender")
    return {
        "match_id": match.match_id,
        "game": match.game,
        "agents": match.agents,
        "seed": match.seed,
        "episodes": [{column: getattr(row, column) for column in columns} for row in episodes],
        "mean_returns": match.mean_returns,
    }


def _show(record: "MatchRecord", row: "EpisodeRow") -> None:
    """Print the boards of one episode, what was said on the way, and how it ended."""
    from arena.replay import replay as states
    from games import registry

    said: dict[int, list[TurnRow]] = defaultdict(list)
    for turn in record.turns:
        if turn.episode == row.episode:
            said[turn.turn].append(turn)
    print(safe(f"\nepisode {row.episode}, seed {row.seed}: {', '.join(row.seats)}\n"))
    shown = 0
    for played, state in states(registry.make(record.match.game), row.seed, row.turn_seats, row.actions):
        for number in range(shown, played):
            _say(row, said[number])
            print(safe(f"{number + 1}. {row.seats[row.turn_seats[number]]}: {row.actions[number]}"))
        shown = played
        print(safe(state.board()), end="\n\n")
    _say(row, said[shown])
    returns = ", ".join(f"{name} {value:+g}" for name, value in zip(row.seats, row.returns, strict=True))
    blame = "" if row.offender is None else f" by {row.seats[row.offender]}"
    print(safe(f"{row.termination}{blame}: {returns}"))


def _say(row: "EpisodeRow", turns: "list[TurnRow]") -> None:
    for turn in turns:
        fault = f" [{turn.fault}]" if turn.fault else ""
        if turn.raw is not None:
            print(safe(f"   {row.seats[turn.seat]} said{fault}: {turn.raw}"))


def _scores(row: "MatchRow") -> str:
    return " ".join(f"{value:+g}" for value in row.mean_returns)
