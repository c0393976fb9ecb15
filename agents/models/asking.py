"""One model's requests to its server: what they may hold, what they are booked as and what they cost."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from agents.models.address import Address, Key
from agents.models.answers import Tokens, Usage, checked
from agents.models.replies import Asked, RefusedError, UnfitError
from agents.models.wire import Request

if TYPE_CHECKING:
    from agents.models.server import Server

_T = TypeVar("_T")

_SHORT, _LONG = "max_tokens", "max_completion_tokens"
"""The same limit by two names: OpenAI's newer models know the second only, most servers the first."""


class Asker:
    """Asks a server for one model; it learns which fields the server does not know."""

    def __init__(self, server: "Server", key: Key | None, price: tuple[float, float] | None) -> None:
        self._server = server
        self._key = key
        self._price = price
        self.unknown: frozenset[str] = frozenset()
        """Optional fields that the server refused once: they are not sent again."""
        self._limit = _SHORT

    @property
    def address(self) -> Address:
        """Where the server is."""
        return self._server.address

    async def ask(
        self, place: str, request: Request, read: Callable[[Any], tuple[_T, Usage]], tokens: int
    ) -> tuple[_T, Usage]:
        """Send a request, wait for its answer, and book what it took.

        `tokens` is what it may take at most, `read` gives the value of an answer and what the server says it took.
        Raises ProviderError, RefusedError, ContextOverflow, BudgetError.
        """
        server, used = self._server, 0
        await server.rates.book(tokens)
        try:
            found, usage = await self._fitted(place, request, read)
            used = usage.total
        finally:
            server.rates.correct(tokens, used)
        server.spending.add(usage.total, self.price_of(usage))
        return found, usage

    async def _fitted(self, place: str, request: Request, read: Callable[[Any], _T]) -> _T:
        """Send a request, and without what the server does not know where it says so.

        What was left out is remembered once an answer came: a request may be refused for quite another reason.
        """
        unknown, limit = self.unknown, self._limit
        asked = Asked(self.address, self._key, request.needed.get(_SHORT, 0))
        while True:
            body = request.without(unknown)
            if _SHORT in body:
                body[limit] = body.pop(_SHORT)
            try:
                found = await self._server.ask(self.address.base + place, body, read, asked)
            except UnfitError as error:
                words = str(error)
                if limit == _SHORT and _LONG in words:
                    limit = _LONG
                    continue
                sent = frozenset(request.optional) - unknown
                if not sent:
                    raise RefusedError(words) from None
                unknown |= {name for name in sent if name in words} or sent
                continue
            self.unknown |= unknown
            self._limit = limit
            return found

    async def tokens(self, model: str, body: Mapping[str, Any]) -> Tokens:
        """Ask vLLM's /tokenize. Raises RefusedError where the server has none."""

        def read(data: Any) -> Tokens:
            if not (isinstance(data, dict) and "count" in data):
                raise RefusedError(f"{self.address.root}/tokenize does not answer as that of vLLM")
            return checked(Tokens, data)

        try:
            url = f"{self.address.root}/tokenize"
            return await self._server.ask(url, {"model": model, **body}, read, Asked(self.address, self._key))
        except (UnfitError, RefusedError) as error:
            raise RefusedError(
                f"the server must turn messages into tokens at {self.address.root}/tokenize, as vLLM does, "
                f"for api=completions and choice=scored: {error}"
            ) from None

    def price_of(self, usage: Usage) -> float | None:
        """US dollars, or None where the source states no price."""
        if self._price is None:
            return None
        prompt, completion = self._price
        return (usage.prompt * prompt + usage.completion * completion) / 1e6

    def without_key(self, text: str) -> str:
        """A model's words, which a bad server could put the key into."""
        return self._key.hide_in_answer(text) if self._key else text

    async def close(self) -> None:
        """Close the connections to the server."""
        await self._server.close()
