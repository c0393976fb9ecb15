"""The rules of a match: episodes, deals, seats, endings, returns, places, seeds, reflections."""

import asyncio
import itertools
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from agents.agent import Setup
from agents.registry import Recipe, recipe
from arena.episode import forfeit_returns
from arena.match import TIE, Match, MatchResult, places, plan_episode, play_match
from arena.rules import MatchRules
from games import registry
from games.game import Dynamics, GameSpec, Information, Termination, Utility
from games.seeding import derive
from tests.play import match_of, play_here, rows_of

pytestmark = pytest.mark.usefixtures("troublemakers")

DOCS = Path(__file__).parents[1] / "docs" / "matches.md"


def spec_of(seats: int, utility: Utility, low: float, high: float) -> GameSpec:
    kind = (Dynamics.SEQUENTIAL, Information.PERFECT, utility)
    return GameSpec("some", "Some", seats, *kind, min_utility=low, max_utility=high, max_turns=9, rules="")


# Rules


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("episodes", 0),
        ("deals", "other"),
        ("seats", "swap"),
        ("score_by", "best"),
        ("seconds_per_action", 0),
        ("seconds_per_action", float("inf")),
        ("seconds_per_action", float("nan")),
        ("max_turns", 0),
        ("on_fault", "retry"),
        ("on_fault", "retry(-1)"),
        ("on_fault", "retry(1000)"),
        ("on_fault", "forfeit "),
        ("unknown", 1),
    ],
)
def test_rules_refuse_what_makes_no_sense(key: str, value: object) -> None:
    with pytest.raises(ValidationError):
        MatchRules.model_validate({key: value})


@given(st.integers(0, 999))
def test_retries_are_read_off_the_policy(count: int) -> None:
    assert MatchRules(on_fault=f"retry({count})").retries == count


@pytest.mark.parametrize("policy", ["forfeit", "fallback"])
def test_other_policies_retry_nothing(policy: str) -> None:
    assert MatchRules(on_fault=policy).retries == 0


# Deals, seeds, seats

GAME = registry.make("leduc_poker")


@given(st.integers(0, 2**63 - 1), st.integers(1, 6), st.integers(1, 5))
def test_fresh_deals_differ_and_the_same_deals_do_not(seed: int, episodes: int, seats: int) -> None:
    def seeds(deals: str) -> list[int]:
        names = tuple("abcde"[:seats])
        match = Match("m", "t", "g", 0, 0, 0, seed, names, names, names, MatchRules(deals=deals, episodes=episodes))
        return [plan_episode(match, GAME, number).seed for number in range(1, episodes + 1)]

    assert len(set(seeds("fresh"))) == episodes
    assert set(seeds("same")) == {seeds("fresh")[0]}
    assert all(0 <= value < 2**63 for value in seeds("fresh"))


def test_deals_depend_on_the_matchs_seed_and_not_on_who_plays_or_what_it_is_called() -> None:
    match = match_of("leduc_poker", "random", "random", episodes=4)
    other = match_of("leduc_poker", "first", "diary", key="other", episodes=4)
    replica, reseeded = match._replace(replica=3), match._replace(seed=8)
    seeds = [[plan_episode(m, GAME, number).seed for number in range(1, 5)] for m in (match, other, replica, reseeded)]
    assert seeds[0] == seeds[1] == seeds[2]
    assert not set(seeds[0]) & set(seeds[3])


@pytest.mark.parametrize("seats", [1, 2, 3, 5])
def test_rotation_moves_every_agent_on_by_one_seat_and_around(seats: int) -> None:
    names = tuple("abcde"[:seats])
    match = Match("m", "t", "g", 0, 0, 0, 1, names, names, names, MatchRules(seats="rotate", episodes=7))
    for number in range(1, 8):
        order = plan_episode(match, GAME, number).order
        assert [order.index(agent) for agent in range(seats)] == [
            (agent + number - 1) % seats for agent in range(seats)
        ]


def test_seats_stay_where_they_are_fixed() -> None:
    match = match_of("tic_tac_toe", "random", "random", episodes=3)
    assert {plan_episode(match, GAME, number).order for number in (1, 2, 3)} == {(0, 1)}


