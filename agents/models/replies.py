"""What a server's refusal means: to be tried again, for the person to mend, too long a prompt, or an unknown field."""

import json
import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from agents.agent import ProviderError
from agents.models.address import Address, Key
from agents.models.model import ContextOverflow
from games.errors import UserError
from games.text.printable import safe

MAX_WORDS = 300
"""Characters of a server's words that are shown."""

_AGAIN = frozenset({408, 409, 425, 429})
"""Refusals that pass, beside those from 500 on; 409 is a lock that was not free."""
_NEVER = frozenset({501, 505})
_QUOTA = "insufficient_quota"
"""OpenAI's code of a 429 that does not pass by waiting."""
_TOO_LONG_CODES = frozenset({"context_length_exceeded", "exceed_context_size_error"})
_TOO_LONG = re.compile(r"context (length|size|window)|maximum model length|prompt is too long", re.IGNORECASE)
_LIMIT = re.compile(
    r"(?:context length(?: is)?(?: only)?|model length of|context size|context window(?: of)?)\D{0,3}(\d+)",
    re.IGNORECASE,
)
_TOTAL = re.compile(r"requested (\d+) tokens|for a total of (?:at least )?(\d+)", re.IGNORECASE)
_PROMPT = re.compile(
    r"(?:passed|has|contains(?: at least)?) (\d+) input tokens|prompt \(length (\d+)\)|resulted in (\d+) tokens"
    r"|request \((\d+) tokens\)|too long: (\d+) tokens",
    re.IGNORECASE,
)


class TransientError(Exception):
    """A request failed in a way that may pass: it is tried again."""

    def __init__(self, words: str, retry_after: float | None = None) -> None:
        super().__init__(words)
        self.retry_after = retry_after
        """Seconds that the server asks to wait."""


class RefusedError(ProviderError, UserError):
    """A server will not answer as long as nobody mends something, such as a key.

    Before the start it is a UserError. Within a match it is infrastructure: the match is void and nobody loses.
    """


class UnfitError(Exception):
    """A server does not take a request as it is written; it may take one with fewer fields."""


class Reply(NamedTuple):
    """What a server answered, unread."""

    status: int
    headers: Mapping[str, str]
    """Lower-case names, or a mapping that does not mind."""
    body: bytes


class Asked(NamedTuple):
    """Whom a request went to, and what must be known of it to read a refusal."""

    address: Address
    key: Key | None = None
    max_tokens: int = 0


def one_line(text: str, key: Key | None = None, most: int = MAX_WORDS) -> str:
    """Words of a server as they may be shown: in one line, printable, cut, and without the key."""
    hidden = key.hide(text) if key else text  # before the cut, which could leave a part of it
    line = safe(" ".join(hidden[: 20 * most].split()))
    return line if len(line) <= most else line[: most - 3] + "..."


def judge(reply: Reply, asked: Asked) -> None:
    """Pass a good reply. Raises what a bad one means: TransientError, RefusedError, UnfitError or ContextOverflow."""
    status = reply.status
    if 200 <= status < 300:
        return
    error = _error(reply.body)
    words = one_line(error.message, asked.key)
    where = f"{asked.address.base} answers {status}"
    said = f"{where}: {words}" if words else where
    if 300 <= status < 400:
        place = one_line(reply.headers.get("location", ""), asked.key)
        raise RefusedError(f"{where}, a redirect to {place or 'nowhere'}: give the address it leads to as base_url")
    if status in (400, 413) and (error.code in _TOO_LONG_CODES or _TOO_LONG.search(error.message)):
        raise _overflow(error, asked.max_tokens)
    if status in (400, 422):
        raise UnfitError(said)
    if status in (401, 403):
        raise RefusedError(f"{said}; {_about(asked.key)}")
    if status == 404:
        raise RefusedError(f"{said}{asked.address.hint()}")
    if (status in _AGAIN or status >= 500) and status not in _NEVER and error.code != _QUOTA:
        raise TransientError(said, retry_after(reply.headers.get("retry-after", ""), time.time()))
    raise RefusedError(said)


def _about(key: Key | None) -> str:
    """What to do where a server refuses a key."""
    if key is None:
        return "name the environment variable that holds its key by key=..."
    return f"it does not accept the key in the environment variable {key.variable}"


class ServerError(NamedTuple):
    """What a server says of an error."""

    message: str
    code: str
    """One that this module knows, or nothing."""
    facts: Mapping[str, Any]
    """All fields of it."""


def _error(body: bytes) -> ServerError:
    """What a body says of an error."""
    try:
        return error_in(json.loads(body))
    except (ValueError, RecursionError):
        return ServerError(body[: 20 * MAX_WORDS].decode(errors="replace"), "", {})


def error_in(data: Any) -> ServerError:
    """What the JSON of an answer says of an error; servers wrap it in several ways."""
    if isinstance(data, dict):
        inner = data.get("error", data)
        if isinstance(inner, dict):
            message = inner.get("message") or inner.get("detail") or ""
            codes = [str(inner.get(name)) for name in ("code", "type")]
            known = [code for code in codes if code in _TOO_LONG_CODES or code == _QUOTA]
            text = message if isinstance(message, str) else json.dumps(message)
            return ServerError(text, known[0] if known else "", inner)
        data = inner
    return ServerError(data if isinstance(data, str) else json.dumps(data), "", {})


def _overflow(error: ServerError, max_tokens: int) -> ContextOverflow:
    """Read the numbers from llama.cpp's fields or from the words of vLLM, OpenAI and others."""
    prompt, limit = error.facts.get("n_prompt_tokens"), error.facts.get("n_ctx")
    if isinstance(prompt, int) and isinstance(limit, int):
        return ContextOverflow(prompt + max_tokens, limit)
    found = _LIMIT.search(error.message)
    return ContextOverflow(_needed(error.message, max_tokens), _number(found))


def _needed(message: str, max_tokens: int) -> int | None:
    if total := _number(_TOTAL.search(message)):
        return total
    prompt = _number(_PROMPT.search(message))
    return None if prompt is None else prompt + max_tokens


def _number(found: re.Match[str] | None) -> int | None:
    if found is None:
        return None
    digits = next(group for group in found.groups() if group is not None)
    return int(digits) if len(digits) < 12 else None


def retry_after(header: str, now: float) -> float | None:
    """Seconds that a Retry-After header asks to wait (RFC 9110, section 10.2.3): a number, or a date.

    `now` is in seconds since the epoch. None for what cannot be read.
    """
    text = header.strip()
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - now
        except (ValueError, OverflowError):
            return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None
