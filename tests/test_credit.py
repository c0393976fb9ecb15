"""Credit: the worked values of every formula, and the laws that must hold whatever was played."""

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.meta_episodes import Play, drawn_matches, ending, made
from training.advantages import Scores, among_equals, centred, left_one_out, numbered
from training.credit import Credit, credit
from training.meta_episodes import MetaEpisodes
from training.returns import Discounts, credited, decision_returns

THREE = [ending(-10, 2), ending(0, 2), ending(10, 3)]
TWO = [ending(-10, 2), ending(10, 2)]
PUBLISHED = Credit(
    mode="differential", form="code", gamma_step=0.95, gamma_episode=0.6, score="episode", per="step", anchor="shared",
    drop_level_groups=False,
)  # fmt: skip


def close(value: float) -> Any:
    return pytest.approx(value, abs=1e-4)


# Meta-rewards and returns


@pytest.mark.parametrize(
    ("returns", "expected"),
    [((-10, 0, 10), (-10, 10, 10)), ((-10, 10), (-10, 20)), ((-10, -10, -10), (-10, 0, 0)), ((5,), (5,))],
)
def test_differential_counts_the_gain_of_each_episode(returns: Sequence[float], expected: Sequence[float]) -> None:
    assert credited(np.array([returns], dtype=float), "differential").tolist() == [list(expected)]


def test_the_other_modes_count_returns_or_the_last_one_alone() -> None:
    returns = np.array([[-10.0, 0.0, 10.0]])
    assert credited(returns, "cumulative").tolist() == credited(returns, "single").tolist() == returns.tolist()
    assert credited(returns, "final").tolist() == [[0, 0, 10]]


@pytest.mark.parametrize(
    ("match", "mode", "form", "expected"),
    [
        (THREE, "cumulative", "paper", (-6.2510, -6.7510, 5.4150, 5.4150, 9.0250, 9.5, 10)),
        (THREE, "cumulative", "code", (-6.5678, -6.9135, 5.1442, 5.4150, 9.0250, 9.5, 10)),
        (THREE, "differential", "paper", (-0.5510, -1.0510, 14.9150, 15.4150, 9.0250, 9.5, 10)),
        (THREE, "differential", "code", (-1.1528, -1.2135, 14.6442, 15.4150, 9.0250, 9.5, 10)),
        (TWO, "cumulative", "paper", (-3.8, -4.3, 9.5, 10)),
        (TWO, "cumulative", "code", (-4.085, -4.3, 9.5, 10)),
        (TWO, "differential", "paper", (1.9, 1.4, 19, 20)),
        (TWO, "differential", "code", (1.33, 1.4, 19, 20)),
        (THREE, "single", "paper", (-9.5, -10, 0, 0, 9.0250, 9.5, 10)),
        (THREE, "single", "code", (-9.5, -10, 0, 0, 9.0250, 9.5, 10)),
        (THREE, "final", "paper", (3.249, 3.249, 5.415, 5.415, 9.0250, 9.5, 10)),
    ],
)
def test_returns_cross_episodes_as_in_the_paper_and_as_in_the_published_code(
    match: list[Play], mode: Any, form: Any, expected: Sequence[float]
) -> None:
    found = decision_returns(made([match]), mode, form, Discounts(0.95, 0.6))
    assert found.tolist() == [close(value) for value in expected]


@pytest.mark.parametrize("mode", ["cumulative", "differential", "final", "single"])
@pytest.mark.parametrize("form", ["paper", "code"])
def test_a_reflection_gets_the_return_of_the_episode_after_it(mode: Any, form: Any) -> None:
    plays = [ending(-10, 2, "r"), ending(0, 2, "r"), ending(10, 3)]
    found = decision_returns(made([plays]), mode, form, Discounts(0.95, 0.6))
    plain = decision_returns(made([THREE]), mode, form, Discounts(0.95, 0.6))
    assert found[[0, 1, 3, 4, 6, 7, 8]].tolist() == [close(value) for value in plain]
    assert (found[2], found[5]) == (close(plain[2]), close(plain[4]))


