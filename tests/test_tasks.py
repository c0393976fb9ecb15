"""What holds of every single-agent task: splits, instances, actions, solvers, matches."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.agent import Setup
from agents.registry import recipe
from arena.match import Match, plan_episode, result
from arena.record import utc_now
from arena.rules import MatchRules
from games.errors import UserError
from games.game import Game
from games.registry import TASKS, make
from games.spec import SpecError
from games.tasks.instances import GENERATED, Instances, chosen
from games.testing import check_game
from league.single import keep, register
from league.solved import task_results
from league.store.store import Store
from tests.command_line import arena, arena_json
from tests.play import match_of, play_here, rows_of
from tests.task_play import played, solved, task_of

EXAMPLES: dict[str, Sequence[str]] = {
    "household": ("household", "household(type=pick_two,split=test,turns=50)"),
    "shop": ("shop", "shop(split=test)"),
    "minesweeper": ("minesweeper", "minesweeper(split=test,rows=4,columns=5,mines=6,turns=12)"),
    "sokoban": ("sokoban", "sokoban(split=test,rows=8,columns=9,boxes=3,moves=1,turns=40)"),
}
"""Task -> strings in which it is checked; a task with a line in the registry needs one here."""
CASES = [text for texts in EXAMPLES.values() for text in texts]


def test_every_task_is_checked() -> None:
    assert set(EXAMPLES) == set(TASKS)


@pytest.mark.parametrize("text", CASES)
def test_a_task_keeps_the_promises_of_games(text: str) -> None:
    check_game(text)
    spec = make(text).spec
    assert (spec.task, spec.seats) == (True, 1)


@pytest.mark.parametrize("name", TASKS)
def test_the_solver_is_far_above_random_play(name: str) -> None:
    task = task_of(name)
    best = [solved(task, seed) for seed in range(40)]
    worst = [played(task, seed) for seed in range(40)]
    assert sum([state.solved for state in best]) >= sum([state.solved for state in worst]) + 20
    assert sum([state.returns()[0] for state in best]) > sum([state.returns()[0] for state in worst])


@pytest.mark.parametrize("name", TASKS)
def test_the_first_look_at_an_instance_differs_between_splits(name: str) -> None:
    looks: list[set[str]] = []
    for split in GENERATED:
        task = task_of(f"{name}(split={split})")
        looks.append({task.new_episode(seed).board() for seed in range(100)})
    one, two, three = looks
    assert not one & two | one & three | two & three


@pytest.mark.parametrize("name", TASKS)
def test_numbers_of_splits_are_apart_and_a_part_of_a_split_is_the_same_instances(name: str) -> None:
    whole, part = task_of(name), task_of(f"{name}(first=3,count=2)")
    assert [part.new_episode(seed).board() for seed in (0, 1, 2)] == [
        whole.new_episode(seed).board() for seed in (3, 4, 3)
    ]


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize(
    ("params", "words"),
    [
        ("split=dev", "'split' of game .* is dev: .*'train', 'validation' or 'test'"),
        ("first=-1", "'first' .* is -1"),
        ("splitt=test", "no parameter 'splitt'; did you mean split"),
        ("split=test,first=100000000000", "first = 100000000000: the split has instances 0 to"),
        ("split=test,count=100000000000", "count = 100000000000: from instance 0 on the split has"),
    ],
)
def test_wrong_parameters_are_one_line(name: str, params: str, words: str) -> None:
    with pytest.raises(UserError, match=words) as caught:
        make(f"{name}({params})")
    assert "\n" not in str(caught.value)


@given(st.integers(0, 2**63 - 1), st.integers(1, 60), st.integers(0, 10**9))
def test_a_match_meets_each_instance_once_before_any_twice(seed: int, size: int, first: int) -> None:
    instances = Instances(first, size)
    deals = [instances.deal(seed, place) for place in range(1, size + 1)]
    assert sorted(deals) == list(range(size))
    assert sorted(map(instances.number, deals)) == list(range(first, first + size))
    with pytest.raises(UserError, match=f"needs more than the {size} that there are"):
        instances.deal(seed, size + 1)


def test_matches_walk_through_a_split_in_different_orders() -> None:
    instances = chosen(GENERATED["test"], 0, 0)
    walks = {tuple([instances.deal(seed, place) for place in range(1, 6)]) for seed in range(50)}
    assert len(walks) == 50
    assert len({deal for walk in walks for deal in walk}) == 250


@pytest.mark.parametrize(
    "text", ["sokoban(rows=5,columns=5,boxes=1)", "minesweeper(rows=3,columns=3,mines=1)", "minesweeper(split=test)"]
)
def test_instances_that_look_alike_are_not_dealt_twice_in_a_match(text: str) -> None:
    task = task_of(text)
    for seed in range(10):
        boards = [task.new_episode(task.deal(seed, place)).board() for place in range(1, 31)]
        assert len(set(boards)) == 30
    with pytest.raises(UserError, match=r"needs more than the \d+ different ones that were found"):
        task_of("minesweeper(rows=2,columns=2,mines=1)").deal(0, 20)


@pytest.mark.parametrize("name", TASKS)
def test_deals_of_a_match_are_new_instances_or_one_again_and_again(name: str) -> None:
    def numbers(deals: str) -> list[int]:
        game: Game = make(f"{name}(count=5)")
        rules = MatchRules(deals=deals, episodes=5)
        match = Match("m", "t", game.spec.name, 0, 0, 0, 7, ("a",), ("a",), ("a",), rules)
        return [plan_episode(match, game, number).seed for number in range(1, 6)]

    assert sorted(numbers("fresh")) == [0, 1, 2, 3, 4]
    assert len(set(numbers("same"))) == 1


@pytest.mark.parametrize("name", TASKS)
def test_the_solver_plays_whole_matches_that_say_what_was_solved(name: str) -> None:
    result = play_here(match_of(f"{name}(count=4)", "solver", episodes=3))
    assert [record.success for record in result.episodes] == [(True,)] * 3
    assert len({record.seed for record in result.episodes}) == 3


def test_the_solver_plays_tasks_alone() -> None:
    assert "none" in (recipe("solver").misfit(make("tic_tac_toe")) or "")
    assert recipe("solver").misfit(make("sokoban")) is None
    recipe("solver").make(Setup(make("sokoban"), 0, 1))


@pytest.mark.parametrize(
    ("score_by", "solved", "places"),
    [
        ("mean", (True, False, True), (0, 1)),
        ("mean", (True, False), (0, 0)),
        ("mean", (True, False, False), (1, 0)),
        ("last", (True, True, False), (1, 0)),
        ("last", (False, True), (0, 1)),
        ("mean", (True,), (0, 1)),
        ("mean", (False,), (1, 0)),
    ],
)
def test_a_task_wins_what_is_not_solved(score_by: str, solved: tuple[bool, ...], places: tuple[int, int]) -> None:
    match = match_of("sokoban", "random", episodes=len(solved), score_by=score_by)
    played = play_here(match)
    records = [record._replace(success=(one,)) for record, one in zip(played.episodes, solved, strict=True)]
    summed = result(match, make("sokoban"), records)
    assert summed.places == places
    assert (len(summed.faults), len(summed.mean_returns)) == (2, 1)
    (row,) = rows_of(summed)["matches"]
    assert (row["agents"], row["places"]) == ([match.names[0], "sokoban"], list(places))


def test_a_task_is_rated_beside_the_agents_and_what_was_solved_is_shown(tmp_path: Path) -> None:
    words = (
        "--game",
        "sokoban",
        "--game",
        "tic_tac_toe",
        "--agent",
        "solver",
        "--agent",
        "random",
        "--agent",
        "minimax",
    )
    arena("tournament", *words, "--pairs", "4", "--episodes", "3", folder=tmp_path)
    rows = arena_json("standings", "--game", "sokoban", folder=tmp_path)
    assert [row["agent"] for row in rows] == ["solver", "sokoban", "random"]
    assert [(row["wins"], row["losses"]) for row in rows] == [(4, 0), (4, 4), (0, 4)]
    (best,), task, (worst,) = [row["task"] for row in rows]
    assert task == []
    assert (best["deals"], best["match_episodes"]) == ("fresh", 3)
    assert (best["episodes"], best["success"], best["pass_at"]) == (12, 1.0, [1.0] * 3)
    assert worst["mean_return"] < 0 < best["mean_return"]
    shown = arena("standings", folder=tmp_path).stdout
    assert "sokoban: solved in matches of 3 episodes, fresh deals" in shown
    assert "retry@3" in shown
    assert "solver - sokoban" in arena("matches", "--game", "sokoban", folder=tmp_path).stdout
    again = arena("tournament", *words, "--pairs", "4", "--episodes", "3", folder=tmp_path)
    assert "nothing to play" in again.stderr


def test_pass_at_k_and_the_retry_reference_are_counted_by_match_and_episode(tmp_path: Path) -> None:
    store = Store(tmp_path / "arena.duckdb")
    register(store, match_of("sokoban", "random", episodes=3))
    solved = {1: (False, True, False), 2: (False, False, False), 3: (True, True, False), 4: (False, False, True)}
    for seed, ones in solved.items():
        match = match_of("sokoban", "random", seed=seed, episodes=3, key=str(seed))
        played = play_here(match)
        records = [record._replace(success=(one,)) for record, one in zip(played.episodes, ones, strict=True)]
        keep(store, result(match, make("sokoban"), records), utc_now())
    (found,) = task_results(store)
    assert (found.planned, found.deals, found.played, found.success) == (3, "fresh", 12, 4 / 12)
    assert found.pass_at == [1 / 4, 2 / 4, 3 / 4]
    assert found.retry_at == pytest.approx([1 / 4, 1 - 0.75**2, 1 - 0.75**3])
    assert task_results(store, "tic_tac_toe") == []


def test_matches_that_stop_at_a_win_have_passed_from_there_on(tmp_path: Path) -> None:
    store = Store(tmp_path / "arena.duckdb")
    register(store, match_of("sokoban", "random", episodes=3, stop_on_win=True))
    for seed, ones in {1: (True,), 2: (False, True), 3: (False, False, False), 4: (True,)}.items():
        match = match_of("sokoban", "random", seed=seed, episodes=3, stop_on_win=True, key=str(seed))
        played = play_here(match)
        records = [record._replace(success=(one,)) for record, one in zip(played.episodes, ones, strict=False)]
        keep(store, result(match, make("sokoban"), records), utc_now())
    (found,) = task_results(store)
    assert found.pass_at == [2 / 4, 3 / 4, 3 / 4]
    assert (found.played, found.success) == (7, 3 / 7)
    assert found.retry_at[0] == 0.5


def test_matches_of_other_lengths_and_deals_are_counted_apart(tmp_path: Path) -> None:
    for words in (("--episodes", "3"), ("--episodes", "3", "--deals", "same"), ("--episodes", "1")):
        game = ("--game", "minesweeper", "--agent", "random", "--agent", "solver", "--pairs", "3")
        arena("tournament", *game, *words, folder=tmp_path)
    rows = {row["agent"]: row["task"] for row in arena_json("standings", "--game", "minesweeper", folder=tmp_path)}
    kinds = [(one["match_episodes"], one["deals"]) for one in rows["solver"]]
    assert kinds == [(3, "fresh"), (3, "same"), (1, "fresh")]
    assert [one["episodes"] for one in rows["random"]] == [9, 9, 3]
    assert all(one["pass_at"] == sorted(one["pass_at"]) for one in [*rows["random"], *rows["solver"]])


def test_an_agent_is_not_called_as_the_task_it_plays(tmp_path: Path) -> None:
    said = arena("play", "sokoban", "sokoban=random", folder=tmp_path, code=2).stderr
    assert "is that of the task, which is rated, too" in said
    words = ("--game", "sokoban", "--agent", "sokoban=random", "--agent", "solver")
    assert "is that of the task" in arena("tournament", *words, folder=tmp_path, code=2).stderr


def test_more_episodes_than_instances_are_refused_before_anything_is_played(tmp_path: Path) -> None:
    said = arena("play", "sokoban(count=2)", "random", "--episodes", "3", folder=tmp_path, code=2).stderr
    assert said.endswith("arena: a match of 3 new instances needs more than the 2 that there are\n")
    arena("play", "sokoban(count=2)", "random", "--episodes", "3", "--deals", "same", folder=tmp_path)


@pytest.mark.parametrize("name", TASKS)
def test_an_observation_that_is_read_late_tells_what_it_told(name: str) -> None:
    task, rng = task_of(name), random.Random(3)
    state = task.new_episode(5)
    seen = []
    while state.seats_to_act():
        observation = state.observe(0)
        seen.append((observation, observation.text, observation.key, observation.legal_actions, observation.events))
        state.apply({0: rng.choice(observation.legal_actions)})
    for observation, text, key, legal, events in seen:
        assert (observation.text, observation.key, observation.legal_actions, observation.events) == (
            text, key, legal, events,
        )  # fmt: skip


@pytest.mark.parametrize("name", ["sokoban", "shop"])
def test_a_digest_is_of_files(name: str) -> None:
    with pytest.raises(SpecError, match=r"digest=abcd1234 is of files, and .* has none"):
        make(f"{name}(digest=abcd1234)")


def test_a_spec_error_is_what_a_wrong_value_gives() -> None:
    with pytest.raises(SpecError):
        make("sokoban(rows=3)")
