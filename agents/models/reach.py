"""Looks, before matches start, whether a server is there, takes the key and has the model."""

import json
import time
from typing import Any

import httpx

from agents.models.address import Address, Key
from agents.models.answers import Listing, checked
from agents.models.replies import Asked, RefusedError, Reply, TransientError, UnfitError, judge, one_line
from agents.models.server import MAX_BYTES, client_settings, parsed, too_long
from agents.models.source import Source
from games.errors import RunError, UserError, in_words
from games.spec import near

SECONDS = 20.0
"""Longest time that one answer may take."""

_NO_SUCH_PLACE = frozenset({404, 405, 501})


def check_server(source: Source, address: Address, key: Key | None, name: str) -> None:
    """Raise UserError for what a person can mend in what was asked, RunError for a server that does not answer."""
    _check_numbers(source)
    with httpx.Client(**client_settings(address), timeout=SECONDS) as client:
        asked = Asked(address, key)
        try:
            reply = _fetch(client, asked, f"{address.base}/models")
            if reply.status in _NO_SUCH_PLACE:
                _check_path(client, asked)  # else a server without a list, of which nothing more can be known
            else:
                judge(reply, asked)
                _check_listed(reply, asked, name)
            if source.api == "completions":
                _check_tokenizer(client, asked, name)
        except TransientError as error:
            raise RunError(one_line(str(error), key)) from None
        except UnfitError as error:
            raise UserError(str(error)) from None


def _check_numbers(source: Source) -> None:
    if source.context < 0:
        raise UserError(f"context={source.context} is below 0, which stands for the model's own")
    if source.price is not None and not all([0 <= price < float("inf") for price in source.price]):
        raise UserError(f"price={list(source.price)} must be dollars for a million tokens, 0 or more")


def _check_path(client: httpx.Client, asked: Asked) -> None:
    """Say so where a base_url lacks its /v1. Raises UserError."""
    base = asked.address.base
    if asked.address.hint() and _fetch(client, asked, f"{base}/v1/models").status == 200:
        raise UserError(f"base_url={base} lacks its end: base_url={base}/v1 answers")


def _check_listed(reply: Reply, asked: Asked, name: str) -> None:
    base = asked.address.base
    try:
        listing = checked(Listing, parsed(reply.body))
    except TransientError as error:
        words = one_line(str(error), asked.key)
        raise RunError(f"{base}/models gives {words}; is it an OpenAI-compatible server?") from None
    ids = [one_line(item.id, asked.key) for item in listing.data]
    if ids and name not in ids and f"{name}:latest" not in ids:  # Ollama's names
        raise UserError(f"{base} has no model {name!r}; {near(name, ids)}")


def _check_tokenizer(client: httpx.Client, asked: Asked, name: str) -> None:
    """Raises UserError where the server does not turn text into tokens as vLLM does."""
    place = f"{asked.address.root}/tokenize"
    why = ""
    try:
        reply = _fetch(client, asked, place, {"model": name, "prompt": "a"})
        judge(reply, asked)
        data: Any = parsed(reply.body)
    except (UnfitError, RefusedError) as error:
        data, why = None, f": {error}"
    if not (isinstance(data, dict) and "count" in data):
        raise UserError(f"api=completions needs a server with {place}, as vLLM has it{why}")


def _fetch(client: httpx.Client, asked: Asked, url: str, body: dict[str, Any] | None = None) -> Reply:
    """One request. Raises TransientError, UserError."""
    method, content = ("GET", None) if body is None else ("POST", json.dumps(body).encode())
    headers = {"Content-Type": "application/json", **(asked.key.header() if asked.key else {})}
    end = time.monotonic() + SECONDS
    try:
        with client.stream(method, url, content=content, headers=headers) as response:
            found = bytearray()
            for chunk in response.iter_bytes():
                found += chunk
                if len(found) > MAX_BYTES:
                    too_long(asked.address)
                if time.monotonic() > end:
                    raise TransientError(f"{asked.address.base} took longer than {SECONDS:g} s")
            return Reply(response.status_code, response.headers, bytes(found))
    except httpx.InvalidURL as error:
        raise UserError(f"base_url={asked.address.base!r} is no address: {error}") from None
    except httpx.RequestError as error:
        words = one_line(in_words(error), asked.key)
        raise TransientError(f"{asked.address.base} cannot be reached: {words}") from None
