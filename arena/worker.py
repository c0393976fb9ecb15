"""What runs in a worker process: matches in, columns out, and a watch that the parent reads."""

import asyncio
import os
import pickle
import signal
import socket
import time
from collections.abc import Coroutine, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from agents.registry import Recipe, recipe
from arena.child import framed
from arena.episode import EpisodeRecord
from arena.match import Match, ReflectionRecord, VoidMatchError, play_match
from arena.process import settle
from arena.record import Recorder, Run, utc_now
from arena.referee import ACTING, MATCH, OUTSIDE, STARTED, Note, Watch
from arena.scale import Scale, SharedWatch
from games import registry as games
from games.errors import in_words
from games.game import Game

FLUSH_SECONDS = 0.25
"""How long finished matches wait in a worker before they are sent, beside the match in hand."""
BACK_SECONDS = 2.0
"""How long a worker plays one batch of jobs before it gives back the rest, which others may be free to play."""
MAX_KNOWN = 4096
"""Kinds of matches whose game and recipes are kept."""
SWEEPS = 10
"""Passes of the event loop that cancelled tasks of agents are given to end."""


class Job(NamedTuple):
    """A match to play."""

    match: Match
    attempt: int = 0
    """How often it has been tried before."""
    alone: bool = False
    """Whether it is played alone and each turn is told as it is played, since the process may die of this match."""
    accused: tuple[int, ...] = ()
    """Agents that were acting when a process died of this match."""


class Done(NamedTuple):
    """What a worker sends back about its next `played` jobs, in their order, and about those that follow."""

    played: int
    tables: dict[str, pa.Table]
    void: Sequence[tuple[Job, str]]
    """Jobs that came to nothing, and why."""
    seconds: float
    """Time spent on these jobs."""
    back: Sequence[Job] = ()
    """The next jobs, given back unplayed."""


class TurnPlayed(NamedTuple):
    """A turn of a match that is played alone."""

    seat: int
    action: str


class _ParentGoneError(Exception):
    """Nobody listens any more."""


