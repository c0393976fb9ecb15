"""How the answers of an OpenAI-compatible server are read: nothing in them is trusted before it is checked."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agents.models.replies import RefusedError, TransientError, error_in
from agents.models.wire import guessed, whole

CUT_SHORT = frozenset({"abort", "error"})
"""Reasons to finish that stand for half an answer."""


class Usage(NamedTuple):
    """Tokens as a server counts them."""

    prompt: int
    completion: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.prompt + self.completion


class Answer(NamedTuple):
    """One answer, checked."""

    text: str
    """All that the model wrote; thinking that a server keeps apart stands before it in <think> tags."""
    content: str
    """Without that thinking."""
    prompt_ids: list[int] | None
    completion_ids: list[int] | None
    logprobs: list[float] | None
    finish_reason: str
    tells_stop: bool
    """Whether the server says what stopped the model."""
    stop: str | None
    """The stop string that did."""
    usage: Usage | None
    scores: "Sequence[Mapping[str, _Logprob] | None] | None" = None
    """For each token of the prompt the log-probability by token id; None for the first."""

    def usage_or(self, prompt: int) -> Usage:
        """What the server says it took, else a guess from the size of the prompt in tokens."""
        if self.usage is not None:
            return self.usage
        size = guessed(self.text) if self.completion_ids is None else len(self.completion_ids)
        return Usage(prompt if self.prompt_ids is None else len(self.prompt_ids), size)

    def ended(self, stops: Sequence[str]) -> tuple[str, bool]:
        """The text with the stop string at its end, which most servers drop, and whether it had to be added.

        A server that does not tell what stopped the model is believed to have met the stop string, if there is one.
        """
        if self.finish_reason != "stop" or any([self.text.endswith(stop) for stop in stops]):
            return self.text, False
        if not self.tells_stop and len(stops) == 1:
            return self.text + stops[0], True
        if self.stop is not None and self.stop in stops:
            return self.text + self.stop, True
        return self.text, False


class _Wire(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, hide_input_in_errors=True)


_TokenId = Annotated[int, Field(ge=0, lt=1 << 31)]
_Count = Annotated[int, Field(ge=0, lt=1 << 40)]
_LogProbability = Annotated[float, Field(le=1e-3, allow_inf_nan=False)]  # rounding may take it above 0


class _Usage(_Wire):
    prompt_tokens: _Count = 0
    completion_tokens: _Count | None = 0


class _Logprob(_Wire):
    logprob: _LogProbability


class _ChatLogprobs(_Wire):
    content: list[_Logprob] | None = None


class _Said(_Wire):
    content: str | None = None
    refusal: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None


class _Choice(_Wire):
    finish_reason: str | None = Field(None, max_length=40)
    stop_reason: Any = None
    token_ids: list[_TokenId] | None = None


class _ChatChoice(_Choice):
    message: _Said
    logprobs: _ChatLogprobs | None = None


class _Chat(_Wire):
    choices: list[_ChatChoice] = Field(min_length=1)
    usage: _Usage | None = None
    prompt_token_ids: list[_TokenId] | None = None


class _TextLogprobs(_Wire):
    token_logprobs: list[_LogProbability | None] | None = None


class _TextChoice(_Choice):
    index: int = 0
    text: str
    logprobs: _TextLogprobs | None = None
    prompt_token_ids: list[_TokenId] | None = None
    prompt_logprobs: list[dict[str, _Logprob] | None] | None = None


class _Texts(_Wire):
    choices: list[_TextChoice] = Field(min_length=1)
    usage: _Usage | None = None


class Tokens(_Wire):
    """What /tokenize answers."""

    tokens: list[_TokenId]
    max_model_len: _Count | None = None


class _Listed(_Wire):
    id: str


class Listing(_Wire):
    """What /models answers."""

    data: list[_Listed]


_W = TypeVar("_W", bound=_Wire)


def checked(kind: type[_W], data: Any) -> _W:
    """Data of an answer as a value of a kind.

    Raises TransientError that names the first field that is wrong, in words of the server's that are not cleaned yet.
    """
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        if isinstance(data, dict) and "error" in data and "choices" not in data:
            raise TransientError(f"an error for an answer: {error_in(data).message}") from None
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        if not first["loc"]:
            raise TransientError("an answer that is no JSON object") from None
        field = ".".join([str(part) for part in first["loc"]])
        raise TransientError(f"an answer in which {field} is wrong: {first['msg']}") from None


def read_chat(data: Any) -> Answer:
    """An answer of /chat/completions. Raises TransientError."""
    reply = checked(_Chat, data)
    choice = reply.choices[0]
    content = whole(choice.message.content or choice.message.refusal or "")
    thought = whole(choice.message.reasoning or choice.message.reasoning_content or "")
    text = content
    if thought:
        text = (
            f"<think>{thought}</think>{content}" if content or choice.finish_reason != "length" else f"<think>{thought}"
        )
    told = choice.logprobs.content if choice.logprobs is not None else None
    logprobs = None if told is None else [item.logprob for item in told]
    return _answer(choice, text, content, reply.prompt_token_ids, logprobs, reply.usage)


def read_completions(data: Any, count: int = 1) -> list[Answer]:
    """The answers of /completions to a number of prompts, in their order. Raises TransientError."""
    reply = checked(_Texts, data)
    choices = sorted(reply.choices, key=lambda choice: choice.index)
    if len(choices) != count:
        raise TransientError(f"{len(choices)} answers to {count} prompts")
    answers = []
    for choice in choices:
        told = choice.logprobs.token_logprobs if choice.logprobs is not None else None
        logprobs = None if told is None or None in told else [item for item in told if item is not None]
        text = whole(choice.text)
        answer = _answer(choice, text, text, choice.prompt_token_ids, logprobs, reply.usage)
        answers.append(answer._replace(scores=choice.prompt_logprobs))
    return answers


def scores_of(answer: Answer, prompt_ids: Sequence[int]) -> list[float]:
    """Log-probability of each token of a prompt, 0 for the first. Raises TransientError, RefusedError."""
    if answer.scores is None:
        raise RefusedError("the server tells no log-probabilities of a prompt, as choice=scored needs them; vLLM does")
    if len(answer.scores) != len(prompt_ids):
        raise TransientError(f"{len(answer.scores)} log-probabilities of a prompt of {len(prompt_ids)} tokens")
    found = [0.0]
    for number, told in zip(prompt_ids[1:], answer.scores[1:], strict=True):
        if told is None or str(number) not in told:
            raise TransientError(f"no log-probability of token {number} of a prompt")
        found.append(told[str(number)].logprob)
    return found


def _answer(
    choice: _Choice,
    text: str,
    content: str,
    prompt_ids: list[int] | None,
    logprobs: list[float] | None,
    usage: _Usage | None,
) -> Answer:
    ids = choice.token_ids
    reason = choice.finish_reason or "stop"
    if reason in CUT_SHORT:
        raise TransientError(f"half an answer: finish_reason is {reason}")
    if ids is not None and logprobs is not None and len(ids) != len(logprobs):
        raise TransientError(f"{len(logprobs)} log-probabilities of {len(ids)} tokens")
    counted = None if usage is None else Usage(usage.prompt_tokens, usage.completion_tokens or 0)
    tells = "stop_reason" in choice.model_fields_set
    stop = choice.stop_reason if isinstance(choice.stop_reason, str) else None
    return Answer(text, content, prompt_ids, ids, logprobs, whole(reason), tells, stop, counted)
