"""probe: what is good is drawn by instance, nothing tells it but what is earned, and trying pays for later episodes."""

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeAlias

import pytest

from games.errors import UserError
from games.game import Observation
from games.probe import ACTIONS, CASES, good
from games.registry import make
from games.tasks.instances import GENERATED
from games.tasks.task import Task
from games.testing import check_game
from tests.play import match_of, play_here

Values: TypeAlias = tuple[Fraction, ...]
"""What is earned in each episode."""

PROBE = make("probe")
NOTHING = Fraction(0)


def played(instance: int, action: str) -> tuple[Fraction, Observation, bool]:
    """What an action earns, what the seat is shown then, and whether the instance is solved."""
    assert isinstance(PROBE, Task)
    state = PROBE.begin(instance)
    state.apply({0: action})
    return Fraction(state.returns()[0]), state.observe(0), state.success()[0]


def one_of_each_case() -> list[int]:
    """Five instances that stand for all: what is good has the shares of the whole."""
    instances = iter(GENERATED["train"])
    return [next(instance for instance in instances if good(instance) == case) for case in CASES]


def repeated(instances: Sequence[int], left: int, choose: Callable[[Sequence[int], int], str]) -> Values:
    """What is earned in each episode left, summed over instances that the seat cannot tell apart so far."""
    if not left:
        return ()
    action = choose(instances, left)
    alike: dict[str, list[int]] = {}
    for instance in instances:
        alike.setdefault(played(instance, action)[1].text, []).append(instance)
    later = [repeated(group, left - 1, choose) for group in alike.values()]
    return (sum_of(instances, action), *[sum(column, NOTHING) for column in zip(*later, strict=True)])


def sum_of(instances: Sequence[int], action: str) -> Fraction:
    return sum([played(instance, action)[0] for instance in instances], NOTHING)


def myopic(instances: Sequence[int], left: int) -> str:
    """The action that earns the most at once."""
    return max(ACTIONS, key=lambda action: sum_of(instances, action))


def farsighted(instances: Sequence[int], left: int) -> str:
    """The action after which the most is earned in all episodes left."""

    def total(action: str) -> Fraction:
        return sum(repeated(instances, left, lambda group, now: action if now == left else farsighted(group, now)))

    return max(ACTIONS, key=total)


@pytest.mark.parametrize("text", ["probe", "probe(split=test)", "probe(first=3,count=1)", "probe(count=5)"])
def test_it_keeps_the_promises_of_games(text: str) -> None:
    check_game(text)


@pytest.mark.parametrize("split", GENERATED)
def test_two_in_five_instances_have_each_action_good_and_one_in_five_neither(split: str) -> None:
    first = GENERATED[split][0]  # type: ignore[index]
    counts = Counter(map(good, range(first, first + 10_000)))
    for case, share in (("a", 0.4), ("b", 0.4), (None, 0.2)):
        assert counts[case] / 10_000 == pytest.approx(share, abs=0.02)  # four standard errors


def test_what_pays_and_what_solves() -> None:
    for instance in one_of_each_case():
        for action in ACTIONS:
            earned, _, solved = played(instance, action)
            assert earned == (0 if action == "safe" else 1 if action == good(instance) else -1)
            assert solved == (earned > 0)


def test_before_the_action_all_instances_look_alike_and_after_it_those_that_pay_alike() -> None:
    assert isinstance(PROBE, Task)
    instances = one_of_each_case()
    looks = {(seen.text, seen.key) for seen in [PROBE.begin(instance).observe(0) for instance in instances]}
    assert len(looks) == 1
    for action, kinds in (("safe", 1), ("a", 2), ("b", 2)):
        shown = {(seen.text, seen.key): earned for earned, seen, _ in [played(number, action) for number in instances]}
        assert len(shown) == kinds
        assert all([f"You played {action} and earned {earned}." in text for (text, _), earned in shown.items()])


def test_every_single_try_loses_a_fifth_on_average() -> None:
    instances = one_of_each_case()
    assert [sum_of(instances, action) / 5 for action in ACTIONS] == [0, Fraction(-1, 5), Fraction(-1, 5)]


def test_only_who_looks_ahead_explores_and_earns_by_it() -> None:
    """With the same deal in all episodes; exact, over all instances and all that can be seen."""
    instances = one_of_each_case()
    assert [value / 5 for value in repeated(instances, 3, myopic)] == [0, 0, 0]
    assert [value / 5 for value in repeated(instances, 3, farsighted)] == [Fraction(n, 5) for n in (-1, 3, 4)]


def test_with_fresh_deals_there_is_nothing_to_explore_for() -> None:
    match = match_of("probe", "solver", episodes=30)
    returns = [record.returns[0] for record in play_here(match).episodes]
    assert set(returns) == {0.0, 1.0}
    same = play_here(match_of("probe", "solver", episodes=30, deals="same")).episodes
    assert len({(record.seed, record.returns) for record in same}) == 1
    assert all([record.success == (record.returns[0] > 0,) for record in same])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("probe(split=dev)", "'split' of game 'probe' is dev: .*'train', 'validation' or 'test'"),
        ("probe(arms=3)", "game 'probe' has no parameter 'arms'"),
        ("probe(split=test,count=1000001)", "count = 1000001: from instance 0 on the split has 1000000"),
    ],
)
def test_wrong_parameters_are_one_line(text: str, words: str) -> None:
    with pytest.raises(UserError, match=words) as caught:
        make(text)
    assert "\n" not in str(caught.value)
