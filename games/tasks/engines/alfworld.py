"""ALFWorld as it is: its games, or made-up ones, in the engine TextWorld, from the packages alfworld and textworld."""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from games.foreign import foreign_code, need
from games.game import Action
from games.generators import EpisodeGenerators
from games.spec import Spec, SpecError, render
from games.tasks.engine import Engine, EngineTask, Moment
from games.tasks.files import FromFiles, content, held, place_of, read_json, read_text
from games.tasks.household.alfworld import TASKS, assembled, game_of
from games.tasks.household.game import REACHED
from games.tasks.household.generate import house_of
from games.tasks.household.text import rules
from games.tasks.household.world import Kind
from games.tasks.instances import SplitName, chosen
from games.tasks.parameters import canonical, read
from games.tasks.task import task_spec

TURNS = 50
MADE_UP = "made_up"
FOLDERS: Mapping[SplitName, str] = {"train": "train", "validation": "valid_seen", "test": "valid_unseen"}
"""Split -> the folder in which ALFWorld has its games."""
_GOAL = re.compile(r'Your task is to: ([^"\\]{1,300})')


class AlfworldParameters(FromFiles):
    """What `alfworld(...)` takes."""

    type: Literal["any", "pick", "look", "clean", "heat", "cool", "pick_two"] = Field(
        "any", description="The kind of goal; any for all six."
    )
    games: str = Field("", description="A folder of games; by default $ALFWORLD_DATA. made_up for those of household.")
    turns: int = Field(TURNS, ge=1, le=1_000, description="Turns of an episode.")


class Alfworld(EngineTask):
    """Games of one split, of one type or all."""

    free = True
    solvable = True

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        for package in ("alfworld", "textworld"):
            need(package, "alfworld")
        given = read(spec, AlfworldParameters)
        self.turns = given.turns
        self._files: Sequence[Path] = []
        digest, what = "", "a generated house"
        if given.games == MADE_UP:
            self.instances = given.generated()
        else:
            folder = _folder(given)
            self._files = _found(folder, given.type)
            self.instances = chosen(range(len(self._files)), given.first, given.count)
            played = self._files[self.instances.first : self.instances.first + self.instances.size]
            digest = content(part for file in played for part in _checked(file, folder))
            what = f"folder {str(folder)!r}"
        self.given = given = held(given, digest, what)
        self.spec = task_spec(
            name=canonical(spec.name, given),
            title="ALFWorld",
            rules=rules(given.turns),
            turns=given.turns,
            returns=(0.0, REACHED),
            perfect=False,
            chance=self.instances.size > 1,
            terminal_rewards=True,
        )

    def engine(self) -> "AlfworldEngine":
        return AlfworldEngine(self.game)

    def game(self, instance: int) -> Mapping[str, Any]:
        """The game of an instance. Raises UserError for a file that is none."""
        if not self._files:
            return game_of(house_of(self.given.type, self.given.split, instance))
        return _game(self._files[instance])


class AlfworldEngine(Engine):
    """TextWorld with ALFWorld's names for things. It is not safe for threads, and plays some ten turns a second."""

    def __init__(self, game: Any) -> None:
        self._game = game
        self._generators = EpisodeGenerators(0)
        with self._generators:  # some of what is imported draws
            from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
            from textworld.core import EnvInfos
            from textworld.envs.pddl.pddl import PddlEnv

            self._inner = PddlEnv(EnvInfos(won=True, admissible_commands=True))
            self._env = AlfredDemangler(self._inner)
        self._walkthrough: Sequence[Action] = ()
        self._played: list[Action] = []
        self._intro = ""

    def begin(self, instance: int) -> Moment:
        game = self._game(instance)
        self._walkthrough, self._played = game["walkthrough"], []
        self._generators = EpisodeGenerators(instance)
        with self._generators:
            self._env.load(game)
            state = self._env.reset()
        self._intro = str(state.feedback).partition("=-")[2].strip()  # without a welcome
        return self._moment(state, self._intro)

    def play(self, action: Action) -> Moment:
        with self._generators:
            state, _, _ = self._env.step(action)
        self._played.append(action)
        return self._moment(state, f"{self._intro}\n\n> {action}\n{str(state.feedback).strip()}")

    def advise(self) -> Action:
        """The next command of the walkthrough; off its way that of TextWorld's planner, which takes a while."""
        turn = len(self._played)
        if self._played == self._walkthrough[:turn] and turn < len(self._walkthrough):
            return self._walkthrough[turn]
        with self._generators:
            plan: Sequence[Action] = self._inner._pddl_state.replan(self._inner._entity_infos)
        return plan[0]

    def _moment(self, state: Any, told: str) -> Moment:
        won = bool(state["won"])
        legal = () if won else tuple(state["admissible_commands"])
        return Moment(told, legal, REACHED if won else 0.0, won, won)


