"""What runs in a host process: agents that compute, each in a seat of a match that is played elsewhere."""

import asyncio
import json
import pickle
import socket
from collections.abc import Coroutine, Sequence
from typing import Any, NamedTuple, cast

import psutil

from agents.agent import Agent, Decision, ProviderError, Setup, Step, Trajectory
from agents.registry import recipe
from arena.answer import Answer, packed
from arena.child import framed
from arena.generations import MAX_RAW, kept
from arena.match import Match, plan_episode
from arena.process import settle
from arena.referee import Fault, Referee
from arena.replay import Follower
from games import registry as games
from games.errors import in_words
from games.game import Action, Game, Observation, Termination
from games.seeding import derive

SWEEPS = 10
"""Passes of the event loop that cancelled tasks of agents are given to end."""


class Sit(NamedTuple):
    """Make an agent of a match and keep it."""

    chair: int
    """Number of the seat kept; the requests that follow name it."""
    match: Match
    place: int
    """The agent's place in the match."""


class Since(NamedTuple):
    """Where a match is by now."""

    episode: int
    seat: int
    """In which the agent sits."""
    turns: Sequence[tuple[int, Action]]
    """Seat and action of the turns of this episode that were not told yet."""


class Act(NamedTuple):
    """Let an agent decide."""

    chair: int
    since: Since
    refused: Sequence[str]
    """Why its last decisions in this position were refused."""


class LookBack(NamedTuple):
    """Let an agent look back on an episode; the fields of a Trajectory that the host does not know."""

    chair: int
    since: Since
    actions: Sequence[Action]
    """Its own, as they counted."""
    total: float
    success: bool
    termination: Termination
    at_fault: bool
    drawn: bool


class Leave(NamedTuple):
    """The match is over: forget an agent."""

    chair: int


Request = Sit | Act | LookBack | Leave


class _BrokenError(Exception):
    """Something failed that is no agent's."""


class _Parent(Exception):  # noqa: N818 - it is no failure
    """Nobody listens any more."""


def serve(post: socket.socket, number: int) -> None:
    """Answer requests until no more can come. `number` names this host."""
    line = post.dup()
    settle(line)
    try:
        asyncio.run(_Host(post, line).serve())
    except _Parent:
        return


class _Host:
    """Answers one request after the other."""

    def __init__(self, inbox: socket.socket, line: socket.socket) -> None:
        self._inbox = inbox
        self._line = line
        self._process = psutil.Process()
        self._chairs: dict[int, _Chair] = {}
        self._left: dict[asyncio.Task[Any], int | None] = {}
        self._acting: int | None = None

    async def serve(self) -> None:
        asyncio.get_running_loop().set_task_factory(self._adopt)  # type: ignore[arg-type]  # options differ by version
        self._say(Answer())
        with self._inbox.makefile("rb") as mail:
            while True:
                try:
                    request: Request = pickle.load(mail)
                except (EOFError, OSError, pickle.UnpicklingError):
                    return
                self._acting = request.chair
                self._say(await self._answer(request))
                self._acting = None

    def _say(self, answer: Answer) -> None:
        weighed = answer._replace(weight=int(self._process.memory_info().rss))
        try:
            self._line.sendall(framed(packed(weighed)))
        except OSError:
            raise _Parent from None

    async def _answer(self, request: Request) -> Answer:
        try:
            if isinstance(request, Sit):
                chair = self._chairs[request.chair] = _Chair(request)
                return await chair.sit()
            if isinstance(request, Act):
                return await self._chairs[request.chair].act(request)
            if isinstance(request, LookBack):
                return await self._chairs[request.chair].look_back(request)
        except ProviderError as error:
            return Answer(unserved=in_words(error, kind=False))
        except _BrokenError as error:
            return Answer(broken=str(error))
        self._chairs.pop(request.chair, None)
        await self._sweep(request.chair)
        return Answer()

    def _adopt(
        self, loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any], **options: Any
    ) -> asyncio.Task[Any]:
        """Make a task, as the event loop asks for it, and remember whose it is."""
        task = asyncio.Task(coroutine, loop=loop, **options)
        if self._acting is not None:
            self._left[task] = self._acting
            task.add_done_callback(lambda done: self._left.pop(done, None))
        return task

    async def _sweep(self, chair: int) -> None:
        """Cancel what an agent left running."""
        mine = [task for task, whose in self._left.items() if whose == chair]
        for task in mine:
            task.cancel()
        for _ in range(SWEEPS if mine else 0):
            await asyncio.sleep(0)