class _Line:
    """Talks to the parent; tells it of a match that is played alone, turn by turn."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line

    def send(self, message: Done | TurnPlayed | EpisodeRecord | ReflectionRecord) -> None:
        words = pickle.dumps(message)
        try:
            self._line.sendall(framed(words))
        except OSError:
            raise _ParentGoneError from None

    def note(self, note: Note) -> None:
        """Not told: the record of the episode brings it."""

    def turn(self, seat: int, action: str) -> None:
        self.send(TurnPlayed(seat, action))

    def episode(self, record: EpisodeRecord) -> None:
        self.send(record)

    def reflection(self, record: ReflectionRecord) -> None:
        self.send(record)


class _Stop:
    """Becomes set when the parent asks the worker to stop after the match in hand.

    It is set in a copy of the worker, too: a fork that an agent makes and forgets to end plays its match on, no more.
    """

    def __init__(self) -> None:
        self.asked = False
        signal.signal(signal.SIGTERM, self._ask)
        os.register_at_fork(after_in_child=self._ask)

    def _ask(self, *_: object) -> None:
        self.asked = True


def serve(post: socket.socket, watch: SharedWatch, number: int) -> None:
    """Play jobs until SIGTERM comes or no more can. `watch` is shared memory; `number` names this worker."""
    line = post.dup()
    settle(line)
    try:
        asyncio.run(_Worker(post, line, watch, number).serve())
    except _ParentGoneError:
        return


class _Worker:
    """Plays batches of jobs, one match after the other."""

    def __init__(self, inbox: socket.socket, line: socket.socket, watch: SharedWatch, number: int) -> None:
        self._inbox = inbox
        self._line = _Line(line)
        self._watch: SharedWatch = _numbers(watch)
        self._number = number
        self._recorder = Recorder()
        self._stop = _Stop()
        self._serial = 0
        self._left: dict[asyncio.Task[Any], float] = {}
        self._known: dict[tuple[str, tuple[str, ...]], tuple[Game, list[Recipe]]] = {}

    async def serve(self) -> None:
        asyncio.get_running_loop().set_task_factory(self._adopt)  # type: ignore[arg-type]  # options differ by version
        with self._inbox.makefile("rb") as mail:
            while not self._stop.asked:
                try:
                    jobs: Sequence[Job] = pickle.load(mail)
                except (EOFError, OSError, pickle.UnpicklingError):
                    return  # closed, perhaps in the middle of a batch
                await self._batch(jobs)

    async def _batch(self, jobs: Sequence[Job]) -> None:
        begun = flushed = time.monotonic()
        count = 0
        void: list[tuple[Job, str]] = []
        for place, job in enumerate(jobs):
            now = time.monotonic()
            if count and now - flushed > FLUSH_SECONDS:
                back = jobs[place:] if now - begun > BACK_SECONDS else ()
                self._line.send(Done(count, self._recorder.take(), void, now - flushed, back))
                flushed, count, void = now, 0, []
                self._serial += len(back)
                if back:
                    return
            if self._stop.asked:
                break
            self._watch[MATCH] = self._serial
            reason = await self._play(job)
            self._serial += 1
            count += 1
            if reason is not None:
                void.append((job, reason))
        self._line.send(Done(count, self._recorder.take(), void, time.monotonic() - flushed))

    async def _play(self, job: Job) -> str | None:
        """Play one match into the recorder. Returns why it is void, or None."""
        match = job.match
        watch: Watch = Scale(self._watch) if job.alone else self._watch
        started, clock = utc_now(), time.monotonic()
        try:
            game, recipes = self._prepared(match)
            found = await play_match(match, game, recipes, watch, self._line if job.alone else None)
        except VoidMatchError as error:
            run = Run(job.attempt, self._number, started, time.monotonic() - clock)
            self._recorder.void(match, run, str(error))
            return str(error)
        finally:
            if self._left:
                await self._sweep(watch)
        self._recorder.finished(found, Run(job.attempt, self._number, started, time.monotonic() - clock))
        return None

    def _prepared(self, match: Match) -> tuple[Game, list[Recipe]]:
        """The game and the recipes of a match, made once for each of its kind. Raises VoidMatchError."""
        known = self._known.get((match.game, match.specs))
        if known is None:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            known = self._known[match.game, match.specs] = _game(match), self._recipes(match)
        return known

    def _recipes(self, match: Match) -> list[Recipe]:
        """The recipes of a match; to import an agent counts as its act. Raises VoidMatchError."""
        recipes: list[Recipe] = []
        for place, spec in enumerate(match.specs):
            self._watch[STARTED] = time.monotonic()
            self._watch[ACTING] = place + 1
            try:
                recipes.append(recipe(spec))
            except Exception as error:
                raise VoidMatchError(f"agent {match.names[place]} cannot be made: {in_words(error)}") from error
            finally:
                self._watch[ACTING] = OUTSIDE
        return recipes

    def _adopt(
        self, loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any], **options: Any
    ) -> asyncio.Task[Any]:
        """Make a task, as the event loop asks for it, and remember whose it is."""
        task = asyncio.Task(coroutine, loop=loop, **options)
        self._left[task] = self._watch[ACTING]
        task.add_done_callback(lambda done: self._left.pop(done, None))
        return task

    async def _sweep(self, watch: Watch) -> None:
        """Cancel what agents left running, so that it does not reach into other matches; it counts as their act."""
        watch[STARTED] = time.monotonic()
        for task in self._left:
            task.cancel()
        for _ in range(SWEEPS):
            if not self._left:
                break
            watch[ACTING] = next(iter(self._left.values()))
            await asyncio.sleep(0)
        self._left.clear()
        watch[ACTING] = OUTSIDE


def _numbers(watch: Any) -> SharedWatch:
    """The shared array as a view, which is twice as fast to write."""
    return memoryview(watch).cast("B").cast("d")


def _game(match: Match) -> Game:
    try:
        return games.make(match.game)
    except Exception as error:
        raise VoidMatchError(f"game {match.game} cannot be made: {in_words(error)}") from error
