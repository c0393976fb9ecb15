"""Levels of MiniHack: NetHack with one small goal each, from the packages nle and minihack."""

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import Field

from games.foreign import foreign_code, need
from games.game import Action
from games.spec import Spec, SpecError, near
from games.tasks.engine import Engine, EngineTask, Moment
from games.tasks.engines.minihack_text import DIRECTIONS, KEYS, answers, decoded, told
from games.tasks.parameters import Parameters, canonical, read
from games.tasks.task import task_spec
from games.text.zoo import UNKNOWN_BOUND

SOLVED, TURN = 1.0, -0.01
"""Rewards: of the goal, and of each turn."""
TURNS = 25
_SHOWN = ("chars", "message", "blstats", "inv_strs", "inv_letters", "screen_descriptions")
_SUCCESSFUL = 2
"""How MiniHack marks the end of an episode that reached the goal."""
_DOWN = "Stand on the stairs that lead down, shown as >."


class Level(NamedTuple):
    """A goal, the environment that has it, and the keys that are offered."""

    id: str
    goal: str
    verbs: tuple[str, ...] = ()
    """Beside the eight directions."""


def _skill(name: str, verb: str, thing: str) -> Level:
    return Level(f"MiniHack-{name}-v0", f"Pick up the {thing} and {verb} it.", ("pick up", verb))


LEVELS: Mapping[str, Level] = {
    "room": Level("MiniHack-Room-Random-5x5-v0", _DOWN),
    "large_room": Level("MiniHack-Room-Random-15x15-v0", _DOWN),
    "dark_room": Level("MiniHack-Room-Dark-5x5-v0", _DOWN),
    "monster_room": Level("MiniHack-Room-Monster-5x5-v0", _DOWN),
    "trap_room": Level("MiniHack-Room-Trap-5x5-v0", _DOWN),
    "maze_walk": Level("MiniHack-MazeWalk-9x9-v0", _DOWN),
    "eat": _skill("Eat", "eat", "apple"),
    "wear": _skill("Wear", "wear", "robe"),
    "wield": _skill("Wield", "wield", "dagger"),
    "put_on": _skill("PutOn", "put on", "amulet"),
    "read": _skill("Read", "read", "scroll"),
    "zap": _skill("Zap", "zap", "wand"),
}


class MiniHackParameters(Parameters):
    """What `minihack(...)` takes."""

    task: str = Field(
        "room", description="A name of LEVELS, or the id of an environment, such as MiniHack-Quest-Easy-v0."
    )
    turns: int = Field(TURNS, ge=1, le=1_000_000, description="Turns of an episode.")


class MiniHack(EngineTask):
    """One kind of level."""

    def __init__(self, spec: Spec) -> None:
        super().__init__()
        need("minihack", "minihack")
        self.given = given = read(spec, MiniHackParameters)
        self.level = LEVELS.get(given.task) or Level(given.task, "Reach the goal of this level.")
        self.instances = given.generated()
        self.turns = given.turns
        known = _environments()
        if self.level.id not in known:
            raise SpecError(f"MiniHack has no task {given.task!r}; {near(given.task, [*LEVELS, *known])}")
        with foreign_code(f"{self.level.id} cannot be made", SpecError):
            engine = MiniHackEngine(self.level)
        self.give_back(engine)
        named = given.task in LEVELS
        self.spec = task_spec(
            name=canonical(spec.name, given),
            title=f"MiniHack, {given.task}",
            rules=_rules(self.level, engine, given.turns),
            turns=given.turns,
            returns=(TURN * given.turns, SOLVED + TURN) if named else (-UNKNOWN_BOUND, UNKNOWN_BOUND),
            perfect=False,
            chance=self.instances.size > 1,
        )

    def engine(self) -> "MiniHackEngine":
        return MiniHackEngine(self.level)


class MiniHackEngine(Engine):
    """An environment of MiniHack, seeded for NetHack itself: `reset(seed=...)` alone would not do that."""

    def __init__(self, level: Level) -> None:
        import gymnasium

        self._goal = level.goal
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made: Any = gymnasium.make(
                level.id,
                observation_keys=_SHOWN,
                penalty_mode="always",
                penalty_step=TURN,
                max_episode_steps=10**9,
                fix_moon_phase=True,  # else luck depends on the date
                disable_env_checker=True,
            )
        self._env = made.unwrapped
        self._codes = [int(code) for code in self._env.actions]
        names = {KEYS[code]: code for code in self._codes if code in KEYS}
        own = [*DIRECTIONS.values(), *level.verbs]
        self.keys: Mapping[Action, int] = {word: names[word] for word in own} if level.verbs else names
        self._open: Mapping[Action, int] = self.keys

    def begin(self, instance: int) -> Moment:
        self._env.seed(instance, instance, reseed=False)
        seen, _ = self._env.reset(sample_seed=False)
        return self._moment(seen, 0.0, False, False)

    def play(self, action: Action) -> Moment:
        seen, reward, ended, _, info = self._env.step(self._codes.index(self._open[action]))
        return self._moment(seen, float(reward), bool(ended), int(info["end_status"]) == _SUCCESSFUL)

    def _moment(self, seen: Mapping[str, Any], reward: float, over: bool, solved: bool) -> Moment:
        asked = not over and self._asks()
        self._open = (answers(decoded(seen["message"]), self._codes) if asked else {}) or self.keys
        return Moment(told(self._goal, seen, asked), () if over else tuple(self._open), reward, over, solved)

    def _asks(self) -> bool:
        """Whether NetHack waits for the answer to a question, not for a key."""
        return bool(self._env.last_observation[self._env._internal_index][1])


def load(spec: Spec) -> MiniHack:
    """Make `minihack(task=...)`. Raises UserError without the extra, SpecError for a task that does not exist."""
    return MiniHack(spec)


def _environments() -> list[str]:
    with warnings.catch_warnings(), foreign_code("minihack cannot be imported", SpecError):
        warnings.simplefilter("ignore")
        import gymnasium
        import minihack  # noqa: F401 - this registers them
    return sorted([name for name in gymnasium.registry if name.startswith("MiniHack-")])


def _rules(level: Level, engine: MiniHackEngine, turns: int) -> str:
    return (
        f"A small level of NetHack. {level.goal} Every turn is one key, said by a word: {', '.join(engine.keys)}. "
        "Where NetHack asks something, answer with one of the letters or words it takes. Reaching the goal earns 1 and "
        f"ends the episode, every turn costs 0.01. There are {turns} turns."
    )
