"""The host processes of a run: how many, who sits in which, and whose fault it is when one ends."""

import asyncio
import pickle
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from arena.answer import Answer, unpacked
from arena.child import START_SECONDS, Child
from arena.death import Death, death
from arena.host import Leave, Request, Sit, serve
from arena.match import Match
from arena.progress import Limits
from games.errors import RunError
from games.game import Termination

LOOK_SECONDS = 0.1
"""Time between looks at the hosts; one look adds at most twice as much to the time that a request takes."""
MIN_HOSTS, HOSTS_A_WORKER = 8, 4
"""How many hosts there are at most, or for each worker if that is more; those of a single match are not counted."""
MAX_STILLBORN = 3
"""How many hosts in a row may die before they are ready."""


class Loss(NamedTuple):
    """Why an attempt at a match cannot go on."""

    reason: str
    death: Death | None = None
    """How the host ended, if that is why."""
    agent: int | None = None
    """Who is accused, by its place in the match."""
    counts: bool = True
    """Whether the attempt counts against the match; not where the host died of another match."""
    alone: bool = False
    """Whether the match is to be played again in hosts of its own."""


class Chair:
    """The place of one agent of a match in a host."""

    def __init__(self, host: "Host", number: int, sit: Sit, lose: Callable[[Loss], None]) -> None:
        self.host = host
        self.number = number
        self.match: Match = sit.match
        self.agent = sit.place
        self.lose = lose
        self.grown = 0
        """Bytes by which the host has grown while the agent acted."""

    async def ask(self, request: Request) -> Answer:
        """Ask the host for something. Does not come back where the host, or the game in it, fails."""
        answer = await self.host.ask(self, request)
        if answer.broken is not None:
            self.lose(Loss(answer.broken))
            await asyncio.Event().wait()  # until the match is cancelled
        return answer

    def leave(self) -> None:
        """The match is over."""
        if self.host.chairs.pop(self.number, None) is not None:
            self.host.tell(self, Leave(self.number))


class _Asked(NamedTuple):
    """A request that is not answered yet."""

    chair: Chair
    answer: asyncio.Future[Answer]


class Host(Child):
    """One host process: it answers requests in their order."""

    def __init__(self, number: int, private: bool) -> None:
        super().__init__(serve, (number,), f"arena-host-{number}")
        self.private = private
        """Whether it is for one agent alone."""
        self.chairs: dict[int, Chair] = {}
        self.asked: deque[_Asked] = deque()
        self.ready = False
        self.doom: Termination | None = None
        """What it was ended for."""
        self.stirred = asyncio.Event()
        self._size = 0
        self._resident = 0
        self._looked = time.monotonic()
        self._busy = 0.0

    @property
    def load(self) -> int:
        """How many agents it keeps, and requests of those that have left."""
        return len(self.chairs) + len([asked for asked in self.asked if asked.chair.number not in self.chairs])

    def tell(self, chair: Chair, request: Request) -> asyncio.Future[Answer]:
        """Send a request."""
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        if not self.asked:
            self._busy, self._looked = 0.0, time.monotonic()
        self.asked.append(_Asked(chair, answer))
        self.send(pickle.dumps(request))
        if self.pending:
            asyncio.get_running_loop().add_writer(self.post, self._write)
        return answer

    async def ask(self, chair: Chair, request: Request) -> Answer:
        """Send a request and await the answer; one that comes after this was cancelled is dropped."""
        return await self.tell(chair, request)

    def take(self, answer: Answer) -> None:
        """Hand an answer to whoever asked; the first message only says that the host is ready. Raises ValueError."""
        self._busy = 0.0
        if not self.ready:
            self.ready = True
        elif not self.asked:
            raise ValueError("an answer that nobody asked for")
        else:
            chair, waiting = self.asked.popleft()
            chair.grown += answer.weight - self._size
            if not waiting.done():
                waiting.set_result(answer)
        self._size = answer.weight

    def trouble(self, limits: Limits) -> Termination | None:
        """Whether the process has to be ended: the request in hand takes too long, or it is too big."""
        now = time.monotonic()
        gap, self._looked = min(now - self._looked, 2 * LOOK_SECONDS), now
        if not self.asked:
            return None
        self._busy += gap
        late = self.asked[0].chair.match.rules.seconds_per_action or 0.0
        if self._busy > (limits.hang_seconds + late if self.ready else max(limits.hang_seconds, START_SECONDS)):
            return Termination.HUNG
        self._resident = self.resident()
        return Termination.OUT_OF_MEMORY if self._resident > limits.memory_mb << 20 else None

    def suspect(self) -> Chair | None:
        """Whose request was in hand at the end; for lack of memory, whose requests took the most of it."""
        if not self.asked:
            return None
        acting = self.asked[0].chair
        if self.doom is not Termination.OUT_OF_MEMORY:
            return acting
        acting.grown += self._resident - self._size
        return max([*self.chairs.values(), acting], key=lambda chair: chair.grown)

    def _write(self) -> None:
        self.push()
        if not self.pending:
            asyncio.get_running_loop().remove_writer(self.post)


