"""Sokoban: moves and rewards, deadlocks, generated rooms, level files, searches."""

import os
import random
from collections import deque
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.errors import RunError, UserError
from games.registry import make
from games.tasks.sokoban.deadlock import is_lost
from games.tasks.sokoban.game import Sokoban
from games.tasks.sokoban.generate import LONGEST, SHORTEST, generate
from games.tasks.sokoban.levels import read_levels
from games.tasks.sokoban.room import Level, bits, read_level
from games.tasks.sokoban.search import few_pushes, fewest_moves

DATA = Path(os.environ.get("METARENA_DATA", "")) / "boxoban"
CORRIDOR = """\
#######
#@$-.-#
#--$.-#
#-----#
#######"""


def level_of(text: str) -> Level:
    return read_level(text.splitlines(), "here")


def written(folder: Path, *levels: str) -> str:
    file = folder / "levels.txt"
    file.write_text("".join([f"; {number}\n{level}\n\n" for number, level in enumerate(levels)]))
    return str(file)


def room_of(folder: Path, text: str, more: str = "") -> Sokoban:
    game = make(f'sokoban(levels="{written(folder, text)}"{more})')
    assert isinstance(game, Sokoban)
    return game


def positions(level: Level, lost_too: bool = True) -> dict[tuple[int, int], int]:
    """All that can be reached -> in how many moves: a plain breadth-first search, for comparison."""
    room = level.room
    start = (level.boxes, level.player)
    found, queue = {start: 0}, deque([start])
    while queue:
        boxes, player = queue.popleft()
        for step in room.steps:
            to, after = player + step, boxes
            if room.walls >> to & 1:
                continue
            if boxes >> to & 1:
                if (room.walls | boxes) >> to + step & 1:
                    continue
                after = boxes ^ (1 << to | 1 << to + step)
                if not lost_too and is_lost(room, after, to + step):
                    continue
            if (after, to) not in found:
                found[after, to] = found[boxes, player] + 1
                queue.append((after, to))
    return found


def fewest(level: Level, lost_too: bool = True) -> int | None:
    return min(
        [moves for (boxes, _), moves in positions(level, lost_too).items() if boxes == level.room.targets], default=None
    )


# Playing


def test_every_move_counts_and_pushes_earn_and_cost(tmp_path: Path) -> None:
    state = room_of(tmp_path, CORRIDOR).new_episode(0)
    state.apply({0: "left,left"})
    assert state.rewards() == (-0.2,), "moves against a wall cost, too"
    state.apply({0: "right,right"})
    assert state.rewards() == (0.8,), "a box came onto a target"
    state.apply({0: "right"})
    assert state.rewards() == (-1.1,), "and left it"
    assert state.board().splitlines()[:5] == ["#######", "#---+$#", "#--$.-#", "#-----#", "#######"]
    assert state.returns() == (pytest.approx(-0.5),)


def test_a_solved_room_stops_the_list_and_pays(tmp_path: Path) -> None:
    state = room_of(tmp_path, CORRIDOR).new_episode(0)
    state.apply({0: "right,right"})
    state.apply({0: "left,left,down"})
    state.apply({0: "right,right,right"})
    assert state.solved
    assert state.success() == (True,)
    assert state.rewards() == (pytest.approx(10 + 1 - 0.2),), "the third move was not made any more"
    assert state.observe(0).text.endswith("Over: solved. Return: 11.3")


def test_a_box_in_a_corner_ends_the_episode(tmp_path: Path) -> None:
    state = room_of(tmp_path, CORRIDOR).new_episode(0)
    state.apply({0: "right,right,right"})
    assert not state.seats_to_act()
    assert state.success() == (False,)
    assert "can never be brought to a target" in state.observe(0).text
    assert state.observe(0).legal_actions == ()


def test_turns_run_out(tmp_path: Path) -> None:
    state = room_of(tmp_path, CORRIDOR, ",turns=2").new_episode(0)
    for _ in range(2):
        state.apply({0: "down"})
    assert not state.seats_to_act()
    assert "Turns taken: 2 of 2." in state.board()


@pytest.mark.parametrize("action", ["", "up,", "UP", "up,up,up,up", "jump", "up, left", 7, None])
def test_what_is_no_list_of_moves_is_refused_and_changes_nothing(tmp_path: Path, action: str) -> None:
    state = room_of(tmp_path, CORRIDOR).new_episode(0)
    before = state.board()
    with pytest.raises(ValueError, match=r"is not a list of 1 to 3 moves|unhashable"):
        state.apply({0: action})
    assert (state.board(), state.returns(), state.log) == (before, (0.0,), [])
    assert not state.observe(0).allows(action)


# Deadlocks

FROZEN = {
    "corner": ("#####\n#$-.#\n#-@-#\n#####", (1, 1), True),
    "along a wall without a target": ("######\n#-$--#\n#-@-.#\n######", (1, 2), True),
    "along a wall with a target": ("######\n#-$-.#\n#-@--#\n######", (1, 2), False),
    "two against a wall": ("######\n######\n#-$$-#\n#@---#\n#..--#\n######", (2, 2), True),
    "two on targets": ("######\n#-**-#\n#-@--#\n#-$.-#\n######", (1, 2), False),
    "in the open": ("######\n#----#\n#-$--#\n#@-.-#\n######", (2, 2), False),
}


