"""Tasks at play, for tests: made from a string, solved, played at random or by given actions, in a tournament."""

import random
from pathlib import Path

from games.registry import make
from games.tasks.task import Task, TaskState
from tests.command_line import arena, arena_json


def task_of(text: str) -> Task:
    """The task that a string names."""
    game = make(text)
    assert isinstance(game, Task)
    return game


def solved(task: Task, seed: int) -> TaskState:
    """An episode as the advisor plays it."""
    state, advisor = task.new_episode(seed), task.advisor()
    while state.seats_to_act():
        state.apply({0: advisor.advise(state.observe(0))})
    return state


def played(task: Task, seed: int, actions: list[str] | None = None) -> TaskState:
    """An episode, by actions that are given or at random."""
    rng, state = random.Random(seed), task.new_episode(seed)
    given = iter(actions or ())
    while state.seats_to_act():
        legal = state.observe(0).legal_actions
        state.apply({0: next(given) if actions else rng.choice(legal)})
    return state


def same_again(task: Task, seed: int) -> bool:
    """Whether an episode tells the same when it is played again, another one beside it."""
    first = played(task, seed)
    again, other = task.new_episode(seed), task.new_episode(seed + 1)
    for action in first.log:
        if other.seats_to_act():
            other.apply({0: other.observe(0).legal_actions[0]})
        again.apply({0: action})
    return (again.board(), again.returns(), again.observe(0).key) == (
        first.board(),
        first.returns(),
        first.observe(0).key,
    )


def plays_a_tournament(game: str, folder: Path, *more: str) -> None:
    """A tournament of a task in worker processes, whose records replay."""
    arena("tournament", "--game", game, "--agent", "random", *more, "--pairs", "2", "--episodes", "2", folder=folder)
    rows = arena_json("standings", "--game", game, folder=folder)
    assert {row["agent"] for row in rows} == {"random", *[word for word in more if word != "--agent"], game}
    assert all(one["episodes"] == 4 for row in rows for one in row["task"])
    key = arena_json("matches", "--game", game, folder=folder)[0]["match_id"]
    assert "solved" in arena("replay", key, folder=folder).stdout
