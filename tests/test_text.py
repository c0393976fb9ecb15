"""The plain words of OpenSpiel games: names, views and boards that people and language models can rely on."""

import random
import re
from collections.abc import Iterator
from functools import cache

import pytest

from games.registry import make
from games.spec import SpecError, parse
from games.spiel import SpielGame, SpielState, information_key
from games.text.grid import letters
from games.text.table import TABLE
from games.text.words import Words

GAMES = [
    "tic_tac_toe",
    "connect_four",
    "connect_four(columns=12,rows=4,x_in_row=3)",
    "breakthrough",
    "breakthrough(columns=3,rows=5)",
    "breakthrough(columns=28,rows=12)",
    "hex(board_size=3)",
    "hex(num_cols=5,num_rows=3)",
    "hex(board_size=3,string_rep=explicit,swap=true)",
    "othello",
    "kuhn_poker",
    "kuhn_poker(players=3)",
    "kuhn_poker(players=10)",
    "leduc_poker",
    "leduc_poker(players=3,starting_player=2)",
    "leduc_poker(action_mapping=true,suit_isomorphism=true)",
    "liars_dice",
    "liars_dice(numdice=2)",
    "liars_dice(bidding_rule=reset-quantity,dice_sides=12,numdice=2)",
    "goofspiel(num_cards=4)",
    "goofspiel(imp_info=true,num_cards=4)",
    "goofspiel(num_cards=4,players=3,points_order=descending,returns_type=point_difference)",
    "goofspiel(egocentric=true,imp_info=true,num_cards=13,num_turns=3,points_order=ascending,returns_type=total_points)",
    *sorted(name for name in TABLE if name.startswith("matrix_")),
    "repeated_game(num_repetitions=3,stage_game=matrix_rps())",
    "repeated_game(num_repetitions=3,recall=2,stage_game=matching_pennies_3p())",
    "repeated_game(num_repetitions=12,stage_game=blotto(coins=4))",
]
HIDDEN = [name for name in GAMES if name.startswith(("kuhn", "leduc", "liars", "goofspiel(imp", "goofspiel(ego"))]


@cache
def load(name: str) -> SpielGame:
    game = make(name)
    assert isinstance(game, SpielGame)
    return game


def positions(name: str, episodes: int, moves: int = 10_000) -> Iterator[SpielState]:
    """Positions of random episodes, the last ones too; a yielded state moves on when the next is asked for."""
    game = load(name)
    for seed in range(episodes):
        rng = random.Random(seed)
        state = game.new_episode(seed)
        yield state
        for _ in range(moves):
            seats = state.seats_to_act()
            if not seats:
                break
            state.apply({seat: rng.choice(list(state.legal(seat))) for seat in seats})
            yield state


@pytest.mark.parametrize("name", GAMES)
def test_action_names_are_unique_in_a_position_and_easy_to_write(name: str) -> None:
    for state in positions(name, 6):
        for seat in state.seats_to_act():
            names = state.observe(seat).legal_actions
            assert len(set(names)) == len(names) == len(state.spiel.legal_actions(seat))
            assert all(re.fullmatch(r"[\w.+-]+", each) for each in names)


@pytest.mark.parametrize("name", GAMES)
def test_an_action_name_can_stand_without_quotes_in_an_agent_string(name: str) -> None:
    for state in positions(name, 2):
        for seat in state.seats_to_act():
            for each in state.legal(seat):
                assert str(parse(f"always(action={each})").params["action"]) == each


@pytest.mark.parametrize("name", GAMES)
def test_action_names_depend_on_seat_and_action_only(name: str) -> None:
    words = load(name).words
    assert words.fixed_names
    start = load(name).new_episode(0).spiel
    for state in positions(name, 4):
        for seat in state.seats_to_act():
            for each, action in state.legal(seat).items():
                assert words.action(state.spiel, seat, action) == words.action(start, seat, action) == each


@pytest.mark.parametrize("name", GAMES)
def test_view_is_a_function_of_seat_and_information_state(name: str) -> None:
    game = load(name)
    texts: dict[tuple[int, str], str] = {}
    visits = 0
    for state in positions(name, 150, moves=12):
        for seat in range(game.spec.seats):
            text = game.words.view(state.spiel, seat)
            assert texts.setdefault((seat, information_key(game, state.spiel, seat)), text) == text
            visits += 1
    assert len(texts) < visits


