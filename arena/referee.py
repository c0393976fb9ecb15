"""Rules on every decision of an agent: a fault is a value, recorded with what the agent said."""

import asyncio
import json
import random
import signal
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, Protocol, TypeVar

from agents.agent import Agent, Decision, Pace, ProviderError, Reflection, Setup, Trajectory
from agents.generation import Generation
from agents.models.limits import BudgetError
from agents.registry import Recipe, ours
from arena.generations import MAX_RAW as MAX_RAW
from arena.generations import kept
from arena.rules import MatchRules
from games.errors import UserError, in_words
from games.game import Action, Observation, Termination

OUTSIDE, ACTING, STARTED, MATCH = 0.0, 0, 1, 2
"""Places in a watch: which agent of the match is acting (its place + 1, or OUTSIDE), since when, in which match."""


class Watch(Protocol):
    """Three numbers, in memory that a watchdog in another process may share."""

    def __getitem__(self, place: int, /) -> float: ...

    def __setitem__(self, place: int, value: float, /) -> None: ...


_T = TypeVar("_T")
_X = TypeVar("_X")


class Note(NamedTuple):
    """A decision that carries more than its action, or an attempt that was a fault."""

    turn: int
    seat: int
    attempt: int
    action: Action | None
    raw: str | None
    fault: Termination | None
    extra: str | None
    """JSON."""
    generations: Sequence[Generation] = ()


class Fault(NamedTuple):
    """What ended an agent's episode or match, and the words that say why."""

    termination: Termination
    why: str
    raw: str | None = None
    """What the agent said, where that is known and the decision itself is not at hand."""

    @property
    def ends_match(self) -> bool:
        """Whether the agent is gone, so that the rest of the match is forfeited."""
        return self.termination in (Termination.CRASHED, Termination.HUNG, Termination.OUT_OF_MEMORY)


