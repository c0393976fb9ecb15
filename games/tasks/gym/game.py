"""Any gymnasium environment with discrete actions as a task; the extra `gymnasium` is needed."""

import inspect
import math
import re
import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

from pydantic import Field

from games.errors import RunError, UserError
from games.foreign import foreign_code, need
from games.game import Action
from games.spec import Spec, SpecError, Value, near, render
from games.tasks.gym.words import TABLE, TURNS, GymWords
from games.tasks.parameters import Parameters, canonical, parted
from games.tasks.task import Advisor, Task, TaskState, task_spec
from games.text.arrays import frozen

LOOKED_AT = 30
"""Moves of an episode in which chance is looked for."""
_ID = re.compile(r"(?:[A-Za-z0-9_-]{1,60}/)?([A-Za-z0-9_-]{1,80}?)(?:-v\d{1,4})?")
"""Ids of gymnasium, but for `module:id`, which would import the module."""


class GymParameters(Parameters):
    """What `gymnasium(...)` takes; all else goes to the environment."""

    id: str = Field(description="The environment, such as FrozenLake-v1.")
    turns: int = Field(0, ge=0, le=1_000_000, description="Turns of an episode; 0 for the environment's own limit.")
    success: float | None = Field(
        None, allow_inf_nan=False, description="Return from which an episode counts as solved; else the environment's."
    )


class Sight(NamedTuple):
    """What the player is shown."""

    shown: Any
    turn: int


class GymTask(Task):
    """One environment."""

    solvable = False

    def __init__(self, spec: Spec) -> None:
        need("gymnasium", "gymnasium")
        if "id" not in spec.params:
            raise SpecError("game 'gymnasium' needs the parameter 'id', as in gymnasium(id=FrozenLake-v1)")
        given, options = parted(spec, GymParameters)
        self.given = given
        self._make = partial(_made, given.id, options)
        env = self._make()
        registered = _limit(given.id)
        limit = given.turns or registered or TURNS.get(_base(given.id), 0)
        if not limit:
            raise SpecError(f"environment {given.id} sets no limit to its turns; give one, as in turns=100")
        with foreign_code(f"environment {given.id} cannot be reset", SpecError):
            env.reset(seed=0)
            self.words: GymWords = TABLE.get(_base(given.id), GymWords)(given.id, env.unwrapped, limit)
        env.close()
        self.solved_from = given.success if given.success is not None else self.words.solved_from
        if self.solved_from is None and not self.words.ends_solved:
            self.solved_from = getattr(env.spec, "reward_threshold", None)
            if self.solved_from is None:
                raise SpecError(f"environment {given.id} does not say what solves it; give a return, as in success=1.0")
        self.instances = given.generated()
        self.turns = limit
        self.cuts = given.success is None and registered is not None and limit < registered
        """Whether turns end before the environment's own: a return of an episode that was cut off says nothing then."""
        names = tuple(self.words.actions())
        self.legal = names
        self.numbers = {name: self.words.first + place for place, name in enumerate(names)}
        self.spec = task_spec(
            name=canonical(spec.name, given, options),
            title=given.id,
            rules=self.words.rules(),
            turns=limit,
            returns=self.words.bounds,
            perfect=not self.words.hidden,
            chance=_has_chance(self, 20),
        )

    def begin(self, instance: int) -> "GymState":
        return GymState(self, instance)

    def advisor(self) -> Advisor:
        raise UserError(f"{self.spec.name} brings along no solver")

    def make(self) -> Any:
        """A new environment."""
        return self._make()