@pytest.mark.parametrize("name", [name for name in HIDDEN if load(name).spec.can_sample_state])
def test_view_is_unchanged_where_only_hidden_information_differs(name: str) -> None:
    differing = 0
    for number, state in enumerate(positions(name, 60)):
        for seat in state.seats_to_act():
            observation = state.observe(seat)
            other = observation.sample_state(random.Random(number))
            assert other.observe(seat).text == observation.text
            differing += other.board() != state.board()
    assert differing > 20


@pytest.mark.parametrize("name", [name for name in HIDDEN if load(name).words.public_moves])
def test_where_moves_are_declared_public_the_information_state_holds_them(name: str) -> None:
    """So that an observation's events tell a seat nothing new."""
    game = load(name)
    moves: dict[tuple[int, str], list[int]] = {}
    for state in positions(name, 150):
        played = [step.action for step in state.spiel.full_history() if step.player >= 0]
        for seat in range(game.spec.seats):
            assert moves.setdefault((seat, information_key(game, state.spiel, seat)), played) == played


@pytest.mark.parametrize("name", GAMES)
def test_texts_are_plain(name: str) -> None:
    game = load(name)
    texts = [game.spec.title, game.spec.rules]
    for state in positions(name, 3):
        texts += [state.board(), *[game.words.view(state.spiel, seat) for seat in range(game.spec.seats)]]
    for text in texts:
        assert text.isascii()
        assert text.replace("\n", "").isprintable()
        assert "[" not in text
        assert text == "\n".join(line.rstrip() for line in text.strip("\n").split("\n"))


@pytest.mark.parametrize("name", GAMES)
def test_a_view_says_who_one_is(name: str) -> None:
    game = load(name)
    for state in positions(name, 1):
        heads = [game.words.view(state.spiel, seat).split("\n")[0] for seat in range(game.spec.seats)]
        if not (state.spiel.is_terminal() and name.startswith("matrix")):
            assert len(set(heads)) == len(heads)
            assert all(head.startswith(("You are seat ", "You play ")) for head in heads)


@pytest.mark.parametrize("name", GAMES)
def test_rules_name_every_kind_of_action_and_the_returns(name: str) -> None:
    game = load(name)
    written = set(re.findall(r"[\w+-]+", game.spec.rules))
    seen = {each for state in positions(name, 30) for seat in state.seats_to_act() for each in state.legal(seat)}
    assert {each for each in seen if each.isalpha()} <= written
    assert seen & written
    assert "Returns: " in game.spec.rules


@pytest.mark.parametrize("name", sorted(TABLE))
def test_every_game_of_the_table_has_words_of_its_own(name: str) -> None:
    words = load(name if name != "repeated_game" else GAMES[-1]).words
    assert type(words).rules is not Words.rules
    assert type(words).view is not Words.view


def cell(text: str, column: str, row: str) -> str:
    """What a drawn board shows in the column and row of these labels."""
    lines = [line.split() for line in text.split("\n")]
    header = next(line for line in lines if column in line)
    return next(line for line in lines if line[0] == row)[1 + header.index(column)]


def named(action: str) -> tuple[str, str]:
    """The column and row labels in a cell's name such as b3 or aa12."""
    found = re.fullmatch(r"([a-z]+)(\d+)", action)
    assert found
    return found[1], found[2]


def moves(name: str, episodes: int = 4) -> Iterator[tuple[int, str, str, str]]:
    """Seat, action, and the board before and after it, of random episodes."""
    for seed in range(episodes):
        rng, state = random.Random(seed), load(name).new_episode(seed)
        while seats := state.seats_to_act():
            action, before = rng.choice(list(state.legal(seats[0]))), state.board()
            state.apply({seats[0]: action})
            yield seats[0], action, before, state.board()


def test_a_tic_tac_toe_action_marks_the_cell_of_its_labels() -> None:
    for seat, action, before, after in moves("tic_tac_toe"):
        assert (cell(before, action[2:], action[:2]), cell(after, action[2:], action[:2])) == (".", "xo"[seat])


@pytest.mark.parametrize("name", [name for name in GAMES if name.startswith("connect_four")])
def test_a_connect_four_action_drops_into_the_column_of_its_label(name: str) -> None:
    for seat, action, before, after in moves(name):
        old, new = ([line.split()[int(action)] for line in text.split("\n")[:-1]] for text in (before, after))
        assert old[0] == new[0] == action
        assert "".join(new[1:]).lstrip(".") == "xo"[seat] + "".join(old[1:]).lstrip(".")


