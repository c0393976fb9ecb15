"""Check the states that an observation samples: consistent, playable, not the hidden truth, not foreseeing chance."""

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from games.game import CHANCE, Game, Information, Observation, SampleError, State
from games.seeding import derive
from games.testing_play import Play, choose, fail, look, policy_of

SAMPLES = 5
"""States drawn at one point."""
MORE = 300
"""States drawn before something is said to be missing from them."""
AHEAD = 12
"""Moves that are played on from a sampled state to see what chance brings."""
MAX_FAILED = 0.05
"""Share of the draws that may fail where a game declares that it can sample."""


class Point(NamedTuple):
    """One decision of an episode."""

    played: Play
    number: int
    seat: int


class Future(NamedTuple):
    """What comes of a position when it is played on in one numbered way."""

    start: str
    """The board at the position."""
    course: tuple[object, ...]
    """The boards that follow, each with what seats saw of chance."""
    chance: bool
    """Whether some seat saw chance take part."""


class Draws(NamedTuple):
    """What came of the states sampled at one point, and of the true one."""

    point: Point
    truth: Future
    sampled: list[Future]


def check_samples(game: Game, plays: Sequence[Play], budget: int) -> None:
    """Check `sample_state` at some decisions of each episode, playing about `budget` moves."""
    points = list(_points(plays))
    if not game.spec.can_sample_state:
        for point in points[:4]:
            _check_refuses(game, _again(game, point).observe(point.seat))
        return
    draws: list[Draws] = []
    for point in points:
        drawn = _draw(game, point)
        truth = _future(_again(game, point), point.played.policy)
        draws.append(Draws(point, truth, [_future(sample, point.played.policy) for sample in drawn]))
        budget -= point.number + AHEAD * (3 + len(drawn))
        if budget < 0:
            break
    tried, got = SAMPLES * len(draws), sum(len(each.sampled) for each in draws)
    if tried - got > 1 + MAX_FAILED * tried:
        fail(game, f"it declares that it can sample states, and {tried - got} of {tried} draws failed")
    _check_hidden(game, draws, plays)
    _check_chance(game, draws)


def _points(plays: Sequence[Play]) -> Iterator[Point]:
    """Three decisions of each episode that were looked at."""
    for played in plays:
        rng = random.Random(derive("points", played.seed, played.policy))
        looked = [number for number, step in enumerate(played.steps) if step.looks]
        for number in sorted(rng.sample(looked, min(3, len(looked)))):
            yield Point(played, number, rng.choice(played.steps[number].looks).seat)


def _draw(game: Game, point: Point) -> list[State]:
    """States sampled at one point, each checked against what the seat was told there."""
    state, seed = _again(game, point), derive("draw", point.played.policy, point.number)
    then = next(one for one in point.played.steps[point.number].looks if one.seat == point.seat)
    tries = {derive(seed, number): _sample(state, point.seat, derive(seed, number)) for number in range(SAMPLES)}
    drawn = {number: sample for number, sample in tries.items() if sample is not None}
    for sample in drawn.values():
        if sample is state:
            fail(game, "a sampled state is the true one itself")
        if then.seat not in sample.seats_to_act():
            fail(game, f"seat {then.seat} is not to act in a state sampled from its observation")
        told = look(game, sample.observe(then.seat))
        for what in ("key", "text", "legal"):
            if getattr(told, what) != getattr(then, what):
                fail(game, f"seat {then.seat} can tell a sampled state by its {what}: {told} and {then}")
    for number in list(drawn)[:1]:
        _check_repeats(game, state.observe(then.seat), number)
        _play_out(game, state.observe(then.seat).sample_state(random.Random(number)), seed)
        if look(game, state.observe(then.seat)) != then:
            fail(game, "playing a sampled state changes the true one")
    return list(drawn.values())


def _sample(state: State, seat: int, seed: int) -> State | None:
    try:
        return state.observe(seat).sample_state(random.Random(seed))
    except SampleError:
        return None


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