@pytest.mark.parametrize("seats", ["fixed", "rotate"])
def test_returns_are_credited_to_the_agent_and_not_to_the_seat(seats: str) -> None:
    """Whoever says `high` in the plain game earns 1/2 of it, from any seat."""
    match = match_of("plain", "always(action=high)", "always(action=low)", episodes=5, seats=seats)
    result = play_here(match)
    assert result.mean_returns == (0.5, -0.5)
    assert result.places == (0, 1)
    rotated = [record.order == (1, 0) for record in result.episodes]
    assert rotated == [seats == "rotate" and number % 2 == 0 for number in range(1, 6)]
    for record in result.episodes:
        assert record.returns[record.order.index(0)] == 0.5
    for row, record in zip(rows_of(result)["episodes"], result.episodes, strict=True):
        assert row["seats"] == [match.names[agent] for agent in record.order]


def test_three_agents_rotate_through_three_seats() -> None:
    agents = ("always(action=high)", "always(action=low)", "always(action=low)")
    result = play_here(match_of("plain(seats=3)", *agents, episodes=3, seats="rotate"))
    assert [record.order for record in result.episodes] == [(0, 1, 2), (2, 0, 1), (1, 2, 0)]
    assert [record.actions.index("high") for record in result.episodes] == [0, 1, 2]
    assert result.mean_returns == pytest.approx((2 / 3, -1 / 3, -1 / 3))
    assert result.places == (0, 1, 1)


class Listed(Recipe):
    """A recipe that keeps the setups it was given."""

    def make(self, setup: Setup) -> Any:
        SETUPS.append(setup)
        return super().make(setup)


SETUPS: list[Setup] = []


def setups_of(match: Match) -> list[Setup]:
    SETUPS.clear()
    listed = [Listed(r.name, r.spec, r.agent, r.params) for r in map(recipe, match.specs)]
    asyncio.run(play_match(match, registry.make(match.game), listed))
    return list(SETUPS)


def test_agents_seeds_differ_by_seat_and_replica_and_do_not_depend_on_the_matchs_id_or_the_names() -> None:
    match = match_of("kuhn_poker", "random", "random", episodes=2)
    seeds = [setup.seed for setup in setups_of(match)]
    assert len(set(seeds)) == 2
    assert seeds == [derive(match.seed, 0, 0), derive(match.seed, 0, 1)]
    assert [setup.seat for setup in setups_of(match)] == [0, 1]
    assert {setup.episodes for setup in setups_of(match)} == {2}
    renamed = match._replace(match_id="other", names=("x", "y"), pair=5, tournament="u", round=2)
    assert [setup.seed for setup in setups_of(renamed)] == seeds
    assert not set(seeds) & {setup.seed for setup in setups_of(match._replace(replica=1))}


def test_twins_play_independently() -> None:
    """Two agents of one spec must not draw the same numbers."""
    result = play_here(match_of("matrix_rps", "random", "random", episodes=30))
    assert len({tuple(record.actions) for record in result.episodes}) > 4
    assert any(record.actions[0] != record.actions[1] for record in result.episodes)


def test_the_same_match_gives_the_same_result() -> None:
    match = match_of("leduc_poker", "diary", "random", episodes=5, seats="rotate")
    assert play_here(match) == play_here(match)
    assert rows_of(play_here(match)) == rows_of(play_here(match))
    assert play_here(match).episodes != play_here(match._replace(seed=8)).episodes


# Endings


def test_stop_on_win_ends_the_match_when_the_first_agent_has_won_in_whatever_seat() -> None:
    agents = ("always(action=high)", "always(action=low)")
    assert len(play_here(match_of("plain", *agents, episodes=5, stop_on_win=True)).episodes) == 1
    assert len(play_here(match_of("plain", *reversed(agents), episodes=5, stop_on_win=True)).episodes) == 5
    swapped = match_of("tic_tac_toe", "random", "random", episodes=50, stop_on_win=True, seats="rotate", seed=1)
    wins = 0
    for seed in range(20):
        episodes = play_here(swapped._replace(seed=seed)).episodes
        won = [record.success[record.order.index(0)] for record in episodes]
        assert won == [False] * (len(episodes) - 1) + [True]
        wins += episodes[-1].order == (1, 0)
    assert 0 < wins < 20