@pytest.mark.parametrize(
    "name", ["hex(board_size=3)", "hex(num_cols=5,num_rows=3)", "hex(num_cols=30,num_rows=2)", "othello"]
)
def test_a_stone_lands_on_the_cell_of_its_labels(name: str) -> None:
    for seat, action, before, after in moves(name):
        if action != "pass":
            assert (cell(before, *named(action)), cell(after, *named(action))) == (".", "xo"[seat])


@pytest.mark.parametrize("name", [name for name in GAMES if name.startswith("breakthrough")])
def test_a_breakthrough_move_leaves_and_enters_the_cells_of_its_labels(name: str) -> None:
    for seat, action, before, after in moves(name, 2):
        start, end = map(named, action.split("-"))
        assert (cell(before, *start), cell(after, *start)) == ("bw"[seat], ".")
        assert (cell(before, *end) != "bw"[seat], cell(after, *end)) == (True, "bw"[seat])


def test_hex_swap_exchanges_row_and_column_of_the_stone() -> None:
    state = load("hex(board_size=3,string_rep=explicit,swap=true)").new_episode(0)
    state.apply({0: "b1"})
    state.apply({1: "swap"})
    assert state.board() == "  a b c\n1 . . .\n 2 o . .\n  3 . . .\nTo move: black (x)"


def test_column_letters_go_on_after_z() -> None:
    assert letters(29)[24:] == ["y", "z", "aa", "ab", "ac"]
    assert len(set(letters(1000))) == 1000


def test_a_thousand_rounds_are_told_in_bounded_space_and_told_apart() -> None:
    game = load("repeated_game(num_repetitions=1000,stage_game=matrix_rps())")
    state = game.new_episode(1)
    keys = set()
    for number in range(999):
        state.apply({0: "rock", 1: "paper" if number < 500 else "scissors"})
        keys.add(state.observe(0).key)
    text = state.observe(1).text
    assert len(keys) == 999
    assert len(text) < 1000
    assert "Rounds played: 999 of 1000." in text
    assert "you: rock 0, paper 500, scissors 499" in text
    assert text.endswith("  999: seat 0 rock (+1), you scissors (-1)")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("hex(num_cols=4,num_rows=3,swap=true)", "as many rows as columns"),
        ("hex(num_cols=4,num_rows=1)", "cannot be won"),
        ("leduc_poker(starting_player=2)", "choices: 0, 1"),
        ("goofspiel(num_cards=5,num_turns=4)", "from 1 to 3"),
        ("goofspiel(num_turns=0)", "13 rounds"),
    ],
)
def test_parameters_that_openspiel_takes_but_cannot_play_are_refused(name: str, reason: str) -> None:
    with pytest.raises(SpecError, match=reason):
        make(name)


GOLDEN: list[tuple[str, list[dict[int, str]], int, str]] = [
    ("tic_tac_toe", [{0: "r1c1"}, {1: "r0c2"}], 0, "You play x.\n   c0 c1 c2\nr0  .  .  o\nr1  .  x  .\nr2  .  .  ."),
    (
        "connect_four(columns=4,rows=3,x_in_row=3)",
        [{0: "0"}, {1: "0"}, {0: "3"}],
        1,
        "You play o.\n 0 1 2 3\n . . . .\n o . . .\n x . . x",
    ),
    (
        "breakthrough(columns=3,rows=4)",
        [{0: "a4-b3"}, {1: "c1-c2"}, {0: "b3-c2"}],
        1,
        "You play white (w) and move up to row 4.\n  a b c\n4 . b b\n3 . . .\n2 . . b\n1 w w .",
    ),
    (
        "hex(board_size=3)",
        [{0: "b2"}, {1: "a3"}],
        0,
        "You play black (x) and join the top and bottom rows.\n  a b c\n1 . . .\n 2 . x .\n  3 o . .",
    ),
    (
        "matrix_pd",
        [],
        1,
        "You are seat 1.\nPayoffs, yours first in each cell; your action is the row, seat 0's the column:\n"
        "          cooperate    defect\ncooperate       5,5      0,10\n   defect      10,0       1,1",
    ),
    (
        "repeated_game(num_repetitions=9,stage_game=matrix_rps())",
        [{0: "rock", 1: "paper"}],
        0,
        "You are seat 0.\nRounds played: 1 of 9.\nTotals so far: you have -1, seat 1 has 1.\nChoices so far:\n"
        "  you: rock 1, paper 0, scissors 0\n  seat 1: rock 0, paper 1, scissors 0\n"
        "Rounds:\n  1: you rock (-1), seat 1 paper (+1)",
    ),
    (
        "goofspiel(imp_info=true,num_cards=4,points_order=descending)",
        [{0: "2", 1: "3"}, {0: "4", 1: "4"}],
        0,
        "You are seat 0.\nRound 3 of 4. Prize now: 2\nPrizes not seen yet: 1\nYour hand: 1 3\n"
        "Points: you have 0, seat 1 has 4\n"
        "Round 1: prize 4, you bid 2, won by seat 1\nRound 2: prize 3, you bid 4, won by nobody",
    ),
    (
        "goofspiel(num_cards=4,points_order=descending)",
        [{0: "2", 1: "3"}, {0: "4", 1: "4"}],
        1,
        "You are seat 1.\nRound 3 of 4. Prize now: 2\nPrizes not seen yet: 1\nYour hand: 1 2\nHand of seat 0: 1 3\n"
        "Points: seat 0 has 0, you have 4\nWinners so far: you, nobody",
    ),
]


