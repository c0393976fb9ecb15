"""Decisions of an agent in a recorded match: in order, each with its own answer, position and reward."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agents.agent import Agent, Decision, Reflection, Setup, Trajectory
from agents.generation import Generation
from agents.registry import Recipe, recipe
from arena.match import Match, MatchResult, play_match
from arena.record import utc_now
from games import registry
from games.game import Observation
from league.single import keep, register
from league.store import queries
from league.store.store import Store
from tests.play import match_of
from training.decisions import Decided, decided
from training.remembered import record_of

CLIFF = "gymnasium(id=CliffWalking-v1,turns=12)"
"""A task with a reward in every turn."""


class Sayer(Agent):
    """Says its action; every third turn first something illegal, and its last answer counts."""

    retries = 1
    answers_freely = True

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._count = 0
        self._again = False

    async def act(self, observation: Observation) -> Decision:
        self._count += not self._again
        if self._count % 3 == 0 and not self._again:
            return Decision("nothing", "nothing", generations=(said("thinking"), said(f"{observation.key}|nothing")))
        self._again = False
        action = observation.legal_actions[self._count % len(observation.legal_actions)]
        return Decision(action, action, generations=(said(f"{observation.key}|{action}"),))

    def refused(self, observation: Observation, why: str) -> None:
        self._again = True

    async def reflect(self, trajectory: Trajectory) -> Reflection | None:
        return Reflection("so", (said(f"reflection {trajectory.episode}"),))


class Resigner(Sayer):
    """Says nothing legal at its second turn."""

    retries = 0

    async def act(self, observation: Observation) -> Decision:
        self._count += 1
        if self._count % 2 == 0:
            return Decision("resign", "resign", generations=(said(f"{observation.key}|resign"),))
        action = observation.legal_actions[0]
        return Decision(action, action, generations=(said(f"{observation.key}|{action}"),))


def said(raw: str) -> Generation:
    return Generation("scripted", raw, [1, 2], [3], [-0.5])


def played(game: str, agent: type[Agent], other: str | None = "random", **rules: Any) -> tuple[Match, MatchResult]:
    """A match of a scripted agent and another."""
    match = match_of(game, "random", *([other] if other else []), **rules)
    scripted = Recipe("random#0", "random", agent, {})
    recipes = [scripted, *[recipe(spec) for spec in match.specs[1:]]]
    return match, asyncio.run(play_match(match, registry.make(match.game), recipes))


def plays(found: list[Decided]) -> list[Decided]:
    return [one for one in found if not one.reflects]


@pytest.mark.parametrize(
    ("game", "other"),
    [
        ("kuhn_poker", "random"),
        ("tic_tac_toe", "random"),
        ("matrix_rps", "random"),
        ("sokoban", None),
        ("leduc_poker", "random"),
    ],
)
@pytest.mark.parametrize("seats", ["fixed", "rotate"])
def test_each_decision_has_its_own_answer_position_and_action(game: str, other: str | None, seats: str) -> None:
    _, result = played(game, Sayer, other, episodes=4, seats=seats)
    found = decided(record_of(result), 0)
    for one in plays(found):
        assert one.said is not None
        key, _, spoken = one.said.raw.rpartition("|")
        assert key == one.anchor
        assert spoken == (one.action or "nothing")
        assert (one.fault is None) == (one.action is not None)
    turns = sum([len([seat for seat in row.turn_seats if row.order[seat] == 0]) for row in result.episodes])
    assert len([one for one in plays(found) if one.action is not None]) == turns
    assert [one.said.raw for one in found if one.reflects and one.said] == [f"reflection {n}" for n in (1, 2, 3)]


@pytest.mark.parametrize(("game", "other"), [("kuhn_poker", "random"), ("sokoban", None), (CLIFF, None)])
def test_rewards_sum_to_the_return_of_the_seat(game: str, other: str | None) -> None:
    if game == CLIFF:
        pytest.importorskip("gymnasium")
    _, result = played(game, Sayer, other, episodes=3, seats="rotate" if other else "fixed")
    found = decided(record_of(result), 0)
    for row in result.episodes:
        own = [one for one in plays(found) if one.episode == row.episode]
        assert sum([one.reward for one in own]) == pytest.approx(row.returns[own[0].seat])
        assert all(one.reward == 0 for one in own if one.action is None)


def test_decisions_stand_in_the_order_in_which_they_were_made() -> None:
    _, result = played("leduc_poker", Sayer, episodes=5)
    found = decided(record_of(result), 0)
    places = [(one.episode, one.reflects, one.turn or 0, one.attempt) for one in found]
    assert places == sorted(places)
    assert any(one.attempt for one in found)


def test_a_fault_that_ends_an_episode_is_a_decision_without_an_action() -> None:
    _, result = played("tic_tac_toe", Resigner, episodes=2)
    record = record_of(result)
    for number in (1, 2):
        own = [one for one in plays(decided(record, 0)) if one.episode == number]
        assert [(one.fault, one.action is None) for one in own] == [(None, False), ("illegal", True)]
        assert own[-1].said is not None
        assert own[-1].said.raw == f"{own[-1].anchor}|resign"
    others = [one for one in decided(record, 1) if one.episode == 1]
    assert all(one.said is None and one.fault is None for one in others)


def test_the_store_gives_back_the_same_decisions(tmp_path: Path) -> None:
    match, result = played("kuhn_poker", Sayer, episodes=6, seats="rotate")
    store = Store(tmp_path / "arena.duckdb")
    register(store, match)
    keep(store, result, utc_now())
    (row,) = queries.matches(store)
    stored = queries.match_record(store, row.match_id)
    assert decided(stored, 0) == decided(record_of(result), 0)
    assert decided(stored, 1) == decided(record_of(result), 1)
    assert stored.match == record_of(result).match


def test_a_record_that_does_not_fit_its_game_is_refused() -> None:
    _, result = played("tic_tac_toe", Sayer)
    record = record_of(result)
    wrong = record.episodes[0]._replace(turn_seats=[1, *record.episodes[0].turn_seats[1:]])
    with pytest.raises(ValueError, match="is to act"):
        decided(record._replace(episodes=[wrong]), 0)


@pytest.mark.parametrize("place", [0, 1])
def test_a_fault_among_moves_made_at_once_is_the_decision_that_it_was(place: int) -> None:
    """Also of the second seat, whose turn is numbered after one that nobody recorded."""
    names = ["random", "random"]
    match = match_of("matrix_rps", *names, episodes=4)
    recipes = [recipe("random"), recipe("random")]
    recipes[place] = Recipe(match.names[place], "random", Resigner, {})
    result = asyncio.run(play_match(match, registry.make(match.game), recipes))
    found = plays(decided(record_of(result), place))
    assert [one.fault for one in found] == [None, "illegal", None, "illegal"]
    assert [one.said is not None and one.said.raw.rpartition("|")[0] for one in found] == [one.anchor for one in found]
