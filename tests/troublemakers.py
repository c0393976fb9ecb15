"""Agents and games that misbehave in every way a test of the arena asks for; installed by a fixture of conftest."""

import asyncio
import ctypes
import itertools
import multiprocessing
import os
import random
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from agents.agent import Agent, Decision, ProviderError, Reflection, Setup, Trajectory
from agents.generation import Generation
from games.game import Action, Dynamics, Event, Game, GameSpec, Information, Observation, State, Utility
from games.spec import Spec

Where = Literal["act", "constructor", "reflect"]


class UnspeakableError(Exception):
    """An exception that cannot be shown."""

    def __str__(self) -> str:
        raise ValueError("no words")


class OddError(BaseException):
    """Derives from neither Exception nor anything the standard library knows."""


def loop() -> None:
    while True:
        pass


def loop_in_c() -> None:
    """Never lets go of the interpreter's lock, and never looks at signals."""
    sum(itertools.repeat(0))


def sleep() -> None:
    time.sleep(1e6)


def eat() -> None:
    eaten = []
    while True:
        eaten.append(b"x" * (64 << 20))
        time.sleep(0.02)


def raising(error: BaseException) -> Callable[[], None]:
    def act() -> None:
        raise error

    return act


def leave() -> None:
    os._exit(3)


def killed_by(number: int) -> Callable[[], None]:
    def act() -> None:
        os.kill(os.getpid(), number)
        time.sleep(60)

    return act


def null_pointer() -> None:
    ctypes.string_at(0)


def in_host() -> None:
    if multiprocessing.current_process().name.startswith("arena-host"):
        raise RuntimeError("in a host")


DEEDS: dict[str, Callable[[], None]] = {
    "loop": loop,
    "loop_in_c": loop_in_c,
    "sleep": sleep,
    "eat": eat,
    "exit": leave,
    "sigkill": killed_by(signal.SIGKILL),
    "segv": null_pointer,
    "exception": raising(RuntimeError("two\nlines")),
    "unspeakable": raising(UnspeakableError()),
    "odd": raising(OddError("odd")),
    "system_exit": raising(SystemExit(4)),
    "interrupt": raising(KeyboardInterrupt()),
    "memory_error": raising(MemoryError()),
    "cancelled": raising(asyncio.CancelledError()),
    "timeout": raising(TimeoutError("mine")),
    "group": raising(ExceptionGroup("several", [ValueError("one")])),
    "surrogate": raising(ValueError("half a letter: \ud800")),
    "provider": raising(ProviderError("no quota")),
    "in_host": in_host,
    "nothing": lambda: None,
}
"""What an agent can do instead of answering."""


class First(Agent):
    """Plays the first legal action."""

    async def act(self, observation: Observation) -> Decision:
        return Decision(observation.legal_actions[0])


class Trouble(First):
    """Does a deed at a place (and time), and else plays the first legal action."""

    def __init__(self, setup: Setup, *, how: str, at: Where = "act", episode: int = 1, chance: float = 1.0) -> None:
        super().__init__(setup)
        self._how, self._at, self._episode, self._chance = how, at, episode, chance
        self._reflected = 0
        if at == "constructor":
            DEEDS[how]()

    async def act(self, observation: Observation) -> Decision:
        if self._at == "act" and self._reflected >= self._episode - 1:
            DEEDS[self._how]()
        return await super().act(observation)

    async def reflect(self, trajectory: Trajectory) -> Reflection | None:
        self._reflected += 1
        if self._at == "reflect" and self._reflected >= self._episode:
            DEEDS[self._how]()
        return Reflection(f"episode {trajectory.episode}")


class Once(First):
    """Does a deed the first time that it acts while a file is missing; the file is then there."""

    def __init__(self, setup: Setup, *, how: str, flag: str) -> None:
        super().__init__(setup)
        self._how, self._flag = how, Path(flag)

    async def act(self, observation: Observation) -> Decision:
        if not self._flag.exists():
            self._flag.touch()
            DEEDS[self._how]()
        return await super().act(observation)


class Waiting(First):
    """Waits without blocking, for ever by default."""

    def __init__(self, setup: Setup, *, seconds: float = 1e6, stubborn: bool = False) -> None:
        super().__init__(setup)
        self._seconds, self._stubborn = seconds, stubborn

    async def act(self, observation: Observation) -> Decision:
        try:
            await asyncio.sleep(self._seconds)
        except asyncio.CancelledError:
            if not self._stubborn:
                raise
        return await super().act(observation)


class Blocking(First):
    """Takes its time and blocks; makes a file when it begins to."""

    def __init__(self, setup: Setup, *, seconds: float, flag: str = "") -> None:
        super().__init__(setup)
        self._seconds, self._flag = seconds, flag

    async def act(self, observation: Observation) -> Decision:
        if self._flag:
            Path(self._flag).touch()
        time.sleep(self._seconds)
        return await super().act(observation)


