"""Which games there are, and how a game string becomes a Game."""

from functools import lru_cache
from importlib import import_module
from importlib.metadata import entry_points

from games.game import Game
from games.spec import SpecError, near, parse

TABLE: dict[str, str] = {
    "pettingzoo": "games.pettingzoo:load",
}
"""Name -> "module:loader". A loader takes a Spec and returns a Game. OpenSpiel's games need no line."""


@lru_cache(maxsize=256)
def make(text: str) -> Game:
    """Make the game that a string such as `kuhn_poker(players=3)` names; equal strings share one Game.

    Raises SpecError with the near names for what does not exist.
    """
    from games import spiel_load, spiel_recipe
    from games.spiel_facts import LEFT_OUT

    spec = parse(text)
    place = TABLE.get(spec.name) or _installed().get(spec.name)
    if place is not None:
        module, _, name = place.partition(":")
        game: Game = getattr(import_module(module), name)(spec)
        return game
    if spec.name not in spiel_recipe.names() and spec.name not in LEFT_OUT:
        raise SpecError(f"no game {spec.name!r}; {near(spec.name, names(), listed_by='arena games')}")
    return spiel_load.load(spec)


def names() -> list[str]:
    """Names of every game that can be made, sorted."""
    from games import spiel_recipe

    return sorted({*TABLE, *_installed(), *spiel_recipe.names()})


def _installed() -> dict[str, str]:
    """Games that other installed packages offer by the entry point `metarena.games`."""
    return {point.name: point.value for point in entry_points(group="metarena.games")}
