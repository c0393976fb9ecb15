"""Draw a state of a game that a seat cannot tell from the true one, where the game cannot do it itself."""

import random
from collections.abc import Callable, Collection, Iterator
from itertools import product
from math import prod
from typing import Any, NamedTuple, TypeAlias

from games.game import SampleError
from games.spiel_facts import (
    RESAMPLES,
    RESAMPLES_LOOSELY,
    RESAMPLES_ONLY,
    SEEN_AT_MOVES,
    UNSAFE_COPIES,
    UNSAMPLED,
    UNSAMPLED_INSIDE,
)
from games.spiel_history import decides, fresh_start, replayed
from games.spiel_recipe import Recipe

Sampler: TypeAlias = Callable[[Any, int, random.Random], Any]
"""(pyspiel state, seat, generator) -> a pyspiel state that the seat cannot tell from it."""

Sight: TypeAlias = Callable[[Any], str]
"""What the seat sees at a position."""

MAX_STEPS = 20_000
"""How many positions one call may look at before it gives up."""
EXACT_STEPS = MAX_STEPS * 3 // 4
"""As long as more steps than this are left, a dead end starts over."""
MAX_DEALS = 2_000
"""How many deals one call may ask of a game's own resampler."""
MAX_JOINT = 64
"""How many joint moves of the others are tried at one simultaneous move."""


class _Scene(NamedTuple):
    """A stretch of an episode in which nothing changed for the seat."""

    seen: str
    own: int | None
    """The seat's own action, which ends the scene; None where the others or chance end it."""
    legal: tuple[int, ...]
    """What the seat could choose from, where it decided."""


def sampler_of(recipe: Recipe, perfect: bool, seen: Callable[[Any, int], str]) -> Sampler | None:
    """How states of an OpenSpiel game are sampled; None where that fails in ordinary play.

    `seen` gives what a seat sees at a position.
    """
    names = set(recipe.names())
    if names & UNSAFE_COPIES:
        return None
    if perfect:
        return lambda spiel, seat, rng: spiel.clone()
    if resamples(recipe, RESAMPLES):
        return lambda spiel, seat, rng: spiel.resample_from_infostate(seat, rng.random)
    if resamples(recipe, RESAMPLES_LOOSELY):
        return resample_until_legal
    if recipe.name == "turn_based_simultaneous_game" and not recipe.hides_inside():
        return resample_round
    if names & (UNSAMPLED | UNSAMPLED_INSIDE):
        return None
    always = not names & SEEN_AT_MOVES

    def search(spiel: Any, seat: int, rng: random.Random) -> Any:
        return sample_by_search(
            spiel, seat, rng, lambda spot: seen(spot, seat) if always or decides(spot, seat) else ""
        )

    return search


def sample_by_search(spiel: Any, seat: int, rng: random.Random, sight: Sight) -> Any:
    """Play a game of hidden information again, drawing what the seat could not see.

    Chance outcomes are drawn by their probabilities and the others' moves uniformly, each rejected at once where the
    seat would have seen something else. A dead end starts over at first, and later goes back to any earlier move.
    Of the true episode only the seat's own scenes are used: what it saw and chose, not how many moves the others
    made unseen. Raises SampleError after MAX_STEPS positions.
    """
    scenes = _scenes(spiel, seat, sight)
    path = [(fresh_start(spiel), 0)]
    left = MAX_STEPS
    while left > 0:
        spot, at = path[-1]
        if at == len(scenes) - 1 and decides(spot, seat):
            if tuple(spot.legal_actions(seat)) == scenes[at].legal:
                return spot
            after, used = None, 1
        else:
            after, used = _step(spot, at, seat, scenes, rng, sight)
        left -= used
        if after is not None:
            path.append(after)
            continue
        back = len(path) if left > EXACT_STEPS else rng.randint(1, len(path))
        del path[max(1, len(path) - back) :]
    raise SampleError(f"no state consistent with what seat {seat} saw was found in {MAX_STEPS} positions")


def resample_round(spiel: Any, seat: int, rng: random.Random) -> Any:
    """Draw again what the others have chosen in this round of a game that asks seats in turn to choose at once."""
    past = spiel.full_history()
    start = len(past)
    while start and 0 <= past[start - 1].player < (past[start].player if start < len(past) else seat):
        start -= 1
    spot = fresh_start(spiel)
    for entry in past[:start]:
        spot.apply_action(entry.action)
    for _ in past[start:]:
        spot.apply_action(rng.choice(spot.legal_actions()))
    return spot


def resamples(recipe: Recipe, among: Collection[str] = RESAMPLES) -> bool:
    """Whether a game has a resampler of its own that is among those listed and works with its parameters."""
    key, value = RESAMPLES_ONLY.get(recipe.name, ("", None))
    return recipe.name in among and recipe.params.get(key, value) == value


def resample_until_legal(spiel: Any, seat: int, rng: random.Random) -> Any:
    """Ask the game's own resampler until the moves already made are legal in what it deals.

    Raises SampleError after MAX_DEALS deals.
    """
    for _ in range(MAX_DEALS):
        dealt = spiel.resample_from_infostate(seat, rng.random)
        spot = spiel.get_game().new_initial_state()
        for action in dealt.history():
            if action not in spot.legal_actions():
                break
            spot.apply_action(action)
        else:
            return spot
    raise SampleError(f"no deal consistent with what seat {seat} saw was found in {MAX_DEALS} deals")


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
) -> tuple[tuple[Any, int] | None, int]:
    """One move that the seat cannot tell from what it saw.

    Returns the next position with its scene (None at a dead end), and how many positions were looked at.
    """
    own = None
    if decides(spot, seat):
        own = scenes[at].own
        if own is None or tuple(spot.legal_actions(seat)) != scenes[at].legal:
            return None, 1
    used = 0
    for child in _children(spot, seat, own, rng):
        used += 1
        if child.is_terminal():
            continue
        seen = sight(child)
        if own is None and seen == scenes[at].seen:
            return (child, at), used
        if (own is not None or scenes[at].own is None) and at + 1 < len(scenes) and seen == scenes[at + 1].seen:
            return (child, at + 1), used
    return None, used + 1


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