class Hosts:
    """The hosts of a run, within one event loop."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._most = max(MIN_HOSTS, HOSTS_A_WORKER * limits.workers)
        self._hosts: dict[int, Host] = {}
        self._started = 0
        self._seats = 0
        self._stillborn = 0
        self._group: asyncio.TaskGroup | None = None

    def open(self, group: asyncio.TaskGroup) -> None:
        """Let hosts be started and watched by tasks of a group: what goes wrong with them ends the group."""
        self._group = group
        group.create_task(self._watch())

    def sit(self, match: Match, place: int, alone: bool, lose: Callable[[Loss], None]) -> tuple[Chair, Sit]:
        """A place for an agent of a match, and the request that makes the agent there.

        `lose` is called, at any time until the chair is left, when the match cannot go on.
        """
        self._seats += 1
        sit = Sit(self._seats, match, place)
        host = self._choose(alone)
        chair = host.chairs[sit.chair] = Chair(host, sit.chair, sit, lose)
        return chair, sit

    def busy(self) -> int:
        """How many hosts have something to do."""
        return len([host for host in self._hosts.values() if host.asked])

    def kill(self) -> None:
        """End all processes at once; any thread may call it."""
        for host in list(self._hosts.values()):
            host.kill()

    def _choose(self, alone: bool) -> Host:
        """A host of its own for a match that is played alone; else an empty one, a new one, or the least loaded."""
        shared = [host for host in self._hosts.values() if not host.private and host.doom is None]
        least = min(shared, key=lambda host: host.load, default=None)
        if alone or least is None or (least.load and len(shared) < self._most):
            return self._new(private=alone)
        return least

    def _new(self, private: bool) -> Host:
        assert self._group is not None
        number = self._started
        self._started += 1
        host = self._hosts[number] = Host(number, private)
        self._group.create_task(self._mind(number, host))
        return host

    async def _mind(self, number: int, host: Host) -> None:
        """Start a host, take what it says, and settle its end."""
        starting = asyncio.ensure_future(asyncio.to_thread(host.start))
        try:
            await asyncio.shield(starting)
            await self._listen(host)
            host.doom = host.doom or Termination.CRASHED  # nobody is seated there any more
            self._bury(host, await asyncio.to_thread(host.end))
        finally:
            await asyncio.wait([starting])
            del self._hosts[number]
            host.end()

    async def _listen(self, host: Host) -> None:
        """Take what a host says, until it has ended or is to be."""
        loop = asyncio.get_running_loop()
        loop.add_reader(host.post, host.stirred.set)
        loop.add_reader(host.process.sentinel, host.stirred.set)
        try:
            alive = True
            while alive:
                host.stirred.clear()
                alive = host.pull()
                try:
                    for message in host.messages():
                        host.take(unpacked(message))
                except ValueError:  # an agent has got at the way to its parent
                    return
                self._stillborn = 0 if host.ready else self._stillborn
                if host.private and host.ready and not host.load:
                    return
                if alive:
                    await host.stirred.wait()
        finally:
            loop.remove_reader(host.process.sentinel)
            loop.remove_reader(host.post)
            loop.remove_writer(host.post)

    async def _watch(self) -> None:
        """End hosts that are in trouble."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            for host in self._hosts.values():
                host.doom = host.doom or host.trouble(self._limits)
                if host.doom is not None:
                    host.kill()

    def _bury(self, host: Host, code: int | None) -> None:
        """Tell the matches that a host played in that it has ended."""
        end = death(host.doom or Termination.CRASHED, code, self._limits.hang_seconds, self._limits.memory_mb)
        if not host.ready:
            self._stillborn += 1
            if self._stillborn > MAX_STILLBORN:
                raise RunError(f"host processes end before they are ready (exit code {code})")
        accused = host.suspect() if host.ready else None
        chairs = list(host.chairs.values())
        for chair in chairs:
            name = chair.match.names[chair.agent]
            if chair is accused:
                chair.lose(Loss(f"{end.words} while {name} was acting", end, chair.agent, alone=True))
            elif len(chairs) == 1 and accused is None and host.ready:
                chair.lose(Loss(f"{end.words} in which {name} was seated and did not act", end, alone=True))
            else:
                reason = f"{end.words} that {name} shared with agents of other matches"
                chair.lose(Loss(reason, end, counts=False, alone=accused is None and host.ready))
