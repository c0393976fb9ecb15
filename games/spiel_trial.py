"""Play the beginning of an OpenSpiel game once: OpenSpiel shows many wrong parameters in play only."""

import random
from math import isfinite

from games.spiel import SpielGame, SpielState

MOVES = 60
"""Decisions of the trial."""
ACTIONS = 3000
"""Legal actions after which the trial ends, so that it stays short in games that offer thousands at a time."""
BEGINNINGS = 20
"""Episodes that are begun to find one that chance does not end at once."""


def fault(game: SpielGame) -> str | None:
    """Play the beginning of an episode at random; why the game cannot be played, or None.

    Raises what OpenSpiel raises. The moves are the same at each call.
    """
    low, high = game.spec.min_utility, game.spec.max_utility
    if not (isfinite(low) and isfinite(high) and low <= high):
        return f"its returns lie between {low:g} and {high:g}"
    begun = (game.new_episode(seed) for seed in range(BEGINNINGS))
    state = next((state for state in begun if not state.spiel.is_terminal()), None)
    if state is None:
        return "there is nothing to play"
    rng, moves, seen = random.Random(0), 0, 0
    while not state.spiel.is_terminal() and moves < MOVES and seen < ACTIONS:
        actions = _choices(state, rng)
        if not actions:
            return "nobody can act"
        seen += sum([len(state.legal(seat)) for seat in actions])
        state.apply(actions)
        moves += len(actions)
        if not all(map(isfinite, state.returns())):
            return "its returns are not finite"
    state.board()
    return None


def _choices(state: SpielState, rng: random.Random) -> dict[int, str]:
    """A random action of each seat that is to act and can, once all that the seats are told has been made."""
    actions = {}
    for seat in state.seats_to_act():
        observation = state.observe(seat)
        _ = observation.text, observation.key
        if observation.legal_actions:
            actions[seat] = rng.choice(observation.legal_actions)
    return actions
