"""best_response plays what is best against the agent that it is told, from what its seat sees."""

import asyncio
from collections.abc import Sequence
from fractions import Fraction

import pytest

from agents.agent import Agent, Setup
from agents.best_response import BestResponse
from agents.registry import recipe
from agents.uniform import Uniform
from agents.values import best_response, expected_returns
from games.game import Game, State
from games.registry import make
from games.spec import SpecError

KUHN = make("kuhn_poker")
TIC_TAC_TOE = make("tic_tac_toe")


def play(game: Game, agents: Sequence[Agent], seed: int) -> State:
    state = game.new_episode(seed)
    while seats := state.seats_to_act():
        state.apply({seat: asyncio.run(agents[seat].act(state.observe(seat))).action for seat in seats})
    return state


def against(spec: str, game: Game, seat: int, seed: int, goal: str = "return") -> list[Agent]:
    """The best response in a seat, the agent that it answers in the other."""
    answer = recipe(f'best_response(to="{spec}",goal={goal})').make(Setup(game, seat, seed))
    other = recipe(spec).make(Setup(game, 1 - seat, seed))
    return [answer, other] if seat == 0 else [other, answer]


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("number", range(1, 7))
def test_every_priority_list_is_beaten_every_time(number: int, seat: int) -> None:
    for seed in range(5):
        assert play(TIC_TAC_TOE, against(f"priority(list={number})", TIC_TAC_TOE, seat, seed), seed).success()[seat]


@pytest.mark.parametrize(
    ("spec", "values"),
    [
        ("kuhn(style=conservative)", (Fraction(1, 6), Fraction(1, 3))),
        ("kuhn(style=aggressive)", (Fraction(1, 3), Fraction(1, 3))),
        ("kuhn(style=intermediate)", (Fraction(1, 3), Fraction(1, 6))),
    ],
)
def test_the_agent_earns_what_a_best_response_is_worth(spec: str, values: tuple[Fraction, Fraction]) -> None:
    """Its stated probabilities, ties and all, are played out over every deal."""
    for seat, value in enumerate(values):
        returns = expected_returns(KUHN, against(spec, KUHN, seat, 1))  # type: ignore[arg-type]
        assert returns[seat] == pytest.approx(float(value), abs=1e-12)


@pytest.mark.parametrize(("seat", "wins"), [(0, 0.994792), (1, 0.938624)])
def test_the_goal_win_wins_most_often_against_uniform_play(seat: int, wins: float) -> None:
    """A win pays 1 and a loss -1: what is earned lies between all other games lost and all drawn."""
    returns = expected_returns(TIC_TAC_TOE, against("random", TIC_TAC_TOE, seat, 1, "win"))  # type: ignore[arg-type]
    assert 2 * wins - 1 - 1e-6 <= returns[seat] <= wins + 1e-6
    best = expected_returns(TIC_TAC_TOE, against("random", TIC_TAC_TOE, seat, 1))  # type: ignore[arg-type]
    assert best[seat] >= returns[seat] - 1e-12


def test_one_agent_answers_in_either_seat() -> None:
    """Seats may rotate within a match."""
    agent = BestResponse(Setup(KUHN, 0, 1), to="kuhn(style=conservative)")
    other = recipe("kuhn(style=conservative)").make(Setup(KUHN, 1, 1))
    assert expected_returns(KUHN, [agent, other])[0] == pytest.approx(1 / 6)  # type: ignore[list-item]
    assert expected_returns(KUHN, [other, agent])[1] == pytest.approx(1 / 3)  # type: ignore[list-item]


def test_it_answers_a_simultaneous_move() -> None:
    game = make("matrix_rps")
    for seat in (0, 1):
        assert play(game, against("always(action=rock)", game, seat, 1), 1).success()[seat]


def test_it_answers_solvers_and_other_best_responses() -> None:
    cfr = recipe("cfr(iterations=100)").make(Setup(KUHN, 1, 1))
    nested = "best_response(to=cfr(iterations=100))"
    assert best_response(KUHN, 0, [cfr]).value > -1 / 18  # type: ignore[list-item]
    assert recipe(f"best_response(to={nested})").misfit(KUHN) is None
    answer = recipe(f"best_response(to={nested})").make(Setup(KUHN, 0, 1))
    assert play(KUHN, [answer, recipe(nested).make(Setup(KUHN, 1, 1))], 1).seats_to_act() == ()


def test_the_spec_of_the_opponent_is_made_canonical() -> None:
    assert recipe("best_response(to='kuhn( style = aggressive )')").spec == "best_response(to=kuhn(style=aggressive))"
    assert recipe("best_response(to=cfr(iterations=1000),goal=return)").spec == "best_response(to=cfr)"


@pytest.mark.parametrize(
    ("spec", "name", "why"),
    [
        ("best_response(to=mcts)", "tic_tac_toe", "states its probabilities, and mcts does not"),
        ("best_response(to=kuhn(style=aggressive))", "tic_tac_toe", "kuhn_poker"),
        ("best_response(to=random)", "kuhn_poker(players=3)", "two seats"),
        ("best_response(to=random)", "liars_dice", "more than 100,000 histories"),
        ("best_response(to=random)", "connect_four", "more than 100,000 positions"),
    ],
)
def test_misfits_are_told(spec: str, name: str, why: str) -> None:
    reason = recipe(spec).misfit(make(name))
    assert reason is not None
    assert why in reason


@pytest.mark.parametrize(
    "wrong",
    ["best_response", "best_response(to=nobody)", "best_response(to=cfr(depth=3))", "best_response(to=random,goal=x)"],
)
def test_wrong_parameters_are_refused(wrong: str) -> None:
    with pytest.raises(SpecError):
        recipe(wrong)


def test_an_opponent_that_plays_differently_makes_another_best_response(monkeypatch: pytest.MonkeyPatch) -> None:
    before = recipe("best_response(to=random)").fingerprint
    monkeypatch.setattr(Uniform, "version", Uniform.version + 1)
    recipe.cache_clear()
    after = recipe("best_response(to=random)").fingerprint
    recipe.cache_clear()
    assert before != after
