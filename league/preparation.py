"""What agents do once before matches start, such as solving a game or loading a model."""

from collections.abc import Callable, Sequence
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


def warn_of_prices(members: Sequence[Recipe], budget_dollars: float | None, tell: Callable[[str], None]) -> None:
    """Tell of agents that a budget in money does not limit, since they state no price."""
    free = [member.name for member in members if member.params.get("price") == []]
    if budget_dollars is not None and free:
        tell(f"budget_dollars does not limit {', '.join(free)}: no price=[IN,OUT], for a million tokens, is given")