def test_a_reflection_on_the_last_episode_gets_nothing() -> None:
    found = decision_returns(made([[ending(1, 1), ending(1, 1, "r")]]), "cumulative", "paper", Discounts())
    assert found.tolist() == [2, 1, 0]


@given(drawn_matches(), st.sampled_from(["cumulative", "differential", "final", "single"]))
def test_the_two_forms_agree_without_discount_within_episodes(matches: list[list[Play]], mode: Any) -> None:
    paper, code = (decision_returns(made(matches), mode, form, Discounts(1.0, 0.6)) for form in ("paper", "code"))
    assert paper.tolist() == pytest.approx(code.tolist())


@given(st.lists(st.sampled_from([-10.0, 0.0, 10.0]), min_size=3, max_size=3), st.sampled_from([0.0, 0.6, 0.9, 1.0]))
def test_the_first_return_of_differential_telescopes(returns: list[float], gj: float) -> None:
    """Weight gj^(n-1) - gj^n for n < N and gj^(N-1) for n = N, where nothing is discounted within episodes."""
    given_ = made([[ending(value, 2) for value in returns]])
    first = decision_returns(given_, "differential", "paper", Discounts(1.0, gj))[0]
    assert first == pytest.approx(returns[0] * (1 - gj) + returns[1] * (gj - gj**2) + returns[2] * gj**2)


@pytest.mark.parametrize(
    ("gj", "weights"), [(0.0, (1, 0, 0)), (0.6, (0.4, 0.24, 0.36)), (0.9, (0.1, 0.09, 0.81)), (1.0, (0, 0, 1))]
)
def test_what_weighs_in_the_first_return_at_each_discount(gj: float, weights: Sequence[float]) -> None:
    for place, weight in enumerate(weights):
        plays = [ending(float(number == place), 2) for number in range(3)]
        assert decision_returns(made([plays]), "differential", "paper", Discounts(1.0, gj))[0] == close(weight)


def test_dense_rewards_are_summed_and_discounted_where_they_fall() -> None:
    found = decision_returns(made([[Play([1, 2]), Play([4, 0, 8])]]), "cumulative", "paper", Discounts(0.5, 0.5))
    assert found.tolist() == [2 + 3, 2 + 3, 6, 4, 8]


def test_what_comes_after_the_last_decision_counts_for_it() -> None:
    plain = made([[Play([0, 0])]])
    late = replace(plain, returns=np.array([[-10.0]]))
    assert decision_returns(late, "cumulative", "paper", Discounts(0.95, 1.0)).tolist() == [-9.5, -10]


def test_an_episode_without_a_decision_counts_as_it_ended() -> None:
    given_ = made([[ending(0, 1), Play([]), ending(4, 1)]])
    given_ = replace(given_, returns=np.array([[0.0, -3.0, 4.0]]))
    for form in ("paper", "code"):
        found = decision_returns(given_, "cumulative", form, Discounts(0.9, 0.5))  # type: ignore[arg-type]
        assert found.tolist() == [close(0.5 * -3 + 0.25 * 4), 4]


def test_episodes_left_out_after_a_win_count_as_won() -> None:
    early, whole = made([[ending(10, 2)]], episodes=3), made([[ending(10, 2), ending(10, 1), ending(10, 1)]])
    for mode in ("cumulative", "differential", "final"):
        assert decision_returns(early, mode, "paper", Discounts(0.95, 0.6))[:2].tolist() == [  # type: ignore[arg-type]
            close(value) for value in decision_returns(whole, mode, "paper", Discounts(0.95, 0.6))[:2]  # type: ignore[arg-type]
        ]  # fmt: skip


# Advantages

