"""What runs in a worker process: matches in, columns out, and a watch that the parent reads."""

import asyncio
import signal
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from typing import NamedTuple

import pyarrow as pa

from agents.registry import recipe
from arena.episode import EpisodeRecord
from arena.match import Match, MatchResult, ReflectionRecord, VoidMatchError, play_match
from arena.record import Recorder, Run
from arena.referee import MATCH, Watch
from games import registry as games
from games.errors import UserError

FLUSH_SECONDS = 0.25
"""How long finished matches wait in a worker before they are sent, beside the match in hand."""


class Job(NamedTuple):
    """A match to play."""

    match: Match
    attempt: int = 0
    """How often it has been tried before."""
    alone: bool = False
    """Whether each turn is told as it is played, since the process may die of this match."""


class Done(NamedTuple):
    """What a worker sends back about its next `played` jobs, in their order."""

    played: int
    tables: dict[str, pa.Table]
    void: Sequence[tuple[Job, str]]
    """Jobs that came to nothing, and why."""
    seconds: float
    """Time spent on these jobs."""


class TurnPlayed(NamedTuple):
    """A turn of a match that is played alone."""

    seat: int
    action: str


class _Teller:
    """Tells the parent of a match played alone, turn by turn."""

    def __init__(self, channel: Connection) -> None:
        self._channel = channel

    def turn(self, seat: int, action: str) -> None:
        self._channel.send(TurnPlayed(seat, action))

    def episode(self, record: EpisodeRecord) -> None:
        self._channel.send(record)

    def reflection(self, record: ReflectionRecord) -> None:
        self._channel.send(record)


class _Stop:
    """Becomes set when the parent asks the worker to stop after the match in hand."""

    def __init__(self) -> None:
        self.asked = False
        signal.signal(signal.SIGTERM, self._ask)

    def _ask(self, number: int, frame: object) -> None:
        self.asked = True


def serve(channel: Connection, watch: Watch, number: int) -> None:
    """Play jobs until the channel closes or SIGTERM comes. `watch` is shared memory; `number` names this worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle: what is finished is kept
    _die_with_parent()
    asyncio.run(_serve(channel, watch, number))


async def _serve(channel: Connection, watch: Watch, number: int) -> None:
    stop = _Stop()
    recorder = Recorder()
    serial = 0
    while not stop.asked:
        try:
            jobs: Sequence[Job] = channel.recv()
        except EOFError:
            return
        flushed, count = time.monotonic(), 0
        void: list[tuple[Job, str]] = []
        for job in jobs:
            now = time.monotonic()
            if count and now - flushed > FLUSH_SECONDS:
                channel.send(Done(count, recorder.take(), void, now - flushed))
                flushed, count, void = now, 0, []
            if stop.asked:
                break
            watch[MATCH] = serial
            reason = await _play(job, recorder, watch, number, channel)
            serial += 1
            count += 1
            if reason is not None:
                void.append((job, reason))
        channel.send(Done(count, recorder.take(), void, time.monotonic() - flushed))


async def _play(job: Job, recorder: Recorder, watch: Watch, number: int, channel: Connection) -> str | None:
    """Play one match into the recorder. Returns why it is void, or None."""
    match = job.match
    started, clock = datetime.now(UTC).replace(tzinfo=None), time.monotonic()
    found: MatchResult | str
    try:
        game = games.make(match.game)
        recipes = [recipe(spec) for spec in match.specs]
        found = await play_match(match, game, recipes, watch, _Teller(channel) if job.alone else None)
    except (VoidMatchError, UserError) as error:
        found = str(error)
    run = Run(job.attempt, number, started, time.monotonic() - clock)
    if isinstance(found, str):
        recorder.void(match, run, found)
        return found
    recorder.finished(found, run)
    return None


def _die_with_parent() -> None:
    """On Linux, ask the kernel to end this process when its parent ends, even in the middle of a computation."""
    if sys.platform == "linux":
        import ctypes

        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
