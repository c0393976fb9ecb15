"""Draw a state of a game that a seat cannot tell from the true one, where the game cannot do it itself."""

import random
from collections.abc import Callable, Iterator
from itertools import product
from math import prod
from typing import Any, NamedTuple, TypeAlias

from games.game import SampleError
from games.spiel_history import decides, fresh_start, replayed

Sight: TypeAlias = Callable[[Any], str]
"""What the seat sees at a position."""

MAX_STEPS = 20_000
"""How many positions one call may look at before it gives up."""
MAX_JOINT = 64
"""How many joint moves of the others are tried at one simultaneous move."""


class _Scene(NamedTuple):
    """A stretch of an episode in which nothing changed for the seat."""

    seen: str
    own: int | None
    """The seat's own action, which ends the scene; None where the others or chance end it."""
    legal: tuple[int, ...]
    """What the seat could choose from, where it decided."""


def sample_by_search(spiel: Any, seat: int, rng: random.Random, sight: Sight) -> Any:
    """Play a game of hidden information again, drawing what the seat could not see.

    Chance outcomes are drawn by their probabilities and the others' moves uniformly, each rejected at once where the
    seat would have seen something else; a dead end starts over. Of the true episode only the seat's own scenes are
    used: what it saw and chose, not how many moves the others made unseen. Raises SampleError after MAX_STEPS
    positions.
    """
    scenes = _scenes(spiel, seat, sight)
    start = fresh_start(spiel)
    left = MAX_STEPS
    while left > 0:
        spot, at = start.clone(), 0
        while spot is not None and left > 0:
            if at == len(scenes) - 1 and decides(spot, seat):
                if tuple(spot.legal_actions(seat)) == scenes[at].legal:
                    return spot
                break
            spot, at, used = _step(spot, at, seat, scenes, rng, sight)
            left -= used
    raise SampleError(f"no state consistent with what seat {seat} saw was found in {MAX_STEPS} positions")


def _scenes(spiel: Any, seat: int, sight: Sight) -> list[_Scene]:
    """What the seat itself saw and did, scene by scene; the last is the one it decides in now."""
    scenes: list[_Scene] = []
    fresh = True
    for spot, chosen in replayed(spiel):
        seen = sight(spot)
        if fresh or scenes[-1].seen != seen:
            scenes.append(_Scene(seen, None, ()))
        fresh = decides(spot, seat)
        if fresh:
            scenes[-1] = _Scene(seen, chosen[seat], tuple(spot.legal_actions(seat)))
    seen, legal = sight(spiel), tuple(spiel.legal_actions(seat))
    if fresh or scenes[-1].seen != seen:
        return [*scenes, _Scene(seen, None, legal)]
    return [*scenes[:-1], _Scene(seen, None, legal)]


def _step(
    spot: Any, at: int, seat: int, scenes: list[_Scene], rng: random.Random, sight: Sight
) -> tuple[Any, int, int]:
    """One move that the seat cannot tell from what it saw.

    Returns the next position (None at a dead end), its scene, and how many positions were looked at.
    """
    own = None
    if decides(spot, seat):
        own = scenes[at].own
        if own is None or tuple(spot.legal_actions(seat)) != scenes[at].legal:
            return None, at, 1
    used = 0
    for child in _children(spot, seat, own, rng):
        used += 1
        if child.is_terminal():
            continue
        seen = sight(child)
        if own is None and seen == scenes[at].seen:
            return child, at, used
        if (own is not None or scenes[at].own is None) and at + 1 < len(scenes) and seen == scenes[at + 1].seen:
            return child, at + 1, used
    return None, at, used + 1


def _children(spot: Any, seat: int, own: int | None, rng: random.Random) -> Iterator[Any]:
    """What may come next, in random order: the seat's own move is known, the rest is drawn."""
    if spot.is_simultaneous_node():
        yield from _joint_children(spot, seat, own, rng)
        return
    if own is not None:
        options = [own]
    elif spot.is_chance_node():
        options = _weighted_order(spot.chance_outcomes(), rng)
    else:
        options = spot.legal_actions()
        rng.shuffle(options)
    for action in options:
        yield spot.child(action)


def _joint_children(spot: Any, seat: int, own: int | None, rng: random.Random) -> Iterator[Any]:
    choices = [spot.legal_actions(player) or [0] for player in range(spot.num_players())]
    if own is not None:
        choices[seat] = [own]
    if prod(map(len, choices)) <= MAX_JOINT:
        joints = list(product(*choices))
        rng.shuffle(joints)
    else:
        joints = [tuple(map(rng.choice, choices)) for _ in range(MAX_JOINT)]
    for joint in joints:
        child = spot.clone()
        child.apply_actions(list(joint))
        yield child


def _weighted_order(outcomes: list[tuple[int, float]], rng: random.Random) -> list[int]:
    """Outcomes in an order drawn without replacement by their weights (Efraimidis and Spirakis, 2006)."""
    drawn = [(rng.random() ** (1 / weight), outcome) for outcome, weight in outcomes if weight > 0]
    return [outcome for _, outcome in sorted(drawn, reverse=True)]
