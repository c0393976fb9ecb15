"""Levels of MiniHack, where the packages minihack and nle are installed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("minihack", reason="the extra minihack is not installed")

from games.errors import UserError
from games.game import Action
from games.registry import make
from games.tasks.engines.minihack import LEVELS
from games.tasks.engines.minihack_text import answers
from games.tasks.task import TaskState
from games.testing import check_game
from tests.task_play import played, plays_a_tournament, same_again, task_of

SKILLS = {
    "eat": ("apple", ["eat"], []),
    "wear": ("robe", ["wear"], []),
    "wield": ("dagger", ["wield"], []),
    "put_on": ("amulet", ["put on"], []),
    "read": ("scroll", ["read"], []),
    "zap": ("wand", ["zap"], ["north"]),
}
"""Level -> what lies there, the key for it, and the answers to what NetHack asks after the thing."""


def way(text: str, thing: str) -> Action | None:
    """The step towards a thing that the text tells of, or None where it is told to lie here."""
    found = re.search(rf"[^(,.:]*{thing}[^(]*\(([^;)]*)", text.partition("You see:")[2].partition("\n")[0])
    if not found:
        return None
    towards = {part.split()[1] for part in found[1].split(", ")}
    return "".join([word for word in ("north", "south", "east", "west") if word in towards])


def walk(state: TaskState, thing: str) -> None:
    while step := way(state.observe(0).text, thing):
        state.apply({0: step})


@pytest.mark.parametrize("name", [*LEVELS, "MiniHack-KeyRoom-S5-v0", "MiniHack-Quest-Easy-v0"])
def test_a_level_keeps_the_promises_of_games(name: str) -> None:
    check_game(f"minihack(task={name},split=test)", decisions=300)


@pytest.mark.parametrize("name", SKILLS)
def test_what_the_text_tells_is_enough_to_solve_the_skill(name: str) -> None:
    """Scripted play that reads the words alone: walk to the thing, pick it up, use it."""
    thing, keys, more = SKILLS[name]
    task = task_of(f"minihack(task={name},split=test)")
    for seed in range(20):
        state = task.new_episode(seed)
        walk(state, thing)
        state.apply({0: "pick up"})
        picked = re.search(r"says: (\w) - ", state.observe(0).text)
        assert picked, state.observe(0).text
        for key in keys:
            state.apply({0: key})
        assert "NetHack asks: " in state.observe(0).text
        assert set(state.observe(0).legal_actions) >= {picked[1], "cancel"}
        state.apply({0: picked[1]})
        for answer in more if state.seats_to_act() else ():  # not every wand asks for a direction
            state.apply({0: answer})
        assert state.success() == (True,), state.board()
        assert state.returns()[0] == pytest.approx(1 - 0.01 * len(state.log))


@pytest.mark.parametrize("name", ["room", "large_room", "monster_room"])
def test_walking_to_the_stairs_that_are_seen_solves_a_room(name: str) -> None:
    task = task_of(f"minihack(task={name},split=validation)")
    solved = 0
    for seed in range(20):
        state = task.new_episode(seed)
        while state.seats_to_act():
            step = way(state.observe(0).text, "staircase down")
            state.apply({0: step if step in state.observe(0).legal_actions else "north"})
        solved += state.success()[0]
    assert solved >= 18, "a monster may stand in the way"


@pytest.mark.parametrize("name", [*LEVELS, "MiniHack-Room-Ultimate-15x15-v0"])
def test_a_seeded_level_replays_exactly_beside_another(name: str) -> None:
    task = task_of(f"minihack(task={name},turns=60)")
    assert all(same_again(task, seed) for seed in range(8))


def test_a_level_is_the_same_in_another_process() -> None:
    code = (
        "from games.registry import make\n"
        "for seed in range(5): print(make('minihack(task=trap_room)').new_episode(seed).board())"
    )
    task = task_of("minihack(task=trap_room)")
    here = "\n".join([task.new_episode(seed).board() for seed in range(5)])
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == here.strip()


def test_splits_are_different_levels() -> None:
    firsts = [{task_of(f"minihack(task=zap,split={split})").new_episode(seed).board() for seed in range(30)}
              for split in ("train", "validation", "test")]  # fmt: skip
    assert not firsts[0] & firsts[1] | firsts[0] & firsts[2] | firsts[1] & firsts[2]


def test_a_turn_costs_even_where_nothing_happens() -> None:
    state = played(task_of("minihack(task=room,turns=10)"), 3, ["north"] * 10)
    assert state.returns()[0] in (pytest.approx(-0.1), pytest.approx(1 - 0.01 * len(state.log)))


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What do you want to eat? [f or ?*]", "f"),
        ("What do you want to wield? [- a-cf or ?*]", "abcf"),
        ("Really attack the peaceful gnome? [yn] (n)", "yn"),
        ("Call it:", ""),
    ],
)
def test_questions_take_the_letters_that_they_name(question: str, expected: str) -> None:
    codes = [*range(ord("a"), ord("z") + 1), 27]
    assert list(answers(question, codes)) == [*expected, "cancel"]


def test_questions_for_a_direction_take_directions() -> None:
    assert list(answers("In what direction?", [ord("k"), ord("l"), ord("."), 27])) == [
        "north",
        "east",
        "here",
        "cancel",
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("minihack(task=eet)", "MiniHack has no task 'eet'; did you mean eat"),
        ("minihack(task=os:nothing)", "MiniHack has no task 'os:nothing'"),
        ("minihack(task=CartPole-v1)", "MiniHack has no task 'CartPole-v1'"),
        ("minihack(task=MiniHack-Boxoban-Hard-v0)", "MiniHack-Boxoban-Hard-v0 cannot be made: .*download"),
        ("minihack(turns=0)", "'turns' .* is 0"),
        ("minihack(split=dev)", "'split' .* is dev"),
    ],
)
def test_what_cannot_be_played_is_one_line(text: str, words: str) -> None:
    with pytest.raises(UserError, match=words) as caught:
        make(text)
    assert "\n" not in str(caught.value)


def test_levels_are_played_in_worker_processes_and_replay(tmp_path: Path) -> None:
    plays_a_tournament("minihack(task=eat)", tmp_path)
