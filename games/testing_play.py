"""Play episodes at random and write down what each seat was told: what the check of games compares."""

import random
from collections.abc import Iterator, Mapping
from typing import NamedTuple, NoReturn

from games.game import CHANCE, Action, Event, Game, Information, Observation, SampleError, State
from games.seeding import derive

_NOT_A_VALUE_ERROR = (LookupError, TypeError, AttributeError, RuntimeError, ArithmeticError, OSError)
NO_ACTION = "(no such action)"
_EARLY = 8
"""Decisions at the start of an episode that are all looked at closely; later ones at a falling rate."""


class Look(NamedTuple):
    """Everything one observation told."""

    seat: int
    key: str
    text: str
    legal: tuple[Action, ...]
    events: tuple[Event, ...]

    def others(self) -> tuple[Event, ...]:
        """What the seat saw the others and chance do."""
        return tuple([event for event in self.events if event.seat != self.seat])


class Step(NamedTuple):
    """One joint move, with what was known before it where that was looked at."""

    actions: Mapping[int, Action]
    looks: tuple[Look, ...]
    asides: tuple[Look, ...]
    """What the seats were told that were not to act."""
    board: str
    rewards: tuple[float, ...]
    returns: tuple[float, ...]


class Play(NamedTuple):
    """One episode."""

    seed: int
    policy: int
    steps: list[Step]
    decisions: int
    finished: bool
    board: str
    """At the end."""
    ends: tuple[Look, ...]
    """What every seat was told at the end, or where the episode was cut off those not to act."""

    def actions(self) -> tuple[tuple[tuple[int, Action], ...], ...]:
        """All moves, in a form that can be compared and hashed."""
        return tuple([tuple(sorted(step.actions.items())) for step in self.steps])


class GameCheckError(AssertionError):
    """A game breaks a promise; the message is one line that names the game and what it did."""


def fail(game: Game, why: str) -> NoReturn:
    """Say what a game breaks."""
    raise GameCheckError(" ".join(f"{game.spec.name}: {why}".split())[:1000])


def choose(observation: Observation, rng: random.Random) -> Action:
    """A legal action, each with the same probability."""
    legal = observation.legal_actions
    return legal[int(rng.random() * len(legal))]


def policy_of(number: int) -> random.Random:
    """The generator behind a numbered way of playing at random."""
    return random.Random(derive("policy", number))


def look(game: Game, observation: Observation) -> Look:
    """Read an observation, and check what can be seen from it alone."""
    seat, legal = observation.seat, observation.legal_actions
    if not isinstance(legal, tuple) or not legal:
        fail(game, f"seat {seat} is to act and its legal actions are {legal!r}, not a tuple with at least one")
    for action in legal:
        if not isinstance(action, str) or not action or action != action.strip() or len(action.splitlines()) != 1:
            fail(game, f"the action {action!r} of seat {seat} is no string of one line without spaces around it")
        if not observation.allows(action):
            fail(game, f"the legal action {action!r} of seat {seat} is not allowed")
    if len(set(legal)) < len(legal):
        twice = [action for action in legal if legal.count(action) > 1]
        fail(game, f"seat {seat} has {twice[0]!r} twice among its legal actions")
    if not observation.open and observation.allows(NO_ACTION):
        fail(game, f"seat {seat} is allowed {NO_ACTION!r}, and its observation is not open")
    return _read(game, observation)


def _look_aside(game: Game, observation: Observation) -> Look:
    """Read an observation of a seat that is not to act."""
    seat, legal = observation.seat, observation.legal_actions
    if legal != ():
        fail(game, f"seat {seat} is not to act and has the legal actions {legal!r}, not ()")
    tried = [NO_ACTION, *[event.action for event in observation.events]]
    if allowed := [action for action in tried if observation.allows(action)]:
        fail(game, f"seat {seat} is not to act and is allowed {allowed[0]!r}")
    return _read(game, observation)