def _check_hidden(game: Game, draws: list[Draws], plays: Sequence[Play]) -> None:
    """Where something is hidden, samples must not all have it as it truly is."""
    drawn = [(each.truth.start, sample.start) for each in draws for sample in each.sampled]
    differing = any(truth != start for truth, start in drawn)
    if game.spec.information is Information.PERFECT and differing:
        fail(game, "a sampled state has another board, in a game of perfect information")
    if game.spec.information is Information.PERFECT or differing or not drawn:
        return
    left = MORE
    for played in plays:
        for number, step in enumerate(played.steps):
            for one in step.looks:
                sample = _sample(_again(game, Point(played, number, one.seat)), one.seat, derive("more", number))
                if sample is not None and sample.board() != step.board:
                    return
                left -= 1
        if left < 0:
            break
    for number in range(max(left, 0)):  # few decisions were looked at, and all may have told everything
        state = game.new_episode(derive("hidden", number))
        seat = state.seats_to_act()[0]
        sample = _sample(state, seat, derive("more", "hidden", number))
        if sample is not None and sample.board() != state.board():
            return
    fail(game, "sampled states all have the true board: what is hidden leaks, or nothing is hidden")


def _check_chance(game: Game, draws: list[Draws]) -> None:
    """Where chance takes part after a decision, states sampled there must not all have the same chance.

    That it does is known where a seat saw it, where a sampled state went another way than the true one with the same
    board, and where episodes with equal boards at the start did.
    """
    if not game.spec.chance or any(_go_apart(each.sampled) for each in draws):
        return
    known = [each.point for each in draws if each.truth.chance or each.truth in _news(each)]
    known += _chance_after_start(game)
    left = MORE
    for point in known:
        state, futures = _again(game, point), list[Future]()
        while left > 0 and len(futures) < max(MORE // len(known), 40):
            left -= 1
            sample = _sample(state, point.seat, derive("chance", left))
            if sample is not None:
                futures.append(_future(sample, point.played.policy))
        if _go_apart(futures):
            return
    if known:
        fail(game, "states sampled with different generators have the same chance: it is foreseen, or not drawn anew")


def _news(each: Draws) -> list[Future]:
    """The truth, if a state sampled with the same board went another way."""
    return [each.truth for one in each.sampled if one.start == each.truth.start and one.course != each.truth.course]


def _go_apart(futures: Iterable[Future]) -> bool:
    """Whether equal boards, played on in the same way, became different ones."""
    known: dict[str, tuple[object, ...]] = {}
    return any(known.setdefault(future.start, future.course) != future.course for future in futures)


def _chance_after_start(game: Game) -> list[Point]:
    """First decisions of episodes that begin with equal boards, are played in the same way, and go apart."""
    seeds = [derive("start", number) for number in range(8)]
    futures = [_future(game.new_episode(seed), 0) for seed in seeds]
    if not _go_apart(futures):
        return []
    (seat, *_) = game.new_episode(seeds[0]).seats_to_act()
    return [Point(Play(seeds[0], 0, [], 0, False, "", ()), 0, seat)]


def _future(state: State, policy: int) -> Future:
    """Play a state on and write down what follows; the state is used up."""
    rng, start, chance = policy_of(policy), state.board(), False
    course: list[object] = []
    acted: set[int] = set()
    while (seats := state.seats_to_act()) and len(course) < AHEAD:
        state.apply({seat: choose(state.observe(seat), rng) for seat in seats})
        acted.update(seats)
        events = [tuple(state.observe(seat).events) for seat in state.seats_to_act() if seat in acted]
        drawn = [event for seen in events for event in seen if event.seat == CHANCE]
        chance = chance or bool(drawn)
        course.append((state.board(), drawn))
    return Future(start, tuple(course), chance)


def _again(game: Game, point: Point) -> State:
    """The state at a point."""
    state = game.new_episode(point.played.seed)
    for step in point.played.steps[: point.number]:
        state.apply(step.actions)
    return state
