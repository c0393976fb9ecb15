"""Check the states that an observation samples: consistent, playable, not the hidden truth, not foreseeing chance."""

import random
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from games.game import CHANCE, Game, Information, Observation, SampleError, State
from games.seeding import derive
from games.testing_play import Look, Play, choose, fail, look, policy_of

SAMPLES = 5
"""States drawn at one point."""
AHEAD = 12
"""Moves that are played on from a sampled state to see what chance brings."""
MAX_FAILED = 0.05
"""Share of the draws that may fail where a game declares that it can sample."""


class Future(NamedTuple):
    """What comes of a position when it is played on in one numbered way."""

    start: str
    """The board at the position."""
    boards: tuple[str, ...]
    chance: bool
    """Whether some seat saw chance take part."""


class Point(NamedTuple):
    """One decision of an episode at which states were sampled."""

    truth: Future
    sampled: list[Future]


def check_samples(game: Game, plays: Iterable[Play], budget: int) -> None:
    """Check `sample_state` at some decisions of each episode, playing about `budget` moves."""
    points: list[Point] = []
    tried = failed = 0
    for played in plays:
        looked = [number for number, step in enumerate(played.steps) if step.looks]
        rng = random.Random(derive("points", played.seed, played.policy))
        for number in sorted(rng.sample(looked, min(3, len(looked)))):
            one = rng.choice(played.steps[number].looks)
            state = _again(game, played, number)
            if not game.spec.can_sample_state:
                _check_refuses(game, state.observe(one.seat))
                break
            drawn = _draw(game, state, one, derive("draw", played.policy, number))
            tried, failed = tried + SAMPLES, failed + SAMPLES - len(drawn)
            points.append(Point(_future(state, played.policy), [_future(sample, played.policy) for sample in drawn]))
            budget -= number + AHEAD * (3 + len(drawn))
            if budget < 0:
                break
        if budget < 0:
            break
    if failed > 1 + MAX_FAILED * tried:
        fail(game, f"it declares that it can sample states, and {failed} of {tried} draws failed")
    _check_hidden(game, points)
    _check_chance(game, points)


def _draw(game: Game, state: State, then: Look, seed: int) -> list[State]:
    """States sampled at one point, each checked against what the seat was told there."""
    drawn = []
    for number in range(SAMPLES):
        observation = state.observe(then.seat)
        try:
            sample = observation.sample_state(random.Random(derive(seed, number)))
        except SampleError:
            continue
        if sample is state:
            fail(game, "a sampled state is the true one itself")
        if then.seat not in sample.seats_to_act():
            fail(game, f"seat {then.seat} is not to act in a state sampled from its observation")
        told = look(game, sample.observe(then.seat))
        for what in ("key", "text", "legal"):
            if getattr(told, what) != getattr(then, what):
                fail(game, f"seat {then.seat} can tell a sampled state by its {what}: {told} and {then}")
        drawn.append(sample)
    if drawn:
        _check_repeats(game, state.observe(then.seat), derive(seed, 0))
        _play_out(game, state.observe(then.seat).sample_state(random.Random(derive(seed, 0))), seed)
        if look(game, state.observe(then.seat)) != then:
            fail(game, "playing a sampled state changes the true one")
    return drawn


def _check_repeats(game: Game, observation: Observation, seed: int) -> None:
    """The same generator must give the same state with the same future."""
    one, other = (_future(observation.sample_state(random.Random(seed)), seed) for _ in range(2))
    if one != other:
        fail(game, "equal generators sample different states: it draws from something else too")


def _play_out(game: Game, sample: State, seed: int) -> None:
    """A sampled state must be playable, and tell the same when read late."""
    rng, moves, early = policy_of(seed), 0, None
    while (seats := sample.seats_to_act()) and moves < 300:
        observation = sample.observe(seats[0])
        if moves == 1:
            early = (observation, look(game, sample.observe(seats[0])))
        sample.apply({seat: choose(sample.observe(seat), rng) for seat in seats})
        moves += 1
    if not seats:
        low, high = game.spec.min_utility, game.spec.max_utility
        if not all(low - 1e-6 <= value <= high + 1e-6 for value in sample.returns()):
            fail(game, f"a sampled state ends with returns {sample.returns()} outside [{low:g}, {high:g}]")
    if early is not None and look(game, early[0]) != early[1]:
        fail(game, "an observation of a sampled state tells something else once that state has moved on")


def _check_refuses(game: Game, observation: Observation) -> None:
    try:
        observation.sample_state(random.Random(0))
    except SampleError:
        return
    fail(game, "it declares that it cannot sample states, and does")


def _check_hidden(game: Game, points: list[Point]) -> None:
    """Where something is hidden, samples must not all have it as it truly is."""
    drawn = [(point.truth.start, sample.start) for point in points for sample in point.sampled]
    differing = sum(truth != start for truth, start in drawn)
    if game.spec.information is Information.PERFECT and differing:
        fail(game, "a sampled state has another board, in a game of perfect information")
    if game.spec.information is Information.IMPERFECT and len(drawn) >= 4 * SAMPLES and not differing:
        fail(game, f"{len(drawn)} sampled states all have the true board: what is hidden leaks, or nothing is")


def _check_chance(game: Game, points: list[Point]) -> None:
    """Where chance takes part after a decision, states sampled there must not all have the same chance.

    That it does is known where a seat saw it, where a sampled state went another way than the true one with the same
    board, and where episodes with equal boards at the start did.
    """
    if not game.spec.chance or not points:
        return
    late = any(point.truth.chance for point in points)
    for point in points:
        futures = defaultdict(set)
        for future in point.sampled:
            futures[future.start].add(future.boards)
        if any(len(boards) > 1 for boards in futures.values()):
            return
        late = late or bool(futures[point.truth.start] - {point.truth.boards})
    if late or _chance_after_start(game):
        fail(game, "states sampled with different generators have the same chance: it is foreseen, or not drawn anew")


def _chance_after_start(game: Game) -> bool:
    """Whether episodes that begin with equal boards and are played in the same way go apart."""
    futures = defaultdict(set)
    for seed in range(8):
        future = _future(game.new_episode(derive("start", seed)), 0)
        futures[future.start].add(future.boards)
    return any(len(boards) > 1 for boards in futures.values())


def _future(state: State, policy: int) -> Future:
    """Play a state on and look at its boards; the state is used up."""
    rng, start, chance = policy_of(policy), state.board(), False
    boards: list[str] = []
    acted: set[int] = set()
    while (seats := state.seats_to_act()) and len(boards) < AHEAD:
        for seat in acted.intersection(seats):
            chance = chance or any(event.seat == CHANCE for event in state.observe(seat).events)
        state.apply({seat: choose(state.observe(seat), rng) for seat in seats})
        boards.append(state.board())
        acted.update(seats)
    return Future(start, tuple(boards), chance)


def _again(game: Game, played: Play, number: int) -> State:
    """The state before a move of an episode."""
    state = game.new_episode(played.seed)
    for step in played.steps[:number]:
        state.apply(step.actions)
    return state
