"""What identifies a tournament and its rules, and what is kept with it to know how it was played."""

import json
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version

from arena.rules import MatchRules
from games.errors import UserError
from games.game import Game
from games.seeding import digest
from league.config import TournamentConfig

_PACKAGES = ("metarena", "open-spiel", "numpy", "duckdb", "pyarrow")
_MODELS = ("torch", "transformers", "peft", "trl", "vllm", "httpx")
"""What language models run on and are trained with, where it is installed."""


def tournament_id(config: TournamentConfig, game: str) -> str:
    """The tournament's name; without one, 16 hexadecimal digits of game, rules, seed and format."""
    if config.name is not None:
        return config.name
    return digest(8, game, rules_json(config.rules()), config.seed, config.format).hex()


def check_names(game: Game, names: Sequence[str]) -> None:
    """Raises UserError for an agent that is called as the task that it plays: both are rated by their names."""
    if game.spec.task and game.spec.name in names:
        raise UserError(f"agent name {game.spec.name} is that of the task, which is rated, too; choose another")


def told_apart(names: Sequence[str]) -> list[str]:
    """The names of those who sit in one match: the second of a name is `NAME#2`, and so on."""
    found: list[str] = []
    for name in names:
        tried, number = name, 2
        while tried in found:
            tried, number = f"{name}#{number}", number + 1
        found.append(tried)
    return found


def rules_json(rules: MatchRules) -> str:
    """The rules that are not the defaults, so that a rule added later does not change the ids of old matches."""
    return json.dumps(rules.model_dump(exclude_defaults=True), sort_keys=True)


def versions() -> str:
    """Versions of this package and of what it plays and keeps with, as JSON; nothing is imported for it."""
    known = {package: version(package) for package in _PACKAGES}
    for package in _MODELS:
        with suppress(PackageNotFoundError):
            known[package] = version(package)
    return json.dumps(known)