def test_a_forfeit_by_the_opponent_is_a_win_that_stops_the_match() -> None:
    result = play_here(match_of("tic_tac_toe", "first", "answer(kind=illegal)", episodes=4, stop_on_win=True))
    assert [record.termination for record in result.episodes] == [Termination.ILLEGAL]


def test_a_match_can_be_scored_by_its_last_episode() -> None:
    agents = ("answer(kind=illegal,bad=1)", "always(action=low)")  # loses the first episode, wins the other two
    mean = play_here(match_of("plain(low=-5.0,high=5.0)", *agents, episodes=3))
    last = play_here(match_of("plain(low=-5.0,high=5.0)", *agents, episodes=3, score_by="last"))
    assert [record.returns for record in mean.episodes] == [(-5.0, 5.0), (0.5, -0.5), (0.5, -0.5)]
    assert mean.mean_returns == last.mean_returns == pytest.approx((-4 / 3, 4 / 3))
    assert mean.places == (1, 0)
    assert last.places == (0, 1)


def test_the_last_episode_counts_by_agent_also_when_seats_rotate() -> None:
    agents = ("always(action=high)", "always(action=low)")
    result = play_here(match_of("plain", *agents, episodes=2, seats="rotate", score_by="last"))
    assert result.episodes[-1].order == (1, 0)
    assert result.places == (0, 1)


@pytest.mark.parametrize("limit", [1, 2, 4])
def test_an_episode_ends_after_so_many_turns_with_the_returns_so_far(limit: int) -> None:
    result = play_here(match_of("tic_tac_toe", "random", "random", max_turns=limit))
    record = result.episodes[0]
    assert record.termination is Termination.MAX_TURNS
    assert len(record.actions) == limit
    assert record.offender is None
    assert record.returns == (0.0, 0.0)
    assert result.faults == (0, 0)
    assert result.places == (0, 0)


def test_a_game_that_ends_with_its_last_allowed_turn_is_finished() -> None:
    assert play_here(match_of("kuhn_poker", "first", "first", max_turns=2)).episodes[0].termination is (
        Termination.FINISHED
    )


@pytest.mark.parametrize(
    "game", ["goofspiel", "matrix_rps", "tic_tac_toe", "plain(together=true,rounds=9)", "leduc_poker"]
)
def test_no_game_runs_into_the_bound_that_it_declares(game: str) -> None:
    result = play_here(match_of(game, "random", "random", episodes=5))
    assert {record.termination for record in result.episodes} == {Termination.FINISHED}


def test_all_seats_of_a_simultaneous_game_act_on_the_same_position() -> None:
    result = play_here(match_of("plain(together=true,seats=3)", "diary", "diary", "diary"))
    record = result.episodes[0]
    assert record.turn_seats == [0, 1, 2] * 2
    illegal = play_here(match_of("plain(together=true,seats=3)", "diary", "answer(kind=illegal)", "diary"))
    assert (illegal.episodes[0].offender, illegal.episodes[0].actions) == (1, [])
    assert [(note.turn, note.seat) for note in illegal.episodes[0].notes] == [(1, 1)]


def test_the_limit_of_turns_counts_each_seat_of_a_simultaneous_game() -> None:
    result = play_here(match_of("plain(together=true,seats=3,rounds=9)", "diary", "diary", "diary", max_turns=6))
    assert len(result.episodes[0].actions) == 6
    assert result.episodes[0].termination is Termination.MAX_TURNS


def test_a_match_of_one_seat_is_played_and_forfeited_like_any_other() -> None:
    fine = play_here(match_of("catch", "random", episodes=3, seats="rotate"))
    assert fine.places == (0,)
    lost = play_here(match_of("catch", "trouble(how=exception)", episodes=2))
    assert [record.returns for record in lost.episodes] == [(-1.0,), (-1.0,)]
    assert [record.success for record in lost.episodes] == [(False,), (False,)]
    assert lost.mean_returns == (-1.0,)
    assert lost.faults == (1,)