def _read(game: Game, observation: Observation) -> Look:
    seat, legal = observation.seat, observation.legal_actions
    key, text = observation.key, observation.text
    if not isinstance(key, str) or not isinstance(text, str) or not text.strip():
        fail(game, f"seat {seat} sees the text {text!r} with the key {key!r}; both are strings, the text not empty")
    return Look(seat, key, text, legal, tuple(observation.events))


def look_around(game: Game, state: State) -> tuple[tuple[Look, ...], tuple[Look, ...]]:
    """What every seat to act is told, and what every other seat is told."""
    seats = state.seats_to_act()
    if sorted(set(seats)) != sorted(seats) or not all(0 <= seat < game.spec.seats for seat in seats):
        fail(game, f"the seats to act are {seats}, of {game.spec.seats} seats")
    looks: dict[bool, list[Look]] = {True: [], False: []}
    for seat in [*seats, *sorted(set(range(game.spec.seats)) - set(seats))]:
        observation = state.observe(seat)
        if observation.seat != seat:
            fail(game, f"the observation of seat {seat} says that it is of seat {observation.seat}")
        looks[seat in seats].append((look if seat in seats else _look_aside)(game, observation))
    return tuple(looks[True]), tuple(looks[False])


def play(game: Game, seed: int, policy: int, limit: int) -> Play:
    """Play one episode at random, up to a number of decisions, looking closely now and then."""
    rng, state, decisions = policy_of(policy), game.new_episode(seed), 0
    steps: list[Step] = []
    late: list[tuple[Observation, Look]] = []
    total = state.rewards()
    check_returns(game, state, total)
    while (seats := state.seats_to_act()) and decisions < limit:
        looks: tuple[Look, ...] = ()
        asides: tuple[Look, ...] = ()
        board, unread, idle = "", [], []
        if rng.random() * (len(steps) + 1) < _EARLY:
            looks, asides, board = _look_closely(game, state)
            check_events(game, steps, looks + asides)
            unread = [(state.observe(one.seat), one) for one in looks]
            idle = [(state.observe(one.seat), one) for one in asides]
        actions = {seat: choose(state.observe(seat), rng) for seat in seats}
        state.apply(actions)
        if kept := [pair for pair in unread if rng.random() < 0.3]:
            late += [*kept, *idle]
        rewards, returns = state.rewards(), state.returns()
        total = tuple([old + new for old, new in zip(total, rewards, strict=True)])
        check_returns(game, state, total)
        steps.append(Step(actions, looks, asides, board, rewards, returns))
        decisions += len(seats)
    board, ends = _look_at_end(game, state, steps)
    _check_late(game, late[:6])
    return Play(seed, policy, steps, decisions, not seats, board, ends)


def check_returns(game: Game, state: State, total: tuple[float, ...]) -> None:
    """Rewards so far must sum to the returns."""
    returns, success = state.returns(), state.success()
    if not len(returns) == len(total) == len(success) == game.spec.seats:
        fail(game, f"returns {returns}, rewards and success {success} must have {game.spec.seats} seats each")
    if any(not abs(one - other) <= 1e-6 * max(1, abs(one)) for one, other in zip(returns, total, strict=True)):
        fail(game, f"the rewards sum to {total} and the returns are {returns}")
    if game.spec.terminal_rewards and any(returns) and state.seats_to_act():
        fail(game, f"it declares rewards at the end only, and has returns {returns} before it")


def check_events(game: Game, steps: list[Step], looks: tuple[Look, ...]) -> None:
    """Events must hold what a seat did last and what it saw since: everything where information is perfect."""
    for one in looks:
        own = [index for index, step in enumerate(steps) if one.seat in step.actions]
        since = steps[own[-1] if own else 0 :]
        happened = [Event(*move) for step in since for move in step.actions.items()]
        seen = [event for event in one.events if event.seat != CHANCE]
        if game.spec.information is Information.PERFECT and sorted(seen) != sorted(happened):
            fail(game, f"seat {one.seat} saw {seen} and there happened {happened} since its last decision")
        if any(event not in happened for event in seen):
            fail(game, f"seat {one.seat} saw {seen}, of which not all happened: {happened}")
        if [event for event in seen if event.seat == one.seat] != [e for e in happened if e.seat == one.seat]:
            fail(game, f"seat {one.seat} saw {seen}, which is not its own last decision: {happened}")


