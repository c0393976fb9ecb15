"""The history of a pyspiel state, played again move by move."""

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import pyspiel


def fresh_start(spiel: Any) -> Any:
    """The start of the episode that a state belongs to; a game that samples its own chance is loaded anew."""
    game = spiel.get_game()
    kind = game.get_type()
    if kind.chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
        game = pyspiel.load_game(kind.short_name, game.get_parameters())
    return game.new_initial_state()


def replayed(spiel: Any) -> Iterator[tuple[Any, dict[int, int]]]:
    """Each position of a state's history with what was chosen there: player -> action, chance being player -1.

    The position is one object that moves on. At a simultaneous move every player has an entry, also one that had no
    choice.
    """
    spot = fresh_start(spiel)
    entries = iter(spiel.full_history())
    for entry in entries:
        if not spot.is_simultaneous_node():
            yield spot, {entry.player: entry.action}
            spot.apply_action(entry.action)
            continue
        joint = {entry.player: entry.action}
        while len(joint) < spot.num_players():
            other = next(entries)
            joint[other.player] = other.action
        yield spot, joint
        spot.apply_actions([joint[player] for player in range(spot.num_players())])


def decides(spot: Any, seat: int) -> bool:
    """Whether a seat has a choice at a position."""
    return spot.current_player() == seat or (spot.is_simultaneous_node() and bool(spot.legal_actions(seat)))


def short(*parts: object) -> str:
    """16 hexadecimal digits that tell sequences of parts apart."""
    return blake2b(repr(parts).encode(), digest_size=8).hexdigest()
