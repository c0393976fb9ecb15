"""How a language agent plays, as its parameters say: their types, their defaults, and which contradict each other."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

from pydantic import AfterValidator, Field

from agents.answers import Choice, Style
from agents.models.source import Source
from games.spec import SpecError

Shown: TypeAlias = Literal["shown", "hidden"]
Limit = Annotated[int, Field(ge=1)]
Count = Annotated[int, Field(ge=0)]
Temperature = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(gt=0, le=1)]
Retries = Annotated[int, Field(ge=0, le=100)]

TOKENS: dict[Style, int] = {"direct": 64, "react": 512}
"""Tokens of an answer where `max_tokens` is 0."""


def _two_or_none(price: list[float]) -> list[float]:
    if len(price) not in (0, 2):
        raise ValueError("prices are two, for a million tokens of prompts and of answers")
    return price


def _variable(key: str) -> str:
    """Raises SpecError, which does not repeat the value, since it may be a secret."""
    if key and not re.fullmatch(r"[A-Za-z_]\w*", key, re.ASCII):
        raise SpecError(
            "parameter 'key' is the name of an environment variable, such as OPENAI_API_KEY, not the key itself"
        )
    return key


Key = Annotated[str, AfterValidator(_variable)]

Price = Annotated[list[Annotated[float, Field(ge=0, allow_inf_nan=False)]], AfterValidator(_two_or_none)]

UNKNOWN: list[float] = []
"""The price where none is known."""


class Manners(NamedTuple):
    """How an agent asks its model."""

    style: Style
    choice: Choice
    legal: Shown


def source_of(params: Mapping[str, Any]) -> Source:
    """The model that parameters speak of."""
    stated = {field: params[field] for field in Source._fields if field != "price"}
    return Source(**stated, price=tuple(params["price"]) or None)


def contradiction(params: Mapping[str, Any]) -> str | None:
    """Which parameters contradict each other, in one line, or None."""
    source = source_of(params)
    tokens = params["max_tokens"] or TOKENS[params["style"]]
    if source.context and tokens >= source.context:
        return f"context={source.context} leaves no room for a prompt beside an answer of {tokens} tokens"
    if source.kind == "http":
        if not source.base_url:
            return "backend=http needs base_url, the address of a server"
        if source.dtype != Source().dtype:
            return f"dtype={source.dtype} is of a model in this process, but base_url names a server"
        return None
    if source.base_url:
        return f"backend={source.backend} computes in this process, but base_url names a server; leave one out"
    for field in ("api", "key"):
        if (value := getattr(source, field)) != getattr(Source(), field):
            return f"{field}={value} is of a server, but there is no base_url"
    return None
