"""The rules as their text tells them, worked out again from boards and action names, give the returns of OpenSpiel."""

import random
import re
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest

from games.game import Event
from games.registry import make
from games.spiel import SpielGame, SpielState

RANKS = ["2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K"]


def finished(name: str, seed: int) -> tuple[SpielState, list[Event]]:
    """A random episode, played out, and its moves."""
    game = make(name)
    assert isinstance(game, SpielGame)
    state, rng, moves = game.new_episode(seed), random.Random(seed), []
    while seats := state.seats_to_act():
        actions = {seat: rng.choice(list(state.legal(seat))) for seat in seats}
        moves += [Event(seat, action) for seat, action in actions.items()]
        state.apply(actions)
    return state, moves


def grid(board: str) -> list[str]:
    """The cells of a drawn board, row by row from the top, without labels."""
    lines = [re.sub(r"^ *\d+ |^r\d ", " ", line) for line in board.split("\n")[1:]]
    return ["".join(line.split()) for line in lines if re.fullmatch(r"[ .xobw]+", line)]


def dealt(board: str) -> list[str]:
    """What each seat has, from a line such as `Cards: seat 0 has Q, seat 1 has K`."""
    return [found.strip() for found in re.findall(r"seat \d+ has ([\w ]+)", board.split("\n")[0])]


def win(winner: int | None) -> tuple[float, ...]:
    return (0.0, 0.0) if winner is None else (1.0, -1.0) if winner == 0 else (-1.0, 1.0)


def in_line(cells: Sequence[str], length: int) -> int | None:
    """The seat whose marks stand `length` in a line, if there is one."""
    for row in range(len(cells)):
        for column in range(len(cells[0])):
            for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                end_row, end_column = row + down * (length - 1), column + right * (length - 1)
                if end_row < len(cells) and 0 <= end_column < len(cells[0]):
                    marks = {cells[row + down * step][column + right * step] for step in range(length)}
                    if marks in ({"x"}, {"o"}):
                        return "xo".index(marks.pop())
    return None


@pytest.mark.parametrize(
    ("name", "length"),
    [
        ("tic_tac_toe", 3),
        ("connect_four", 4),
        ("connect_four(columns=5,rows=4,x_in_row=3)", 3),
        ("connect_four(columns=4,rows=4)", 4),
    ],
)
def test_marks_in_a_line_win(name: str, length: int) -> None:
    drawn = 0
    for seed in range(150):
        state, _ = finished(name, seed)
        winner = in_line(grid(state.board()), length)
        assert state.returns() == win(winner)
        if winner is None:
            drawn += 1
            assert "." not in "".join(grid(state.board()))
    assert drawn or name not in ("tic_tac_toe", "connect_four(columns=4,rows=4)")


@pytest.mark.parametrize("name", ["breakthrough(columns=3,rows=5)", "breakthrough(columns=4,rows=6)"])
def test_breakthrough_is_won_on_the_far_row_or_by_taking_all(name: str) -> None:
    reasons = set()
    for seed in range(200):
        state, _ = finished(name, seed)
        rows = grid(state.board())
        black = "b" in rows[-1] or "w" not in "".join(rows)
        white = "w" in rows[0] or "b" not in "".join(rows)
        assert black != white
        assert state.returns() == win(0 if black else 1)
        reasons.add("row" if "b" in rows[-1] or "w" in rows[0] else "all")
    assert reasons == {"row", "all"} or name != "breakthrough(columns=3,rows=5)"


def joined(rows: Sequence[str], mark: str) -> bool:
    """Whether stones of a mark that touch, as the rules of hex have it, lead from the top row to the bottom row."""
    todo = [(0, column) for column, cell in enumerate(rows[0]) if cell == mark]
    seen = set(todo)
    while todo:
        row, column = todo.pop()
        if row == len(rows) - 1:
            return True
        for down, right in ((0, -1), (0, 1), (-1, 0), (-1, 1), (1, 0), (1, -1)):
            spot = (row + down, column + right)
            inside = 0 <= spot[0] < len(rows) and 0 <= spot[1] < len(rows[0])
            if inside and spot not in seen and rows[spot[0]][spot[1]] == mark:
                seen.add(spot)
                todo.append(spot)
    return False


@pytest.mark.parametrize("name", ["hex(board_size=4)", "hex(num_cols=5,num_rows=3)", "hex(board_size=4,swap=true)"])
def test_hex_is_won_by_a_chain_between_the_own_sides(name: str) -> None:
    for seed in range(100):
        state, _ = finished(name, seed)
        rows = grid(state.board())
        turned = ["".join(column) for column in zip(*rows, strict=True)]
        assert (joined(rows, "x"), joined(turned, "o")) == (state.returns() == win(0), state.returns() == win(1))
        assert state.returns() in (win(0), win(1))


def test_othello_is_won_by_more_discs() -> None:
    for seed in range(40):
        state, _ = finished("othello", seed)
        discs = "".join(grid(state.board()))
        black, white = discs.count("x"), discs.count("o")
        assert state.returns() == win(None if black == white else 0 if black > white else 1)
        assert f"Discs: black (x) {black}, white (o) {white}" in state.board()


