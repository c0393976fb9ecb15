"""One answer of a language model as it is kept: its text, its tokens and how they came about."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class Generation(NamedTuple):
    """What one call of a model gave. It is training data, so it is kept as it was sampled and never tokenised again."""

    model: str
    """Name of the model, with its adapter where it has one."""
    raw: str
    """The text, as it came."""
    prompt_ids: Sequence[int] | None = None
    """Tokens of the prompt as the model read them; None where a server does not tell."""
    completion_ids: Sequence[int] | None = None
    """Tokens of the answer, the one that ended it included."""
    logprobs: Sequence[float] | None = None
    """Natural logarithm of the probability of each token of the answer, in the distribution it was drawn from."""
    finish_reason: str = "stop"
    """`stop` (the model ended, or a stop string came), `length` (cut off), or what a server says."""
    sampling: Mapping[str, Any] = {}
    """Settings and seed it was sampled with, JSON-ready."""
    constrained: bool = False
    """Whether the answer was held to a set of choices: such tokens are of another distribution and not trained on."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    """From the request to the answer, waiting for a place in a batch included."""
    price: float | None = None
    """US dollars; None where no price is known."""
    prompt: str | None = None
    """The messages as JSON, where `prompt_ids` are not known."""
    notes: Mapping[str, Any] = {}
    """JSON-ready facts the agent adds: how the answer was read, how much memory was dropped, scores of moves."""
