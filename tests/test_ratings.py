"""TrueSkill: equal to the package where the package answers, finite where it does not, and fair to every name."""

import math
import random

import numpy as np
import pytest
import trueskill
from hypothesis import example, given
from hypothesis import strategies as st

from league.ratings import DRAW_SHARE_BOUNDS, Outcome, Rating, RatingSystem, TrueSkill
from league.trueskill_fold import Block, Parameters, TrueSkillFold
from league.trueskill_moments import TAIL, draw_moments, win_moments

SYSTEM: RatingSystem = TrueSkill()
WIN, DRAW, LOSS = (0, 1), (0, 0), (1, 0)

skills = st.floats(-20.0, 70.0)
sigmas = st.floats(0.3, 25.0 / 3.0)
shares = st.sampled_from([0.01, 0.1, 0.5, 0.9])
games_of_four = st.lists(
    st.tuples(st.permutations("abcd"), st.sampled_from([WIN, DRAW, LOSS])).map(
        lambda t: Outcome(tuple(t[0][:2]), t[1])
    ),
    min_size=1,
    max_size=30,
)


def random_outcomes(games, agents, draws, seed, spread=1.0):
    """Two-player games among agents of random strength."""
    rng = random.Random(seed)
    strength = {f"agent {i}": rng.gauss(0.0, spread) for i in range(agents)}
    outcomes = []
    for _ in range(games):
        first, second = rng.sample(sorted(strength), 2)
        chance = 1.0 / (1.0 + math.exp(strength[second] - strength[first]))
        places = DRAW if rng.random() < draws else WIN if rng.random() < chance else LOSS
        outcomes.append(Outcome((first, second), places))
    return outcomes


def by_the_package(outcomes, draw_probability):
    """The same fold by the package's own `rate`, all of its defaults untouched."""
    environment = trueskill.TrueSkill(draw_probability=draw_probability)
    ratings = {}
    for outcome in outcomes:
        before = [(ratings.get(agent, environment.create_rating()),) for agent in outcome.agents]
        after = environment.rate(before, ranks=outcome.places)
        ratings |= {agent: rating for agent, (rating,) in zip(outcome.agents, after, strict=True)}
    return ratings


def clamped_share(outcomes):
    ties = sum(len(outcome.places) - len(set(outcome.places)) for outcome in outcomes)
    low, high = DRAW_SHARE_BOUNDS
    return min(high, max(low, ties / sum(len(outcome.places) - 1 for outcome in outcomes)))


def assert_equal(ours, theirs, tolerance):
    assert ours.keys() == theirs.keys()
    for agent, rating in ours.items():
        assert rating.mu == pytest.approx(theirs[agent].mu, rel=0, abs=tolerance)
        assert rating.sigma == pytest.approx(theirs[agent].sigma, rel=0, abs=tolerance)


def one_match(mu, sigma, places, share):
    """(mu, sigma) by seat after one match between agents with these beliefs."""
    fold = TrueSkillFold(Parameters(), share)
    fold.start_from(mu, sigma)
    seats = np.arange(len(mu))
    return fold.add(Block(seats, np.array(places), np.array([0, len(mu)])))


