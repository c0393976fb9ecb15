"""`arena matches` and `arena replay`: what was played."""

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import click

from tui.cli.options import json_option, store_option
from tui.cli.output import narrate, print_json, safe
from tui.cli.ratings import agent_name, game_name, game_option, open_store
from tui.cli.tables import print_table

if TYPE_CHECKING:
    from league.store.rows import EpisodeRow, MatchRecord, MatchRow


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
@click.option("--prompts", is_flag=True, help="Show what language models were asked, too.")
@click.option("--full", is_flag=True, help="Show all that was said, however long.")
@store_option
@json_option
def replay(match: str, episode: int | None, prompts: bool, full: bool, store: str, as_json: bool) -> None:
    """Step through the boards of a recorded match, named by its id or the beginning of it.

    Shows what language agents said on the way, what was a fault, and what they told themselves between episodes. The
    JSON has all of it, with tokens and log-probabilities.
    """
    from games.errors import UserError
    from league.store import queries
    from tui.cli.replayed import Replayed

    kept = open_store(store)
    record = queries.match_record(kept, match)
    chosen = [row for row in record.episodes if episode is None or row.episode == episode]
    if not chosen:
        raise UserError(f"match {record.match.match_id} has {len(record.episodes)} episodes, no episode {episode}")
    if as_json:
        print_json({**match_json(record.match, chosen), **_said_json(record, {row.episode for row in chosen})})
        return
    print(safe(f"{record.match.game}: {' against '.join(record.match.agents)}, match {record.match.match_id}"))
    shown = Replayed(record, full, queries.specs(kept, record.match.agents) if prompts else None)
    for row in chosen:
        shown.show(row)


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


def _said_json(record: "MatchRecord", episodes: set[int]) -> dict[str, Any]:
    """What `replay` tells beside the match itself: reflections, and answers of language models."""
    return {
        "reflections": [row._asdict() for row in record.reflections if row.episode in episodes],
        "generations": [
            {**dict(zip(row._fields[:-1], row[:-1], strict=True)), **row.said._asdict()}
            for row in record.generations
            if row.episode in episodes
        ],
    }


def _scores(row: "MatchRow") -> str:
    return " ".join(f"{value:+g}" for value in row.mean_returns)
