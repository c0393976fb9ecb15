"""The public check of games: whether a game keeps what every game promises."""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import TypeAlias

import numpy as np

from games.game import Action, Game, Information, Utility
from games.registry import make
from games.seeding import derive
from games.spec import SpecError, parse
from games.testing_endings import check_endings
from games.testing_play import GameCheckError, Look, Play, choose, fail, play, policy_of, replayed
from games.testing_samples import check_samples

__all__ = ["GameCheckError", "check_game"]

_SEEDS_TRIED = 40
"""Episodes played in one way with different seeds before chance that was declared is said not to exist."""
_ENOUGH = 10
"""Pairs of positions with one key that must be seen before something hidden is missed."""
_OPENING = 6
"""Moves of an opening."""
_CLOSE = 1e-6

_Own: TypeAlias = tuple[int, tuple[Action, ...]]
"""A seat and what it has chosen so far."""


def check_game(game: Game | str, *, episodes: int = 20, seed: int = 0, decisions: int = 2_000) -> None:
    """Check that a game, or the one that a string names, keeps the promises of `Game`, `State` and `Observation`.

    It is played at random: at most `episodes` episodes, about `decisions` decisions in all; longer ones are cut off.
    Raises GameCheckError (an AssertionError) for the first promise broken, SpecError for a string that names no game;
    other exceptions of the game pass through.

    - The spec is complete, and its name can be read.
    - Every seat to act has legal actions: unique strings of one line. An illegal action, a seat left out and a move
      after the end raise ValueError and change nothing.
    - Rewards sum to returns; returns lie within the bounds at the end, and sum as the utility says; an episode has at
      most `max_turns` decisions; the board is not empty.
    - (game, seed, actions) gives the same episode again, also while another one is played; other seeds give other
      chance exactly where the spec declares chance.
    - Seats that are not to act, and all seats at the end, have a text and no legal actions, and are allowed none. A
      seat that saw and did the same in two episodes, with the same return, is told the same at the end, but for what
      every seat is told in the same words.
    - Looking on changes nothing.
    - Equal keys of a seat give equal text, legal actions and, where something is hidden, equal events of others: so
      nothing told depends on more than the key. The key itself does not tell the whole board where the spec declares
      imperfect information. An observation that is read late tells what it told at once.
    - Events hold the seat's own last decision, nothing that did not happen, and all of it where information is
      perfect.
    - `sample_state` gives playable states that the seat cannot tell from the true one, drawn from its generator
      alone: not always the hidden truth, and with chance of their own. Where the spec declares that it cannot, it
      raises SampleError.
    - No generator of the process (`random`, `numpy.random`) is touched.
    """
    if isinstance(game, str):
        game = make(game)
    before = _generators()
    _check_spec(game)
    plays = _plays(game, episodes, seed, decisions)
    for played in plays:
        _check_ending(game, played)
    _check_sums(game, plays)
    _check_replays(game, plays[:6])
    _check_chance(game, derive(seed, "chance"), decisions)
    openings = _openings(game, episodes, seed, decisions)
    _check_keys(game, [*plays, *openings])
    check_endings(game, [*plays, *openings])
    check_samples(game, plays, decisions)
    if _generators() != before:
        fail(game, "it draws from or seeds a generator of the process (random or numpy.random)")


def _generators() -> tuple[object, ...]:
    numbers = np.random.get_state(legacy=False)
    return random.getstate(), numbers["state"]["key"].tobytes(), numbers["state"]["pos"], numbers["has_gauss"]


def _check_spec(game: Game) -> None:
    spec = game.spec
    try:
        parse(spec.name)
    except SpecError as error:
        fail(game, f"its name cannot be read: {error}")
    if not spec.title.strip() or not spec.rules.strip() or spec.seats < 1 or spec.max_turns < 1:
        fail(game, f"title, rules, seats or max_turns are missing from its spec: {spec}")
    if not spec.min_utility <= spec.max_utility:
        fail(game, f"its least utility {spec.min_utility} is above the greatest {spec.max_utility}")


