"""Plays matches that wait for language models: so many at a time, each a coroutine, void ones again after a while."""

import asyncio
from collections import deque
from collections.abc import Callable

from agents.models.limits import Spent
from agents.models.pool import Models
from agents.registry import Recipe, recipe
from arena.death import lost
from arena.hosts import Hosts, Loss
from arena.match import Match, MatchResult, VoidMatchError, play_match
from arena.party import Attempt, Party
from arena.progress import MAX_ATTEMPTS, STOP_SECONDS, Ledger, Limits
from games import registry as games
from games.errors import UserError, in_words
from games.game import Game

BACK_OFF_SECONDS = 1.0
"""How long a match waits after its first void attempt; after each further one twice as long."""
MAX_KNOWN = 256
"""Kinds of matches whose game and recipes are kept."""


class Dealer:
    """Plays the matches of an inbox within one event loop."""

    def __init__(self, limits: Limits, ledger: Ledger, inbox: deque[Match], threads: Callable[[], int]) -> None:
        self._limits = limits
        self._ledger = ledger
        self._inbox = inbox
        self._queue: asyncio.Queue[Attempt] = asyncio.Queue()
        self._models = Models(limits.model_limits, threads, ledger.notice)
        self.hosts = Hosts(limits)
        self._ending: str | None = None
        self._known: dict[tuple[str, tuple[str, ...]], tuple[Game, list[Recipe]]] = {}
        self.settled = 0
        """Matches that are finished or given up."""

    def spent(self) -> Spent:
        """What the models have taken."""
        return self._models.spending.spent()

    def wake(self) -> None:
        """Look into the inbox."""
        while self._inbox:
            self._queue.put_nowait(Attempt(self._inbox.popleft()))

    async def serve(self) -> None:
        """Play until cancelled. Raises what ends the run, in a group of exceptions."""
        self.wake()
        try:
            async with asyncio.TaskGroup() as group:
                self.hosts.open(group)
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
        party = Party(attempt, self.hosts, self._models)
        playing = asyncio.ensure_future(self._play(attempt, party))
        party.on_loss = playing.cancel
        try:
            await asyncio.wait([playing])
        except asyncio.CancelledError:
            playing.cancel()
            await asyncio.wait([playing], timeout=STOP_SECONDS)
            if self._ending is not None:
                self._ledger.void(attempt.match, party.run(), self._ending)
            raise
        if party.loss is not None:
            self._settle(attempt, party, party.loss)
            return
        error = VoidMatchError("an agent cancelled it") if playing.cancelled() else playing.exception()
        if error is None:
            self._finished(playing.result(), party)
        elif isinstance(error, VoidMatchError):
            self._ledger.void(attempt.match, party.run(), str(error))
            self._again(attempt, str(error))
        else:
            if isinstance(error, UserError):
                self._ending = in_words(error, kind=False)
                self._ledger.void(attempt.match, party.run(), self._ending)
            raise error

    async def _play(self, attempt: Attempt, party: Party) -> MatchResult:
        game, recipes = self._prepared(attempt.match)
        try:
            return await play_match(attempt.match, game, recipes, listener=party, make=party.make)
        finally:
            party.leave()

    def _finished(self, result: MatchResult, party: Party) -> None:
        self._ledger.finished(result, party.run())
        self.settled += 1

    def _settle(self, attempt: Attempt, party: Party, loss: Loss) -> None:
        """A host has failed: an agent accused before, now in a host of its own, loses; else the attempt is void."""
        match, end = attempt.match, loss.death
        if end is not None and attempt.alone and loss.agent is not None and loss.agent in attempt.accused:
            self._finished(lost(match, loss.agent, party.told, end), party)
            self._ledger.notice(f"{match.names[loss.agent]} loses a match of {match.game}: {end.words}, twice")
            return
        self._ledger.void(match, party.run(), loss.reason)
        accused = attempt.accused if loss.agent is None else (*attempt.accused, loss.agent)
        again = attempt._replace(alone=attempt.alone or loss.alone, accused=accused)
        if not loss.counts:
            self._queue.put_nowait(again._replace(number=attempt.number + 1))
            return
        queued = self._again(again, loss.reason, wait=end is None)
        if end is not None:
            what_now = "the match is played again alone" if queued else "the match is given up"
            self._ledger.notice(f"{loss.reason}; {what_now}")

    def _again(self, attempt: Attempt, reason: str, wait: bool = True) -> bool:
        """Play a void match once more, after a while, or give it up; returns whether it is played."""
        void = attempt.void + 1
        if void >= MAX_ATTEMPTS:
            self._ledger.give_up(attempt.match, reason)
            self.settled += 1
            return False
        seconds = BACK_OFF_SECONDS * 2 ** (void - 1) if wait else 0.0
        later = attempt._replace(number=attempt.number + 1, void=void)
        asyncio.get_running_loop().call_later(seconds, self._queue.put_nowait, later)
        return True

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