def test_in_a_match_of_three_the_offender_is_last_and_the_others_share_the_first_place() -> None:
    for seat in range(3):
        agents = ["random"] * 3
        agents[seat] = "answer(kind=illegal)"
        result = play_here(match_of("kuhn_poker(players=3)", *agents))
        assert result.episodes[0].offender == seat
        assert result.mean_returns == tuple(-2.0 if agent == seat else 1.0 for agent in range(3))
        assert result.places == tuple(2 if agent == seat else 0 for agent in range(3))
        assert result.episodes[0].success == (False,) * 3


def test_words_that_are_more_than_a_str_are_kept_as_what_they_are() -> None:
    plain = play_here(match_of("tic_tac_toe", "first", "first", episodes=2))
    wordy = play_here(match_of("tic_tac_toe", "wordy", "first", episodes=2))
    assert [record.trajectory_hash for record in wordy.episodes] == [
        record.trajectory_hash for record in plain.episodes
    ]
    kept = [action for record in wordy.episodes for action in record.actions]
    kept += [text for record in wordy.episodes for note in record.notes for text in (note.action, note.raw) if text]
    kept += [told.text for told in wordy.reflections]
    assert {type(text) for text in kept} == {str}


# Forfeits


@pytest.mark.parametrize(
    ("spec", "returns"),
    [
        (spec_of(2, Utility.ZERO_SUM, -1, 1), (-1, 1)),
        (spec_of(2, Utility.ZERO_SUM, -13, 13), (-13, 13)),
        (spec_of(3, Utility.ZERO_SUM, -2, 4), (-2, 1, 1)),
        (spec_of(2, Utility.GENERAL_SUM, -5, 5), (-5, 0)),
        (spec_of(3, Utility.GENERAL_SUM, -1, 9), (-1, 0, 0)),
        (spec_of(2, Utility.GENERAL_SUM, 0, 10), (0, 5)),
        (spec_of(2, Utility.CONSTANT_SUM, 0, 1), (0, 0.5)),
        (spec_of(2, Utility.GENERAL_SUM, 2, 4), (2, 3)),
        (spec_of(2, Utility.IDENTICAL, -650, 1520), (-650, -650)),
        (spec_of(1, Utility.GENERAL_SUM, -1, 1), (-1,)),
        (spec_of(1, Utility.ZERO_SUM, -1, 1), (-1,)),
    ],
)
def test_a_forfeit_pays_the_minimum_to_the_offender(spec: GameSpec, returns: tuple[float, ...]) -> None:
    assert forfeit_returns(spec, 0) == returns
    last = spec.seats - 1
    assert forfeit_returns(spec, last) == (*returns[1:], returns[0])


@given(
    st.integers(2, 6),
    st.sampled_from([Utility.ZERO_SUM, Utility.CONSTANT_SUM, Utility.GENERAL_SUM]),
    st.integers(-10_000, 10_000),
    st.integers(1, 10_000),
    st.data(),
)
def test_the_offender_is_alone_in_the_last_place(
    seats: int, utility: Utility, low: int, width: int, data: st.DataObject
) -> None:
    if utility is Utility.ZERO_SUM:
        low = -abs(low) - 1
    offender = data.draw(st.integers(0, seats - 1))
    spec = spec_of(seats, utility, low, low + width)
    returns = forfeit_returns(spec, offender)
    assert returns[offender] == low
    assert places(returns)[offender] == seats - 1
    assert len({value for seat, value in enumerate(returns) if seat != offender}) == 1
    if utility is Utility.ZERO_SUM:
        assert sum(returns) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("game", ["matrix_pd", "bargaining", "first_sealed_auction", "tic_tac_toe", "liars_dice"])
