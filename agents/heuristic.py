"""Win if you can, block if you must: one move of foresight for any game of perfect information."""

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from agents.agent import Agent, Decision, Pace, Setup
from agents.board_centre import centre_distances
from agents.foresight import Move, Position, position_of
from games.game import Action, Dynamics, Game, Information, Observation

Rest = Literal["uniform", "centre"]


class Heuristic(Agent):
    """Wins if it can; else plays a move that lets the next seat not win at once; else any move.

    rest: how it chooses where several moves are left: uniform draws one; centre takes the one whose cell is nearest
    to the middle of the board, ties drawn.

    A move wins if it ends the episode with this seat's return the strictly highest (with one seat: the highest that
    the game knows). A move is unsafe if another seat has won by it, or if the seat that moves next has a winning
    answer; what is more than one move away, or behind chance, is not looked at.
    """

    # Moves are tried in the order of preference and the first safe one is played, the answer that refuted the last
    # move tried first: a decision looks at about two or three times as many positions as there are legal moves, and
    # at their square only where moves fail for ever new reasons.

    pace = Pace.BRIEF

    def __init__(self, setup: Setup, *, rest: Rest = "uniform") -> None:
        super().__init__(setup)
        self._rng = random.Random(setup.seed)
        self._distances = centre_distances(setup.game) if rest == "centre" else None

    @classmethod
    def misfit(cls, game: Game, **params: Any) -> str | None:
        """Needs perfect information, turns, and states to try moves on; `rest=centre` a rectangular board too."""
        spec = game.spec
        if spec.information is not Information.PERFECT:
            return f"heuristic needs perfect information, and {spec.name} hides some"
        if spec.dynamics is not Dynamics.SEQUENTIAL:
            return f"heuristic needs seats that move in turn, and in {spec.name} they move at once"
        if not spec.can_sample_state:
            return f"heuristic tries moves on a copy of the state, and {spec.name} cannot be copied"
        if params.get("rest") == "centre" and centre_distances(game) is None:
            return f"heuristic(rest=centre) needs moves that fill cells of a rectangle; those of {spec.name} do not"
        return None

    async def act(self, observation: Observation) -> Decision:
        here = position_of(observation, self._rng)
        names = here.names()
        after = {move: here.after(move) for move in names}
        winning = [move for move, place in after.items() if place.winner() == here.mover]
        if winning:
            return Decision(names[next(self._by_preference(winning))])
        return Decision(names[self._first_safe(after, observation.seat)])

    def probabilities(self, observation: Observation) -> Mapping[Action, float]:
        """The policy in full: each move is looked at, so that it costs more than `act`."""
        here = position_of(observation, self._rng)
        names = here.names()
        after = {move: here.after(move) for move in names}
        moves = [move for move, place in after.items() if place.winner() == here.mover]
        moves = moves or [move for move, place in after.items() if not _refuted(place, observation.seat, None)[0]]
        moves = moves or list(after)
        if self._distances is not None:
            nearest = min(self._distances[move] for move in moves)
            moves = [move for move in moves if self._distances[move] == nearest]
        return {name: (move in moves) / len(moves) for move, name in names.items()}

    def _first_safe(self, after: Mapping[Move, Position], seat: int) -> Move:
        """The first safe move in the order of preference; the first of all where none is safe."""
        tried = []
        threat: Move | None = None
        for move in self._by_preference(list(after)):
            refuted, threat = _refuted(after[move], seat, threat)
            if not refuted:
                return move
            tried.append(move)
        return tried[0]

    def _by_preference(self, moves: Sequence[Move]) -> Iterator[Move]:
        """Moves in a drawn order, or from the middle of the board outwards."""
        distances = self._distances
        if distances is not None:
            yield from sorted(moves, key=lambda move: (distances[move], self._rng.random()))
            return
        left = list(moves)
        while left:
            place = int(self._rng.random() * len(left))
            left[place], left[-1] = left[-1], left[place]
            yield left.pop()


def _refuted(place: Position, seat: int, likely: Move | None) -> tuple[bool, Move | None]:
    """Whether the move of `seat` that led here loses at once, and the answer to look at first the next time."""
    if place.mover is None or place.mover == seat:
        return place.winner() not in (None, seat), likely
    moves = place.moves()
    first = [likely] if likely is not None and likely in moves else []
    for move in (*first, *moves):
        if place.after(move).winner() == place.mover:
            return True, move
    return False, likely