class GymState(TaskState):
    """One episode; its environment is its own."""

    __slots__ = ("_env",)

    task: GymTask

    def __init__(self, task: GymTask, instance: int) -> None:
        super().__init__(task, instance)
        self._env = task.make()
        with foreign_code(f"environment {task.given.id} cannot be reset", RunError):
            shown, _ = self._env.reset(seed=instance)
        self.sight = Sight(frozen(shown), 0)

    def _play(self, action: Action) -> float:
        number = self.task.numbers.get(action)
        if number is None:
            raise ValueError(f"{action!r:.200} is none of {', '.join(self.task.legal[:20])}")
        with foreign_code(f"environment {self.task.given.id} failed", RunError):
            shown, reward, ended, cut, _ = self._env.step(number)
            reward = float(reward)
        if not math.isfinite(reward):
            raise RunError(f"environment {self.task.given.id} gives a reward of {reward}")
        self.sight = Sight(frozen(shown), self.sight.turn + 1)
        self.over = bool(ended or cut) or self.sight.turn >= self.task.turns
        if self.over:
            limit = self.task.solved_from
            reached = bool(ended) if limit is None else self._return + reward >= limit
            self.solved = reached and (bool(ended) or not self.task.cuts)
            self._env.close()
        return reward

    def _legal(self, sight: Sight) -> tuple[Action, ...]:
        return self.task.legal

    def _told(self, sight: Sight) -> str:
        return f"{self.task.words.view(sight.shown)}\nTurns taken: {sight.turn} of {self.task.turns}."

    def board(self) -> str:
        drawn = self.task.words.board(self._env.unwrapped, self.sight.shown)
        return f"{drawn}\nTurns taken: {self.sight.turn} of {self.task.turns}."


def load(spec: Spec) -> GymTask:
    """Make `gymnasium(id=..., ...)`. Raises UserError without the extra, SpecError for what cannot be played."""
    return GymTask(spec)


def _base(name: str) -> str:
    """The name of an environment without namespace and version."""
    found = _ID.fullmatch(name)
    return found[1] if found else name


def _limit(name: str) -> int | None:
    """The turns that an environment is registered with."""
    import gymnasium

    limit: int | None = gymnasium.registry[name].max_episode_steps
    return limit


def _made(name: str, options: Mapping[str, Value]) -> Any:
    """An environment of gymnasium's registry, without its checks and its limit. Raises SpecError in one line."""
    import gymnasium

    if not _ID.fullmatch(name):
        raise SpecError(f"id = {name!r:.100} is no id of gymnasium, such as FrozenLake-v1")
    known = gymnasium.registry
    if name not in known:
        raise SpecError(f"gymnasium has no environment {name!r}; {near(name, sorted(known))}")
    _check_options(name, options)
    with warnings.catch_warnings(), foreign_code(f"environment {name} cannot be made", SpecError):
        warnings.simplefilter("ignore")
        given: dict[str, Any] = dict(options)
        env = gymnasium.make(name, max_episode_steps=-1, disable_env_checker=True, **given)
    if not isinstance(env.action_space, gymnasium.spaces.Discrete):
        raise SpecError(f"environment {name} has actions of kind {env.action_space}; only Discrete ones can be played")
    return env


def _check_options(name: str, options: Mapping[str, Value]) -> None:
    """Raises SpecError for an option that is ours under another name, or of another type than its default."""
    import gymnasium
    from gymnasium.envs.registration import load_env_creator

    if "max_episode_steps" in options:
        raise SpecError(f"environment {name}: give turns in place of max_episode_steps")
    if drawn := {"render_mode", "render_fps"} & options.keys():
        raise SpecError(f"environment {name}: {min(drawn)} is about drawing; nothing is drawn here")
    entry = gymnasium.registry[name]
    with foreign_code(f"environment {name} cannot be imported", SpecError):
        point = entry.entry_point
        maker = load_env_creator(point) if isinstance(point, str) else point
        parameters = inspect.signature(maker).parameters if callable(maker) else {}
    defaults = {key: one.default for key, one in parameters.items()} | dict(entry.kwargs)
    for key, value in options.items():
        default = defaults.get(key)
        number = isinstance(default, float) and type(value) is int
        if isinstance(default, bool | int | float | str) and type(value) is not type(default) and not number:
            kind = type(default).__name__
            raise SpecError(f"environment {name}: {key} is {render(value)}: a value of type {kind} was expected")


def _has_chance(task: GymTask, tried: int) -> bool:
    """Whether instances differ, at the start or in the first moves of one way to play."""
    first: list[str] | None = None
    for seed in range(tried):
        state = task.begin(task.instances.number(seed))
        course = [state.board()]
        while state.seats_to_act() and len(course) <= LOOKED_AT:
            state.apply({0: task.legal[len(course) % len(task.legal)]})
            course.append(state.board())
        first = first or course
        if course != first:
            return True
    return False
