"""Agents that another one is worked out from, by their specs: what they must be."""

from collections.abc import Callable, Sequence
from typing import Annotated, TypeAlias, cast

from pydantic import AfterValidator

from agents.agent import Setup, TabularPolicy
from agents.registry import recipe
from agents.tree import NoTreeError
from games.game import Game


def _canonical(spec: str) -> str:
    return recipe(spec).spec


AgentSpec: TypeAlias = Annotated[str, AfterValidator(_canonical)]
"""The spec of an agent, a parameter of another; made canonical as it is read."""


def unfit(who: str, game: Game, specs: Sequence[str], lay_out: Callable[[Game], object]) -> str | None:
    """Why an agent `who` cannot be worked out from others in a game of two seats, which is to be laid out; or None."""
    if game.spec.seats != 2:
        return f"{who} needs two seats, and {game.spec.name} has {game.spec.seats}"
    for member in map(recipe, specs):
        if not hasattr(member.agent, "probabilities"):
            return f"{who} needs agents each of which states its probabilities, and {member.spec} does not"
        if why := member.misfit(game):
            return why
    try:
        lay_out(game)
    except NoTreeError as error:
        return f"{who} cannot be computed: {error}"
    return None


def policy(game: Game, spec: str, seat: int) -> TabularPolicy:
    """The agent of a spec in a seat, as a policy."""
    return cast(TabularPolicy, recipe(spec).make(Setup(game, seat, 0)))
