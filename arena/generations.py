"""What agents hand over of their models' answers, made fit to be kept: checked, cut, copied into plain values."""

import json
from collections.abc import Mapping
from typing import Any

from agents.generation import Generation
from games.errors import in_words

MAX_RAW = 100_000
"""Characters of what an agent said that are kept."""
MAX_GENERATIONS = 1_000
"""Answers of models that one decision may carry."""
MAX_TOKENS = 4_000_000
"""Token ids and log-probabilities that one decision may carry, in all its answers together."""
MAX_JSON = 8_000_000
"""Characters of a prompt's messages, of an answer's settings, and of the notes on it."""
MAX_WORD = 200
"""Characters of a model's name and of a finish reason that are kept."""

_MOST = 2**31 - 1
_GREATEST = 3.4e38  # what a 32-bit number holds


def kept(generations: object) -> tuple[Generation, ...]:
    """Copies of some generations that any store can hold and no agent can change any more.

    Raises ValueError, with what is wrong, for what are none: an agent of another package may hand over anything.
    """
    if not isinstance(generations, list | tuple):
        raise ValueError(f"generations are a list or tuple, not {type(generations).__name__}")
    if len(generations) > MAX_GENERATIONS:
        raise ValueError(f"{len(generations)} generations of one decision; {MAX_GENERATIONS} are kept at most")
    copies = tuple([_copy(generation) for generation in generations])
    tokens = sum([len(ids or ()) for copy in copies for ids in (copy.prompt_ids, copy.completion_ids, copy.logprobs)])
    if tokens > MAX_TOKENS:
        raise ValueError(f"{tokens} tokens of one decision; {MAX_TOKENS} are kept at most")
    return copies


def _copy(given: object) -> Generation:
    if not isinstance(given, Generation):
        raise ValueError(f"a generation is a Generation, not {type(given).__name__}")
    raw, notes = _text("raw", given.raw), _facts("notes", given.notes)
    if len(raw) > MAX_RAW:
        notes = {**notes, "characters": len(raw)}
    return Generation(
        model=_text("model", given.model)[:MAX_WORD],
        raw=raw[:MAX_RAW],
        prompt_ids=_ids("prompt_ids", given.prompt_ids),
        completion_ids=_ids("completion_ids", given.completion_ids),
        logprobs=_logprobs(given.logprobs),
        finish_reason=_text("finish_reason", given.finish_reason)[:MAX_WORD],
        sampling=_facts("sampling", given.sampling),
        constrained=_flag("constrained", given.constrained),
        prompt_tokens=_count("prompt_tokens", given.prompt_tokens),
        completion_tokens=_count("completion_tokens", given.completion_tokens),
        seconds=_amount("seconds", given.seconds),
        price=None if given.price is None else _amount("price", given.price),
        prompt=_messages(given.prompt),
        notes=notes,
    )


def _text(field: str, value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{field} of a generation is a string, not {type(value).__name__}")
    return str.__str__(value)


def _ids(field: str, value: object) -> list[int] | None:
    ids = _numbers(field, value, {int})
    if ids and (min(ids) < 0 or max(ids) > _MOST):
        raise ValueError(f"{field} of a generation are token ids from 0 to {_MOST}")
    return ids


def _logprobs(value: object) -> list[float] | None:
    logprobs = _numbers("logprobs", value, {float, int})
    # A comparison with NaN is never true.
    if logprobs and not all([-_GREATEST <= number <= _GREATEST for number in logprobs]):
        raise ValueError("logprobs of a generation are finite numbers")
    return None if logprobs is None else [float(number) for number in logprobs]


def _numbers(field: str, value: object, kinds: set[type]) -> list[Any] | None:
    if value is None:
        return None
    if type(value) not in (list, tuple):
        raise ValueError(f"{field} of a generation are a list or tuple, not {type(value).__name__}")
    assert isinstance(value, list | tuple)
    if len(value) > MAX_TOKENS:
        raise ValueError(f"{field} of a generation are {len(value)}; {MAX_TOKENS} are kept at most")
    others = set(map(type, value)) - kinds
    if others:
        raise ValueError(f"{field} of a generation are plain numbers, not {others.pop().__name__}")
    return list(value)


def _flag(field: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{field} of a generation is true or false, not {type(value).__name__}")
    return value


def _count(field: str, value: object) -> int:
    if type(value) is not int or not 0 <= value <= _MOST:
        raise ValueError(f"{field} of a generation is a whole number from 0 to {_MOST}")
    return value


def _amount(field: str, value: object) -> float:
    if not (isinstance(value, int | float) and 0 <= value <= _GREATEST):  # which NaN is not
        raise ValueError(f"{field} of a generation is a finite number, not below 0")
    return float(value)


def _facts(field: str, value: object) -> Mapping[str, Any]:
    """A mapping as it is after a way through JSON."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{field} of a generation is a mapping, not {type(value).__name__}")
    if not value:
        return {}
    try:
        words = json.dumps(value if isinstance(value, dict) else dict(value), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{field} of a generation is not JSON: {in_words(error, kind=False)}") from None
    if len(words) > MAX_JSON:
        raise ValueError(f"{field} of a generation takes {len(words)} characters; {MAX_JSON} are kept at most")
    facts: Mapping[str, Any] = json.loads(words)
    return facts


def _messages(value: object) -> str | None:
    """A prompt, which must be JSON."""
    if value is None:
        return None
    prompt = _text("prompt", value)
    if len(prompt) > MAX_JSON:
        raise ValueError(f"prompt of a generation takes {len(prompt)} characters; {MAX_JSON} are kept at most")
    try:
        json.loads(prompt)
    except (ValueError, RecursionError):
        raise ValueError("prompt of a generation is not JSON") from None
    return prompt
