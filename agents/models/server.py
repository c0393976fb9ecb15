"""One server as a run talks to it: connections, limits, retries; answers come as checked values."""

import asyncio
import json
import logging
import random
import resource
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
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
KEPT_SECONDS = 4.0
"""How long a connection is kept that is not used: less than the 5 s after which vLLM hangs up."""
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
    if server is None or server.lines.closed:
        server = servers[address] = Server(address, models.limits, models.spending, models.tell)
    return server


def client_settings(address: Address) -> dict[str, Any]:
    """How every client of a server is made.

    Redirects are not followed: they could take the key to another host. This machine is asked past any proxy.
    """
    headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "metarena"}
    return {"follow_redirects": False, "headers": headers, "trust_env": not address.local}


class Lines:
    """Connections to one server, as many as are needed at once.

    Each has a client of its own, which serves one request at a time: a client's pool of many connections looks at
    each of them for every request, which took 14 ms a request at 200 at once.
    """

    def __init__(self, address: Address) -> None:
        self._settings = {**client_settings(address), "verify": httpx.create_ssl_context(), "timeout": None}
        self._limits = httpx.Limits(max_connections=1, keepalive_expiry=KEPT_SECONDS)
        self._places = asyncio.Semaphore(connections())
        self._free: list[httpx.AsyncClient] = []
        self._all: list[httpx.AsyncClient] = []
        self.closed = False

    @asynccontextmanager
    async def line(self) -> AsyncIterator[httpx.AsyncClient]:
        """One to use alone. Waits where the system allows no more connections."""
        async with self._places:
            if self.closed:
                raise RuntimeError("the connections to the server are closed")
            if not self._free:
                self._free.append(httpx.AsyncClient(**self._settings, limits=self._limits))
                self._all.append(self._free[-1])
            client = self._free.pop()  # the last one used: its connection is the likeliest to be open still
            try:
                yield client
            finally:
                self._free.append(client)

    async def close(self) -> None:
        """Close all of them."""
        self.closed = True
        for client in self._all:
            await client.aclose()


class Server:
    """A server of a run: how often and how long it is asked."""

    def __init__(self, address: Address, limits: ModelLimits, spending: Spending, tell: Callable[[str], None]) -> None:
        self.address = address
        self.spending = spending
        self.rates = Rates(limits)
        self.lines = Lines(address)
        self._limits = limits
        # Jitter is there to tell processes apart, so that it must not be the same in each; no result depends on it.
        self._patience = Patience(limits, random.Random(), tell)

    async def ask(self, url: str, body: Mapping[str, Any], read: Callable[[Any], _T], asked: Asked) -> _T:
        """Post a request until its answer can be read; `read` checks the parsed JSON and raises TransientError.

        Raises ProviderError, RefusedError, UnfitError, ContextOverflow, BudgetError.
        """
        content = json.dumps(body).encode()

        async def once() -> _T:
            await self.rates.request()
            self.spending.check()
            async with self.lines.line() as client:
                reply = await self._post(client, url, content, asked)
            judge(reply, asked)
            try:
                return read(parsed(reply.body))
            except TransientError as error:
                raise TransientError(f"{self.address.base} gives {one_line(str(error), asked.key)}") from None

        return await self._patience.insist(once)

    async def _post(self, client: httpx.AsyncClient, url: str, content: bytes, asked: Asked) -> Reply:
        headers = {"Content-Type": "application/json", **(asked.key.header() if asked.key else {})}
        try:
            async with (
                asyncio.timeout(self._limits.request_seconds),
                client.stream("POST", url, content=content, headers=headers) as response,
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
        await self.lines.close()


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
