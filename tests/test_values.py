"""Exact values of small games agree with what was computed by hand or published."""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import cast

import pyspiel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.agent import Setup, TabularPolicy
from agents.registry import recipe
from agents.tree import HISTORIES, POSITIONS, NoTreeError, count_histories, expand, layout
from agents.values import (
    Goal,
    adaptive_ceiling,
    best_response,
    expected_returns,
    exploitability,
    memoryless_ceiling,
    nash_conv,
)
from games.errors import UserError
from games.game import Action, Game, Observation
from games.registry import make
from games.spiel import SpielGame

KUHN = make("kuhn_poker")
TIC_TAC_TOE = make("tic_tac_toe")
STYLES = ("conservative", "aggressive", "intermediate")


def policy(spec: str, game: Game, seat: int = 0) -> TabularPolicy:
    return cast(TabularPolicy, recipe(spec).make(Setup(game, seat, 1)))


def archetypes() -> list[TabularPolicy]:
    return [policy(f"kuhn(style={style})", KUHN) for style in STYLES]


class Places:
    """Gives fixed weights to the legal actions of each information state, by place."""

    def __init__(self, weights: Mapping[str, tuple[float, ...]]) -> None:
        self.weights = weights

    def probabilities(self, observation: Observation) -> Mapping[Action, float]:
        return dict(zip(observation.legal_actions, self.weights[observation.key], strict=True))


def kuhn_equilibrium(alpha: float) -> Places:
    """The family of equilibria of Kuhn (1950): how often the first player bets the jack says the rest."""
    first = {"0": alpha, "1": 0.0, "2": 3 * alpha, "0pb": 0.0, "1pb": alpha + 1 / 3, "2pb": 1.0}
    second = {"0p": 1 / 3, "1p": 0.0, "2p": 1.0, "0b": 0.0, "1b": 1 / 3, "2b": 1.0}
    return Places({key: (1 - bet, bet) for key, bet in (first | second).items()})


@pytest.mark.parametrize("alpha", [0.0, 0.1, 1 / 3])
def test_kuhn_is_worth_minus_one_eighteenth_to_the_first_player(alpha: float) -> None:
    profile = [kuhn_equilibrium(alpha)] * 2
    assert expected_returns(KUHN, profile) == pytest.approx((-1 / 18, 1 / 18), abs=1e-12)
    assert exploitability(KUHN, profile) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("style", "first", "second"),
    [
        ("conservative", Fraction(1, 6), Fraction(1, 3)),
        ("aggressive", Fraction(1, 3), Fraction(1, 3)),
        ("intermediate", Fraction(1, 3), Fraction(1, 6)),
    ],
)
def test_best_responses_to_the_kuhn_archetypes(style: str, first: Fraction, second: Fraction) -> None:
    opponent = policy(f"kuhn(style={style})", KUHN)
    assert best_response(KUHN, 0, [opponent]).value == pytest.approx(float(first), abs=1e-12)
    assert best_response(KUHN, 1, [opponent]).value == pytest.approx(float(second), abs=1e-12)


def test_ceilings_against_the_kuhn_archetypes_in_equal_shares() -> None:
    assert memoryless_ceiling(KUHN, 0, archetypes()) == pytest.approx(1 / 18, abs=1e-12)
    assert memoryless_ceiling(KUHN, 1, archetypes()) == pytest.approx(1 / 6, abs=1e-12)
    assert adaptive_ceiling(KUHN, 0, archetypes()) == pytest.approx(5 / 18, abs=1e-12)
    assert adaptive_ceiling(KUHN, 1, archetypes()) == pytest.approx(5 / 18, abs=1e-12)


def test_always_betting_wins_more_from_uniform_play_than_an_equilibrium_and_yet_can_be_exploited() -> None:
    uniform, bets = policy("random", KUHN), policy("always(action=bet)", KUHN)
    assert exploitability(KUHN, [uniform, uniform]) == pytest.approx(0.458333, abs=1e-6)
    assert exploitability(KUHN, [bets, bets]) == pytest.approx(1 / 3, abs=1e-12)
    assert earned_against(uniform, bets) == pytest.approx(0.375, abs=1e-12)
    assert earned_against(uniform, kuhn_equilibrium(0.0)) == pytest.approx(1 / 9, abs=1e-12)
    assert earned_against(uniform, kuhn_equilibrium(1 / 3)) == pytest.approx(1 / 6, abs=1e-12)


def earned_against(opponent: TabularPolicy, player: TabularPolicy) -> float:
    """Mean return of a player of Kuhn poker over both seats."""
    return (expected_returns(KUHN, [player, opponent])[0] + expected_returns(KUHN, [opponent, player])[1]) / 2