VICTORY, LOSS = Play([0, 10], ["s0", "s1"]), Play([0, 0, 0], ["s0", "s0", "s2"])
"""A makes two decisions and wins 10; B makes three and gets 0."""


def of(how: Credit, matches: Sequence[Sequence[Play]], groups: Sequence[str] | None = None) -> Any:
    return credit(made(matches, groups), how)


def test_the_episode_level_counts_decisions_or_matches() -> None:
    step = of(Credit(per="step", estimator="grpo", gamma_step=0.95), [[VICTORY], [LOSS]])
    whole = of(Credit(per="episode", estimator="grpo", gamma_step=0.95), [[VICTORY], [LOSS]])
    assert step.advantage.tolist() == [6, 6, -4, -4, -4]
    assert whole.advantage.tolist() == [5, 5, -5, -5, -5]


def test_the_episode_level_by_its_standard_deviation() -> None:
    found = of(Credit(per="step", estimator="grpo", normalise="mean_std"), [[VICTORY], [LOSS]]).advantage
    assert found.tolist() == [close(1.0954)] * 2 + [close(-0.7303)] * 3
    found = of(Credit(per="episode", estimator="grpo", normalise="mean_std"), [[VICTORY], [LOSS]]).advantage
    assert found.tolist() == [close(5 / 50**0.5)] * 2 + [close(-5 / 50**0.5)] * 3


def test_the_step_level_compares_decisions_of_one_state() -> None:
    found = of(Credit(per="step", gamma_step=0.95), [[VICTORY], [LOSS]])
    assert found.step_level.tolist() == [close(6.3333), 0, close(-3.1667), close(-3.1667), 0]
    assert found.advantage.tolist() == [close(value) for value in (12.3333, 6, -7.1667, -7.1667, -4)]
    weighted = of(Credit(per="step", gamma_step=0.95, step_weight=0.5), [[VICTORY], [LOSS]])
    assert weighted.advantage[0] == close(6 + 6.3333 / 2)


def test_rloo_leaves_out_the_decision_or_the_match() -> None:
    assert of(Credit(per="step", estimator="rloo"), [[VICTORY], [LOSS]]).advantage.tolist() == [7.5] * 2 + [-5] * 3
    assert of(Credit(per="episode", estimator="rloo"), [[VICTORY], [LOSS]]).advantage.tolist() == [10] * 2 + [-10] * 3


@pytest.fixture
def published() -> MetaEpisodes:
    """X loses, reflects and wins; Y wins and leaves its second episode out. Both begin in s0, all else differs."""
    x = [
        Play([0, -10], ["s0", "x1"], (), "reflection"),
        Play([0, 10], ["s0", "x2"]),
    ]
    return made([x, [Play([0, 10], ["s0", "y1"])]], episodes=2)


def test_a_whole_group_in_the_published_form(published: MetaEpisodes) -> None:
    shared = credit(published, PUBLISHED)
    apart = credit(published, PUBLISHED.model_copy(update={"anchor": "episode"}))
    rows = [0, 2, 3, 5]  # X's first decision, its reflection, its first of episode 2, Y's first
    assert shared.episode_level[rows].tolist() == [close(v) for v in (-15.7143, -5.7143, 14.2857, 4.2857)]
    assert shared.returns[rows].tolist() == [close(v) for v in (1.33, 19, 19, 9.5)]
    assert shared.step_level[rows].tolist() == [close(v) for v in (-8.6133, 0, 9.0567, -0.4433)]
    assert shared.advantage[rows].tolist() == [close(v) for v in (-24.3276, -5.7143, 23.3424, 3.8424)]
    assert apart.step_level[rows].tolist() == [close(v) for v in (-4.085, 0, 0, 4.085)]