def load(spec: Spec) -> Alfworld:
    """Make `alfworld(...)`. Raises UserError without the extra, SpecError where there are no games."""
    with foreign_code("ALFWorld cannot be used", SpecError):
        return Alfworld(spec)


def _folder(given: AlfworldParameters) -> Path:
    """The folder of the split's games."""
    root = place_of(given.games or os.environ.get("ALFWORLD_DATA") or "~/.cache/alfworld")
    name = FOLDERS[given.split]
    for folder in (root / "json_2.1.1" / name, root / name):
        if folder.is_dir():
            return folder
    why = "does not exist" if not root.exists() else f"has no folder {name}" if root.is_dir() else "is a file"
    raise SpecError(
        f"no games for split={given.split}: {render(str(root))} {why}; set $ALFWORLD_DATA to where alfworld-download "
        f"put them, or give games=FOLDER, or games={MADE_UP} for generated ones"
    )


def _found(folder: Path, kind: Kind | Literal["any"]) -> Sequence[Path]:
    """The games of a folder, in a certain order, as ALFWorld picks them: not with slices or movable receptacles."""
    wanted = {*TASKS.values()} if kind == "any" else {TASKS[kind]}
    games = []
    for file in sorted(folder.rglob("game.tw-pddl")):
        if any(word in str(file.relative_to(folder)) for word in ("movable", "Sliced")):
            continue
        beside = file.parent / "traj_data.json"
        found = _object(beside).get("task_type")
        if found not in TASKS.values():
            raise SpecError(
                f"{beside}, field 'task_type': {_shown(found)}; one of {', '.join(TASKS.values())} was expected"
            )
        if found in wanted:
            games.append(file)
    if not games:
        raise SpecError(f"there is no game of type={kind} in {folder}")
    return games


def _game(file: Path) -> Mapping[str, Any]:
    """A game file. Raises SpecError with file, field and what was expected."""
    given = _object(file)
    for field in ("grammar", "pddl_problem"):
        if not isinstance(given.get(field), str) or not given[field].strip():
            raise SpecError(f"{file}, field {field!r}: {_shown(given.get(field))}; a text was expected")
    steps = given.get("walkthrough") or []
    if not isinstance(steps, list) or not all(isinstance(step, str) for step in steps):
        raise SpecError(f"{file}, field 'walkthrough': {_shown(steps)}; a list of commands was expected")
    goal = _GOAL.search(given["grammar"])
    if goal is None:
        raise SpecError(f"{file}, field 'grammar': it names no goal; `Your task is to: ...` was expected in it")
    try:
        return assembled(given["pddl_problem"], goal[1].strip(), steps)
    except ValueError as error:
        raise SpecError(f"{file}, field 'grammar': {error}") from None


def _checked(file: Path, folder: Path) -> Iterator[bytes]:
    """What tells a game from others: where it is, and what it says. Raises SpecError for one that is none."""
    game = _game(file)
    yield str(file.relative_to(folder)).encode()
    yield json.dumps([game["pddl_problem"], game["grammar"], game["walkthrough"]]).encode()


def _object(file: Path) -> Mapping[str, Any]:
    """The object that a JSON file holds. Raises UserError with file and line."""
    found = read_json(read_text(file, str(file)), str(file))
    if not isinstance(found, dict):
        raise SpecError(f"{file}: {_shown(found)}; an object was expected")
    return found


def _shown(value: object) -> str:
    return "missing" if value is None else f"{value!r:.60}"