class Word(str):
    """A str, but not only: shown, it says something else."""

    __slots__ = ()

    def __format__(self, how: str) -> str:
        return "a word"


ANSWERS: dict[str, Callable[[Observation], Any]] = {
    "illegal": lambda seen: Decision("resign"),
    "empty": lambda seen: Decision(""),
    "no_action": lambda seen: Decision(None),  # type: ignore[arg-type]
    "number": lambda seen: Decision(4),  # type: ignore[arg-type]
    "long": lambda seen: Decision("x" * 10_000_000),
    "long_raw": lambda seen: Decision("resign", raw="y" * 10_000_000),
    "surrogate": lambda seen: Decision("\ud800"),
    "surrogate_raw": lambda seen: Decision("resign", raw="half \ud800"),
    "raw_number": lambda seen: Decision("resign", raw=3),  # type: ignore[arg-type]
    "none": lambda seen: None,
    "bare": lambda seen: seen.legal_actions[0],
    "set_extra": lambda seen: Decision(seen.legal_actions[0], extra={"seen": {1}}),
    "nan_extra": lambda seen: Decision(seen.legal_actions[0], extra={"value": float("nan")}),
    "deep_extra": lambda seen: Decision(seen.legal_actions[0], extra=_deep()),
    "wrong_generations": lambda seen: Decision(seen.legal_actions[0], generations=3),  # type: ignore[arg-type]
    "nan_generations": lambda seen: Decision(
        seen.legal_actions[0], generations=(Generation("m", "x", logprobs=[float("nan")]),)
    ),
    "illegal_wrong_generations": lambda seen: Decision("resign", generations=("x",)),  # type: ignore[arg-type]
}
"""Answers that are no decision, by name."""


def _deep() -> dict[str, Any]:
    nest: dict[str, Any] = {}
    for _ in range(100_000):
        nest = {"in": nest}
    return nest


class Answer(Agent):
    """Gives one kind of answer; after `bad` of them it plays the first legal action."""

    def __init__(self, setup: Setup, *, kind: str, bad: int = 1 << 30) -> None:
        super().__init__(setup)
        self._kind, self._bad = kind, bad

    async def act(self, observation: Observation) -> Decision:
        self._bad -= 1
        if self._bad < 0:
            return Decision(observation.legal_actions[0])
        answer: Decision = ANSWERS[self._kind](observation)
        return answer


class Talker(First):
    """Decides legally, and has something to keep."""

    def __init__(self, setup: Setup, *, raw: str = "I say \ud800", value: float = 0.5) -> None:
        super().__init__(setup)
        self._raw, self._value = raw, value

    async def act(self, observation: Observation) -> Decision:
        return Decision(observation.legal_actions[0], self._raw, {"value": self._value})


class Wordy(First):
    """Answers and reflects with words that are more than a str."""

    async def act(self, observation: Observation) -> Decision:
        return Decision(Word(observation.legal_actions[0]), Word("raw"))

    async def reflect(self, trajectory: Trajectory) -> Reflection | None:
        return Reflection(Word("reflected"))


class Unawaitable(First):
    """Its act is no coroutine."""

    def act(self, observation: Observation) -> Any:
        return Decision(observation.legal_actions[0])


class NoReflection(First):
    """Reflects, but returns something else."""

    async def reflect(self, trajectory: Trajectory) -> Any:
        return "a bare text"


class Littering(First):
    """Leaves a task behind in every act, which would end the process of whoever plays later."""

    def __init__(self, setup: Setup, *, after: float = 0.0) -> None:
        super().__init__(setup)
        self._after = after
        self._tasks: list[asyncio.Task[None]] = []

    async def act(self, observation: Observation) -> Decision:
        self._tasks.append(asyncio.create_task(self._later()))
        return await super().act(observation)

    async def _later(self) -> None:
        await asyncio.sleep(self._after)
        os._exit(5)


class Forking(First):
    """Forks in its first act and lets the child play on; prints, too."""

    async def act(self, observation: Observation) -> Decision:
        if not observation.events:
            os.fork()
        print("<printed by an agent>", flush=True)
        return await super().act(observation)


class Nursing(First):
    """Starts a process that outlives it, writes its id into a file, and ends its own process."""

    def __init__(self, setup: Setup, *, file: str) -> None:
        super().__init__(setup)
        self._file = Path(file)

    async def act(self, observation: Observation) -> Decision:
        child = os.fork()
        if child == 0:
            while True:
                time.sleep(60)
        with self._file.open("a") as file:
            file.write(f"{child}\n")
        os._exit(6)


