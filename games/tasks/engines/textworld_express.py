"""The games of TextWorldExpress, from the package textworld_express; they run in Java."""

import json
import os
import shutil
import weakref
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pydantic import Field

from games.errors import RunError, UserError
from games.foreign import foreign_code, need
from games.game import Action
from games.spec import Spec, SpecError, near, render
from games.tasks.engine import Engine, EngineTask, Moment
from games.tasks.instances import SplitName, chosen
from games.tasks.parameters import Parameters, canonical, parted
from games.tasks.task import task_spec

TURNS = 100
MOST = 1_000_000
"""The largest value of a game's own parameters."""
SPLITS: Mapping[SplitName, tuple[str, range]] = {
    "train": ("train", range(1_000)),
    "validation": ("dev", range(10_000, 11_000)),
    "test": ("test", range(20_000, 21_000)),
}
"""Split -> what TextWorldExpress calls it, and its seeds."""
_GOALS = {
    "cookingworld": "Cook a meal by a recipe",
    "twc": "Put things back where they belong",
    "coin": "Find a coin in a house and take it",
    "mapreader": "Fetch a coin with the help of a map",
    "arithmetic": "Solve a problem of arithmetic and put away as many things as its answer says",
    "sorting": "Put things into a box in order of their number",
    "simonsays": "Do exactly what Simon says",
    "peckingorder": "Follow a book of instructions, page by page",
}
"""Game -> what is to be reached."""
_OPEN = {"simonsays"}
"""Games that show everything."""
_ALONE = {"sorting"}
"""Games of which two in one Java machine change each other."""


class ExpressParameters(Parameters):
    """What `textworld_express(...)` takes, beside the game's own parameters."""

    game: str = Field("cookingworld", description="A game of TextWorldExpress.")
    turns: int = Field(TURNS, ge=1, le=1_000_000, description="Turns of an episode.")


class TextWorldExpress(EngineTask):
    """One game with its parameters."""

    free = True
    solvable = True

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        need("textworld_express", "textworld-express")
        given, options = parted(spec, ExpressParameters)
        self.given = given
        self._options: dict[str, int] = {}
        for key, value in options.items():
            if not isinstance(value, int) or not -MOST <= value <= MOST:
                raise SpecError(
                    f"parameter {key!r} of game {spec.name!r} is {render(value)}: a whole number of up to {MOST:,}, "
                    "true or false was expected"
                )
            self._options[key] = value
        self._fold, seeds = SPLITS[given.split]
        self.instances = chosen(seeds, given.first, given.count)
        self.turns = given.turns
        if given.game not in _GOALS:
            raise SpecError(f"TextWorldExpress has no game {given.game!r}; {near(given.game, _GOALS)}")
        with foreign_code(f"game {given.game} of TextWorldExpress cannot be made", SpecError):
            self.give_back(self.engine())
        self.spec = task_spec(
            name=canonical(spec.name, given, self._options),
            title=f"TextWorldExpress, {given.game}",
            rules=(
                f"A text adventure. {_GOALS[given.game]}. Every turn is a command; what cannot "
                "be done changes nothing. The score rises from 0 to 1 with progress and falls to -1 where the goal is "
                f"out of reach for good; what it gains is the reward of a turn. There are {given.turns} turns."
            ),
            turns=given.turns,
            returns=(-1.0, 1.0),
            perfect=given.game in _OPEN,
            chance=self.instances.size > 1,
        )

    def engine(self) -> "ExpressEngine":
        return ExpressEngine(self.given.game, self._options, self._fold)


class ExpressEngine(Engine):
    """A game in the Java machine of this process, where many are played side by side, or in one of its own."""

    def __init__(self, game: str, options: Mapping[str, int], fold: str) -> None:
        machine = _java() if game in _ALONE else _java_of(os.getpid())
        if game in _ALONE:
            weakref.finalize(self, _end, machine)
        self._java = machine.jvm.textworldexpress.runtime.PythonInterface()
        self._fold = fold
        if refused := self._java.load(game, ", ".join([f"{key}={int(value)}" for key, value in options.items()])):
            raise SpecError(f"game {game} of TextWorldExpress: {' '.join(str(refused).split())}")
        self._score = 0.0
        self._played: list[Action] = []
        self._solution: list[Action] = []

    def begin(self, instance: int) -> Moment:
        self._score, self._played = 0.0, []
        first = self._java.generateNewGameJSON(instance, self._fold, True)
        self._solution = [str(action) for action in self._java.getGoldActionSequence()]
        return self._moment(first)

    def play(self, action: Action) -> Moment:
        self._played.append(action)
        return self._moment(self._java.stepJSON(action))

    def advise(self) -> Action:
        turn = len(self._played)
        if self._played != self._solution[:turn] or turn >= len(self._solution):
            raise RunError("TextWorldExpress knows one solution of each game, and this episode has left it")
        return self._solution[turn]

    def _moment(self, answer: str) -> Moment:
        found: Mapping[str, Any] = json.loads(answer)
        before, self._score = self._score, float(found["score"])
        solved = bool(found["tasksuccess"]) or self._score >= 1.0
        over = solved or bool(found["taskfailure"])
        goal = " ".join(str(self._java.getTaskDescription()).split())
        happened, around, carried = [str(found[part]).strip() for part in ("observation", "look", "inventory")]
        told = [f"Goal: {goal}", happened, around if around != happened else "", carried]
        legal = () if over else tuple(sorted(set(found["validActions"])))
        return Moment("\n".join(filter(None, told)), legal, self._score - before, over, solved)


def load(spec: Spec) -> TextWorldExpress:
    """Make `textworld_express(game=..., ...)`. Raises UserError without the extra or Java, SpecError for no game."""
    return TextWorldExpress(spec)


@lru_cache(maxsize=1)
def _java_of(process: int) -> Any:
    """The Java machine that the engines of a process share."""
    return _java()


def _java() -> Any:
    """A new Java machine, which ends with this process at the latest. What is not ours cannot speak with it."""
    from py4j.java_gateway import JavaGateway
    from textworld_express.constants import BASEPATH, JAR_PATH

    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise UserError("textworld_express needs Java, which is not installed: no program java is found")
    with foreign_code("Java cannot be started", RunError):
        return JavaGateway.launch_gateway(
            classpath=JAR_PATH,
            javaopts=["-XX:+UseSerialGC", "-Xmx1g"],
            die_on_exit=True,
            create_new_process_group=True,  # so that Ctrl-C does not end it before its matches
            enable_auth=True,
            cwd=BASEPATH,  # its tables lie there
        )


def _end(machine: Any) -> None:
    machine.shutdown()
    machine.java_process.stdin.close()
    machine.java_process.wait()
