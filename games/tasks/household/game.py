"""A household as a task: a goal in one room, reached by typed commands."""

from functools import lru_cache, partial
from typing import Literal

from pydantic import Field

from games.game import Action
from games.spec import Spec
from games.tasks.household.expert import MOST_TURNS, next_command
from games.tasks.household.generate import house_of
from games.tasks.household.text import Sight, commands, everything, rules, told
from games.tasks.household.world import STARTED, House, World
from games.tasks.parameters import Parameters, canonical, read
from games.tasks.task import MOST_CHARACTERS, Advisor, Task, TaskObservation, TaskState, is_line, task_spec

REACHED = 10.0
"""Reward of the goal."""
TURNS = 30


class HouseholdParameters(Parameters):
    """What `household(...)` takes."""

    type: Literal["any", "pick", "look", "clean", "heat", "cool", "pick_two"] = Field(
        "any", description="The kind of goal; any for all six."
    )
    turns: int = Field(TURNS, ge=MOST_TURNS, le=1_000, description="Turns of an episode.")


class Household(Task):
    """Houses with one kind of goal, or with all."""

    free = True

    def __init__(self, spec: Spec) -> None:
        self.given = given = read(spec, HouseholdParameters)
        self.instances = given.generated()
        self.turns = given.turns
        self._house = lru_cache(maxsize=256)(partial(house_of, given.type, given.split))
        self.spec = task_spec(
            name=canonical(spec.name, given),
            title="Household",
            rules=rules(self.turns),
            turns=self.turns,
            returns=(0.0, REACHED),
            perfect=False,
            chance=self.instances.size > 1,
            terminal_rewards=True,
        )

    def begin(self, instance: int) -> "HouseholdState":
        return HouseholdState(self, instance, self._house(instance))

    def advisor(self) -> "HouseholdAdvisor":
        return HouseholdAdvisor()


class HouseholdState(TaskState):
    """One house in progress."""

    __slots__ = ("world",)

    task: Household

    def __init__(self, task: Household, instance: int, house: House) -> None:
        super().__init__(task, instance)
        self.world = world = World(house)
        self.sight = Sight(0, world.here, False, (), world.held, world.marks, STARTED)

    def _play(self, action: Action) -> float:
        if not is_line(action):
            raise ValueError(f"{action!r:.200} is not a command: one line of 1 to {MOST_CHARACTERS} characters")
        world = self.world
        happened = world.do(action)
        turn = self.sight.turn + 1
        is_open = world.here >= 0 and bool(world.opened >> world.here & 1)
        self.sight = Sight(turn, world.here, is_open, world.seen(), world.held, world.marks, happened)
        self.solved = world.reached
        self.over = world.reached or turn >= self.task.turns
        return REACHED if world.reached else 0.0

    def _legal(self, sight: Sight) -> tuple[Action, ...]:
        return commands(self.world.house, sight)

    def _allows(self, sight: Sight, action: Action) -> bool:
        return is_line(action)

    def _told(self, sight: Sight) -> str:
        return told(self.world.house, sight, self.task.turns)

    def board(self) -> str:
        return f"{self._told(self.sight)}\n{everything(self.world)}"


class HouseholdAdvisor(Advisor):
    """Plays by the scripted expert, which knows where everything is."""

    def advise(self, observation: TaskObservation) -> Action:
        """The next command towards the goal, as things stood when the observation was made."""
        state = observation.then()
        assert isinstance(state, HouseholdState)
        return next_command(state.world)


def load(spec: Spec) -> Household:
    """Make `household(...)`. Raises UserError for parameters that are none."""
    return Household(spec)
