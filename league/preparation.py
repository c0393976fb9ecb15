"""What agents do once before matches start, such as solving a game or loading a model."""

from collections.abc import Callable
from threading import Timer

from agents.registry import Recipe
from games.game import Game

PATIENCE_SECONDS = 1.0
"""How long an agent may prepare before a person is told what takes so long."""


def prepared(member: Recipe, game: Game, tell: Callable[[str], None]) -> None:
    """Let an agent prepare; `tell` gets a line if that takes long."""
    clock = Timer(PATIENCE_SECONDS, tell, [f"{member.name} prepares for {game.spec.name}, once; Ctrl-C ends it"])
    clock.daemon = True
    clock.start()
    try:
        member.prepare(game)
    finally:
        clock.cancel()
