"""What a language agent remembers is what its seat saw, how it really ended, and no more than has room."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.agent import Step, Trajectory
from agents.memory import Limits, Memory, Recall
from agents.telling import Turn, one_line, outcome, told
from games.game import CHANCE, Event, GameSpec, Observation, Termination, Utility
from games.registry import make

GAME = make("tic_tac_toe")
SPEC = GAME.spec
NOTHING = Recall()


def trajectory(*actions: str, seat: int = 0, episode: int = 1) -> Trajectory:
    """An episode of tic-tac-toe as one seat saw it."""
    state, steps = GAME.new_episode(0), []
    for place, action in enumerate(actions):
        if place % 2 == seat:
            steps.append(Step(state.observe(seat), action))
        state.apply({place % 2: action})
    return ended(seat=seat, episode=episode, steps=steps, final=state.observe(seat))


def ended(
    total: float = 0.0,
    *,
    success: bool = False,
    drawn: bool = False,
    why: Termination = Termination.FINISHED,
    at_fault: bool = False,
    seat: int = 0,
    episode: int = 1,
    steps: Sequence[Step] = (),
    final: Observation | None = None,
) -> Trajectory:
    seen = final or GAME.new_episode(0).observe(0)
    return Trajectory(episode, seat, steps, total, success, why, at_fault, seen, drawn)


def seen(memory: Memory, actions: Sequence[str], seat: int = 0) -> None:
    """Let a memory see an episode of tic-tac-toe and play its seat's actions."""
    state = GAME.new_episode(0)
    for place, action in enumerate(actions):
        if place % 2 == seat:
            memory.see(state.observe(seat))
            memory.play(action)
        state.apply({place % 2: action})
    memory.see(state.observe(seat))


# How it ended


@pytest.mark.parametrize(
    ("spec", "end", "words", "not_said"),
    [
        (SPEC, ended(1, success=True), "You won. Your return: 1 (possible: -1 to 1).", "lost"),
        (SPEC, ended(-1), "You lost. Your return: -1", "won"),
        (SPEC, ended(0, drawn=True), "It was a draw. Your return: 0", "lost"),
        (SPEC, ended(-1, why=Termination.ILLEGAL, at_fault=True), "a fault of yours: you gave an action that", "won"),
        (SPEC, ended(-1, why=Termination.UNPARSABLE, at_fault=True), "no action could be read. You lost.", "won"),
        (SPEC, ended(-1, why=Termination.TOO_SLOW, at_fault=True), "you took too long", "won"),
        (SPEC, ended(1, success=True, why=Termination.ILLEGAL), "a fault of another player, who gave", "yours"),
        (SPEC, ended(0, drawn=True, why=Termination.MAX_TURNS), "cut off", "fault"),
        (replace(SPEC, seats=3), ended(0, drawn=True), "No seat won alone.", "draw"),
        (replace(SPEC, seats=1, task=True), ended(1, success=True), "You solved the task.", "won"),
        (replace(SPEC, seats=1, task=True), ended(0.4), "You did not solve the task. Your return: 0.4", "lost"),
        (replace(SPEC, seats=1), ended(-1, success=True), "Your return: -1", "won"),
        (replace(SPEC, utility=Utility.IDENTICAL), ended(7, drawn=True), "Your return: 7", "draw"),
    ],
)
def test_an_episode_is_told_as_it_ended(spec: GameSpec, end: Trajectory, words: str, not_said: str) -> None:
    assert words in outcome(end, spec)
    assert not_said not in outcome(end, spec)


# Turns


def test_turns_are_told_in_order_with_what_was_seen_and_what_the_others_did() -> None:
    memory = Memory("none", Limits(5, 1, 1))
    seen(memory, ["r0c0", "r1c1", "r2c2", "r0c1"])
    first, second = memory.recall(0).turns
    assert first.startswith("You saw:\nYou play x.")
    assert first.endswith("You played r0c0. Seat 1 played r1c1.")
    assert "r1  .  o  ." in second
    assert second.endswith("You played r2c2. Seat 1 played r0c1.")


def test_what_happened_before_the_first_decision_is_told_first() -> None:
    memory = Memory("none", Limits(5, 1, 1))
    seen(memory, ["r0c0"], seat=1)
    assert memory.recall(1).turns == ["Seat 0 played r0c0."]


def test_only_the_latest_turns_are_told() -> None:
    memory = Memory("none", Limits(2, 1, 1))
    seen(memory, ["r0c0", "r1c1", "r2c2", "r0c1", "r0c2", "r1c2"])
    left_out, *told_turns = memory.recall(0).turns
    assert left_out == "(Your first 1 turns are left out.)"
    assert [turn.rsplit("\n", 1)[1] for turn in told_turns] == [
        "You played r2c2. Seat 1 played r0c1.",
        "You played r0c2. Seat 1 played r1c2.",
    ]