class FaultError(Exception):
    """Raised by a stand-in for an agent that runs elsewhere: the fault it committed there."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.why)
        self.fault = fault


class AskedInVainError(Exception):
    """What a language agent of ours was asked to be cannot be had, such as its model; the cause, a UserError, says why.

    That is nothing the agent did, and it will be so in every match.
    """


class StandIn(Agent):
    """Plays for an agent that runs elsewhere and is ruled on there: there the limit of seconds is kept, too."""


MakesAgent = Callable[[Recipe, Setup], Awaitable[Agent]]
"""Brings an agent to the table; what its constructor does wrong is raised, as it comes or as a FaultError."""

MAX_RETRIES = 100
"""How often an agent may be asked again of its own accord."""


class Referee:
    """Asks the agents of one match and rules on what they answer.

    `watch` is where the referee writes who is acting since when, for a watchdog in another process to read.
    """

    def __init__(self, rules: MatchRules, seed: int, watch: Watch | None = None) -> None:
        self._rules = rules
        self._limit = rules.seconds_per_action
        self._seed = seed
        self._rng: random.Random | None = None
        self._watch: Watch = watch if watch is not None else [0.0] * 3
        self._order: Sequence[int] = range(1 << 16)
        self.notes: list[Note] = []
        self.on_note: Callable[[Note], None] | None = None
        """Is told of each note as it is taken."""
        self.unserved: int | None = None
        """The agent (its place in the match) that raised a ProviderError."""
        self._ours: set[int] = set()

    def begin(self, order: Sequence[int]) -> None:
        """Start an episode in which order[seat] is the agent's place in the match."""
        self._order = order
        self.notes = []

    async def seat(self, recipe: Recipe, setup: Setup, make: MakesAgent | None = None) -> Agent | Fault:
        """Make an agent; its constructor is ruled on like a decision, but has no limit of seconds."""
        watch = self._watch
        watch[STARTED] = time.monotonic()
        watch[ACTING] = setup.seat + 1
        if recipe.agent.pace is Pace.AWAITS and ours(recipe.agent):
            self._ours.add(setup.seat)
        made: Agent | Fault
        try:
            made = recipe.make(setup) if make is None else await make(recipe, setup)
        except BaseException as error:  # noqa: BLE001 - all that an agent raises is its own fault
            made = self._blame(error, setup.seat, late=False)
        watch[ACTING] = OUTSIDE
        return made

    async def reflect(self, agent: Agent, trajectory: Trajectory) -> Reflection | Fault | None:
        """Let an agent look back on an episode; ruled on like a decision, but with no limit of seconds."""
        found = await self.ask(trajectory.seat, agent.reflect, trajectory, None)
        if found is None or isinstance(found, Fault):
            return found
        if isinstance(found, Reflection) and isinstance(found.text, str):
            generations = self._generations(found, trajectory.seat)
            if isinstance(generations, Fault):
                return generations
            return Reflection(str.__str__(found.text), generations)
        return Fault(Termination.CRASHED, f"reflect returned {type(found).__name__}, not a Reflection")

    async def decide(self, agent: Agent, observation: Observation, turn: int) -> Action | Fault:
        """One decision of one seat: its action, or the fault that ends the episode for it."""
        attempt, seat, watch = 0, observation.seat, self._watch
        while True:
            decision: object
            if self._limit is None or isinstance(agent, StandIn):
                # As `ask` does it, without the cost of another coroutine in every turn.
                watch[STARTED] = time.monotonic()
                watch[ACTING] = self._order[seat] + 1
                try:
                    decision = await agent.act(observation)
                except BaseException as error:  # noqa: BLE001 - all that an agent raises is its own fault
                    decision = self._blame(error, seat, late=False)
                watch[ACTING] = OUTSIDE
            else:
                decision = await self.ask(seat, agent.act, observation, self._limit)
            if type(decision) is Decision and not attempt:  # the common case first, in as few steps as can be
                action, raw, extra, generations = decision
                if (
                    raw is None
                    and extra is None
                    and type(generations) is tuple
                    and not generations
                    and type(action) is str
                    and observation.allows(action)
                ):
                    return action
            if isinstance(decision, Decision):
                found = self._generations(decision, seat)
                decision = found if isinstance(found, Fault) else Decision(*decision[:3], found)
            fault = self.ruling(decision, observation)
            if fault is None:
                assert isinstance(decision, Decision)
                if decision.raw is not None or decision.extra is not None or decision.generations or attempt:
                    self._note(turn, seat, attempt, decision, None)
                action = decision.action
                # A subclass, such as a member of an enum, stays behind: records are plain and travel.
                return action if type(action) is str else str.__str__(action)
            self._note(turn, seat, attempt, decision, fault)
            if fault.ends_match:
                return fault
            again = self._again(agent, observation, fault, attempt)
            if isinstance(again, Fault):
                self._note(turn, seat, attempt + 1, again, again)
                return again
            if again:
                attempt += 1
            elif self._rules.on_fault == "fallback":
                return self._fallback(observation)
            else:
                return fault

    def _again(self, agent: Agent, observation: Observation, fault: Fault, attempt: int) -> bool | Fault:
        """Whether an agent is asked once more after its attempt (from 0) was a fault; it is then told why."""
        try:
            own = agent.retries if isinstance(agent.retries, int) else 0
            if attempt >= min(own, MAX_RETRIES) + self._rules.retries:
                return False
            agent.refused(observation, fault.why)
        except BaseException as error:  # noqa: BLE001 - all that an agent raises is its own fault
            return self._blame(error, observation.seat, late=False)
        return True

    def _generations(self, said: Decision | Reflection, seat: int) -> tuple[Generation, ...] | Fault:
        """What is kept of the answers of models that an agent hands over, or the fault that they are."""
        if type(said.generations) is tuple and not said.generations:
            return ()
        try:
            return kept(said.generations)
        except ValueError as error:
            return Fault(Termination.CRASHED, in_words(error, kind=False))
        except BaseException as error:  # noqa: BLE001 - to read what an agent hands over may run its code
            return self._blame(error, seat, late=False)

    def _fallback(self, observation: Observation) -> Action:
        """A random legal action. The generator is made when it is first needed, which is seldom."""
        if self._rng is None:
            self._rng = random.Random(self._seed)
        return self._rng.choice(observation.legal_actions)

    def ruling(self, decision: object, observation: Observation) -> Fault | None:
        """The fault that an answer is, if it is one."""
        if isinstance(decision, Decision):
            action = decision.action
            if isinstance(action, str) and observation.allows(action):
                return None if decision.extra is None else _fault_of_extra(decision.extra)
            if action is None or action == "":
                return Fault(Termination.UNPARSABLE, "no action could be read")
            if not isinstance(action, str):
                return Fault(Termination.ILLEGAL, f"an action is a string, not {type(action).__name__}")
            return Fault(Termination.ILLEGAL, f"{action[:200]!r} is not a legal action")
        if isinstance(decision, Fault):
            return decision
        return Fault(Termination.CRASHED, f"act returned {type(decision).__name__}, not a Decision")

    def _note(self, turn: int, seat: int, attempt: int, decision: object, fault: Fault | None) -> None:
        said = decision if isinstance(decision, Decision) else None
        raw = said.raw if said and isinstance(said.raw, str) else None
        if fault is not None and raw is None:
            raw = said.action if said and isinstance(said.action, str) and said.action else fault.raw
            raw = fault.why if raw is None else raw
        words = None if raw is None else str.__str__(raw)[:MAX_RAW]
        generations = said.generations if said else ()
        if fault is not None:
            note = Note(turn, seat, attempt, None, words, fault.termination, None, generations)
        else:
            assert said is not None
            extra = json.dumps(said.extra) if said.extra is not None else None
            note = Note(turn, seat, attempt, str.__str__(said.action), words, None, extra, generations)
        self.notes.append(note)
        if self.on_note is not None:
            self.on_note(note)

    async def ask(self, seat: int, ask: Callable[[_X], Awaitable[_T]], about: _X, limit: float | None) -> _T | Fault:
        """Await an agent under the watch; what it raises becomes a fault. The one broad except around agents.

        What ends the process instead leaves the watch set, so that the seat can be blamed.
        """
        watch = self._watch
        watch[STARTED] = start = time.monotonic()
        watch[ACTING] = self._order[seat] + 1
        found: _T | Fault
        try:
            found = await (ask(about) if limit is None else _timed(ask, about, limit))
        except BaseException as error:  # noqa: BLE001 - all that an agent raises is its own fault
            found = self._blame(error, seat, limit is not None and time.monotonic() - start >= limit)
        watch[ACTING] = OUTSIDE
        return found

    def _blame(self, error: BaseException, seat: int, late: bool) -> Fault:
        """What an exception out of an agent means. What does not come from the agent is raised again."""
        if isinstance(error, ProviderError):
            self._watch[ACTING] = OUTSIDE
            self.unserved = self._order[seat]
            raise error
        if isinstance(error, FaultError):
            return error.fault
        if isinstance(error, UserError) and self._order[seat] in self._ours:
            raise AskedInVainError from error
        if isinstance(error, GeneratorExit | BudgetError):
            raise error
        if isinstance(error, KeyboardInterrupt) and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            raise error  # a person's, where this process listens to Ctrl-C
        if isinstance(error, asyncio.CancelledError):
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise error
        if isinstance(error, TimeoutError) and late:
            return Fault(Termination.TOO_SLOW, f"took longer than {self._limit:g} s")
        if isinstance(error, MemoryError):
            return Fault(Termination.OUT_OF_MEMORY, "out of memory")
        return Fault(Termination.CRASHED, in_words(error))


async def _timed(ask: Callable[[_X], Awaitable[_T]], about: _X, limit: float) -> _T:
    """Await an agent for some seconds; an answer that comes later, since it could not be interrupted, counts as none.

    Raises TimeoutError.
    """
    start = time.monotonic()
    async with asyncio.timeout(limit):
        found = await ask(about)
    if time.monotonic() - start > limit:
        raise TimeoutError
    return found


def _fault_of_extra(extra: object) -> Fault | None:
    """What an agent wants kept must be JSON."""
    try:
        json.dumps(extra, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        return Fault(Termination.CRASHED, f"the decision's extra is not JSON: {error}")
    return None