def _plays(game: Game, episodes: int, seed: int, decisions: int) -> list[Play]:
    """Episodes on half as many seeds, so that the same chance meets different play."""
    plays: list[Play] = []
    left = decisions
    for number in range(episodes):
        limit = min(left, max(decisions // 4, 1))
        plays.append(play(game, derive(seed, "episode", number // 2), number, limit))
        left -= plays[-1].decisions
        if left <= 0:
            break
    return plays


def _openings(game: Game, episodes: int, seed: int, decisions: int) -> list[Play]:
    """The first moves of more episodes: there the same information state is met again and again."""
    plays: list[Play] = []
    left = decisions // 4
    while left > 0 and len(plays) < 3 * episodes:
        number = len(plays)
        plays.append(play(game, derive(seed, "opening", number), episodes + number, _OPENING))
        left -= max(plays[-1].decisions, 1)
    return plays


def _check_ending(game: Game, played: Play) -> None:
    spec = game.spec
    if played.decisions > spec.max_turns:
        fail(game, f"an episode has {played.decisions} decisions, above its max_turns of {spec.max_turns}")
    if not played.steps:
        fail(game, "an episode ends before its first decision")
    if not played.finished:
        return
    returns = played.steps[-1].returns
    if not all(spec.min_utility - _CLOSE <= value <= spec.max_utility + _CLOSE for value in returns):
        fail(game, f"returns {returns} lie outside [{spec.min_utility:g}, {spec.max_utility:g}]")
    if spec.utility is Utility.ZERO_SUM and abs(sum(returns)) > _CLOSE:
        fail(game, f"it declares zero-sum returns, and {returns} sum to {sum(returns):g}")
    if spec.utility is Utility.IDENTICAL and max(returns) - min(returns) > _CLOSE:
        fail(game, f"it declares identical returns, and gives {returns}")


def _check_sums(game: Game, plays: Sequence[Play]) -> None:
    sums = [sum(played.steps[-1].returns) for played in plays if played.finished]
    if game.spec.utility is Utility.CONSTANT_SUM and sums and max(sums) - min(sums) > _CLOSE:
        fail(game, f"it declares returns of constant sum, and they sum to {min(sums):g} and to {max(sums):g}")


def _check_replays(game: Game, plays: Sequence[Play]) -> None:
    """Replay pairs of episodes in turns: they must not get in each other's way."""
    for one, other in zip_longest(plays[::2], plays[1::2]):
        for _ in zip_longest(replayed(game, one), replayed(game, other or one)):
            pass


def _check_chance(game: Game, seed: int, decisions: int) -> None:
    """Play in one way with different seeds: episodes must differ exactly where chance is declared."""
    first = _course(game, derive(seed, 0), 60)
    for number in range(1, _SEEDS_TRIED if game.spec.chance else 4):
        course = _course(game, derive(seed, number), 60)
        if course != first:
            if not game.spec.chance:
                fail(game, "it declares no chance, and the same actions with another seed go another way")
            return
        decisions -= len(course)
        if decisions < 0 and number >= 10:
            break
    if game.spec.chance:
        fail(game, "it declares chance, and different seeds make no difference")


def _course(game: Game, seed: int, limit: int) -> list[object]:
    """What happens in the first moves of an episode that is played in one certain way."""
    rng, state, course = policy_of(0), game.new_episode(seed), list[object]()
    while (seats := state.seats_to_act()) and len(course) < limit:
        told = [(state.observe(seat).legal_actions, state.observe(seat).text) for seat in seats]
        actions: dict[int, Action] = {seat: choose(state.observe(seat), rng) for seat in seats}
        state.apply(actions)
        course.append((told, actions, state.returns()))
    return [*course, state.board()]


def _check_keys(game: Game, plays: Sequence[Play]) -> None:
    """Positions with one key must tell a seat the same; where something is hidden they are not all one board."""
    known: dict[tuple[str, int, str], Look] = {}
    boards: dict[_Own, set[tuple[str, str]]] = defaultdict(set)
    lasts: dict[_Own, list[str]] = defaultdict(list)
    for played in plays:
        own: dict[int, tuple[Action, ...]] = defaultdict(tuple)
        last = {seat: number for number, step in enumerate(played.steps) for seat in step.actions}
        for number, step in enumerate(played.steps):
            for one in step.looks:
                _compare(game, known.setdefault(("to act", one.seat, one.key), one), one)
                if played.finished and last[one.seat] == number:
                    boards[one.seat, own[one.seat]].add((one.key, step.board))
                    lasts[one.seat, own[one.seat]].append(one.key)
            for one in step.asides:
                _compare(game, known.setdefault(("waiting", one.seat, one.key), one), one)
            for seat, action in step.actions.items():
                own[seat] += (action,)
        for one in played.ends if played.finished else ():
            _compare(game, known.setdefault(("over", one.seat, one.key), one), one)
    if game.spec.information is Information.IMPERFECT:
        _check_something_hidden(game, boards, lasts)


def _compare(game: Game, one: Look, other: Look) -> None:
    for what in ("text", "legal"):
        if getattr(one, what) != getattr(other, what):
            fail(game, f"seat {one.seat} is told different {what} with one key {one.key!r}: {one}, {other}")
    if game.spec.information is Information.IMPERFECT and one.others() != other.others():
        fail(game, f"seat {one.seat} sees different events of others with one key {one.key!r}: {one}, {other}")


def _check_something_hidden(
    game: Game, boards: Mapping[_Own, set[tuple[str, str]]], lasts: Mapping[_Own, list[str]]
) -> None:
    """At its last decision, a key that tells the whole board, where other boards were possible, hides nothing.

    By seat and what it had chosen so far: `boards` has the (key, board) pairs that were met, `lasts` the keys, one
    for each time.
    """
    again = 0
    for group, seen in boards.items():
        keys = {key for key, _ in seen}
        if len(keys) < len(seen):
            return
        if len(seen) > 1:
            again += len(lasts[group]) - len(keys)
    if again >= _ENOUGH:
        fail(game, "it declares imperfect information, and what a seat knows tells the whole board each time")
