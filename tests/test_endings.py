"""What a seat may know when it is not to act: while it waits, and at the end of an episode."""

import os
import random
import re
from collections.abc import Iterator, Sequence
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from games.game import Event, Game, Information, Observation, SampleError, State
from games.registry import make
from games.spiel import SpielGame, SpielState
from games.testing_play import choose, policy_of
from games.text.words import signed
from games.zoo_game import PettingZooGame
from tests.game_strings import VARIANTS, strings, write_files
from tests.test_games import CLASSIC, SPIEL
from tests.test_pettingzoo import Leaving, Waiting

TEXTS = [*[text for name in SPIEL for text in strings(name)], *VARIANTS]
ZOO = [f"pettingzoo(env=classic/{name})" for name in CLASSIC if name != "go_v5"]
ZOO += ["pettingzoo(board_size=5,env=classic/go_v5)", "pettingzoo(env=classic/chess_v6,max_turns=7)"]


@pytest.fixture(scope="module", autouse=True)
def _files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The files of `efg_game` and `nfg_game` lie in the working directory."""
    folder, before = tmp_path_factory.mktemp("games"), Path.cwd()
    write_files(folder)
    os.chdir(folder)
    yield
    os.chdir(before)


def played(game: Game, seed: int, until: int = 100_000) -> tuple[State, list[Event]]:
    """Play an episode at random: its state and all moves."""
    rng, state, moves = policy_of(seed), game.new_episode(seed), list[Event]()
    while (seats := state.seats_to_act()) and len(moves) < until:
        actions = {seat: choose(state.observe(seat), rng) for seat in seats}
        state.apply(actions)
        moves += [Event(*move) for move in actions.items()]
    return state, moves


def check_idle(state: State, observation: Observation, moves: Sequence[Event]) -> None:
    """An observation of a seat that is not to act."""
    seat = observation.seat
    assert observation.legal_actions == ()
    assert not any(observation.allows(move.action) for move in moves)
    assert observation.text.strip()
    assert not re.search(r"\byour (turn|move)\b|\bto move:", observation.text, re.I)
    own = [move for move in moves if move.seat == seat]
    assert [event for event in observation.events if event.seat == seat] == own[-1:]
    assert set(observation.events) <= {*moves, *[event for event in observation.events if event.seat < 0]}
    try:
        sample = observation.sample_state(random.Random(0))
    except SampleError:
        return
    assert sample.seats_to_act() == state.seats_to_act()
    assert sample.observe(seat).text == observation.text


@pytest.mark.parametrize("text", [*TEXTS, *ZOO])
def test_every_seat_is_told_how_an_episode_ended(text: str) -> None:
    game = make(text)
    state, moves = played(game, 3)
    before = (state.board(), state.returns())
    for seat in range(game.spec.seats):
        observation = state.observe(seat)
        check_idle(state, observation, moves)
        assert re.search(rf"^Over\. .*{re.escape(signed(state.returns()[seat]))}", observation.text, re.M)
        if game.spec.information is Information.PERFECT:
            assert moves[-1] in observation.events
    assert (state.board(), state.returns()) == before


@pytest.mark.parametrize("text", [*TEXTS, *ZOO])
def test_a_seat_that_waits_is_told_what_it_may_know_and_nothing_changes(text: str) -> None:
    game = make(text)
    for until in (0, 1, 4, 9):
        state, moves = played(game, 4, until)
        seats = state.seats_to_act()
        board, told = state.board(), [(state.observe(seat).text, state.observe(seat).key) for seat in seats]
        waiting = [state.observe(seat) for seat in range(game.spec.seats) if seat not in seats]
        for observation in waiting:
            check_idle(state, observation, moves)
            assert not seats or "Over." not in observation.text
        assert (board, told) == (state.board(), [(state.observe(seat).text, state.observe(seat).key) for seat in seats])
        kept = [(observation, observation.text, observation.key, list(observation.events)) for observation in waiting]
        if seats:
            state.apply({seat: state.observe(seat).legal_actions[0] for seat in seats})
        for observation, *then in kept:
            assert [observation.text, observation.key, list(observation.events)] == then


def dealt(text: str, cards: Sequence[int]) -> SpielState:
    """An episode of a card game with this deal."""
    game = make(text)
    assert isinstance(game, SpielGame)
    spiel = game.spiel.new_initial_state()
    for card in cards:
        spiel.apply_action(card)
    return SpielState(game, 0, spiel, sampled=True)


def bet_through(state: State, line: Sequence[bool]) -> dict[int, str]:
    """Play Kuhn poker by a line of bets and passes, its last word repeated; gives the last action of each seat."""
    last: dict[int, str] = {}
    choices = [*line]
    while seats := state.seats_to_act():
        (seat,) = seats
        last[seat] = "bet" if choices[0] else "pass"
        state.apply({seat: last[seat]})
        choices = choices[1:] or choices
    return last


@given(data=st.data(), players=st.integers(2, 4), line=st.lists(st.booleans(), min_size=1, max_size=7))
def test_a_card_of_kuhn_poker_is_shown_at_a_showdown_alone(data: st.DataObject, players: int, line: list[bool]) -> None:
    text = f"kuhn_poker(players={players})"
    deal = data.draw(st.permutations(range(players + 1)))[:players]
    state = dealt(text, deal)
    last = bet_through(state, line)
    ranks = ["9", "10", "J", "Q", "K"][-players - 1 :]
    left = [seat for seat in last if last[seat] == "bet"] or list(last)
    for seat in range(players):
        observation = state.observe(seat)
        shown = re.findall(r"seat (\d) has (\w+)", observation.text)
        assert shown == ([(str(at), ranks[deal[at]]) for at in sorted(left)] if len(left) > 1 else [])
        assert [event for event in observation.events if event.action not in ("bet", "pass")] == []
        hidden = {ranks[card] for at, card in enumerate(deal) if at != seat and (at not in left or len(left) == 1)}
        told = re.sub(r"\(deck: [^)]*\)", "", observation.text)
        assert hidden.isdisjoint(re.findall(r"\w+", told.split("Betting:")[0] + "".join(card for _, card in shown)))
        for other in permutations(set(range(players + 1)) - {deal[seat]}, players - 1):
            mixed = [*other[:seat], deal[seat], *other[seat:]]
            if all(mixed[at] == deal[at] for at in left if len(left) > 1):
                twin = dealt(text, mixed)
                bet_through(twin, line)
                told_twin = twin.observe(seat)
                assert (told_twin.text, told_twin.key) == (observation.text, observation.key)
                assert list(told_twin.events) == list(observation.events)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("text", ["leduc_poker", "leduc_poker(players=3)"])
def test_a_hand_of_leduc_poker_that_was_folded_stays_hidden(text: str, seed: int) -> None:
    state, moves = played(make(text), seed)
    folded = {move.seat for move in moves if move.action == "fold"}
    left = set(range(make(text).spec.seats)) - folded
    hands = dict(re.findall(r"seat (\d) has (\w+)", state.board()))
    for seat in range(make(text).spec.seats):
        observation = state.observe(seat)
        shown = dict(re.findall(r"seat (\d) has (\w+)", observation.text))
        assert shown == ({str(at): hands[str(at)] for at in left} if len(left) > 1 else {})
        assert f"Your card: {hands[str(seat)]}." in observation.text


def test_the_dice_are_shown_after_a_challenge() -> None:
    state, _ = played(make("liars_dice"), 2)
    (dice,) = re.findall(r"^Dice: .*$", state.board(), re.M)
    assert all(dice in state.observe(seat).text for seat in (0, 1))


def test_the_loser_of_tic_tac_toe_sees_the_winning_move() -> None:
    state = make("tic_tac_toe").new_episode(0)
    for move, cell in enumerate(["r0c0", "r1c0", "r0c1", "r1c1", "r0c2"]):
        state.apply({move % 2: cell})
    seen = state.observe(1)
    assert list(seen.events) == [Event(1, "r1c1"), Event(0, "r0c2")]
    assert "r0  x  x  x" in seen.text
    assert seen.text.splitlines()[-1] == "Over. Returns: +1 for x, -1 for o"
    assert seen.legal_actions == ()
    assert not seen.allows("r2c2")


def test_the_return_of_another_seat_stays_hidden_where_it_tells_what_that_seat_held() -> None:
    state, _ = played(make("first_sealed_auction"), 5)
    for seat in (0, 1):
        assert state.observe(seat).text.splitlines()[-1] == f"Over. Your return: {signed(state.returns()[seat])}"


def test_the_winning_throw_of_a_matrix_game_is_told_once() -> None:
    state = make("matrix_rps").new_episode(0)
    state.apply({0: "rock", 1: "paper"})
    assert state.observe(0).text.splitlines() == [
        "You are seat 0.",
        "Chosen: rock by seat 0, paper by seat 1",
        "Over. Returns: -1 for seat 0, +1 for seat 1",
    ]


def test_a_seat_that_waits_is_not_told_what_the_one_to_act_sees() -> None:
    game = make("efg_game(filename=two_coins.efg)")
    states = [game.new_episode(seed) for seed in range(20)]
    assert len({state.observe(0).text for state in states}) == 2
    assert len({(state.observe(1).text, state.observe(1).key) for state in states}) == 1


def test_in_go_the_seat_that_waits_sees_the_board_of_the_one_to_act() -> None:
    game = make("pettingzoo(board_size=5,env=classic/go_v5)")
    for until in range(12):
        state, _ = played(game, 1, until)
        assert state.seats_to_act()
        boards = [state.observe(seat).text.split("\n", 2)[2] for seat in (0, 1)]
        assert boards[0] == boards[1] == state.board().rstrip()


def test_an_agent_that_has_left_keeps_what_it_was_shown_last() -> None:
    game = PettingZooGame(Leaving, "leaving")
    state, moves = played(game, 2)
    assert not state.seats_to_act()
    for seat in range(3):
        check_idle(state, state.observe(seat), moves)
    state, moves = played(game, 2, 5)
    left = state.observe(1)
    check_idle(state, left, moves)
    then = left.text
    (seat,) = state.seats_to_act()
    state.apply({seat: "5"})
    assert state.observe(1).text == left.text == then


def test_parallel_agents_that_wait_or_have_left_are_told_what_they_were_shown() -> None:
    game = PettingZooGame(Waiting, "waiting")
    for until in range(9):
        state, moves = played(game, 0, until)
        for seat in set(range(3)) - set(state.seats_to_act()):
            check_idle(state, state.observe(seat), moves)
