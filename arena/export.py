"""Our games for other libraries."""

from typing import TYPE_CHECKING

from games.foreign import need
from games.game import Dynamics, Game
from games.registry import make

if TYPE_CHECKING:
    from arena.pettingzoo import SequentialEnv, SimultaneousEnv


def to_pettingzoo(game: Game | str, render_mode: str | None = None) -> "SequentialEnv | SimultaneousEnv":
    """A game, or the game that a string names, as a PettingZoo environment.

    Seats become agents `player_0`, `player_1`, ... A game in which seats move one at a time becomes an AECEnv, one in
    which they move at once a ParallelEnv. `render_mode` is None or "ansi". Raises UserError where the extra is not
    installed, SpecError for a game that does not exist.
    """
    need("pettingzoo", "pettingzoo")
    from arena.pettingzoo import SequentialEnv, SimultaneousEnv

    made = make(game) if isinstance(game, str) else game
    if made.spec.dynamics is Dynamics.SIMULTANEOUS:
        return SimultaneousEnv(made, render_mode)
    return SequentialEnv(made, render_mode)
