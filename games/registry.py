"""Which games there are, and how a game string becomes a Game."""

from collections.abc import Callable
from functools import lru_cache
from importlib import import_module

from games import offers
from games.foreign import foreign_code
from games.game import Game, GameSpec
from games.offers import Offer
from games.spec import Spec, SpecError, near, parse

GROUP = "metarena.games"
"""The entry points by which other installed packages offer games."""

TASKS: dict[str, str] = {
    "household": "games.tasks.household.game:load",
    "minesweeper": "games.tasks.minesweeper.game:load",
    "shop": "games.tasks.shop.game:load",
    "sokoban": "games.tasks.sokoban.game:load",
}
"""Single-agent tasks, as in TABLE."""
TABLE: dict[str, str] = {
    "alfworld": "games.tasks.engines.alfworld:load",
    "gymnasium": "games.tasks.gym.game:load",
    "minihack": "games.tasks.engines.minihack:load",
    "pettingzoo": "games.pettingzoo:load",
    "probe": "games.probe:load",
    "textarena": "games.tasks.engines.textarena:load",
    "textworld_express": "games.tasks.engines.textworld_express:load",
    **TASKS,
}
"""Name -> "module:loader". A loader takes a Spec and returns a Game. OpenSpiel's games need no line."""


@lru_cache(maxsize=256)
def make(text: str) -> Game:
    """Make the game that a string such as `kuhn_poker(players=3)` names; equal strings share one Game.

    Raises SpecError with the near names for what does not exist, and for a game of another package that fails.
    """
    from games import spiel_load
    from games.spiel_facts import LEFT_OUT

    offered = offers.offers(GROUP)
    if text in offered and not _is_ours(text) and (why := _refusal(text)):  # it may be no name that can be read
        raise SpecError(why)
    spec = parse(text)
    if place := TABLE.get(spec.name):
        module, _, name = place.partition(":")
        game: Game = getattr(import_module(module), name)(spec)
        return game
    if spec.name in offered and not _is_ours(spec.name):
        return _foreign(spec)
    if not _is_ours(spec.name) and spec.name not in LEFT_OUT:
        raise SpecError(f"no game {spec.name!r}; {near(spec.name, names(), listed_by='arena games')}")
    return spiel_load.load(spec)


def names() -> list[str]:
    """Names of every game that can be asked for, sorted; what is behind one of another package is not looked at."""
    from games import spiel_recipe

    offered = [name for name in offers.offers(GROUP) if _refusal(name) is None]
    return sorted({*TABLE, *offered, *spiel_recipe.names()})


def problems() -> list[tuple[str, str]]:
    """Games of other packages that cannot be used: the name of each, and in one line whose it is and what is wrong.

    Loaders are loaded and not called: what they need is theirs to say.
    """
    found: list[tuple[str, str]] = []
    for name, offered in sorted(offers.offers(GROUP).items()):
        if _is_ours(name):
            found.extend([(name, f"{offer}: a game of this program has that name") for offer in offered])
            continue
        try:
            _loader(name)
        except SpecError as error:
            found.append((name, str(error)))
    return found


def _is_ours(name: str) -> bool:
    from games import spiel_recipe

    return name in TABLE or name in spiel_recipe.names()


def _refusal(name: str) -> str | None:
    return offers.refusal(name, offers.offers(GROUP)[name], "a game")


def _loader(name: str) -> tuple[Offer, Callable[[Spec], object]]:
    """The loader that a package offers by a name. Raises SpecError where there is none that can be used."""
    if why := _refusal(name):
        raise SpecError(why)
    (offer,) = offers.offers(GROUP)[name]
    loader = offer.load()
    if not callable(loader):
        raise SpecError(f"{offer}: {_kind(loader)} is no loader, which takes a Spec and returns a games.game.Game")
    return offer, loader


def _foreign(spec: Spec) -> Game:
    """Make a game of another package. Raises SpecError, whatever its loader does."""
    offer, loader = _loader(spec.name)
    with foreign_code(f"{offer} failed for {spec}", SpecError):
        game = loader(spec)
    if not isinstance(game, Game):
        raise SpecError(f"{offer}: its loader returns {_kind(game)} for {spec}, no games.game.Game")
    with foreign_code(f"{offer}: the game made for {spec} has no spec", SpecError):
        found: object = game.spec
    if not isinstance(found, GameSpec):
        raise SpecError(f"{offer}: the spec of the game made for {spec} is {_kind(found)}, no games.game.GameSpec")
    return game


def _kind(found: object) -> str:
    return f"class {found.__qualname__}" if isinstance(found, type) else f"an object of type {type(found).__qualname__}"
