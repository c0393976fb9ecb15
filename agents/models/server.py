"""One server as a run talks to it: connections, limits, retries; answers come as checked values."""

import asyncio
import json
import logging
import random
import resource
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar
from weakref import WeakKeyDictionary

import httpx

from agents.models.address import Address
from agents.models.limits import ModelLimits, Spending
from agents.models.patience import Patience, Rates
from agents.models.replies import Asked, Reply, TransientError, judge, one_line
from games.errors import in_words

if TYPE_CHECKING:
    from agents.models.pool import Models

MAX_BYTES = 16 * 2**20
"""Bytes of an answer that are read; a longer one is an error."""
_SPARE_FILES = 256
"""Open files left to the rest of the program."""

_T = TypeVar("_T")

for _name in ("httpx", "httpcore"):  # at lower levels they log a server's words as they come, the key if it repeats it
    logging.getLogger(_name).setLevel(logging.WARNING)

_open: "WeakKeyDictionary[Models, dict[Address, Server]]" = WeakKeyDictionary()
"""Servers of the runs of this process: limits of rates hold for all models of a run on one server."""


def server_of(models: "Models", address: Address) -> "Server":
    """The server at an address, shared by all models of a run."""
    servers = _open.setdefault(models, {})
    server = servers.get(address)
    if server is None or server.closed:
        server = servers[address] = Server(address, models.limits, models.spending)
    return server


def client_settings(address: Address) -> dict[str, Any]:
    """How every client of a server is made.

    Redirects are not followed: they could take the key to another host. This machine is asked past any proxy.
    """
    headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "metarena"}
    return {"follow_redirects": False, "headers": headers, "trust_env": not address.local}


class Server:
    """Connections to one server, and how often and how long it is asked."""

    def __init__(self, address: Address, limits: ModelLimits, spending: Spending) -> None:
        self.address = address
        self.spending = spending
        self.rates = Rates(limits)
        self._limits = limits
        # Jitter is there to tell processes apart, so that it must not be the same in each; no result depends on it.
        self._patience = Patience(limits, random.Random())
        self._places = asyncio.Semaphore(connections())
        unlimited = httpx.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=30.0)
        self._client = httpx.AsyncClient(**client_settings(address), limits=unlimited, timeout=None)

    @property
    def closed(self) -> bool:
        """Whether its connections are closed."""
        return self._client.is_closed

    async def ask(self, url: str, body: Mapping[str, Any], read: Callable[[Any], _T], asked: Asked) -> _T:
        """Post a request until its answer can be read; `read` checks the parsed JSON and raises TransientError.

        Raises ProviderError, RefusedError, UnfitError, ContextOverflow, BudgetError.
        """
        content = json.dumps(body).encode()

        async def once() -> _T:
            await self.rates.request()
            self.spending.check()
            async with self._places:
                reply = await self._post(url, content, asked)
            judge(reply, asked)
            try:
                return read(parsed(reply.body))
            except TransientError as error:
                raise TransientError(f"{self.address.base} gives {one_line(str(error), asked.key)}") from None

        return await self._patience.insist(once)

    async def _post(self, url: str, content: bytes, asked: Asked) -> Reply:
        headers = {"Content-Type": "application/json", **(asked.key.header() if asked.key else {})}
        try:
            async with (
                asyncio.timeout(self._limits.request_seconds),
                self._client.stream("POST", url, content=content, headers=headers) as response,
            ):
                body = bytearray()
                async for chunk in response.aiter_bytes():
                    body += chunk
                    if len(body) > MAX_BYTES:
                        too_long(self.address)
                return Reply(response.status_code, response.headers, bytes(body))
        except TimeoutError:
            limit = self._limits.request_seconds
            raise TransientError(f"{self.address.base} took longer than request_seconds = {limit:g}") from None
        except httpx.RequestError as error:
            raise TransientError(f"{self.address.base}: {one_line(in_words(error), asked.key)}") from None

    async def close(self) -> None:
        """Close the connections; nobody may ask any more."""
        await self._client.aclose()


def too_long(address: Address) -> NoReturn:
    """Raise what an answer that does not end means."""
    raise TransientError(f"{address.base} answers with more than {MAX_BYTES // 2**20} MiB")


def connections() -> int:
    """How many connections may be open at once: what the system's limit on open files allows."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return 1 << 16
    return max(soft - _SPARE_FILES, 64)


def parsed(body: bytes) -> Any:
    """Read JSON as the standard has it, without NaN. Raises TransientError."""
    try:
        return json.loads(body, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        words = one_line(in_words(error, kind=False))
        raise TransientError(f"an answer that is no JSON: {words}") from None


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")
