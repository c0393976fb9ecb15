"""`arena play`: one match, shown as it is played."""

import secrets
from typing import TYPE_CHECKING, Any

import click

from agents.models.limits import BudgetError, ModelLimits
from arena.rules import MatchRules
from games.errors import RunError
from tui.cli.options import field_options, given, json_option, store_option
from tui.cli.output import narrate, print_json, safe
from tui.cli.shown import Shown
from tui.cli.words import bill, counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agents.generation import Generation
    from agents.registry import Recipe
    from arena.match import Match, MatchResult
    from games.game import Game


@click.command()
@click.argument("game")
@click.argument("agents", nargs=-1, required=True, metavar="AGENT...")
@field_options(MatchRules)
@field_options(ModelLimits)
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Seed of the match.  [default: a fresh one]")
@store_option
@json_option
def play(game: str, agents: tuple[str, ...], seed: int | None, store: str, as_json: bool, **flags: Any) -> None:
    """Play one match of GAME between agents, by seat; `human` is you.

    \b
        arena play tic_tac_toe human minimax
        arena play tic_tac_toe human "llm(style=react)"
        arena play kuhn_poker "kuhn(style=aggressive)" "cfr(iterations=1000)" --episodes 3
    """
    import asyncio

    from arena.match import VoidMatchError
    from arena.record import utc_now
    from games import registry
    from league.config import limits_of, rules_of
    from league.preparation import warn_of_prices
    from league.single import keep, prepare, register
    from league.store.store import Store

    limits = limits_of({key: flags.pop(key) for key in given(flags) if key in ModelLimits.model_fields})
    rules = rules_of({key: value for key, value in given(flags).items() if key in MatchRules.model_fields})
    loaded = registry.make(game)
    match, recipes = prepare(loaded, agents, secrets.randbelow(2**63) if seed is None else seed, rules, narrate)
    warn_of_prices(recipes, limits.budget_dollars, narrate)
    kept = Store(store, notify=narrate)
    register(kept, match)
    shown = None
    if not as_json:
        narrate(f"{loaded.spec.title}: {' against '.join(match.names)}, seed {match.seed}")
        shown = Shown(match, loaded, person=any(recipe.agent.interactive for recipe in recipes))
    started = utc_now()
    try:
        result = asyncio.run(_played(match, loaded, recipes, limits, shown))
    except VoidMatchError as error:
        raise RunError(f"the match is void and not recorded: {error}") from error
    except BudgetError as error:
        raise RunError(f"the match is not recorded: {error}") from error
    keep(kept, result, started)
    if as_json:
        print_json(result_json(result))
    else:
        _conclude(result, shown)


async def _played(
    match: "Match", game: "Game", recipes: "Sequence[Recipe]", limits: ModelLimits, shown: "Shown | None"
) -> "MatchResult":
    """Play a match, with language models that live as long as it does."""
    from agents.models.pool import Models
    from arena.table import play_one

    models = Models(limits, tell=narrate)
    try:
        return await play_one(match, game, recipes, models, shown)
    finally:
        await models.close()


def _conclude(result: "MatchResult", shown: "Shown | None") -> None:
    """Print what was not shown yet, what language models took, and who won."""
    if shown is not None:
        shown.conclude(result)
    names = result.match.names
    for name, generations in said_by(result).items():
        print(safe(bill(generations).line(name)))
    if len(result.places) > len(names):
        solved = sum([record.success[0] for record in result.episodes])
        played = counted(len(result.episodes), "episode")
        verdict = f"{names[0]} solved {solved} of {played} (mean return {result.mean_returns[0]:+g})"
        print(safe(f"{verdict}; match {result.match.match_id}"))
        return
    winners = [name for name, place in zip(names, result.places, strict=True) if place == 0]
    means = ", ".join(f"{name} {mean:+g}" for name, mean in zip(names, result.mean_returns, strict=True))
    verdict = f"{winners[0]} wins" if len(winners) == 1 else f"a draw between {' and '.join(winners)}"
    print(safe(f"{verdict} ({means}); match {result.match.match_id}"))


def said_by(result: "MatchResult") -> "dict[str, list[Generation]]":
    """What models answered in a match, by the agents that asked them; agents without a model are left out."""
    names = result.match.names
    said: dict[str, list[Generation]] = {name: [] for name in names}
    for record in result.episodes:
        for note in record.notes:
            said[names[record.order[note.seat]]] += note.generations
    for reflection in result.reflections:
        said[names[reflection.agent]] += reflection.generations
    return {name: generations for name, generations in said.items() if generations}


def result_json(result: "MatchResult") -> dict[str, Any]:
    """A match as the documented JSON object."""
    match = result.match
    return {
        "match_id": match.match_id,
        "game": match.game,
        "agents": list(match.names),
        "seed": match.seed,
        "episodes": [
            {
                "seed": record.seed,
                "seats": [match.names[agent] for agent in record.order],
                "turn_seats": record.turn_seats,
                "actions": record.actions,
                "returns": list(record.returns),
                "success": list(record.success),
                "termination": record.termination.value,
                "offender": record.offender,
            }
            for record in result.episodes
        ],
        "mean_returns": list(result.mean_returns),
    }
