"""How often and how soon a server is asked: retries with back-off, and limits on requests and tokens a minute."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from aiolimiter import AsyncLimiter
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_before_delay

from agents.agent import ProviderError
from agents.models.limits import ModelLimits
from agents.models.replies import TransientError

FIRST_SECONDS = 1.0
"""Longest wait before the second try; it doubles with each further one."""
LONGEST_SECONDS = 30.0
"""Longest wait of back-off; a server may ask for more by Retry-After."""
_BITS = 600
"""Into how many parts a minute's tokens are divided when they are booked."""
TELL_SECONDS = 3.0
"""How long a server may fail before a person is told."""
_TRIES = 32
"""Into how many waits patience is divided at least, so that a short patience has short waits."""

_T = TypeVar("_T")


class Patience:
    """Tries again what may pass, for as long as the limits allow; `tell` gets a line each time that this takes long."""

    def __init__(
        self, limits: ModelLimits, rng: random.Random, tell: Callable[[str], None] = lambda line: None
    ) -> None:
        self._seconds = limits.patience_seconds
        self._first = min(FIRST_SECONDS, limits.patience_seconds / _TRIES)
        self._rng = rng
        self._tell = tell
        self._told = False

    async def insist(self, ask: Callable[[], Awaitable[_T]]) -> _T:
        """Call until it does not raise TransientError.

        Raises ProviderError once patience is at an end, or would be before the next try.
        """
        retrying = AsyncRetrying(
            retry=retry_if_exception_type(TransientError),
            stop=stop_before_delay(self._seconds),
            wait=self._wait,
            before_sleep=self._pausing,
            reraise=True,
        )
        try:
            answer: _T = await retrying(ask)
            self._told = False
            return answer
        except TransientError as error:
            tries = retrying.statistics["attempt_number"]
            waits = f", which asks to wait {error.retry_after:g} s" if error.retry_after else ""
            raise ProviderError(f"{error}{waits} (tries: {tries}, patience_seconds: {self._seconds:g})") from None

    def _pausing(self, state: RetryCallState) -> None:
        failed = (state.seconds_since_start or 0.0) + state.upcoming_sleep
        if self._told or failed < TELL_SECONDS or state.outcome is None:
            return
        self._told = True
        self._tell(f"{state.outcome.exception()}; it is asked again for up to {self._seconds:g} s (patience_seconds)")

    def _wait(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome is not None else None
        return self.pause(state.attempt_number, error.retry_after if isinstance(error, TransientError) else None)

    def pause(self, tries: int, asked: float | None) -> float:
        """Seconds to the next try after some: back-off with jitter, and never less than a server asks for.

        "Equal jitter" of https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/.
        """
        most = min(self._first * 2.0 ** min(tries - 1, 30), LONGEST_SECONDS)
        jittered = most * self._rng.uniform(0.5, 1.0)
        return jittered if asked is None else asked + jittered * 0.1


class Rates:
    """Requests and tokens a minute to one server; who comes too early waits, in the order of coming."""

    def __init__(self, limits: ModelLimits) -> None:
        self._requests: AsyncLimiter | None = None
        self._tokens: AsyncLimiter | None = None
        if (rate := limits.requests_per_minute) is not None:
            burst = max(rate / 60, 1.0)  # a second's worth, so that the first minute has no more than the others
            self._requests = AsyncLimiter(burst, burst * 60 / rate)
        if limits.tokens_per_minute is not None:
            self._tokens = AsyncLimiter(limits.tokens_per_minute)
        self._owed = 0.0
        """Tokens that answers took beyond what was booked; below 0 where less."""
        self._queue = asyncio.Lock()  # the limiter alone lets small requests pass large ones for ever

    async def request(self) -> None:
        """Wait until one more request may be sent."""
        if self._requests is not None:
            await self._requests.acquire()

    async def book(self, tokens: float) -> None:
        """Wait until some more tokens may be asked for.

        They are booked bit by bit, so that what others took less than they booked helps at once.
        """
        if self._tokens is None:
            return
        bit = self._tokens.max_rate / _BITS
        async with self._queue:
            self._owed += tokens
            booked = False
            try:
                while self._owed > 0:
                    await self._tokens.acquire(now := min(self._owed, bit))
                    self._owed -= now
                booked = True
            finally:
                if not booked:  # it was cancelled
                    self.correct(tokens, 0)

    def correct(self, booked: float, used: float) -> None:
        """Say what a request really took: the difference goes to those that come next, up to a minute's worth."""
        if self._tokens is not None:
            self._owed = max(self._owed + used - booked, -self._tokens.max_rate)