def replayed(game: Game, played: Play) -> Iterator[None]:
    """Play an episode again from its seed and actions, one move at each step, and compare all that was told."""
    state = game.new_episode(played.seed)
    for number, step in enumerate(played.steps):
        if step.looks and look_around(game, state) != (step.looks, step.asides):
            fail(game, f"replay of seed {played.seed} tells something else before move {number}")
        if step.looks and state.board() != step.board:
            fail(game, f"replay of seed {played.seed} has another board before move {number}")
        if set(state.seats_to_act()) != set(step.actions):
            fail(game, f"replay of seed {played.seed} asks other seats at move {number}")
        state.apply(step.actions)
        if (state.rewards(), state.returns()) != (step.rewards, step.returns):
            fail(game, f"replay of seed {played.seed} pays {state.rewards()} at move {number}, not {step.rewards}")
        yield
    if state.board() != played.board or bool(state.seats_to_act()) == played.finished:
        fail(game, f"replay of seed {played.seed} ends in another way")
    if look_around(game, state)[1] != played.ends:
        fail(game, f"replay of seed {played.seed} tells something else at the end")


def _look_closely(game: Game, state: State) -> tuple[tuple[Look, ...], tuple[Look, ...], str]:
    """Look, try moves that must be refused, and look again: nothing may have changed."""
    board, (looks, asides) = state.board(), look_around(game, state)
    if not isinstance(board, str) or not board.strip():
        fail(game, f"its board is {board!r}")
    first = {one.seat: one.legal[0] for one in looks}
    for one in looks:
        _check_refused(
            game, state, {seat: action for seat, action in first.items() if seat != one.seat}, "a seat left out"
        )
        if not state.observe(one.seat).open:
            _check_refused(game, state, first | {one.seat: NO_ACTION}, "an illegal action")
    if (look_around(game, state), state.board()) != ((looks, asides), board):
        fail(game, "a refused move, or looking on, changes what is told")
    return looks, asides, board


def _look_at_end(game: Game, state: State, steps: list[Step]) -> tuple[str, tuple[Look, ...]]:
    """Look where an episode ended or was cut off, try to move on if it is over, and look again."""
    board, returns, (looks, ends) = state.board(), state.returns(), look_around(game, state)
    check_events(game, steps, ends)
    if not looks:
        _check_refused(game, state, {}, "a move after the end")
        _check_refused(game, state, steps[-1].actions if steps else {0: NO_ACTION}, "a move after the end")
    for one in ends:
        _check_sample_aside(game, state, one.seat)
    if (look_around(game, state), state.board(), state.returns()) != ((looks, ends), board, returns):
        fail(game, "a move after the end, or looking on then, changes what is told")
    return board, ends


def _check_sample_aside(game: Game, state: State, seat: int) -> None:
    """A seat that is not to act is given a state in which it is not to act either, or a SampleError."""
    try:
        sample = state.observe(seat).sample_state(random.Random(0))
    except SampleError:
        return
    if sample is state or seat in sample.seats_to_act():
        fail(game, f"the state sampled for seat {seat}, which is not to act, is the true one itself or asks it to act")


def _check_refused(game: Game, state: State, actions: Mapping[int, Action], what: str) -> None:
    before = (state.seats_to_act(), state.rewards(), state.returns())
    try:
        state.apply(actions)
    except ValueError:
        if (state.seats_to_act(), state.rewards(), state.returns()) != before:
            fail(game, f"{what} ({dict(actions)}) is refused and changes the state")
        return
    except _NOT_A_VALUE_ERROR as error:
        fail(game, f"{what} ({dict(actions)}) raises {type(error).__name__}, not ValueError")
    fail(game, f"{what} ({dict(actions)}) is accepted")


def _check_late(game: Game, late: list[tuple[Observation, Look]]) -> None:
    for observation, then in late:
        if (look if then.legal else _look_aside)(game, observation) != then:
            fail(game, f"an observation of seat {then.seat} tells something else once the state has moved on")
