"""The fixed opponents that published work on adapting language agents trains against."""

import random
from typing import Annotated, Any, Literal

from pydantic import Field

from agents.agent import Pace, Setup
from agents.deterministic import Deterministic
from games.game import Action, Game, Observation
from games.spiel import SpielGame, SpielState

Style = Literal["conservative", "aggressive", "intermediate"]

_JACK, _QUEEN, _KING = "0", "1", "2"
_BETS = {"conservative": _KING, "aggressive": _JACK + _QUEEN + _KING, "intermediate": _QUEEN + _KING}
_CALLS = {"conservative": _KING, "aggressive": _QUEEN + _KING, "intermediate": _KING}

_CORNERS = ((0, 0), (0, 2), (2, 0), (2, 2))
_EDGES = ((0, 1), (1, 0), (1, 2), (2, 1))
_CENTRE = ((1, 1),)
PRIORITIES: tuple[tuple[tuple[int, int], ...], ...] = (
    (*_CENTRE, *_CORNERS, *_EDGES),
    (*_CORNERS, *_CENTRE, *_EDGES),
    (*_EDGES, *_CENTRE, *_CORNERS),
    ((0, 0), (1, 1), (2, 2), (0, 2), (2, 0), *_EDGES),
    ((0, 2), (1, 1), (2, 0), (0, 0), (2, 2), *_EDGES),
    ((2, 2), (2, 0), (0, 2), (0, 0), (1, 1), *_EDGES),
)
"""The six orders of tic-tac-toe's cells (row, column), counted from 0: MAGE (arXiv 2603.03680)."""


class Kuhn(Deterministic):
    """Plays two-player Kuhn poker by the card alone.

    style: conservative bets the king and calls with the king; aggressive bets any card and calls with queen or king;
    intermediate bets queen or king and calls with the king.

    Styles as in MAGE (arXiv 2603.03680): "bets" when no bet is faced, "calls" when one is; else it passes.
    """

    pace = Pace.BRIEF

    def __init__(self, setup: Setup, *, style: Style) -> None:
        super().__init__(setup)
        self._bets, self._calls = _BETS[style], _CALLS[style]

    @classmethod
    def misfit(cls, game: Game, **params: Any) -> str | None:
        """Anything but Kuhn poker with two seats does not fit."""
        if _short_name(game) == "kuhn_poker" and game.spec.seats == 2:
            return None
        return f"kuhn plays kuhn_poker with 2 seats, not {game.spec.name}"

    def choice(self, observation: Observation) -> Action:
        """OpenSpiel's information state is the card and then the moves, such as `2pb`; its order is pass, bet."""
        card, moves = observation.key[0], observation.key[1:]
        plays = self._calls if moves.endswith("b") else self._bets
        return observation.legal_actions[card in plays]


class Priority(Deterministic):
    """Plays tic-tac-toe by taking the first free cell of a fixed order.

    list: which of the six orders, from 1 to 6: 1 centre, corners, edges; 2 corners, centre, edges; 3 edges, centre,
    corners; 4 one diagonal from the top left; 5 the other from the top right; 6 corners from the bottom right.
    """

    pace = Pace.BRIEF

    def __init__(self, setup: Setup, *, list: Annotated[int, Field(ge=1, le=len(PRIORITIES))]) -> None:
        super().__init__(setup)
        self._unused = random.Random(setup.seed)
        self._order = [3 * row + column for row, column in PRIORITIES[list - 1]]

    @classmethod
    def misfit(cls, game: Game, **params: Any) -> str | None:
        """Anything but tic-tac-toe does not fit."""
        return None if _short_name(game) == "tic_tac_toe" else f"priority plays tic_tac_toe, not {game.spec.name}"

    def choice(self, observation: Observation) -> Action:
        state = observation.sample_state(self._unused)
        assert isinstance(state, SpielState)
        cells = {number: name for name, number in state.legal(observation.seat).items()}
        return next(cells[cell] for cell in self._order if cell in cells)


def _short_name(game: Game) -> str | None:
    """OpenSpiel's name of a game; None for a game of another origin."""
    return str(game.spiel.get_type().short_name) if isinstance(game, SpielGame) else None