@pytest.mark.parametrize("seat", [0, 1])
def test_the_offender_loses_in_games_of_every_sum(game: str, seat: int) -> None:
    agents = ["random", "random"]
    agents[seat] = "trouble(how=exception)"
    result = play_here(match_of(game, *agents, episodes=2))
    assert result.places == ((1, 0) if seat == 0 else (0, 1))


# Reflections


def test_an_agent_that_reflects_is_told_of_its_own_seat_only_after_every_episode_but_the_last() -> None:
    match = match_of("kuhn_poker", "diary", "diary", episodes=4, seats="rotate")
    result = play_here(match)
    assert [(told.episode, told.seat) for told in result.reflections] == list(itertools.product((1, 2, 3), (0, 1)))
    for told in result.reflections:
        record = result.episodes[told.episode - 1]
        assert record.order[told.seat] == told.agent
        own = [action for seat, action in zip(record.turn_seats, record.actions, strict=True) if seat == told.seat]
        steps = " ".join(f"{told.seat}:{action}" for action in own)
        total, success = record.returns[told.seat], record.success[told.seat]
        assert told.text == f"{told.episode} {told.seat} [{steps}] {total:g} {success} finished False"
    rows = rows_of(result)["reflections"]
    assert [row["agent"] for row in rows] == [match.names[told.agent] for told in result.reflections]


def test_only_agents_that_reflect_are_asked() -> None:
    result = play_here(match_of("kuhn_poker", "random", "diary", episodes=3))
    assert {told.agent for told in result.reflections} == {1}
    assert len(result.reflections) == 2


def test_a_reflection_tells_who_was_at_fault() -> None:
    result = play_here(match_of("plain", "diary", "answer(kind=illegal)", episodes=2))
    (told,) = result.reflections
    assert told.text.replace("high", "low") == "1 0 [0:low] 1 True illegal False"


def test_nobody_reflects_after_an_episode_that_ended_the_match() -> None:
    agents = ("always(action=high)", "diary")
    assert not play_here(match_of("plain", *agents, episodes=3, stop_on_win=True)).reflections


# Places


def slow_places(values: list[float]) -> list[int]:
    """Places by definition: chains of values that differ by less than TIE are one place."""
    order = sorted(values, reverse=True)
    place_of: dict[float, int] = {}
    for rank, value in enumerate(order):
        tied = rank > 0 and order[rank - 1] - value < TIE
        place_of[value] = place_of[order[rank - 1]] if tied else rank
    return [place_of[value] for value in values]


near = st.builds(lambda base, steps: base + steps * 0.4e-9, st.sampled_from([-1.0, 0.0, 0.5]), st.integers(-5, 5))


@given(st.lists(st.one_of(near, st.floats(-1e6, 1e6)), min_size=1, max_size=6))
def test_places_follow_the_order_and_share_within_a_billionth(values: list[float]) -> None:
    found = places(values)
    assert list(found) == slow_places(values)
    assert min(found) == 0
    for place in set(found):
        assert place == sum(other < place for other in found)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=5), st.randoms())
def test_places_go_with_the_values_when_these_are_shuffled(values: list[float], rng: Any) -> None:
    order = list(range(len(values)))
    rng.shuffle(order)
    found = places(values)
    assert places([values[place] for place in order]) == tuple(found[place] for place in order)


def test_sums_of_a_match_are_by_agent() -> None:
    result: MatchResult = play_here(match_of("leduc_poker", "random", "first", episodes=7, seats="rotate"))
    for agent in (0, 1):
        total = sum(record.returns[record.order.index(agent)] for record in result.episodes)
        assert result.mean_returns[agent] == pytest.approx(total / 7)
    assert sum(result.mean_returns) == pytest.approx(0)


# The page


def test_the_page_names_every_rule_and_every_ending() -> None:
    text = DOCS.read_text()
    for field in MatchRules.model_fields:
        assert f"| `{field}` |" in text, field
    for ending in Termination:
        assert f"| `{ending.value}` |" in text, ending
    assert set(re.findall(r"^\| `(\w+)` \|", text, re.M)) == {
        *MatchRules.model_fields,
        *(ending.value for ending in Termination),
    }
