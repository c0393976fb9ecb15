"""The interface between an OpenSpiel game and the words people and language models read."""

import re
from typing import Any

import pyspiel

from games.spiel_facts import BOARD_IS_ALL, FORGETS, SEEN_AT_MOVES
from games.spiel_history import decides, replayed, short
from games.spiel_recipe import Recipe

_TURN = re.compile(r"\s*It is your turn to \w+\.")
"""What OpenSpiel tells every seat of bridge, also those that are not to bid."""


class Words:
    """How one OpenSpiel game speaks. This base class gives OpenSpiel's own strings.

    `view`, `ending` and `action` may use only what the seat knows: they must be equal wherever the seat's information
    state is (and the action, for `action`). Seats that are not to act are asked for views too, and all seats at the
    end. Action names must be unique within a position and hold no line breaks.
    The constructor raises SpecError for parameters that OpenSpiel accepts and then cannot play.
    """

    fixed_names = False
    """Whether an action's name depends on seat and action only, so that it can be looked up in a table."""
    public_moves = False
    """Whether every seat sees every move of the others (chance apart) in a game of imperfect information."""

    def __init__(self, game: Any) -> None:
        self.game = game
        self.seats: int = game.num_players()
        kind = game.get_type()
        perfect = kind.information != pyspiel.GameType.Information.IMPERFECT_INFORMATION
        self._perfect = perfect
        self._remembers = kind.provides_information_state_string and not (perfect and kind.provides_observation_string)
        one_shot = kind.information == pyspiel.GameType.Information.ONE_SHOT
        complete = self._remembers and kind.short_name not in FORGETS
        self._tells_all = complete or one_shot or kind.short_name in BOARD_IS_ALL
        self._at_moves = not SEEN_AT_MOVES.isdisjoint(Recipe(kind.short_name, game.get_parameters(), "").names())

    def title(self) -> str:
        return str(self.game.get_type().long_name)

    def rules(self) -> str:
        kind = self.game.get_type()
        seats = self.game.num_players()
        turns = "at the same time" if kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS else "in turn"
        players = "One player plays" if seats == 1 else f"{seats} players move {turns}"
        return (
            f"{self.title()}. {players}; each tries to get the highest return, "
            f"which lies between {self.game.min_utility():g} and {self.game.max_utility():g}."
        )

    def board(self, state: Any) -> str:
        return str(state) or f"Moves so far: {state.history_str()}"

    def seen(self, state: Any, seat: int) -> str:
        """What OpenSpiel shows a seat: the board in games of perfect information, else its information state.

        In the games of SEEN_AT_MOVES it is true where the seat is to act, and only there.
        """
        if self._remembers:
            return str(state.information_state_string(seat))
        return str(state.observation_string(seat))

    def key(self, state: Any, seat: int) -> str:
        """What identifies the information state of a seat; what it is shown, where that tells all the seat knows.

        Otherwise a digest of the rest is added: of all moves in games of perfect information, else of what the seat
        was shown, could choose and chose at each of its decisions.
        """
        shown = self._shown(state, seat)
        if self._tells_all and not self._looks_back(state, seat):
            return shown
        if self._perfect:
            return f"{shown}\n#{short(state.history())}"
        past = [
            (self.seen(spot, seat), spot.legal_actions(seat), chosen[seat])
            for spot, chosen in replayed(state)
            if decides(spot, seat)
        ]
        return f"{shown}\n#{short(past, state.legal_actions(seat))}"

    def view(self, state: Any, seat: int) -> str:
        shown = self._shown(state, seat)
        return (shown if decides(state, seat) else _TURN.sub("", shown)) or "Nothing has happened yet."

    def _shown(self, state: Any, seat: int) -> str:
        """As `seen`; where that is not true, what the seat saw at its last decision."""
        if not self._looks_back(state, seat):
            return self.seen(state, seat)
        own = [self.seen(spot, seat) for spot, _ in replayed(state) if decides(spot, seat)]
        return own[-1] if own else ""

    def _looks_back(self, state: Any, seat: int) -> bool:
        return self._at_moves and not decides(state, seat)

    def ending(self, state: Any, seat: int) -> str:
        """What the end tells a seat besides its view: how it ended, and what the rules then show everybody.

        Where something is hidden that is the seat's own return alone, since those of others may tell what they held.
        """
        if self._perfect:
            return self.status(state)
        return f"Over. Your return: {signed(state.returns()[seat])}"

    def action(self, state: Any, seat: int, action: int) -> str:
        return " ".join(str(state.action_to_string(seat, action)).split())

    def seat_name(self, seat: int) -> str:
        """What a seat is called in boards, such as its colour."""
        return f"seat {seat}"

    def status(self, state: Any) -> str:
        """One line for spectators: whose move it is, or the returns."""
        if state.is_terminal():
            shares = [f"{signed(value)} for {self.seat_name(seat)}" for seat, value in enumerate(state.returns())]
            return "Over. Returns: " + ", ".join(shares)
        if state.is_simultaneous_node():
            return "All seats choose at the same time."
        return "Chance is next." if state.is_chance_node() else f"To move: {self.seat_name(state.current_player())}"

    def chance(self, state: Any, outcome: int) -> str:
        return str(state.action_to_string(state.current_player(), outcome))


def signed(value: float) -> str:
    """A payoff with its sign: +1, -0.5, 0."""
    return f"{value:+g}" if value else "0"