def test_matches_against_other_opponents_are_not_compared() -> None:
    easy, hard = [10, 10, 10, -10], [0, 0, 0, -10]
    matches = [[ending(value, 1)] for value in [*easy, *hard]]
    how = Credit(estimator="grpo")
    pooled = of(how, matches).advantage
    assert (pooled[0], pooled[4]) == (8.75, -1.25)
    apart = of(how, matches, ["easy"] * 4 + ["hard"] * 4).advantage
    assert apart.tolist() == [5, 5, 5, -15, 2.5, 2.5, 2.5, -7.5]


@pytest.mark.parametrize("estimator", ["grpo", "rloo", "gigpo"])
def test_a_group_of_one_is_worth_nothing_and_is_left_out(estimator: Any) -> None:
    found = of(Credit(estimator=estimator, normalise="mean_std"), [[VICTORY], [LOSS]], ["one", "other"])
    level = found.episode_level.tolist()
    assert level == [0] * 5
    assert not found.kept[:2].any()


def test_groups_in_which_nothing_was_better_are_left_out_where_asked() -> None:
    matches = [[ending(1, 1)], [ending(1, 1)], [ending(1, 1)], [ending(0, 1)]]
    groups = ["level", "level", "uneven", "uneven"]
    assert of(Credit(), matches, groups).kept.tolist() == [False, False, True, True]
    assert of(Credit(drop_level_groups=False), matches, groups).kept.all()


@pytest.mark.parametrize("estimator", ["grpo", "rloo", "gigpo"])
def test_a_penalty_is_for_its_own_decision_at_both_levels(estimator: Any) -> None:
    """Two matches that are equal but for a fine on one decision; a fault of GRPO code is to fine whole episodes."""
    clean, fined = Play([0, 0], ["s0", "s1"]), Play([0, 0], ["s0", "s1"], [-0.5, 0])
    found = of(Credit(estimator=estimator, mode="cumulative"), [[clean], [fined]])
    assert found.advantage[2] < min(found.advantage[[0, 1, 3]])
    assert found.episode_level[2] == pytest.approx(found.episode_level[3] - 0.5)
    if estimator == "gigpo":
        assert found.step_level.tolist() == [0.25, 0, -0.25, 0]
        assert found.returns.tolist() == [0, 0, -0.5, 0]


# Two faults of the published form


def sandbagging(how: Credit, lose: int, win: int, early: int) -> float:
    """How much more the first decision of a match is worth that loses first and then wins, than of one that wins both.

    The numbers are the lengths of the lost episode, the won one after it, and those of the other match.
    """
    slow = [ending(-10, lose), ending(10, win)]
    quick = [ending(10, early), ending(10, early)]
    found = of(how, [slow, quick]).advantage
    return float(found[0] - found[lose + win])


@given(
    st.integers(1, 9), st.integers(1, 9), st.integers(1, 9), st.sampled_from(["differential", "final", "cumulative"])
)
def test_losing_first_is_never_worth_more_than_winning_at_once(lose: int, win: int, early: int, mode: Any) -> None:
    assert sandbagging(Credit(mode=mode), lose, win, early) <= 1e-9
    assert sandbagging(Credit(mode=mode, form="code"), lose, win, early) <= 1e-9


def test_the_published_form_pays_for_losing_first() -> None:
    x, y = [ending(-10, 2), ending(10, 2)], [ending(10, 2)]
    found = credit(made([x, y], episodes=2), PUBLISHED)
    assert found.advantage[2] > found.advantage[4], "the same win is worth more after a loss"


@given(st.sampled_from([-10.0, 0.0, 10.0]), st.sampled_from([-10.0, 0.0, 10.0]), st.booleans())
def test_a_reflection_that_led_to_a_win_is_never_pushed_down(before: float, other: float, wins_too: bool) -> None:
    one = [ending(before, 2, "r"), ending(10, 3)]
    two = [ending(other, 1, "r"), ending(10 if wins_too else -10, 2)]
    for mode in ("differential", "cumulative", "final"):
        found = of(Credit(mode=mode), [one, two, [ending(10, 2), ending(10, 2)]])  # type: ignore[arg-type]
        assert found.episode_level[2] >= 0


