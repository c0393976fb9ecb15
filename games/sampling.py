"""Draw a state of a game that a seat cannot tell from the true one, where the game cannot do it itself."""

import random
from collections.abc import Callable
from typing import Any

from games.game import SampleError

MAX_STEPS = 20_000
"""How many positions one call may look at before it gives up."""


def sample_by_search(spiel: Any, seat: int, rng: random.Random, key: Callable[[Any], str]) -> Any:
    """Play a game of hidden information again, drawing what the seat could not see.

    Chance outcomes are drawn by their probabilities and the others' moves uniformly, each rejected at once where the
    seat would have seen something else (`key` tells what it sees); a dead end starts over. The true hidden moves and
    chance are never used. Raises SampleError after MAX_STEPS positions.
    """
    trail = _trail(spiel, seat, key)
    budget = MAX_STEPS
    while budget > 0:
        spot = spiel.get_game().new_initial_state()
        for own, seen in trail:
            spot, budget = _step(spot, seat, own, seen, rng, key, budget)
            if spot is None:
                break
        else:
            return spot
    raise SampleError(f"no state consistent with what seat {seat} saw was found in {MAX_STEPS} positions")


def _trail(spiel: Any, seat: int, key: Callable[[Any], str]) -> list[tuple[int | None, str | None]]:
    """What the seat itself did and saw, step by step: its own action, or None; and its key after the step."""
    replay = spiel.get_game().new_initial_state()
    trail: list[tuple[int | None, str | None]] = []
    for entry in spiel.full_history():
        own = entry.action if entry.player == seat else None
        replay.apply_action(entry.action)
        trail.append((own, _seen(replay, key)))
    return trail


def _seen(spot: Any, key: Callable[[Any], str]) -> str | None:
    return None if spot.is_chance_node() or spot.is_terminal() else key(spot)


def _step(
    spot: Any, seat: int, own: int | None, seen: str | None, rng: random.Random, key: Callable[[Any], str], budget: int
) -> tuple[Any, int]:
    """One step that the seat cannot tell from the true one, or None at a dead end; and what is left of the budget."""
    if spot.is_terminal():
        return None, budget - 1
    if own is not None:
        if spot.current_player() != seat or own not in spot.legal_actions():
            return None, budget - 1
        options = [own]
    elif spot.is_chance_node():
        options = _weighted_order(spot.chance_outcomes(), rng)
    elif spot.current_player() == seat:
        return None, budget - 1
    else:
        options = spot.legal_actions()
        rng.shuffle(options)
    for action in options:
        budget -= 1
        child = spot.child(action)
        if _seen(child, key) == seen:
            return child, budget
    return None, budget


def _weighted_order(outcomes: list[tuple[int, float]], rng: random.Random) -> list[int]:
    """Outcomes in an order drawn without replacement by their weights (Efraimidis and Spirakis, 2006)."""
    drawn = [(rng.random() ** (1 / weight), outcome) for outcome, weight in outcomes if weight > 0]
    return [outcome for _, outcome in sorted(drawn, reverse=True)]
