"""MineSweeper: openings and rewards, generated boards, exact probabilities."""

import random
from collections import Counter
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.errors import UserError
from games.registry import make
from games.tasks.minesweeper.field import Board, field, generate
from games.tasks.minesweeper.game import Minesweeper, MinesweeperState
from games.tasks.minesweeper.odds import Numbers, chances, drawn, layouts
from games.testing import check_game

GAME = make("minesweeper(rows=4,columns=4,mines=2,turns=4)")
assert isinstance(GAME, Minesweeper)
PAIR = 1 << 1 | 1 << 5
"""Mines at (1,2) and (2,2)."""


def state_of(open_: int = 1 << 9, mines: int = PAIR) -> MinesweeperState:
    return MinesweeperState(GAME, GAME.instances.first, Board(mines, open_))


def by_hand(rows: int, columns: int, numbers: Numbers, mines: int) -> list[int]:
    """All layouts that agree with some numbers, by trying every one."""
    here = field(rows, columns)
    closed = [cell for cell in range(here.cells) if cell not in numbers]
    tried = [sum([1 << cell for cell in cells]) for cells in combinations(closed, mines)]
    return [one for one in tried if all([(one & here.masks[c]).bit_count() == n for c, n in numbers.items()])]


def numbers_of(rows: int, columns: int, board: Board) -> dict[int, int]:
    masks = field(rows, columns).masks
    return {cell: (board.mines & masks[cell]).bit_count() for cell in range(rows * columns) if board.open >> cell & 1}


# Playing


def test_a_cell_without_mines_around_opens_its_neighbours_and_theirs() -> None:
    state = state_of()
    state.apply({0: "(1,4)"})
    assert state.rewards() == (2.0,)
    assert state.sight.open.bit_count() == 12
    assert state.observe(0).text.splitlines()[:5] == ["  1 2 3 4", "1 ? ? 2 0", "2 ? ? 2 0", "3 1 1 1 0", "4 0 0 0 0"]


def test_rewards_are_those_of_one_cell_of_nothing_and_of_the_last_one() -> None:
    state = state_of()
    state.apply({0: "(1,1)"})
    assert state.rewards() == (0.5,)
    assert "(1,1)" not in state.observe(0).legal_actions
    assert state.observe(0).allows("(1,1)")
    state.apply({0: "(1,1)"})
    assert state.rewards() == (-1.0,)
    assert "(1,1) was open already." in state.observe(0).text
    state.apply({0: "(2,1)"})
    state.apply({0: "(4,4)"})
    assert (state.rewards(), state.returns()) == ((10.0,), (10.0,))
    assert state.success() == (True,)


def test_a_mine_ends_the_episode_and_all_are_shown() -> None:
    state = state_of()
    state.apply({0: "(2,2)"})
    assert (state.rewards(), state.success(), state.seats_to_act()) == ((-0.1,), (False,), ())
    assert "1 ? * " in state.observe(0).text
    assert state.observe(0).text.endswith("(2,2) was a mine.\nOver: not solved. Return: -0.1")


def test_mines_stay_hidden_when_turns_run_out_and_are_shown_to_spectators() -> None:
    state = state_of()
    for _ in range(4):
        state.apply({0: "(3,2)"})
    assert not state.seats_to_act()
    assert "*" not in state.observe(0).text
    assert state.board().count("*") == 2


@pytest.mark.parametrize("action", ["", "(0,1)", "(5,1)", "(1,1", "1,1", "(1, 1)", "r1c1", 3])
def test_what_is_no_cell_is_refused(action: str) -> None:
    state = state_of()
    assert not state.observe(0).allows(action)
    with pytest.raises(ValueError, match=r"is no cell: \(1,1\) to \(4,4\)"):
        state.apply({0: action})
    assert state.log == []


# Boards


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**9))
def test_a_board_has_its_mines_and_is_not_solved_by_its_first_opening(number: int) -> None:
    board = generate(6, 6, 3, "train", number)
    assert board is not None
    assert board.mines.bit_count() == 3
    assert board.open
    assert not board.open & board.mines
    assert (board.open | board.mines).bit_count() < 36