@pytest.mark.parametrize(("name", "steps", "seat", "text"), GOLDEN, ids=[each[0] for each in GOLDEN])
def test_view_reads_as_written_here(name: str, steps: list[dict[int, str]], seat: int, text: str) -> None:
    state = load(name).new_episode(0)
    for actions in steps:
        state.apply(actions)
    assert state.observe(seat).text == text


DEALT: list[tuple[str, list[int], list[int], str, str]] = [
    (
        "kuhn_poker",
        [1, 2],
        [0, 1],
        "You are seat 0. Your card: Q (deck: J Q K).\nBetting: seat 0 pass, seat 1 bet\nPot: 3 chips.\n"
        "You have put in 1.",
        "Cards: seat 0 has Q, seat 1 has K\nBetting: seat 0 pass, seat 1 bet\nPot: 3 chips.\nTo move: seat 0",
    ),
    (
        "leduc_poker",
        [0, 5],
        [1, 2, 1, 3, 2],
        "You are seat 1. Your card: Kh. Public card: Qh.\nRound 1: seat 0 call, seat 1 raise, seat 0 call\n"
        "Round 2: seat 0 raise\nPot: 10 chips (7 from seat 0, 3 from seat 1).\nTo call: 4.",
        "Cards: seat 0 has Js, seat 1 has Kh; public card Qh\nRound 1: seat 0 call, seat 1 raise, seat 0 call\n"
        "Round 2: seat 0 raise\nPot: 10 chips (7 from seat 0, 3 from seat 1).\nTo move: seat 1",
    ),
    (
        "liars_dice(numdice=2)",
        [5, 0, 2, 3],
        [0, 8],
        "You are seat 0. Your dice: 1 6 (4 dice in play).\nBids: seat 0 said 1x1, seat 1 said 2x3",
        "Dice: seat 0 has 1 6, seat 1 has 3 4\nBids: seat 0 said 1x1, seat 1 said 2x3\nTo move: seat 0",
    ),
]


@pytest.mark.parametrize(("name", "deal", "steps", "view", "board"), DEALT, ids=[each[0] for each in DEALT])
def test_view_and_board_of_a_deal_read_as_written_here(
    name: str, deal: list[int], steps: list[int], view: str, board: str
) -> None:
    """`deal` and `steps` are OpenSpiel's numbers; a card turned up later stands among the steps."""
    game = load(name)
    spiel = game.spiel.new_initial_state()
    for number in [*deal, *steps]:
        spiel.apply_action(number)
    assert game.words.view(spiel, spiel.current_player()) == view
    assert game.words.board(spiel) == board


def test_kuhn_rules_read_as_written_here() -> None:
    assert load("kuhn_poker").spec.rules == (
        "Kuhn poker for 2 players. The deck has 3 cards, one of each rank, from low to high: J Q K. Each player puts "
        "1 chip into the pot and gets one card that only they see; one card is left over, unseen. Seat 0 acts first, "
        "then the next seats in turn.\n"
        "Each action is pass or bet. As long as nobody has bet, pass puts nothing in and bet puts 1 chip into the pot. "
        "After the first bet the other player acts just once, in turn, and betting is over: bet now puts 1 chip in to "
        "stay (a call), pass gives up the hand and what was put in (a fold). Nobody can raise.\n"
        "If all pass, the highest card takes the pot. If somebody bet, the highest card among those who bet takes it; "
        "a lone bettor takes it without a showdown. In a showdown the cards that compete for the pot are shown to all; "
        "other cards stay hidden.\n"
        "Returns: chips taken from the pot less chips put in. The winner gets what the others put in, so +1 to +2; a "
        "loser gets -1, or -2 after putting in a bet."
    )