def test_the_published_form_pushes_such_a_reflection_down(published: MetaEpisodes) -> None:
    assert credit(published, PUBLISHED).advantage[2] < 0


def test_a_reflection_is_compared_with_those_after_the_same_episode() -> None:
    one = [ending(0, 1, "a"), ending(10, 1, "b"), ending(0, 1)]
    two = [ending(0, 1, "a"), ending(0, 1, "b"), ending(0, 1)]
    found = of(Credit(mode="cumulative"), [one, two]).episode_level
    assert (found[1], found[3], found[6], found[8]) == (5, 0, -5, 0)
    alone = of(Credit(mode="cumulative"), [one, [play._replace(reflection=None) for play in two]]).episode_level
    assert (alone[1], alone[3]) == (0, 0)


# The defaults


@given(st.lists(st.lists(st.sampled_from([-10.0, 0.0, 10.0]), min_size=3, max_size=3), min_size=2, max_size=5))
def test_differential_and_final_rank_matches_by_their_last_episode(returns: list[list[float]]) -> None:
    rng = random.Random(len(returns))
    matches = [[ending(value, rng.randint(1, 4)) for value in match] for match in returns]
    for mode in ("differential", "final"):
        given_ = made(matches)
        found = credit(given_, Credit(mode=mode, estimator="grpo")).advantage  # type: ignore[arg-type]
        firsts = [found[np.flatnonzero(given_.match == number)[0]] for number in range(len(matches))]
        ranked = sorted(range(len(matches)), key=lambda number: firsts[number])
        assert all(returns[low][-1] <= returns[high][-1] or firsts[low] == firsts[high]
                   for low, high in pairwise(ranked))  # fmt: skip


def test_single_compares_each_episode_with_the_same_episode_of_others() -> None:
    one, two = [ending(10, 1), ending(0, 2)], [ending(0, 1), ending(4, 1)]
    found = of(Credit(mode="single", estimator="grpo"), [one, two]).advantage
    assert found.tolist() == [5, -2, -2, -5, 2]


# Laws

HOWS = [
    Credit(),
    Credit(gamma_step=0.95, gamma_episode=0.6),
    Credit(mode="cumulative", form="code", gamma_step=0.9, gamma_episode=0.6),
    Credit(mode="final", estimator="rloo"),
    Credit(mode="single", estimator="grpo", normalise="mean_std"),
    PUBLISHED,
]


@pytest.mark.parametrize("how", HOWS)
@given(matches=drawn_matches(), order=st.randoms(use_true_random=False))
def test_the_order_of_groups_changes_nothing(how: Credit, matches: list[list[Play]], order: random.Random) -> None:
    groups = [f"g{number % 2}" for number in range(len(matches))]
    places = list(range(len(matches)))
    order.shuffle(places)
    found = credit(made(matches, groups), how)
    shuffled = credit(made([matches[place] for place in places], [groups[place] for place in places]), how)
    own, other = made(matches, groups).match, made([matches[place] for place in places]).match
    for number, place in enumerate(places):
        assert shuffled.advantage[other == number].tolist() == pytest.approx(found.advantage[own == place].tolist())


@pytest.mark.parametrize("how", HOWS)
@given(matches=drawn_matches())
def test_a_group_is_worth_the_same_whatever_else_is_there(how: Credit, matches: list[list[Play]]) -> None:
    alone = credit(made(matches), how)
    others = [[ending(3, 2), ending(-7, 1), ending(2, 2)]] * 3
    groups = ["g"] * len(matches) + ["h"] * 3
    beside = credit(made([*matches, *others], groups), how)
    count = len(alone.advantage)
    assert beside.advantage[:count].tolist() == pytest.approx(alone.advantage.tolist())
    assert beside.kept[:count].tolist() == alone.kept.tolist()