def test_no_layout_of_mines_is_in_two_splits() -> None:
    def mines(split: str) -> set[int]:
        boards = [generate(4, 4, 2, split, number) for number in range(600)]  # type: ignore[arg-type]
        return {board.mines for board in boards if board}

    train, validation, test = map(mines, ("train", "validation", "test"))
    assert not train & validation
    assert not train & test
    assert not validation & test
    assert len(train | validation | test) > 100


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ("mines=35", "mines = 35 leaves fewer than two of 36 cells safe"),
        ("mines=0", "'mines' .* is 0"),
        ("rows=2,columns=2,mines=1,split=validation", "no board of 2 x 2 with 1 mines is in split validation"),
    ],
)
def test_measures_without_a_board_are_one_line(params: str, words: str) -> None:
    with pytest.raises(UserError, match=words) as caught:
        make(f"minesweeper({params})")
    assert "\n" not in str(caught.value)


# Probabilities


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from([(3, 4, 2), (4, 4, 3), (4, 4, 6), (3, 5, 5)]))
def test_chances_are_those_of_counting_every_layout(number: int, size: tuple[int, int, int]) -> None:
    rows, columns, mines = size
    board = generate(rows, columns, mines, "train", number)
    assert board is not None
    numbers = numbers_of(rows, columns, board)
    every = by_hand(rows, columns, numbers, mines)
    found = chances(field(rows, columns), numbers, mines)
    assert found == {cell: Fraction(sum([one >> cell & 1 for one in every]), len(every)) for cell in found}
    assert set(found) == set(range(rows * columns)) - set(numbers)
    listed = layouts(field(rows, columns), numbers, mines, len(every))
    assert listed is not None
    assert sorted(listed) == sorted(every)
    assert layouts(field(rows, columns), numbers, mines, len(every) - 1) is None


def test_layouts_are_drawn_with_equal_chances() -> None:
    board = generate(4, 4, 3, "train", 6)
    assert board is not None
    numbers = numbers_of(4, 4, board)
    every = by_hand(4, 4, numbers, 3)
    rng = random.Random(5)
    counts = Counter([drawn(field(4, 4), numbers, 3, rng) for _ in range(400 * len(every))])
    assert set(counts) == set(every)
    assert all([abs(count - 400) < 5 * 20 for count in counts.values()])


def test_numbers_that_no_layout_gives_are_an_error() -> None:
    here = field(3, 3)
    for broken in (chances, lambda *given: drawn(*given, random.Random(1))):
        with pytest.raises(ValueError, match="no layout of mines agrees"):
            broken(here, {0: 3, 1: 0}, 3)


def fewest_openings(board: Board, game: Minesweeper) -> int:
    """How many openings win a board whose mines are known."""
    here, open_, count = game.field, board.open, 0
    for cell in range(here.cells):
        if not (open_ | board.mines) >> cell & 1 and not board.mines & here.masks[cell]:
            open_, count = here.opened(board.mines, open_, cell), count + 1
    return count + here.cells - (open_ | board.mines).bit_count()


def test_the_solver_opens_what_is_safest_and_wins_nearly_all_that_can_be_won_with_the_mines_known() -> None:
    """No play can win a board that needs more openings than there are turns: the ceiling of the win rate."""
    game = make("minesweeper(split=test)")
    assert isinstance(game, Minesweeper)
    won = possible = 0
    for seed in range(300):
        state, advisor = game.new_episode(seed), game.advisor()
        assert isinstance(state, MinesweeperState)
        needed = fewest_openings(game.layout(state.instance), game)
        while state.seats_to_act():
            risks = chances(game.field, game.numbers(state.mines, state.sight.open), 3)
            action = advisor.advise(state.observe(0))
            assert risks[game.cells[action]] == min(risks.values())
            state.apply({0: action})
        assert needed <= len(state.log) or not state.solved
        won += state.solved
        possible += needed <= game.given.turns
    assert 0.93 * possible < won <= possible


@pytest.mark.parametrize("episodes", [1, 3, 4])
def test_few_episodes_raise_no_false_alarm_of_the_check(episodes: int) -> None:
    for seed in range(3):
        check_game("minesweeper", episodes=episodes, seed=seed)
