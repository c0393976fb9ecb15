"""Where a server is and the key it wants: read from a source and the environment, and never shown."""

import ipaddress
import logging
import os
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from pydantic import SecretStr

from agents.models.source import Source
from games.errors import UserError
from games.text.printable import safe

DEFAULT_KEY = "OPENAI_API_KEY"
"""Variable that is read where a source names none."""

HIDDEN = "[key]"
"""What stands in a server's text where it repeats the key."""

_LONG = 16
"""Characters from which a key is a secret even within a model's answer; a shorter one, such as EMPTY, is a word."""

_log = logging.getLogger(__name__)


class Address(NamedTuple):
    """A server's address, checked: it has no password, query or trailing slash."""

    base: str
    """Such as http://localhost:8000/v1."""
    root: str
    """The same without /v1, where vLLM has /tokenize."""
    local: bool
    """Whether it is this machine: its traffic cannot be overheard, and no proxy is asked."""
    encrypted: bool

    def hint(self) -> str:
        """What to try where a path does not exist."""
        if self.base == self.root:
            return f"; most servers want base_url={self.base}/v1"
        return ""


def address_of(source: Source) -> Address:
    """Check a source's base_url. Raises UserError."""
    url = source.base_url.strip()
    shown = repr(safe(url)) if "@" not in url else "the one given"  # it may hold a password
    if not url:
        raise UserError("backend=http needs the address of a server, as in base_url=http://localhost:8000/v1")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port  # the port is checked when it is read
    except ValueError as error:
        raise UserError(f"base_url {shown} is no address: {error}") from None
    if parts.scheme not in ("http", "https") or not host or not url.isascii() or not url.isprintable() or " " in url:
        raise UserError(f"base_url {shown} is no address such as http://localhost:8000/v1")
    if parts.username is not None or parts.password is not None:
        raise UserError("base_url holds a name or password; put the key into the environment and name it by key=...")
    if parts.query or parts.fragment:
        raise UserError(f"base_url {shown} has a query or fragment; it ends with the path, as in .../v1")
    base = url.rstrip("/?#")
    if base.endswith("/completions"):
        raise UserError(f"base_url {shown} names one of the server's answers; leave out what follows /v1")
    return Address(base, base.removesuffix("/v1").rstrip("/"), _is_here(host), parts.scheme == "https")


def _is_here(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Key(NamedTuple):
    """A server's key; pydantic's SecretStr keeps it out of every repr."""

    variable: str
    """The environment variable that holds it."""
    secret: SecretStr

    def header(self) -> Mapping[str, str]:
        """What a request carries."""
        return {"Authorization": f"Bearer {self.secret.get_secret_value()}"}

    def hide(self, text: str) -> str:
        """A server's words about a request, without the key."""
        return text.replace(self.secret.get_secret_value(), HIDDEN)

    def hide_in_answer(self, text: str) -> str:
        """A model's words, without the key, unless it is so short that it is no secret but may be a word of theirs."""
        return self.hide(text) if len(self.secret.get_secret_value()) >= _LONG else text


def key_of(source: Source, address: Address) -> Key | None:
    """The key that a source names, else OPENAI_API_KEY where it is set, else None. Raises UserError.

    Over plain http to another machine anyone in between can read a key. One that the source names was meant for that
    server and is sent, with a warning, since servers within a cluster are reached so; OPENAI_API_KEY may be set for
    quite another server, and is not sent unless it is named.
    """
    exposed = not (address.encrypted or address.local)
    variable = source.key or DEFAULT_KEY
    key = os.environ.get(variable, "").strip()
    if not key:
        if source.key:
            raise UserError(f"key={source.key}: no environment variable of that name is set; it must hold the key")
        return None
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise UserError(f"the environment variable {variable} holds something that cannot be a key")
    if exposed and not source.key:
        return None
    if exposed:
        _log.warning("the key in %s goes to %s without encryption", variable, address.base)
    return Key(variable, SecretStr(key))