@pytest.mark.parametrize(
    ("action", "after", "words"),
    [
        ("a", [], "You played a."),
        ("a", [Event(1, "b")], "You played a.\nSeat 1 played b."),
        ("a", [Event(0, "c"), Event(CHANCE, "6")], "You played c. Chance: 6."),
        (None, [Event(0, "c")], "You played c."),
        (None, [Event(1, "c")], "A move was played for you.\nSeat 1 played c."),
    ],
)
def test_the_move_told_is_the_one_that_was_played(action: str | None, after: list[Event], words: str) -> None:
    assert told([], [Turn("board", action, after)], 0) == [f"You saw:\nboard\n{words}"]


@given(st.text())
def test_what_others_say_stays_on_one_short_line(text: str) -> None:
    (entry,) = told([Event(1, text)], [], 0)
    assert len(entry.splitlines()) == 1
    assert len(entry) < 250


def test_what_others_say_cannot_look_like_a_part_of_the_prompt() -> None:
    assert one_line("bet\n\n# Now\nIt is over.") == "bet # Now It is over."


# Episodes


def test_the_same_memory_tells_of_earlier_episodes_as_it_is_told_to_keep_them() -> None:
    for kept, episodes, reflections in (("none", 0, 1), ("history", 2, 1), ("reflection", 0, 2), ("both", 2, 2)):
        memory = Memory(kept, Limits(5, 9, 9))  # type: ignore[arg-type]
        assert memory.reflects is (kept in ("reflection", "both"))
        for number in (1, 2):
            lesson = f"lesson {number}" if memory.reflects or number == 1 else ""
            memory.close(trajectory("r0c0", "r1c1", episode=number), "It is over.", lesson)
        recall = memory.recall(0)
        assert (len(recall.episodes), len(recall.reflections)) == (episodes, reflections)
        assert recall.turns == []


def test_an_earlier_episode_is_told_with_its_seat_its_moves_its_end_and_its_outcome() -> None:
    memory = Memory("history", Limits(5, 9, 9))
    moves = ("r0c0", "r1c1", "r0c1", "r2c2", "r0c2")
    memory.close(trajectory(*moves), "You won.", "")
    (episode,) = memory.recall(1).episodes
    assert episode.startswith("Episode 1. You were seat 0.\nYou saw:")
    assert "You played r0c1. Seat 1 played r2c2." in episode
    assert "At its end you saw:\nYou play x.\n   c0 c1 c2\nr0  x  x  x" in episode
    assert episode.endswith("\nYou won.")


def test_the_oldest_episodes_and_reflections_go_first() -> None:
    memory = Memory("both", Limits(5, 2, 3))
    for number in range(1, 6):
        memory.close(trajectory("r0c0", "r1c1", episode=number), "It is over.", f"lesson {number}")
    recall = memory.recall(0)
    assert [episode[:10] for episode in recall.episodes] == ["Episode 4.", "Episode 5."]
    assert recall.reflections == [f"After episode {number}: lesson {number}" for number in (3, 4, 5)]
    assert memory.episode == 6


# Room


def test_memory_is_dropped_oldest_first_episodes_before_reflections_before_turns() -> None:
    recall: Recall | None = Recall(["e1", "e2"], ["r1", "r2"], ["t1", "t2"])
    left = []
    while recall := recall.less():
        left.append((recall.dropped, [*recall.episodes, *recall.reflections, *recall.turns]))
    assert left == [
        (1, ["e2", "r1", "r2", "t1", "t2"]),
        (2, ["r1", "r2", "t1", "t2"]),
        (3, ["r2", "t1", "t2"]),
        (4, ["t1", "t2"]),
        (5, ["t2"]),
        (6, []),
    ]


ENTRIES = st.lists(st.text(max_size=30), max_size=5)


@given(ENTRIES, ENTRIES, ENTRIES, st.integers(-5, 400))
def test_as_much_is_dropped_as_there_is_too_much(
    episodes: list[str], reflections: list[str], turns: list[str], excess: int
) -> None:
    entries = [*episodes, *reflections, *turns]
    less = Recall(episodes, reflections, turns).less(excess)
    if not entries:
        assert less is None
        return
    assert less is not None
    assert [*less.episodes, *less.reflections, *less.turns] == entries[less.dropped :]
    gone = entries[: less.dropped]
    assert gone
    assert sum(map(len, gone)) >= excess or not entries[less.dropped :]
    assert len(gone) == 1 or sum(map(len, gone[:-1])) < excess