@pytest.mark.parametrize("how", [how for how in HOWS if how.estimator != "rloo" and how.normalise == "mean"])
@given(matches=drawn_matches())
def test_every_match_twice_is_worth_what_it_was_once(how: Credit, matches: list[list[Play]]) -> None:
    once, twice = credit(made(matches), how), credit(made([*matches, *matches]), how)
    count = len(once.advantage)
    assert twice.advantage[:count].tolist() == pytest.approx(once.advantage.tolist(), abs=1e-9)


@pytest.mark.parametrize("how", HOWS)
@given(matches=drawn_matches(), shift=st.sampled_from([-3.0, 2.0]))
def test_the_same_for_every_match_changes_no_episode_level(
    how: Credit, matches: list[list[Play]], shift: float
) -> None:
    def shifted(play: Play) -> Play:
        return play._replace(rewards=[*play.rewards[:-1], play.rewards[-1] + shift])

    plain = [[play._replace(reflection=None) for play in match] for match in matches]
    moved = [[shifted(play) for play in match] for match in plain]
    before, after = credit(made(plain), how).episode_level, credit(made(moved), how).episode_level
    if how.score == "match":
        assert after.tolist() == pytest.approx(before.tolist(), abs=1e-6)


@given(drawn_matches())
def test_advantages_of_a_group_sum_to_zero_over_its_matches(matches: list[list[Play]]) -> None:
    plain = [[play._replace(reflection=None, penalties=()) for play in match] for match in matches]
    given_ = made(plain)
    for estimator in ("grpo", "rloo"):
        found = credit(given_, Credit(estimator=estimator)).advantage  # type: ignore[arg-type]
        firsts = [found[np.flatnonzero(given_.match == number)[0]] for number in range(len(matches))]
        assert sum(firsts) == pytest.approx(0, abs=1e-9)


def test_no_decisions_are_no_advantages() -> None:
    found = credit(made([[Play([])], [Play([])]]), Credit())
    assert [len(column) for column in found] == [0] * 5


# Wrong input


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"reward": np.zeros(3)}, "reward has 3 entries for 4 decisions"),
        ({"returns": np.zeros(2)}, r"returns have the shape \(2,\)"),
        ({"returns": np.zeros((3, 2))}, r"for 1 matches \(M, N\)"),
        ({"match": np.array([0, 0, 0, 1])}, "match lies outside 0 to 0"),
        ({"episode": np.array([0, 0, 1, 2])}, "episode lies outside 0 to 1"),
        ({"episode": np.array([1, 1, 0, 0])}, "do not stand in the order"),
        ({"penalty": np.array([0, 0, 0, 0.5])}, "a penalty is above 0"),
        ({"returns": np.array([[np.nan, 1.0]])}, "not at the end of its match"),
        ({"returns": np.array([[1.0, np.nan]])}, "decisions of an episode that was left out"),
        ({"reward": np.array([0, np.nan, 0, 0])}, "is no number"),
        ({"reflection": np.array([True, False, False, False])}, "stands before a decision of its own episode"),
    ],
)
def test_columns_that_do_not_fit_are_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        replace(made([TWO]), **change)


@pytest.mark.parametrize("field", ["gamma_step", "gamma_episode"])
@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
def test_discounts_lie_between_nothing_and_all(field: str, value: float) -> None:
    with pytest.raises(ValueError, match=field):
        Credit(**{field: value})  # type: ignore[arg-type]


def test_parts_by_themselves() -> None:
    scores = Scores(np.array([1.0, 3.0, 5.0]), np.array([0, 0, 1]), np.array([0, 0, 0]))
    assert centred(scores).tolist() == [1 - 3.5, 3 - 3.5, 1.5]
    assert left_one_out(scores).tolist() == [1 - 5, 3 - 5, 5 - 2]
    assert among_equals(np.array([1.0, 3.0, 9.0]), np.array([4, 4, 7])).tolist() == [-1, 1, 0]
    assert numbered(["b", "a", "b"]).tolist() == [0, 1, 0]
