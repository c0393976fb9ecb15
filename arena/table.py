"""The event loop of a run, in a thread of its own: so that what the main thread writes does not hold matches up."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Thread

from agents.agent import Agent, Setup
from agents.models.limits import Spent
from agents.models.pool import Models, all_cores
from agents.registry import Recipe
from arena.dealer import Dealer
from arena.match import Listener, Match, MatchResult, play_match
from arena.progress import STOP_SECONDS, Ledger, Limits
from games.errors import RunError
from games.game import Game

AHEAD = 2
"""How many times as many matches are handed over as are played at a time."""
STILL_SECONDS = 60.0
"""How long the event loop may stand still, if that is longer than the hang limit."""
PULSE_SECONDS = 0.25
"""Time between two signs of life of the event loop."""
GAP_SECONDS = 1.0
"""The most that one look adds to the time in which there was none: the main thread itself may have been away."""


class Table:
    """Where matches are played that wait for language models, as the main thread sees it. Starts when needed."""

    def __init__(self, limits: Limits, ledger: Ledger, at_work: Callable[[], int]) -> None:
        """`at_work` tells how many workers compute beside it."""
        self._limits = limits
        self._at_work = at_work
        self._inbox: deque[Match] = deque()
        self._dealer = Dealer(limits, ledger, self._inbox, self._threads)
        self._given = 0
        self._thread: Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._failure: BaseException | None = None
        self._pulse = 0
        self._seen = (0, time.monotonic())
        self._still = 0.0

    def feed(self, draw: Callable[[], Match | None]) -> None:
        """Hand over matches, some ahead, so that none waits for the main thread."""
        most = AHEAD * self._limits.concurrent
        while not self.over and self._given - self._dealer.settled < most and (match := draw()) is not None:
            self._given += 1
            self._inbox.append(match)
            self._tell(self._dealer.wake)
            if self._thread is None:
                self._thread = Thread(target=self._run, name="arena-table", daemon=True)
                self._thread.start()

    def busy(self) -> bool:
        """Whether a match is in play or has to be played again. Raises RunError for a loop that stands still."""
        self._look()
        return self._given > self._dealer.settled

    @property
    def over(self) -> bool:
        """Whether it has ended, since something failed."""
        return self._failure is not None

    def spent(self) -> Spent:
        """What its matches have spent on language models."""
        return self._dealer.spent()

    def check(self) -> None:
        """Raise what ended it, if something did."""
        if self._failure is not None:
            raise self._failure

    def end(self) -> None:
        """Drop what is in play and end the loop; an agent that does not let go of it is left behind in its thread."""
        if self._thread is None:
            return
        until, told = time.monotonic() + 2 * STOP_SECONDS, False
        while self._thread.is_alive() and time.monotonic() < until:
            if not told and self._task is not None:
                self._tell(self._task.cancel)
                told = True
            self._thread.join(PULSE_SECONDS if told else 0.01)
        if self._thread.is_alive():
            self._dealer.hosts.kill()

    def _tell(self, function: Callable[[], object]) -> None:
        """Call a function in the loop, if it runs."""
        if self._loop is not None:
            with suppress(RuntimeError):  # it has just ended
                self._loop.call_soon_threadsafe(function)

    def _run(self) -> None:
        asyncio.run(self._attended())

    async def _attended(self) -> None:
        """Serve until cancelled; what is raised is kept for the main thread."""
        self._task = asyncio.create_task(self._dealer.serve())
        self._loop = asyncio.get_running_loop()
        while not self._task.done():
            self._pulse += 1
            await asyncio.wait([self._task], timeout=PULSE_SECONDS)
        if not self._task.cancelled() and (error := self._task.exception()) is not None:
            self._failure = _first(error)

    def _look(self) -> None:
        """Raise RunError when the loop has given no sign of life for too long."""
        pulse, looked = self._seen
        now = time.monotonic()
        moved = self._thread is None or pulse != self._pulse or self._given == self._dealer.settled
        self._still = 0.0 if moved else self._still + min(now - looked, GAP_SECONDS)
        self._seen = self._pulse, now
        limit = max(self._limits.hang_seconds, STILL_SECONDS)
        if self._still > limit:
            raise RunError(
                f"the event loop has stood still for {limit:g} s: an agent that says it awaits, or a game, computes"
            )

    def _threads(self) -> int:
        """How many threads a model in this process may compute with."""
        return max(1, all_cores() - self._at_work())


def _first(error: BaseException) -> BaseException:
    """The first of a group of errors that came at once."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


async def play_one(
    match: Match, game: Game, recipes: Sequence[Recipe], models: Models, listener: Listener | None = None
) -> MatchResult:
    """Play one match in the loop that runs, all its agents in this process, none watched.

    Raises as `play_match` does.
    """

    async def make(recipe: Recipe, setup: Setup) -> Agent:
        return recipe.make(setup._replace(models=models))

    return await play_match(match, game, recipes, listener=listener, make=make)
