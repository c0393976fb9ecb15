"""What goes over the wire to an OpenAI-compatible server."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from agents.models.model import Message, Sampling

SEED_BITS = 31
"""Of a seed that is sent: some servers read no more."""

_NEUTRAL = {"temperature": 1.0, "top_p": 1.0, "top_k": 0}
"""Settings with which a model's own distribution is drawn from."""

CHARACTERS = 3
"""Of a token, at a guess."""


class Request(NamedTuple):
    """What is asked of a server."""

    needed: Mapping[str, Any]
    """What the answer depends on."""
    optional: Mapping[str, Any]
    """What a server may not know and is then left out: settings that change nothing on a server without defaults of
    its own, and extras of an answer."""
    tells_logprobs: bool = False
    """Whether log-probabilities are asked for."""

    def without(self, unknown: frozenset[str]) -> dict[str, Any]:
        """The JSON to send to a server that does not know some fields."""
        return {**self.needed, **{name: value for name, value in self.optional.items() if name not in unknown}}


def guessed(*texts: str) -> int:
    """Tokens of some texts where nobody has counted: rather too many, so that limits on rates hold."""
    return sum([len(text) for text in texts]) // CHARACTERS + 4 * len(texts)


def folded(seed: int) -> int:
    """A 63-bit seed in 31 bits."""
    return (seed ^ (seed >> 32)) & ((1 << SEED_BITS) - 1)


def messages(prompt: Sequence[Message]) -> list[dict[str, str]]:
    """A prompt as servers take it."""
    return [{"role": message.role, "content": whole(message.content)} for message in prompt]


def framing(prompt: Sequence[Message]) -> dict[str, Any]:
    """What tells vLLM to continue a last message of the assistant's."""
    if prompt and prompt[-1].role == "assistant":
        return {"add_generation_prompt": False, "continue_final_message": True}
    return {}


def chat_request(model: str, prompt: Sequence[Message], drawn: Request) -> Request:
    """A request to /chat/completions."""
    needed = {"model": model, "messages": messages(prompt), **framing(prompt), **drawn.needed}
    return Request(needed, {**drawn.optional, **({"logprobs": True} if drawn.tells_logprobs else {})})


def completions_request(model: str, prompt_ids: Sequence[int], drawn: Request) -> Request:
    """A request to /completions with token ids."""
    needed = {"model": model, "prompt": list(prompt_ids), **drawn.needed}
    return Request(needed, {**drawn.optional, **({"logprobs": 0} if drawn.tells_logprobs else {})})


def drawn(sampling: Sampling, seed: int, choices: Sequence[str]) -> Request:
    """The fields that say how an answer is drawn.

    Settings at their neutral value are sent, too, where a server takes them: vLLM fills in those of the model's
    generation_config.json, llama.cpp top_k=40 and min_p=0.05, and either would draw from another distribution.
    Log-probabilities are asked for where all are neutral: most servers tell those of the model's own distribution,
    which is then the one that is drawn from.
    """
    needed: dict[str, Any] = {"max_tokens": sampling.max_tokens}
    optional: dict[str, Any] = {
        "seed": folded(seed),
        "min_p": 0.0,
        "repetition_penalty": 1.0,
        "return_token_ids": True,
    }
    for name, neutral in _NEUTRAL.items():
        value = getattr(sampling, name)
        (optional if value == neutral else needed)[name] = value
    if choices:
        # The grammar ends the answer; there are never more tokens than bytes, and one ends it.
        longest = max([len(choice.encode(errors="replace")) for choice in choices])
        needed["max_tokens"] = max(sampling.max_tokens, longest + 1)
        needed["structured_outputs"] = {"choice": list(choices)}
    elif sampling.stop:
        needed["stop"] = list(sampling.stop)
        optional["include_stop_str_in_output"] = True
    return Request(needed, optional, tells_logprobs=not needed.keys() & _NEUTRAL.keys())


def chat_tokens_request(prompt: Sequence[Message]) -> dict[str, Any]:
    """A request to /tokenize for the tokens that /chat/completions would make of a prompt."""
    return {"messages": messages(prompt), **framing(prompt)}


def scores_request(model: str, prompts: Sequence[Sequence[int]]) -> Request:
    """A request to /completions for the log-probability of every token of some prompts (vLLM)."""
    needed = {"model": model, "prompt": prompts, "max_tokens": 1, "temperature": 0.0, "prompt_logprobs": 0}
    return Request(needed, {})


def whole(text: str) -> str:
    """Text without halves of surrogate pairs, which no file and no database takes."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