class _Chair:
    """One agent, and the match as its seat may see it."""

    def __init__(self, request: Sit) -> None:
        self._match, self._place = request.match, request.place
        self._referee = Referee(request.match.rules, 0)
        self._episode = 0
        self._turns = 0
        self._seen: list[Observation] = []
        self._asked = (0, 0)
        try:
            self._game: Game = games.make(request.match.game)
            self._recipe = recipe(request.match.specs[request.place])
        except Exception as error:
            raise _BrokenError(f"agent {self._name} cannot be made: {in_words(error)}") from error

    @property
    def _name(self) -> str:
        return self._match.names[self._place]

    async def sit(self) -> Answer:
        """Make the agent."""
        match = self._match
        setup = Setup(self._game, self._place, derive(match.seed, match.replica, self._place), match.rules.episodes)
        made = await self._referee.seat(self._recipe, setup)
        if isinstance(made, Fault):
            return Answer(fault=made)
        self._agent = made
        return Answer(reflects=type(made).reflect is not Agent.reflect)

    async def act(self, request: Act) -> Answer:
        """Let the agent decide, within the seconds that the rules give it."""
        observation = self._observe(request.since)

        async def decide(seen: Observation) -> Answer:
            for why in request.refused:
                self._agent.refused(seen, why)
            decision = await self._agent.act(seen)
            retries = self._agent.retries
            return _plain(decision, self._referee.ruling(decision, seen))._replace(
                retries=int(retries) if isinstance(retries, int) else 0
            )

        found = await self._referee.ask(request.since.seat, decide, observation, self._match.rules.seconds_per_action)
        return Answer(fault=found) if isinstance(found, Fault) else found

    async def look_back(self, request: LookBack) -> Answer:
        """Let the agent reflect."""
        final = self._final(request.since)
        steps = [Step(seen, action) for seen, action in zip(self._seen, request.actions, strict=False)]
        looking = Trajectory(
            request.since.episode,
            request.since.seat,
            steps,
            *(request.total, request.success, request.termination, request.at_fault, final, request.drawn),
        )
        found = await self._referee.reflect(self._agent, looking)
        return Answer(fault=found) if isinstance(found, Fault) else Answer(reflection=found)

    def _observe(self, since: Since) -> Observation:
        """What the seat may know now; the same object when it is asked again in one position."""
        try:
            self._follow(since)
            if self._asked != (self._episode, self._turns):
                self._asked = self._episode, self._turns
                self._seen.append(self._follower.state.observe(since.seat))
            return self._seen[-1]
        except Exception as error:
            raise self._failed(error) from error

    def _final(self, since: Since) -> Observation:
        try:
            self._follow(since)
            return self._follower.state.observe(since.seat)
        except Exception as error:
            raise self._failed(error) from error

    def _follow(self, since: Since) -> None:
        """Bring the game up to date."""
        if since.episode != self._episode:
            self._episode, self._turns, self._seen = since.episode, 0, []
            self._follower = Follower(self._game, plan_episode(self._match, self._game, since.episode).seed)
        for seat, action in since.turns:
            self._follower.turn(seat, action)
        self._turns += len(since.turns)

    def _failed(self, error: Exception) -> _BrokenError:
        return _BrokenError(f"game {self._match.game} failed: {in_words(error)}")


def _plain(decision: object, fault: Fault | None) -> Answer:
    """A decision, and the fault that it is, if it is one, as plain data: the referee then comes to the same ruling."""
    if not isinstance(decision, Decision):
        return Answer(fault=fault)
    try:
        generations = kept(decision.generations)
    except ValueError as error:
        return Answer(fault=Fault(Termination.CRASHED, in_words(error, kind=False)))
    raw = str.__str__(decision.raw)[:MAX_RAW] if isinstance(decision.raw, str) else None
    action: Any = decision.action
    action = str.__str__(action) if isinstance(action, str) else action
    said: Any
    if fault is None:
        extra = None if decision.extra is None else json.loads(json.dumps(decision.extra))
        said = raw if decision.raw is None or raw is not None else True  # no text, but the decision is noted
        return Answer(decision=Decision(action, said, extra, generations))
    if fault.termination is Termination.CRASHED or not (action is None or isinstance(action, str | int | float)):
        said = raw if raw is not None else action or None
        return Answer(fault=fault._replace(raw=said if isinstance(said, str) else None))
    return Answer(decision=Decision(cast(Action, action), raw, None, generations))