class Hoarder(First):
    """Takes some memory in each act and keeps it; quick about it."""

    def __init__(self, setup: Setup, *, mb: int = 40) -> None:
        super().__init__(setup)
        self._mb = mb
        self._kept: list[bytes] = []

    async def act(self, observation: Observation) -> Decision:
        self._kept.append(b"x" * (self._mb << 20))
        return await super().act(observation)


class Diary(Agent):
    """Draws its actions and tells in each reflection all that it was told, so that a record shows it."""

    def __init__(self, setup: Setup, *, weights: list[float] | None = None) -> None:
        super().__init__(setup)
        self._rng = random.Random(setup.seed)

    async def act(self, observation: Observation) -> Decision:
        return Decision(self._rng.choice(observation.legal_actions))

    async def reflect(self, trajectory: Trajectory) -> Reflection | None:
        seen = " ".join(f"{step.observation.seat}:{step.action}" for step in trajectory.steps)
        end = f"{trajectory.total:g} {trajectory.success} {trajectory.termination.value} {trajectory.at_fault}"
        return Reflection(f"{trajectory.episode} {trajectory.seat} [{seen}] {end}")


class Quiet(First):
    """Looks at nothing and reflects on nothing; its parameter only makes its spec long."""

    def __init__(self, setup: Setup, *, padding: str = "") -> None:
        super().__init__(setup)


class TurnsLeft(Observation):
    """One seat of a plain game: two legal actions, and the number of the round."""

    __slots__ = ("_round", "seat")

    def __init__(self, seat: int, number: int) -> None:
        self.seat, self._round = seat, number

    @property
    def legal_actions(self) -> tuple[Action, ...]:
        return ("high", "low")

    @property
    def text(self) -> str:
        return f"round {self._round}"

    @property
    def key(self) -> str:
        return self.text

    @property
    def events(self) -> list[Event]:
        return []

    def sample_state(self, rng: random.Random) -> State:
        raise NotImplementedError


class PlainGame(Game):
    """Seats act in turn (or at once) for some rounds; each `high` is worth 1, the sum above the mean is the return.

    `trouble` is a deed that the game does by itself, in `new`, `apply` or `make`.
    """

    def __init__(self, spec: Spec) -> None:
        given: Mapping[str, Any] = {
            "seats": 2, "rounds": 2, "trouble": "nothing", "at": "apply", "together": False,
            "utility": "zero_sum", "low": -1.0, "high": 1.0,
        } | dict(spec.params)  # fmt: skip
        self.given = given
        seats, rounds = given["seats"], given["rounds"]
        self.spec = GameSpec(
            name=str(spec),
            title="Plain game",
            seats=seats,
            dynamics=Dynamics.SIMULTANEOUS if given["together"] else Dynamics.SEQUENTIAL,
            information=Information.PERFECT,
            utility=Utility(given["utility"]),
            min_utility=given["low"],
            max_utility=given["high"],
            max_turns=seats * rounds,
            rules="Say high or low.",
        )
        self.trouble("make")

    def trouble(self, at: str) -> None:
        if self.given["at"] == at:
            DEEDS[self.given["trouble"]]()

    def new_episode(self, seed: int) -> State:
        self.trouble("new")
        return PlainState(self)


class PlainState(State):
    """One episode of the plain game."""

    __slots__ = ("_game", "_high", "_turns")

    def __init__(self, game: PlainGame) -> None:
        self._game = game
        self._turns = 0
        self._high = [0] * game.spec.seats

    def seats_to_act(self) -> tuple[int, ...]:
        seats = self._game.spec.seats
        if self._turns >= seats * self._game.given["rounds"]:
            return ()
        return tuple(range(seats)) if self._game.given["together"] else (self._turns % seats,)

    def observe(self, seat: int) -> Observation:
        self._game.trouble("observe")
        return TurnsLeft(seat, self._turns)

    def apply(self, actions: Mapping[int, Action]) -> None:
        self._game.trouble("apply")
        for seat, action in actions.items():
            self._turns += 1
            self._high[seat] += action == "high"

    def rewards(self) -> tuple[float, ...]:
        return self.returns()

    def returns(self) -> tuple[float, ...]:
        mean = sum(self._high) / len(self._high)
        scale = self._game.given["rounds"]
        return tuple([(high - mean) / scale for high in self._high])

    def board(self) -> str:
        return str(self._high)


AGENTS: Mapping[str, str] = {
    "answer": "Answer",
    "blocking": "Blocking",
    "diary": "Diary",
    "first": "First",
    "forking": "Forking",
    "hoarder": "Hoarder",
    "littering": "Littering",
    "noreflection": "NoReflection",
    "nursing": "Nursing",
    "once": "Once",
    "quiet": "Quiet",
    "talker": "Talker",
    "trouble": "Trouble",
    "unawaitable": "Unawaitable",
    "waiting": "Waiting",
    "wordy": "Wordy",
}
"""Name in a spec -> class."""