@pytest.mark.parametrize("case", FROZEN)
def test_boxes_that_can_never_move_again_are_seen(case: str) -> None:
    text, (row, column), lost = FROZEN[case]
    level = level_of(text)
    assert is_lost(level.room, level.boxes, row * level.room.columns + column) is lost


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9), st.integers(1, 3))
def test_no_position_that_can_be_solved_is_called_lost(number: int, boxes: int) -> None:
    level = generate(6, 6, boxes, "train", number)
    with_lost, without = fewest(level), fewest(level, lost_too=False)
    assert with_lost == without


# Generated rooms


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from([(6, 6, 2), (5, 7, 1), (7, 7, 3)]))
def test_a_generated_room_takes_5_to_21_moves_by_any_search(number: int, size: tuple[int, int, int]) -> None:
    level = generate(*size, "train", number)
    moves = fewest_moves(level.room, level.boxes, level.player, 1_000_000)
    assert moves is not None
    assert SHORTEST <= len(moves) <= LONGEST
    if size == (6, 6, 2):
        assert len(moves) == fewest(level)
    assert not level.boxes & level.room.targets
    assert level.boxes.bit_count() == level.room.targets.bit_count() == size[2]


def test_the_same_number_is_the_same_room_and_others_are_others() -> None:
    def drawn(number: int) -> str:
        level = generate(6, 6, 2, "test", number)
        return level.room.draw(level.boxes, level.player)

    assert [drawn(number) for number in range(300)] == [drawn(number) for number in range(300)]
    assert len({drawn(number) for number in range(300)}) > 290


def test_all_lengths_of_solutions_are_common() -> None:
    lengths = [len(fewest_moves(level.room, level.boxes, level.player, 10**6) or ()) for level in (
        generate(6, 6, 2, "train", number) for number in range(340)
    )]  # fmt: skip
    assert all([lengths.count(length) >= 5 for length in range(SHORTEST, LONGEST + 1)])


def test_no_layout_of_walls_is_in_two_splits() -> None:
    layouts = {split: {generate(6, 6, 2, split, number).room.walls for number in range(400)}
               for split in ("train", "validation", "test")}  # fmt: skip
    assert not layouts["train"] & layouts["test"]
    assert not layouts["train"] & layouts["validation"]
    assert not layouts["test"] & layouts["validation"]


def test_measures_without_room_are_one_line() -> None:
    with pytest.raises(UserError, match="no room of 4 x 4 with 2 boxes was found that takes 5 to 21 moves"):
        make("sokoban(rows=4,columns=4,boxes=2)")


# Searches


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**9))
def test_solutions_of_both_searches_solve_the_room(number: int) -> None:
    level = generate(8, 8, 3, "train", number)
    shortest = fewest_moves(level.room, level.boxes, level.player, 1_000_000)
    quick = few_pushes(level.room, level.boxes, level.player, 30.0)
    assert shortest is not None
    assert quick is not None
    assert len(quick) >= len(shortest)
    for moves in (shortest, quick):
        boxes, player = level.boxes, level.player
        for move in moves:
            step = dict(zip(("up", "down", "left", "right"), level.room.steps, strict=True))[move]
            player += step
            assert not level.room.walls >> player & 1
            if boxes >> player & 1:
                assert not (level.room.walls | boxes) >> player + step & 1
                boxes ^= 1 << player | 1 << player + step
        assert boxes == level.room.targets


def test_a_room_without_a_solution_has_none() -> None:
    level = level_of("######\n#$---#\n#--$.#\n#-@-.#\n######")
    assert fewest_moves(level.room, level.boxes, level.player, 10**6) is None
    assert few_pushes(level.room, level.boxes, level.player, 30.0) is None


# Level files


def test_a_level_file_is_played_in_its_order(tmp_path: Path) -> None:
    other = CORRIDOR.replace("@", "-").replace("#-----#", "#@----#")
    game = make(f'sokoban(levels="{written(tmp_path, CORRIDOR, other)}")')
    assert [game.new_episode(seed).board().splitlines()[1] for seed in (0, 1, 2)] == ["#@$-.-#", "#-$-.-#", "#@$-.-#"]
    assert game.spec.max_turns == 120
    part = make(f'sokoban(levels="{written(tmp_path, CORRIDOR, other)}",first=1)')
    assert part.new_episode(0).board() == game.new_episode(1).board()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "it has no level; rows of"),
        ("; 1\n\n", "it has no level; rows of"),
        (CORRIDOR.replace("@", "x"), "line 2, column 2: 'x' is none of"),
        (CORRIDOR.replace("@", "-"), "line 1: 0 players; one .* was expected"),
        (CORRIDOR + "\n\n; 7\n" + CORRIDOR.replace("-.-", "@.-"), "line 8: 2 players"),
        (CORRIDOR.replace("$", "-", 1), "line 1: 1 boxes and 2 targets; as many of both"),
        (CORRIDOR.replace("#@$", "-@$"), "line 2, column 1: the room is open; a wall was expected"),
        ("#####\n#@*-#\n#####", "every box is on a target already"),
        ("##\n##", "a level of 2 rows and 2 columns; 3 to 64 of each"),
    ],
)  # fmt: skip
def test_a_malformed_level_file_names_file_line_and_what_was_expected(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "broken.txt"
    file.write_text(text)
    with pytest.raises(UserError, match=words) as caught:
        make(f'sokoban(levels="{file}")')
    assert "broken.txt" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_level_files_that_cannot_be_read_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "bytes.txt").write_bytes(b"#####\n\xff\xfe\n")
    for name, words in (("none.txt", "No such file"), ("bytes.txt", "not text in UTF-8")):
        with pytest.raises(UserError, match=words):
            make(f'sokoban(levels="{tmp_path / name}")')


