"""ALFWorld as it is: its games, or made-up ones, in the engine TextWorld, from the packages alfworld and textworld."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from games.errors import RunError
from games.foreign import foreign_code, need
from games.game import Action
from games.generators import EpisodeGenerators
from games.spec import Spec, SpecError, render
from games.tasks.engine import Engine, EngineTask, Moment
from games.tasks.household.alfworld import TASKS, assembled, game_of
from games.tasks.household.game import REACHED
from games.tasks.household.generate import generate, kind_of
from games.tasks.household.text import rules
from games.tasks.household.world import Kind
from games.tasks.instances import SplitName, chosen
from games.tasks.parameters import Parameters, canonical, read
from games.tasks.task import task_spec

TURNS = 50
MADE_UP = "made_up"
FOLDERS: Mapping[SplitName, str] = {"train": "train", "validation": "valid_seen", "test": "valid_unseen"}
"""Split -> the folder in which ALFWorld has its games."""
_GOAL = re.compile(r'Your task is to: ([^"\\]{1,300})')


class AlfworldParameters(Parameters):
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
        self.given = given = read(spec, AlfworldParameters)
        self.turns = given.turns
        self._files: Sequence[Path] = []
        if given.games == MADE_UP:
            self.instances = given.generated()
        else:
            self._files = _found(_folder(given), given.type)
            self.instances = chosen(range(len(self._files)), given.first, given.count)
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
        """The game of an instance. Raises RunError for a file that is none."""
        if not self._files:
            kind = self.given.type
            return game_of(generate(kind_of(instance) if kind == "any" else kind, self.given.split, instance))
        file = self._files[instance]
        try:
            read_in = json.loads(file.read_text(encoding="utf-8"))
            goal = _GOAL.search(read_in["grammar"])
            if goal is None:
                raise ValueError("its grammar names no goal")
            return assembled(read_in["pddl_problem"], goal[1].strip(), read_in.get("walkthrough") or [])
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise RunError(f"{file} is no game of ALFWorld: {type(error).__name__}: {error}") from error


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
        self._legal: tuple[Action, ...] = ()
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
    root = Path(given.games or os.environ.get("ALFWORLD_DATA") or "~/.cache/alfworld").expanduser()
    name = FOLDERS[given.split]
    for folder in (root / "json_2.1.1" / name, root / name):
        if folder.is_dir():
            return folder
    raise SpecError(
        f"no games for split={given.split}: there is no folder {name} in {render(str(root))}; set $ALFWORLD_DATA to "
        f"where alfworld-download put them, or give games=FOLDER, or games={MADE_UP} for generated ones"
    )


def _found(folder: Path, kind: Kind | Literal["any"]) -> Sequence[Path]:
    """The games of a folder, in a certain order, as ALFWorld picks them: not with slices or movable receptacles."""
    wanted = {*TASKS.values()} if kind == "any" else {TASKS[kind]}
    games = []
    for file in sorted(folder.rglob("game.tw-pddl")):
        if any(word in str(file.relative_to(folder)) for word in ("movable", "Sliced")):
            continue
        try:
            if json.loads((file.parent / "traj_data.json").read_text(encoding="utf-8"))["task_type"] in wanted:
                games.append(file)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SpecError(f"{file.parent / 'traj_data.json'}: {type(error).__name__}: {error}") from error
    if not games:
        raise SpecError(f"there is no game of type={kind} in {folder}")
    return games
