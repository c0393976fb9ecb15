"""Samples: credited decisions with their tokens and where they come from; what is left out is counted."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from games.registry import make
from league.store.rows import MatchRecord
from tests.test_decisions import Resigner, Sayer, played
from training.credit import Credit
from training.remembered import record_of
from training.rewards import Rewards, length_penalty
from training.samples import Gathered, Sample, gather

NAME = "random#0"


def records(game: str = "kuhn_poker", count: int = 6, **rules: Any) -> list[MatchRecord]:
    """Replicas of one match against random opponents that differ, as a group."""
    found = []
    for number in range(count):
        seed = 7 + number  # the opponent differs with the match's seed
        _, result = played(game, Sayer, key=number, seed=seed, **rules)
        record = record_of(result)
        found.append(record._replace(match=record.match._replace(seed=7)))
    return found


def changed(record: MatchRecord, **fields: Any) -> MatchRecord:
    """The same match, each answer of the learner changed."""
    rows = [row._replace(said=row.said._replace(**fields)) for row in record.generations]
    return record._replace(generations=rows)


@pytest.mark.parametrize(
    ("tokens", "penalty"), [(1000, 0.0), (1536, 0.0), (2304, 1.0), (3000, 1.90625), (3072, 2.0), (9999, 2.0)]
)
def test_long_answers_are_fined_from_half_the_limit_on(tokens: int, penalty: float) -> None:
    assert length_penalty(tokens, 2.0, 3072) == pytest.approx(penalty, abs=1e-4)
    assert Rewards(length=2.0).fine("illegal", tokens) == pytest.approx(-0.5 - penalty, abs=1e-4)


def test_an_outcome_is_worth_the_same_in_every_game_and_a_task_is_never_lost() -> None:
    assert [Rewards().outcome([True, False], seat, False) for seat in (0, 1)] == [10, -10]
    assert Rewards(win=2).outcome([False, False], 0, False) == 0
    assert [Rewards().outcome([solved], 0, True) for solved in (True, False)] == [10, 0]


def test_every_decision_is_a_sample_or_is_counted() -> None:
    found = gather(records(episodes=3), NAME)
    assert len(found.samples) + sum(found.left_out.values()) == found.decisions
    assert {sample.group for sample in found.samples} == {0}
    assert Counter([sample.phase for sample in found.samples])["reflect"] == 12


def test_a_sample_is_what_was_sampled_and_says_where_it_comes_from() -> None:
    given_ = records(episodes=3)
    for sample in gather(given_, NAME).samples:
        assert (sample.prompt_ids, sample.completion_ids, sample.logprobs) == ([1, 2], [3], [-0.5])
        record = next(record for record in given_ if record.match.match_id == sample.match_id)
        assert (sample.agent, sample.fingerprint) == (NAME, record.match.fingerprints[0])
        assert (sample.game, sample.opponents, sample.seat) == ("kuhn_poker", ("random#1",), 0)
        if sample.phase == "play" and sample.fault is None:
            episode = record.episodes[sample.episode - 1]
            assert sample.turn is not None
            assert episode.turn_seats[sample.turn] == 0


def test_illegal_answers_are_fined_and_stand_below_the_answer_that_followed() -> None:
    found = [sample for sample in gather(records(episodes=3), NAME).samples if sample.phase == "play"]
    fined = [sample for sample in found if sample.fault]
    assert fined
    for sample in fined:
        (kept,) = [
            other
            for other in found
            if (other.match_id, other.episode, other.turn) == (sample.match_id, sample.episode, sample.turn)
            and other.attempt > sample.attempt
        ]
        assert (sample.penalty, kept.penalty) == (-0.5, 0)
        assert sample.advantage == pytest.approx(kept.advantage - 1.0), "at both levels: they share position and return"


def test_only_matches_that_share_the_key_are_compared() -> None:
    one, two = records(count=3), records(count=3)
    two = [record._replace(match=record.match._replace(seed=8, match_id=f"x{record.match.match_id}")) for record in two]
    apart = gather([*one, *two], NAME, how=Credit(drop_level_groups=False))
    assert {sample.group for sample in apart.samples} == {0, 1}
    alone = gather(one, NAME, how=Credit(drop_level_groups=False))
    first = [sample for sample in apart.samples if sample.group == 0]
    assert [sample.advantage for sample in first] == pytest.approx([sample.advantage for sample in alone.samples])
    pooled = gather([*one, *two], NAME, key=("game",), how=Credit(drop_level_groups=False))
    assert {sample.group for sample in pooled.samples} == {0}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"constrained": True}, "constrained"),
        ({"prompt_ids": None}, "no tokens"),
        ({"completion_ids": None}, "no tokens"),
        ({"completion_ids": []}, "empty"),
    ],
)
def test_what_must_not_be_trained_on_is_left_out_by_its_reason(fields: dict[str, Any], reason: str) -> None:
    found = gather([changed(record, **fields) for record in records()], NAME)
    assert not found.samples
    assert found.left_out == {reason: found.decisions}


def test_other_reasons_to_leave_a_decision_out() -> None:
    alone = gather(records(count=1), NAME)
    assert (alone.samples, set(alone.left_out)) == ([], {"group of one"})
    classical = gather(records(), "random#1")
    assert (classical.samples, set(classical.left_out)) == ([], {"no model's answer"})
    assert gather(records(), "nobody") == Gathered([], {}, 0)


def test_a_group_in_which_all_ended_alike_teaches_nothing() -> None:
    _, result = played("tic_tac_toe", Resigner)
    record = record_of(result)
    twin = record._replace(match=record.match._replace(match_id="twin"))
    found = gather([record, twin], NAME)
    assert "level group" not in found.left_out, "the fine tells the decisions of a match apart"
    found = gather([record, twin], NAME, Rewards(fault=0.0))
    assert found.left_out == {"level group": found.decisions}


def test_an_action_that_somebody_else_chose_is_not_trained_on() -> None:
    _, result = played("kuhn_poker", Resigner, on_fault="fallback", episodes=6)
    record = record_of(result)
    twin = record._replace(match=record.match._replace(match_id="twin"))
    found = gather([record, twin], NAME, how=Credit(drop_level_groups=False))
    assert found.left_out["fallback"] > 0
    assert all(sample.fault is None for sample in found.samples)


def test_an_answer_that_was_cut_off_fills_its_place_and_teaches_nothing() -> None:
    found = gather([changed(record, finish_reason="length") for record in records(episodes=3)], NAME)
    assert found.samples
    assert not any(sample.learns for sample in found.samples)


def test_a_match_that_stopped_at_a_win_counts_the_rest_as_won() -> None:
    """Real matches that stop at a win, beside one of full length."""
    (whole,) = records(count=1, episodes=3)
    whole = whole._replace(match=whole.match._replace(match_id="whole"))
    stopped = records(count=12, episodes=3, stop_on_win=True)
    assert {record.match.episodes for record in stopped} == {1, 2}
    found = gather([whole, *stopped], NAME, how=Credit(mode="cumulative", drop_level_groups=False))
    for record in [whole, *stopped]:
        first = next(sample for sample in found.samples if sample.match_id == record.match.match_id)
        won = [row.success[row.seats.index(NAME)] for row in record.episodes]
        total = sum([10 if one else -10 for one in won]) + 10 * (3 - len(won))
        assert first.returns - first.penalty == pytest.approx(total)


def test_a_shorter_match_that_did_not_end_with_a_win_is_not_credited_beside_others() -> None:
    short, long = (record_of(played("tic_tac_toe", Resigner, episodes=count)[1]) for count in (1, 3))
    with pytest.raises(ValueError, match="has 1 episodes, others 3, and did not end with a win"):
        gather([short, long], NAME)


@pytest.mark.parametrize("kind", ["outcome", "return"])
def test_returns_of_the_last_episode_are_what_it_was_worth(kind: Any) -> None:
    rewards = Rewards(kind=kind, scale=3.0)
    given_ = records(episodes=3, seats="rotate")
    how = Credit(mode="cumulative", drop_level_groups=False)
    firsts: dict[tuple[str, int], Sample] = {}
    for sample in gather(given_, NAME, rewards, how).samples:
        if sample.episode == 3 and sample.phase == "play" and sample.fault is None:
            firsts.setdefault((sample.match_id, sample.episode), sample)
    assert firsts
    for record in given_:
        row = record.episodes[2]
        seat = row.seats.index(NAME)
        worth = 3.0 * row.returns[seat] if kind == "return" else 10.0 if row.success[seat] else -10.0
        if (found := firsts.get((record.match.match_id, 3))) is not None:
            assert found.returns == pytest.approx(worth)


@given(st.permutations(range(5)))
def test_the_order_of_matches_changes_no_advantage(order: list[int]) -> None:
    def told(found: Gathered) -> dict[tuple[Any, ...], float]:
        return {
            (one.match_id, one.episode, one.turn, one.attempt, one.phase): round(one.advantage, 9)
            for one in found.samples
        }

    assert told(gather([RECORDS[place] for place in order], NAME)) == told(gather(RECORDS, NAME))


RECORDS = records(count=5, episodes=2)


def test_positions_are_those_of_the_game() -> None:
    game = make("kuhn_poker")
    record = RECORDS[0]
    first = next(sample for sample in gather(RECORDS, NAME).samples if sample.match_id == record.match.match_id)
    state = game.new_episode(record.episodes[first.episode - 1].seed)
    assert first.turn is not None
    assert first.turn == 0
    assert state.observe(0).key == first.anchor
