"""ALFWorld's own engine, where the packages alfworld and textworld are installed."""

import json
import random
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("alfworld", reason="the extra alfworld is not installed")

from games.errors import UserError
from games.registry import make
from games.tasks.engines.alfworld import FOLDERS
from games.tasks.household.alfworld import write_game
from games.tasks.household.expert import MOST_TURNS, next_command
from games.tasks.household.generate import generate
from games.tasks.household.text import commands
from games.tasks.household.world import KINDS, World
from games.tasks.instances import GENERATED, SplitName
from games.testing import check_game
from tests.task_play import played, plays_a_tournament, same_again, solved, task_of
from tests.test_household import any_commands, seen_by


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as ALFWorld lays it out: three games of each split."""
    root = tmp_path_factory.mktemp("alfworld")
    for split, folder in FOLDERS.items():
        for number, kind in enumerate(KINDS[:3]):
            house = generate(kind, split, GENERATED[split].start + number)
            write_game(house, root / "json_2.1.1" / folder / f"{kind}-{number}" / "trial")
    return root


def test_a_generated_game_keeps_the_promises_of_games() -> None:
    check_game("alfworld(games=made_up,split=test,turns=6)", episodes=3, decisions=18)


@pytest.mark.parametrize("kind", KINDS)
def test_the_walkthrough_solves_every_type_of_generated_game(kind: str) -> None:
    state = solved(task_of(f"alfworld(games=made_up,type={kind},split=validation)"), 0)
    assert (state.success(), state.returns()) == ((True,), (10.0,))


def test_generated_games_are_those_of_household() -> None:
    here, own = task_of("alfworld(games=made_up,split=test)"), task_of("household(split=test,turns=50)")
    for seed in range(3):
        other = own.new_episode(seed)
        for action in solved(here, seed).log:
            assert other.success() == (False,)
            other.apply({0: action})
        assert other.success() == (True,)


@pytest.mark.parametrize("split", FOLDERS)
def test_games_of_a_folder_are_found_by_split_and_type_and_played(games: Path, split: SplitName) -> None:
    task = task_of(f"alfworld(games='{games}',split={split})")
    assert task.instances.size == 3
    assert solved(task, 1).success() == (True,)
    assert task_of(f"alfworld(games='{games}',split={split},type={KINDS[0]})").instances.size == 1


def test_the_data_folder_is_taken_from_the_environment(games: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALFWORLD_DATA", str(games))
    assert task_of("alfworld(turns=31)").instances.size == 3


def test_any_line_is_taken_and_what_means_nothing_changes_nothing() -> None:
    state = task_of("alfworld(games=made_up)").new_episode(0)
    before = state.observe(0).legal_actions
    state.apply({0: "dance {on} [the] table"})
    assert "Nothing happens." in state.observe(0).text
    assert "Your task is to: " in state.observe(0).text
    assert (state.rewards(), state.observe(0).legal_actions) == ((0.0,), before)


def test_an_episode_replays_exactly_beside_another() -> None:
    assert same_again(task_of("alfworld(games=made_up,turns=10)"), 4)
    assert played(task_of("alfworld(games=made_up,turns=5)"), 1).success() == (False,)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"grammar": "Your task is to: {__import__('os').mkdir('evaluated')} Put"}, "is no plain sentence"),
        ({"grammar": "no goal"}, "field 'grammar': it names no goal"),
        ({"pddl_problem": None}, "game.tw-pddl, field 'pddl_problem': missing; a text was expected"),
        ({"pddl_problem": 7}, "field 'pddl_problem': 7; a text was expected"),
        ({"walkthrough": "go"}, "field 'walkthrough': 'go'; a list of commands was expected"),
    ],
)
def test_a_game_of_somebody_else_is_never_evaluated(
    games: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    source = next((games / "json_2.1.1" / "train").rglob("game.tw-pddl"))
    place = tmp_path / "train" / "game"
    place.mkdir(parents=True)
    (place / "traj_data.json").write_text((source.parent / "traj_data.json").read_text())
    (place / "game.tw-pddl").write_text(json.dumps({**json.loads(source.read_text()), **change}))
    with pytest.raises(UserError, match=words) as caught:
        task_of(f"alfworld(games='{tmp_path}')")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "evaluated").exists()


def test_the_grammar_of_a_game_is_not_used_at_all(games: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = next((games / "json_2.1.1" / "train").rglob("game.tw-pddl"))
    game = json.loads(source.read_text())
    game["grammar"] = game["grammar"].replace("You are in the middle", "{__import__('os').mkdir('evaluated')}You are")
    place = tmp_path / "train" / "game"
    place.mkdir(parents=True)
    (place / "traj_data.json").write_text((source.parent / "traj_data.json").read_text())
    (place / "game.tw-pddl").write_text(json.dumps(game))
    task_of(f"alfworld(games='{tmp_path}')").new_episode(0)
    assert not (tmp_path / "evaluated").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "alfworld(games='/no/such/place')",
            "no games for split=train: '?/no/such/place'? does not exist; set .ALFWORLD_DATA",
        ),
        ("alfworld(games='/')", "no games for split=train: '?/'? has no folder train; set"),
        ("alfworld(games='/etc/hostname')", "'?/etc/hostname'? is a file; set"),
        ("alfworld(type=wash)", "'type' of game 'alfworld' is wash"),
        ("alfworld(games=made_up,first=1000000000)", "the split has instances 0 to 999999999"),
    ],
)
def test_what_cannot_be_played_is_one_line(text: str, words: str) -> None:
    with pytest.raises(UserError, match=words) as caught:
        make(text)
    assert "\n" not in str(caught.value)


def test_a_folder_without_the_type_and_a_broken_description_are_told(games: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no game of type=cool in"):
        make(f"alfworld(games='{games}',type=cool)")
    (tmp_path / "train" / "game").mkdir(parents=True)
    (tmp_path / "train" / "game" / "game.tw-pddl").write_text("{}")
    (tmp_path / "train" / "game" / "traj_data.json").write_text("{")
    for text, words in (
        ("{", "line 1, column 2: .*; JSON was expected"),
        ("[]", r"traj_data\.json: \[\]; an object was expected"),
        ("{}", "field 'task_type': missing; one of pick_and_place_simple, "),
        ('{"task_type": "zzz"}', "field 'task_type': 'zzz'; one of pick_and_place_simple, "),
    ):
        (tmp_path / "train" / "game" / "traj_data.json").write_text(text)
        with pytest.raises(UserError, match=words):
            make(f"alfworld(games='{tmp_path}')")


@pytest.mark.slow
def test_alfworld_comes_to_the_same_goal_by_the_same_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty-four games of all types, played by commands that can be carried out, others, and at last the expert's."""
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    houses = {f"game {number}": generate(KINDS[number % 6], "test", 1_000_000 + number) for number in range(54)}
    for name, house in houses.items():
        write_game(house, tmp_path / "games" / name)
    env = real_environment(tmp_path / "games")
    reached: Counter[str] = Counter()
    for _ in range(len(houses)):
        _, info = env.reset()
        name = Path(info["extra.gamefile"][0]).parent.name
        world, rng = World(houses.pop(name)), random.Random(name)
        for turn in range(14 + MOST_TURNS):
            admissible = commands(world.house, seen_by(world))
            assert (
                not set(info["admissible_commands"][0])
                - set(admissible)
                - {f"use {world.house.things[thing]}" for thing in world.seen() if world.marks.lit >> thing & 1}
            )
            lines = [rng.choice(admissible), rng.choice(any_commands(rng, world.house, seen_by(world)))]
            line = rng.choice([*lines, next_command(world)]) if turn < 10 else next_command(world)
            _, _, _, info = env.step([line])
            world.do(line)
            assert info["won"][0] is world.reached, (name, line)
            if world.reached:
                reached[world.house.goal.kind] += 1
                break
    env.close()
    assert set(reached.values()) == {9}
    assert set(reached) == set(KINDS)


def real_environment(folder: Path) -> Any:
    """ALFWorld's own environment for the games of a folder, one after the other."""
    config = {
        "env": {"goal_desc_human_anns_prob": 0, "task_types": [1, 2, 3, 4, 5, 6], "domain_randomization": False,
                "expert_type": "handcoded"},
        "dataset": {"data_path": str(folder), "num_train_games": -1},
        "general": {"training_method": "dqn"},
        "rl": {"training": {"max_nb_steps_per_episode": 100}},
    }  # fmt: skip
    environments = import_module("alfworld.agents.environment")
    return environments.get_environment("AlfredTWEnv")(config, train_eval="train").init_env(batch_size=1)


def test_games_are_played_in_worker_processes_and_replay(tmp_path: Path) -> None:
    plays_a_tournament("alfworld(games=made_up,turns=4)", tmp_path)