def sokoban(text: str) -> Sokoban:
    game = make(text)
    assert isinstance(game, Sokoban)
    return game


def test_a_folder_of_level_files_is_read_in_order_by_split(tmp_path: Path) -> None:
    for name in ("train", "valid", "test"):
        (tmp_path / name).mkdir()
    (tmp_path / "train" / "b.txt").write_text(CORRIDOR)
    (tmp_path / "train" / "a.txt").write_text(f"{CORRIDOR}\n; 1\n{CORRIDOR}")
    (tmp_path / "valid" / "a.txt").write_text(f"\ufeff{CORRIDOR}")
    train, valid = (sokoban(f'sokoban(levels="{tmp_path}"{split})') for split in ("", ",split=validation"))
    assert (train.instances.size, valid.instances.size) == (3, 1)
    with pytest.raises(UserError, match=r"level folder .*test': there is no file \*.txt in it"):
        make(f'sokoban(levels="{tmp_path}",split=test)')
    with pytest.raises(UserError, match="split is of generated rooms, or of a folder of levels with folders"):
        make(f'sokoban(levels="{tmp_path / "train"}",split=test)')
    assert sokoban(f'sokoban(levels="{tmp_path / "train"}")').instances.size == 3
    with pytest.raises(UserError, match="no such home folder"):
        make('sokoban(levels="~nobody-of-that-name/x.txt")')


def test_a_level_file_that_has_changed_is_another_game(tmp_path: Path) -> None:
    file = written(tmp_path, CORRIDOR)
    name = make(f'sokoban(levels="{file}")').spec.name
    assert "digest=" in name
    read_levels.cache_clear()
    make.cache_clear()
    assert make(name).spec.name == name
    Path(file).write_text(f"; 0\n{CORRIDOR}\n; 1\n{CORRIDOR}")
    read_levels.cache_clear()
    make.cache_clear()
    with pytest.raises(UserError, match=r"has changed: digest=.* was asked for, and it is"):
        make(name)
    assert make(f'sokoban(levels="{file}")').spec.name != name


def test_a_level_that_is_lost_from_the_start_is_refused(tmp_path: Path) -> None:
    file = written(tmp_path, "######\n#.@ $#\n######\n")
    with pytest.raises(UserError, match="line 3, column 5: this box can never be brought to a target"):
        make(f'sokoban(levels="{file}")')


def test_the_solver_says_where_there_is_no_solution(tmp_path: Path) -> None:
    text = "#######\n#@# $.#\n#######\n"
    game = sokoban(f'sokoban(levels="{written(tmp_path, text)}")')
    with pytest.raises(RunError, match="there is no solution for"):
        game.advisor().advise(game.new_episode(0).observe(0))


@pytest.mark.parametrize("moves", [1, 2, 3, 4])
def test_there_are_turns_enough_for_every_generated_room(moves: int) -> None:
    game = sokoban(f"sokoban(moves={moves},split=test)")
    for seed in range(40):
        state, advisor = game.new_episode(seed), game.advisor()
        while state.seats_to_act():
            state.apply({0: advisor.advise(state.observe(0))})
        assert state.success() == (True,)


def test_parameters_of_generated_rooms_do_not_go_with_a_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="boxes is of generated rooms, and levels names a file"):
        make(f'sokoban(levels="{written(tmp_path, CORRIDOR)}",boxes=3)')


@pytest.mark.skipif(not DATA.is_dir(), reason="$METARENA_DATA names no folder with boxoban's level files")
@pytest.mark.parametrize(("name", "count"), [("unfiltered-test-000.txt", 200), ("hard-003.txt", 20)])
def test_real_levels_of_boxoban_are_read_and_solved(name: str, count: int) -> None:
    levels = read_levels((DATA / name,)).levels
    assert all([(level.room.rows, level.room.columns, level.boxes.bit_count()) == (10, 10, 4) for level in levels])
    solved = [few_pushes(level.room, level.boxes, level.player, 30.0) is not None for level in levels[:count]]
    assert sum(solved) >= 0.9 * count


def test_cells_of_a_set_come_in_order() -> None:
    cells = random.Random(1).sample(range(300), 40)
    assert list(bits(sum([1 << cell for cell in cells]))) == sorted(cells)
