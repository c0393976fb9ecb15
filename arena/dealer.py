"""Plays matches that wait for language models: so many at a time, each a coroutine, void ones again after a while."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from agents.agent import Agent, Setup
from agents.models.limits import BudgetError
from agents.models.pool import Models
from agents.registry import Recipe, recipe
from arena.match import Match, MatchResult, VoidMatchError, play_match
from arena.progress import MAX_ATTEMPTS, STOP_SECONDS, Ledger, Limits
from arena.record import Run, utc_now
from games import registry as games
from games.errors import UserError, in_words
from games.game import Game

BACK_OFF_SECONDS = 1.0
"""How long a match waits after its first void attempt; after each further one twice as long."""
MAX_KNOWN = 256
"""Kinds of matches whose game and recipes are kept."""


class Attempt(NamedTuple):
    """A match to play."""

    match: Match
    number: int = 0
    """How often it has been tried before."""
    void: int = 0
    """How many of these tries count against it."""


class Dealer:
    """Plays the matches of an inbox within one event loop."""

    def __init__(self, limits: Limits, ledger: Ledger, inbox: deque[Match], threads: Callable[[], int]) -> None:
        self._limits = limits
        self._ledger = ledger
        self._inbox = inbox
        self._queue: asyncio.Queue[Attempt] = asyncio.Queue()
        self._models = Models(limits.model_limits, threads)
        self._ending: str | None = None
        self._known: dict[tuple[str, tuple[str, ...]], tuple[Game, list[Recipe]]] = {}
        self.settled = 0
        """Matches that are finished or given up."""

    def wake(self) -> None:
        """Look into the inbox."""
        while self._inbox:
            self._queue.put_nowait(Attempt(self._inbox.popleft()))

    async def serve(self) -> None:
        """Play until cancelled. Raises what ends the run, in a group of exceptions."""
        self.wake()
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._limits.concurrent):
                    group.create_task(self._play_on())
        finally:
            await self._models.close()

    async def _play_on(self) -> None:
        """Play one match after the other."""
        while True:
            await self._attend(await self._queue.get())

    async def _attend(self, attempt: Attempt) -> None:
        """Play a match once and settle what comes of it."""
        started, clock = utc_now(), time.monotonic()
        playing = asyncio.ensure_future(self._play(attempt))

        def run() -> Run:
            return Run(attempt.number, None, started, time.monotonic() - clock)

        try:
            await asyncio.wait([playing])
        except asyncio.CancelledError:
            playing.cancel()
            await asyncio.wait([playing], timeout=STOP_SECONDS)
            if self._ending is not None:
                self._ledger.void(attempt.match, run(), self._ending)
            raise
        error = VoidMatchError("an agent cancelled it") if playing.cancelled() else playing.exception()
        if error is None:
            self._ledger.finished(playing.result(), run())
            self.settled += 1
        elif isinstance(error, VoidMatchError):
            self._ledger.void(attempt.match, run(), str(error))
            self._again(attempt, str(error))
        else:
            if isinstance(error, BudgetError | UserError):
                self._ending = in_words(error, kind=False)
                self._ledger.void(attempt.match, run(), self._ending)
            raise error

    async def _play(self, attempt: Attempt) -> MatchResult:
        match = attempt.match
        game, recipes = self._prepared(match)
        return await play_match(match, game, recipes, make=self._make)

    async def _make(self, recipe: Recipe, setup: Setup) -> Agent:
        return recipe.make(setup._replace(models=self._models))

    def _again(self, attempt: Attempt, reason: str) -> None:
        """Play a void match once more, after a while, or give it up."""
        void = attempt.void + 1
        if void >= MAX_ATTEMPTS:
            self._ledger.give_up(attempt.match, reason)
            self.settled += 1
            return
        later = attempt._replace(number=attempt.number + 1, void=void)
        asyncio.get_running_loop().call_later(BACK_OFF_SECONDS * 2 ** (void - 1), self._queue.put_nowait, later)

    def _prepared(self, match: Match) -> tuple[Game, list[Recipe]]:
        """The game and the recipes of a match, made once for each of its kind. Raises VoidMatchError."""
        known = self._known.get((match.game, match.specs))
        if known is None:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            known = self._known[match.game, match.specs] = _game(match), [recipe(spec) for spec in match.specs]
        return known


def _game(match: Match) -> Game:
    try:
        return games.make(match.game)
    except Exception as error:
        raise VoidMatchError(f"game {match.game} cannot be made: {in_words(error)}") from error
