"""Which OpenSpiel games have words of their own; the others speak OpenSpiel's strings."""

from importlib import import_module
from typing import Any

from games.text.words import Words

TABLE: dict[str, str] = {}
"""OpenSpiel short name -> "module:class" of a Words subclass."""


def words_for(game: Any) -> Words:
    """The words of a loaded OpenSpiel game."""
    place = TABLE.get(game.get_type().short_name)
    if place is None:
        return Words(game)
    module, _, name = place.partition(":")
    words: Words = getattr(import_module(module), name)(game)
    return words