@pytest.mark.parametrize("players", [2, 3, 5, 10])
def test_kuhn_pot_goes_to_the_highest_card_among_those_who_bet(players: int) -> None:
    for seed in range(150):
        state, moves = finished(f"kuhn_poker(players={players})", seed)
        cards = [RANKS.index(card) for card in dealt(state.board())]
        bettors = [seat for seat, action in moves if action == "bet"]
        winner = max(bettors or range(players), key=lambda seat: cards[seat])
        paid = [1 + (seat in bettors) for seat in range(players)]
        assert state.returns() == tuple([sum(paid) * (seat == winner) - paid[seat] for seat in range(players)])
        assert [seat for seat, _ in moves] == [place % players for place in range(len(moves))]
        if bettors:
            first = next(place for place, move in enumerate(moves) if move.action == "bet")
            assert len(moves) == first + players


@pytest.mark.parametrize(
    "name",
    [
        "leduc_poker",
        "leduc_poker(suit_isomorphism=true)",
        "leduc_poker(players=3,starting_player=1)",
        "leduc_poker(players=4)",
    ],
)
def test_leduc_pot_goes_to_the_pair_or_the_highest_card(name: str) -> None:
    for seed in range(200):
        state, moves = finished(name, seed)
        board = state.board()
        cards = [card.rstrip("sh") for card in dealt(board)]
        public = re.findall(r"public card (\w+)", board)[0].rstrip("sh")
        paid, inside = played(moves, len(cards), "Round 2" in board and board.split("\n")[1])
        strength = [100 if card == public else RANKS.index(card) for card in cards]
        best = max(strength[seat] for seat in inside)
        winners = [seat for seat in inside if strength[seat] == best]
        share = sum(paid) / len(winners)
        expected = [share * (seat in winners) - chips for seat, chips in enumerate(paid)]
        assert state.returns() == pytest.approx(expected)


def played(moves: Sequence[Event], seats: int, first_round: str | bool) -> tuple[list[int], list[int]]:
    """Chips put in by each seat, and the seats that did not fold; `first_round` is the board's line on round 1."""
    in_first = first_round.count("seat") if isinstance(first_round, str) else len(moves)
    paid, inside = [1] * seats, list(range(seats))
    for place, (seat, action) in enumerate(moves):
        if action == "fold":
            inside.remove(seat)
        else:
            paid[seat] = max(paid) + (0 if action == "call" else 2 if place < in_first else 4)
    return paid, inside


@pytest.mark.parametrize(
    "name", ["liars_dice", "liars_dice(numdice=2)", "liars_dice(bidding_rule=reset-quantity,dice_sides=4,numdice=2)"]
)
def test_liars_dice_is_won_by_a_true_bid_or_a_right_challenge(name: str) -> None:
    by_face = "reset-quantity" in name
    sides = 4 if by_face else 6
    for seed in range(200):
        state, moves = finished(name, seed)
        dice = [int(face) for hand in dealt(state.board()) for face in hand.split()]
        bids = [tuple(map(int, action.split("x"))) for _, action in moves[:-1]]
        assert moves[-1].action == "liar"
        order = [bid[::-1] for bid in bids] if by_face else bids
        assert all(low < high for low, high in pairwise(order))
        quantity, face = bids[-1]
        true = sum(each in (face, sides) for each in dice) >= quantity
        assert state.returns() == win(moves[-2].seat if true else moves[-1].seat)


def shared(points: list[int]) -> list[float]:
    best = [value == max(points) for value in points]
    if all(best):
        return [0.0] * len(points)
    return [1 / sum(best) if one else -1 / (len(best) - sum(best)) for one in best]


def differences(points: list[int]) -> list[float]:
    return [value - sum(points) / len(points) for value in points]


@pytest.mark.parametrize(
    ("name", "score"),
    [
        ("goofspiel(num_cards=5)", shared),
        ("goofspiel(imp_info=true,num_cards=4,players=3)", shared),
        ("goofspiel(num_cards=6,num_turns=3,players=3,returns_type=point_difference)", differences),
        ("goofspiel(num_cards=5,points_order=descending,returns_type=total_points)", list),
    ],
)
def test_goofspiel_prizes_go_to_the_single_highest_bid(name: str, score: Callable[[list[int]], list[float]]) -> None:
    for seed in range(100):
        state, moves = finished(name, seed)
        seats = len(state.returns())
        rounds = re.findall(r"Round (\d+): prize (\d+), bids ([\d ]+), won by ([\w ]+)", state.board())
        points = [0] * seats
        for number, prize, bids, winner in rounds:
            cards = [int(card) for card in bids.split()]
            made = [int(action) for _, action in moves[(int(number) - 1) * seats :][:seats]]
            assert made in (cards, [])
            top = [seat for seat, card in enumerate(cards) if card == max(cards)]
            assert winner == (f"seat {top[0]}" if len(top) == 1 else "nobody")
            if len(top) == 1:
                points[top[0]] += int(prize)
        assert state.returns() == pytest.approx(score(points))


@pytest.mark.parametrize("stage", ["matrix_pd", "matrix_brps", "matrix_bos"])
def test_repeated_returns_are_the_sum_of_the_payoffs_in_the_rules(stage: str) -> None:
    name = f"repeated_game(num_repetitions=7,stage_game={stage}())"
    table = [line.split() for line in make(name).spec.rules.split("\n")]
    columns = next(line for line in table if line == [row[0] for row in table if len(row) == len(line) + 1])
    pay = {
        (row[0], column): [float(value) for value in cell.split(",")]
        for row in table
        if row[0] in columns and len(row) == len(columns) + 1
        for column, cell in zip(columns, row[1:], strict=True)
    }
    for seed in range(20):
        state, moves = finished(name, seed)
        joints = [pay[first.action, second.action] for first, second in zip(moves[::2], moves[1::2], strict=True)]
        assert state.returns() == tuple([sum(joint[seat] for joint in joints) for seat in (0, 1)])
