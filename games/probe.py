"""The game `probe`: a safe action and two risky ones, of which one may be good; only a try tells which."""

import random
from typing import NamedTuple

from games.game import Action
from games.seeding import derive
from games.spec import Spec
from games.tasks.parameters import Parameters, canonical, read
from games.tasks.task import Advisor, Task, TaskObservation, TaskState, task_spec

SAFE, A, B = "safe", "a", "b"
ACTIONS: tuple[Action, ...] = (SAFE, A, B)
CASES: tuple[Action | None, ...] = (A, A, B, B, None)
"""Which action is good, None for neither; each case is as likely as the others."""
_RULES = (
    f"One action, and the episode is over. The actions are {SAFE}, {A} and {B}. {SAFE} pays 0. Of {A} and {B} at most "
    f"one is good: it pays 1. Any other try of {A} or {B} pays -1. {A} is the good one with probability 0.4, {B} with "
    "0.4, neither with 0.2. Nothing tells which but what an action pays."
)


class Sight(NamedTuple):
    """What the player knows."""

    action: Action = ""
    earned: float = 0.0


class Probe(Task):
    """Instances that differ in which action is good."""

    def __init__(self, spec: Spec) -> None:
        given = read(spec, Parameters)
        self.instances = given.generated()
        self.spec = task_spec(
            name=canonical(spec.name, given),
            title="Probe",
            rules=_RULES,
            turns=1,
            returns=(-1.0, 1.0),
            perfect=False,
            chance=self.instances.size > 1,
            terminal_rewards=True,
            can_sample_state=True,
        )

    def begin(self, instance: int) -> "ProbeState":
        return ProbeState(self, instance, good(instance))

    def advisor(self) -> "ProbeAdvisor":
        return ProbeAdvisor()

    def sample(self, observation: TaskObservation, rng: random.Random) -> "ProbeState":
        """The same number with what is good drawn anew, as often as it must be to pay what was earned."""
        while True:
            state = ProbeState(self, observation.state.instance, rng.choice(CASES))
            if observation.turns:
                state.apply({0: observation.sight.action})
            if state.sight == observation.sight:
                return state


class ProbeState(TaskState):
    """One instance, before its action or after."""

    __slots__ = ("good",)

    def __init__(self, task: Probe, instance: int, good: Action | None) -> None:
        super().__init__(task, instance)
        self.good = good
        self.sight = Sight()

    def _play(self, action: Action) -> float:
        if action not in ACTIONS:
            raise ValueError(f"{action!r:.200} is none of {', '.join(ACTIONS)}")
        earned = 0.0 if action == SAFE else 1.0 if action == self.good else -1.0
        self.solved = earned > 0  # and not where safe was right: being told so would tell what no try told
        self.over = True
        self.sight = Sight(action, earned)
        return earned

    def _legal(self, sight: Sight) -> tuple[Action, ...]:
        return ACTIONS

    def _told(self, sight: Sight) -> str:
        return f"You played {sight.action} and earned {sight.earned:g}." if sight.action else "Nothing was tried yet."

    def board(self) -> str:
        return f"Good: {self.good or 'neither'}. {self._told(self.sight)}"


class ProbeAdvisor(Advisor):
    """Knows which action is good."""

    def advise(self, observation: TaskObservation) -> Action:
        """The good action, and the safe one where neither is."""
        state = observation.state
        assert isinstance(state, ProbeState)
        return state.good or SAFE


def load(spec: Spec) -> Probe:
    """Make `probe(...)`. Raises UserError for wrong parameters."""
    return Probe(spec)


def good(instance: int) -> Action | None:
    """The good action of an instance, None for neither."""
    return CASES[derive(instance, "probe") % len(CASES)]