@pytest.mark.parametrize(("seat", "wins"), [(0, 0.994792), (1, 0.938624)])
def test_highest_win_probability_against_uniform_play_at_tic_tac_toe(seat: int, wins: float) -> None:
    uniform = policy("random", TIC_TAC_TOE)
    assert best_response(TIC_TAC_TOE, seat, [uniform], Goal.WIN).value == pytest.approx(wins, abs=1e-6)
    assert best_response(TIC_TAC_TOE, seat, [uniform]).value >= 2 * wins - 1


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("number", range(1, 7))
def test_every_priority_list_loses_to_a_best_response_for_certain(number: int, seat: int) -> None:
    opponent = policy(f"priority(list={number})", TIC_TAC_TOE, 1 - seat)
    assert best_response(TIC_TAC_TOE, seat, [opponent]).value == 1.0
    assert best_response(TIC_TAC_TOE, seat, [opponent], Goal.WIN).value == 1.0


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(["kuhn_poker", "tiny_bridge_2p", "matrix_rps"]), st.integers(0, 2**31 - 1))
def test_values_of_random_policies_equal_openspiels(name: str, seed: int) -> None:
    if name == "tiny_bridge_2p":
        name = "liars_dice(dice_sides=2,numdice=1)"
    game = make(name)
    assert isinstance(game, SpielGame)
    turns = pyspiel.convert_to_turn_based(game.spiel) if name == "matrix_rps" else game.spiel
    table = pyspiel.GetRandomPolicy(turns, seed).policy_table()
    weights = {key: tuple([weight for _, weight in sorted(choice)]) for key, choice in table.items()}
    player = PerSeat(weights) if name == "matrix_rps" else Places(weights)
    assert nash_conv(game, [player, player]) == pytest.approx(pyspiel.nash_conv(turns, table), abs=1e-9)


class PerSeat:
    """The policy of a one-shot game made turn-based, whose information states name their seat."""

    def __init__(self, weights: Mapping[str, tuple[float, ...]]) -> None:
        self.weights = weights

    def probabilities(self, observation: Observation) -> Mapping[Action, float]:
        mine = [weights for key, weights in self.weights.items() if f"player: {observation.seat}" in key]
        assert len(mine) == 1
        return dict(zip(observation.legal_actions, mine[0], strict=True))


def test_a_simultaneous_move_is_chosen_without_knowing_the_others() -> None:
    game = make("matrix_rps")
    uniform, rock = policy("random", game), policy("always(action=rock)", game)
    assert best_response(game, 0, [uniform]).value == pytest.approx(0)
    assert best_response(game, 1, [rock]).value == 1.0
    assert memoryless_ceiling(game, 0, [rock, uniform]) == pytest.approx(0.5)
    assert exploitability(game, [uniform, uniform]) == pytest.approx(0)


def test_three_seats_have_values_too() -> None:
    game = make("kuhn_poker(players=3)")
    uniform = policy("random", game)
    assert math.fsum(expected_returns(game, [uniform] * 3)) == pytest.approx(0, abs=1e-12)
    assert nash_conv(game, [uniform] * 3) > 0.5
    with pytest.raises(UserError, match="two seats"):
        best_response(game, 0, [uniform])


def test_positions_are_merged_and_histories_counted() -> None:
    assert len(expand(TIC_TAC_TOE, merged=True).player) == 5478
    assert len(layout(make("leduc_poker")).player) == 9457
    leduc = make("leduc_poker")
    assert isinstance(leduc, SpielGame)
    assert count_histories(leduc) == 9457


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("tic_tac_toe", f"more than {HISTORIES:,} histories"),
        ("liars_dice", f"more than {HISTORIES:,} histories"),
        ("hanabi", "does not tell its information states"),
        ("pettingzoo(env=classic/tictactoe_v3)", "no game of OpenSpiel"),
    ],
)
def test_what_cannot_be_laid_out_is_refused_with_the_reason(name: str, why: str) -> None:
    with pytest.raises(NoTreeError, match=why):
        expand(make(name))


def test_too_many_positions_are_refused_with_the_limit() -> None:
    with pytest.raises(NoTreeError, match=f"connect_four has more than {POSITIONS:,} positions"):
        expand(make("connect_four"), merged=True)


def test_positions_are_not_merged_where_the_board_does_not_tell_all() -> None:
    """A ban on repeated boards depends on the history."""
    with pytest.raises(NoTreeError, match="does not tell all that matters"):
        expand(make("go(board_size=2)"), merged=True)


def test_a_mixture_needs_every_history() -> None:
    with pytest.raises(NoTreeError, match="several opponents"):
        memoryless_ceiling(TIC_TAC_TOE, 0, [policy(f"priority(list={n})", TIC_TAC_TOE) for n in (1, 2)])


def test_a_policy_that_is_no_distribution_is_an_error() -> None:
    class Halves:
        def probabilities(self, observation: Observation) -> Mapping[Action, float]:
            return dict.fromkeys(observation.legal_actions, 0.4)

    with pytest.raises(ValueError, match="no distribution over"):
        expected_returns(KUHN, [Halves(), Halves()])