@pytest.mark.parametrize("agents", [2, 10, 1000])
@pytest.mark.parametrize("draws", [0.0, 0.05, 0.4])
def test_two_seats_equal_the_package_on_thousands_of_games(agents, draws):
    outcomes = random_outcomes(2_500, agents, draws, seed=agents)
    assert_equal(SYSTEM.rate(outcomes), by_the_package(outcomes, clamped_share(outcomes)), 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("draws", [0.0, 0.02, 0.3])
def test_two_seats_equal_the_package_on_twenty_thousand_games(draws):
    outcomes = random_outcomes(20_000, 200, draws, seed=7, spread=2.0)
    assert_equal(SYSTEM.rate(outcomes), by_the_package(outcomes, clamped_share(outcomes)), 1e-6)


@given(st.tuples(skills, skills), st.tuples(sigmas, sigmas), st.sampled_from([WIN, DRAW, LOSS]), shares)
def test_one_match_of_any_two_beliefs_equals_the_package(mu, sigma, places, share):
    environment = trueskill.TrueSkill(draw_probability=share)
    groups = [(environment.create_rating(m, s),) for m, s in zip(mu, sigma, strict=True)]
    mu_after, sigma_after = one_match(mu, sigma, places, share)
    try:
        expected = environment.rate(groups, ranks=places)
    except FloatingPointError:  # the package gives up where a certain win underflows
        assert np.allclose(mu_after, mu, atol=1e-6)
        return
    assert mu_after == pytest.approx([rating.mu for (rating,) in expected], abs=1e-7)
    assert sigma_after == pytest.approx([rating.sigma for (rating,) in expected], abs=1e-7)


@pytest.mark.parametrize("seats", [3, 4])
@pytest.mark.parametrize("tied", [False, True])
def test_more_seats_equal_the_packages_free_for_all(seats, tied):
    rng = random.Random(seats)
    outcomes = []
    for _ in range(60):
        points = [rng.randrange(3) if tied else rng.random() for _ in range(seats)]
        places = tuple(sum(other > own for other in points) for own in points)
        outcomes.append(Outcome(tuple(rng.sample("abcdef", seats)), places))
    assert any(len(set(outcome.places)) < seats for outcome in outcomes) == tied
    assert_equal(SYSTEM.rate(outcomes), by_the_package(outcomes, clamped_share(outcomes)), 1e-9)


def test_two_and_three_seats_mix_in_one_pool():
    outcomes = random_outcomes(40, 4, 0.3, seed=3)
    for index in range(0, 40, 3):
        outcomes[index] = Outcome(("agent 1", "agent 3", "agent 0"), (index % 2, 2, index % 2))
    assert_equal(SYSTEM.rate(outcomes), by_the_package(outcomes, clamped_share(outcomes)), 1e-9)


@given(games_of_four, shares)
def test_the_winner_rises_the_loser_falls_and_a_draw_pulls_together(outcomes, share):
    fold = TrueSkillFold(Parameters(), share)
    fold.start_from([25.0] * 4, [25.0 / 3.0] * 4)
    for outcome in outcomes:
        seats = ["abcd".index(agent) for agent in outcome.agents]
        before, _ = fold.beliefs()
        fold.add(Block(np.array(seats), np.array(outcome.places), np.array([0, 2])))
        first, second = (fold.beliefs()[0] - before)[seats]
        lead = before[seats[0]] - before[seats[1]]
        if outcome.places == DRAW:
            assert first * lead <= 0.0 <= second * lead
        else:
            assert (first > 0.0 > second) == (outcome.places == WIN)


@given(games_of_four)
def test_a_match_never_makes_less_certain_than_tau_allows(outcomes):
    fold = TrueSkillFold(Parameters(), 0.2)
    fold.start_from([25.0] * 4, [25.0 / 3.0] * 4)
    for outcome in outcomes:
        seats = ["abcd".index(agent) for agent in outcome.agents]
        _, before = fold.beliefs()
        fold.add(Block(np.array(seats), np.array(outcome.places), np.array([0, 2])))
        _, after = fold.beliefs()
        assert (after[seats] < np.hypot(before[seats], Parameters().tau)).all()
        rest = [seat for seat in range(4) if seat not in seats]
        assert (after[rest] == before[rest]).all()


@given(games_of_four, st.permutations(["p", "q", "r", "s"]))
def test_names_do_not_matter(outcomes, names):
    name = dict(zip("abcd", names, strict=True))
    renamed = [Outcome(tuple(name[agent] for agent in outcome.agents), outcome.places) for outcome in outcomes]
    ratings = SYSTEM.rate(outcomes)
    assert SYSTEM.rate(renamed) == {name[agent]: rating for agent, rating in ratings.items()}


@given(games_of_four)
def test_seats_do_not_matter(outcomes):
    swapped = [Outcome(outcome.agents[::-1], outcome.places[::-1]) for outcome in outcomes]
    assert SYSTEM.rate(swapped) == SYSTEM.rate(outcomes)


def test_the_order_of_games_matters():
    outcomes = [Outcome(("a", "b"), WIN), Outcome(("b", "c"), WIN), Outcome(("a", "c"), LOSS)]
    assert SYSTEM.rate(outcomes) != SYSTEM.rate(outcomes[::-1])


@pytest.mark.parametrize(("places", "draws"), [(DRAW, 0.9), (WIN, 0.01)])
def test_pools_of_draws_alone_and_of_none_are_rated_with_the_clamped_share(places, draws):
    outcomes = [Outcome(("a", "b"), places), Outcome(("b", "c"), places)] * 10
    ratings = SYSTEM.rate(outcomes)
    assert_equal(ratings, by_the_package(outcomes, draws), 1e-9)
    assert (ratings["a"].mu > ratings["c"].mu) == (places == WIN)


def test_a_single_match_and_none_at_all():
    assert_equal(SYSTEM.rate([Outcome(("a", "b"), LOSS)]), by_the_package([Outcome(("a", "b"), LOSS)], 0.01), 1e-9)
    assert SYSTEM.rate([]) == {}


def test_a_match_of_one_seat_leaves_the_newcomers_rating():
    assert SYSTEM.rate([Outcome(("alone",), (0,))]) == {"alone": Rating(25.0, 25.0 / 3.0)}


def test_the_same_outcomes_give_the_same_bits():
    outcomes = random_outcomes(2_000, 20, 0.2, seed=11)
    assert SYSTEM.rate(outcomes) == SYSTEM.rate(list(outcomes))


def test_an_outcome_needs_a_place_for_each_and_each_another():
    with pytest.raises(ValueError, match="2 agents but 3 places"):
        Outcome(("a", "b"), (0, 1, 2))
    with pytest.raises(ValueError, match="several seats: a, a"):
        Outcome(("a", "a"), WIN)


def test_conservative_is_three_sigmas_below():
    assert Rating(25.0, 8.0).conservative == 1.0


@given(st.floats(-1e4, 1e4))
@example(-TAIL * math.sqrt(2.0))
def test_moments_of_a_win_stay_in_their_bounds(x):
    v, w = win_moments(x)
    assert v >= max(0.0, -x)
    assert 0.0 <= w < 1.0


@given(st.floats(-1e4, 1e4), st.floats(5e-3, 5.0))
def test_moments_of_a_draw_stay_in_their_bounds(t, e):
    v, w = draw_moments(t, e)
    slack = 1e-5 * (1.0 + abs(t))  # the difference of two approximate erfc, where e is small
    assert v * t <= 0.0
    assert abs(t) - e - slack <= abs(v) <= abs(t) + slack
    assert 0.0 <= w <= 1.0 + 1e-6 * t * t


@pytest.mark.parametrize("places", [WIN, DRAW, LOSS, (0, 1, 2), (2, 1, 0), (0, 0, 0), (1, 0, 1)])
@pytest.mark.parametrize("lead", [60.0, 300.0, 3_000.0, 1e6])
@pytest.mark.parametrize("share", [0.01, 0.9])
def test_far_tails_stay_finite(places, lead, share):
    mu = [lead, -lead, 0.0][: len(places)]
    mu_after, sigma_after = one_match(mu, [2.0] * len(mu), places, share)
    assert np.isfinite(mu_after).all()
    assert (sigma_after > 0.0).all()
    assert (sigma_after <= math.hypot(2.0, Parameters().tau) + 1e-9).all()


@pytest.mark.parametrize("share", [0.01, 0.3, 0.9])
def test_moments_are_continuous_where_the_tail_begins(share):
    step = 1e-9
    edge = TAIL * math.sqrt(2.0)
    for inner, outer in [
        (win_moments(-edge + step), win_moments(-edge - step)),
        (draw_moments(edge + share - step, share), draw_moments(edge + share + step, share)),
    ]:
        assert inner[0] == pytest.approx(outer[0], rel=1e-6)
        assert inner[1] == pytest.approx(outer[1], rel=1e-3)
