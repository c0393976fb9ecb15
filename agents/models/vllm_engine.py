"""vLLM in this process: prompts as token ids, a seed and an adapter for each request."""

import asyncio
import os
import time
from collections.abc import Sequence
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agents.agent import ProviderError
from agents.generation import Generation
from agents.models import folder, smollm2
from agents.models.chat import Chat
from agents.models.model import ContextOverflow, Message, Model, Sampling, Score, Scores
from agents.models.replies import RefusedError
from agents.models.source import SMOLLM2, Source
from agents.models.vllm_adapters import check_adapter
from games.errors import UserError, in_words

if TYPE_CHECKING:
    from vllm import SamplingParams
    from vllm.outputs import CompletionOutput

    from agents.models.pool import Models
    from agents.models.vllm_host import Adapter, Host

_GREEDY = 1e-5
"""Temperature below which the most likely token is taken."""
_ENVIRONMENT = {
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_LOGGING_STREAM": "ext://sys.stderr",  # stdout is for data
    "VLLM_NO_USAGE_STATS": "1",  # it would report to its makers
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",  # this process has threads
}
"""What vLLM reads when it is imported, where the person has not set it."""


def check(source: Source) -> None:
    """Start the engine of the source's folder and load its adapter, so that no match waits for them: some 20 seconds.

    Raises UserError for what cannot be had: the extra, a folder, an adapter that does not fit, settings.
    """
    _opened(source)


def traits(source: Source) -> Sequence[str]:
    """What tells this model from others, without its path; quick, and vLLM is not imported. Raises UserError."""
    base = smollm2.traits() if source.model == SMOLLM2 else [folder.digest(folder.model_folder(source.model))]
    adapter = [folder.digest(folder.adapter_folder(source.adapter))] if source.adapter else []
    return [*base, *adapter, source.dtype]


async def open_model(source: Source, models: "Models") -> Model:
    """The model, ready to answer. Raises UserError as `check` does."""
    return VllmModel(source, await asyncio.to_thread(_opened, source), models)


class _Opened(NamedTuple):
    """A model with its adapter, and the engine that computes it."""

    host: "Host"
    chat: Chat
    adapter: "Adapter | None"


class VllmModel(Model):
    """One model, with or without an adapter, on the engine of its folder."""

    def __init__(self, source: Source, opened: _Opened, models: "Models") -> None:
        self.name = "+".join(Path(part).name for part in (source.model, source.adapter) if part)
        self._host, self._chat, self._adapter = opened
        self._spending = models.spending
        self._price = source.price

    async def generate(
        self, prompt: Sequence[Message], sampling: Sampling, seed: int, choices: Sequence[str] = ()
    ) -> Generation:
        """Answer a prompt; see Model."""
        began = time.perf_counter()
        self._spending.check()
        ids = self._chat.prompt_ids(prompt)
        params = _params(sampling, seed, choices)
        self._fit(len(ids) + (params.max_tokens or 0))
        output = await self._host.ask(ids, params, self._adapter)
        answer = output.outputs[0]
        completion = list(answer.token_ids)
        if choices and answer.text not in choices:
            raise RefusedError(f"vLLM answers {answer.text!r:.60}, none of the choices it was given")
        return Generation(
            model=self.name,
            raw=answer.text if choices else _ended(self._chat.text(completion), sampling.stop),
            prompt_ids=ids,
            completion_ids=completion,
            logprobs=_drawn_with(answer, sampling.temperature),
            finish_reason=answer.finish_reason,
            sampling=sampling.told(seed),
            constrained=bool(choices),
            prompt_tokens=len(ids),
            completion_tokens=len(completion),
            seconds=time.perf_counter() - began,
            price=self._book(len(ids), len(completion)),
        )

    async def score(self, prompt: Sequence[Message], choices: Sequence[str]) -> Scores:
        """Score some answers; what their prompts share is computed once. See Model."""
        began = time.perf_counter()
        self._spending.check()
        ids = self._chat.prompt_ids(prompt)
        answers = [self._chat.text_ids(choice) for choice in choices]
        self._fit(len(ids) + max(map(len, answers), default=0) + 1)  # vLLM always draws a token after what it reads
        rows = await asyncio.gather(*[self._score(ids, answer) for answer in answers])
        price = self._book(len(ids), sum(map(len, answers)))
        scores = [Score(answer, row) for answer, row in zip(answers, rows, strict=True)]
        return Scores(scores, ids, time.perf_counter() - began, price)

    async def _score(self, prompt: list[int], answer: list[int]) -> list[float]:
        """Log-probability of each token of an answer.

        vLLM tells none for tokens whose keys and values it still has from earlier requests. That is what the prompt
        is to be spared; where tokens of the answer are among them, it has to read all of it again.
        """
        if not answer:
            return []
        ids = [*prompt, *answer]
        output = await self._host.ask(ids, _scoring(again=False), self._adapter)
        if output.num_cached_tokens is None or output.num_cached_tokens >= len(prompt):
            output = await self._host.ask(ids, _scoring(again=True), self._adapter)
        told = (output.prompt_logprobs or [])[-len(answer) :]
        return [row[token].logprob for row, token in zip(told, answer, strict=True) if row is not None]

    def _fit(self, needed: int) -> None:
        if needed > self._host.context:
            raise ContextOverflow(needed, self._host.context)

    def _book(self, prompt: int, answer: int) -> float | None:
        """Book the tokens of an answer; gives its price in US dollars, None where no price is known."""
        price = None
        if self._price is not None:
            price = (prompt * self._price[0] + answer * self._price[1]) / 1e6
        self._spending.add(prompt + answer, price)
        return price


def _opened(source: Source) -> _Opened:
    """A source's model, on an engine that is started unless it runs already. Blocks. Raises UserError."""
    if source.base_url:
        raise UserError("backend=vllm computes in this process; a server at base_url=... is asked by backend=http")
    if find_spec("vllm") is None:
        raise UserError('backend=vllm needs vllm: pip install "metarena[vllm]"')
    base = smollm2.converted() if source.model == SMOLLM2 else folder.model_folder(source.model)
    path = folder.adapter_folder(source.adapter) if source.adapter else None
    if path:
        check_adapter(source.adapter, path, base)
    chat = _chat(source.model, base)
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    from agents.models.vllm_host import Adapter, Settings, host_of  # it imports vllm

    host = host_of(Settings(base, source.dtype, source.context))
    adapter = Adapter(path, folder.digest(path)) if path else None
    if adapter:
        host.load(adapter)
    return _Opened(host, chat, adapter)


def _chat(name: str, base: Path) -> Chat:
    from transformers import AutoTokenizer

    try:
        return Chat(name, AutoTokenizer.from_pretrained(base, local_files_only=True, trust_remote_code=False))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"model {name}: its tokenizer cannot be loaded: {in_words(error)}") from error


def _params(sampling: Sampling, seed: int, choices: Sequence[str]) -> "SamplingParams":
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

    held: dict[str, Any] = {"max_tokens": sampling.max_tokens, "stop": list(sampling.stop)}
    if choices:  # a choice is never cut off: it has no more tokens than bytes, and one ends it
        longest = max([len(choice.encode(errors="replace")) for choice in choices])
        held = {"max_tokens": longest + 1, "structured_outputs": StructuredOutputsParams(choice=list(choices))}
    return SamplingParams(
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        top_k=sampling.top_k,
        seed=seed,
        logprobs=0,  # of the drawn token alone
        include_stop_str_in_output=True,
        output_kind=RequestOutputKind.FINAL_ONLY,
        **held,
    )


def _scoring(again: bool) -> "SamplingParams":
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    return SamplingParams(
        temperature=0.0,
        max_tokens=1,
        prompt_logprobs=0,
        skip_reading_prefix_cache=again,
        detokenize=False,
        output_kind=RequestOutputKind.FINAL_ONLY,
    )


def _drawn_with(answer: "CompletionOutput", temperature: float) -> list[float]:
    """Log-probability of each token. The most likely token was taken for certain where nothing was drawn.

    Raises ProviderError for numbers that are none.
    """
    if temperature < _GREEDY:
        return [0.0] * len(answer.token_ids)
    told = answer.logprobs or []
    logprobs = [row[token].logprob for row, token in zip(told, answer.token_ids, strict=True)]
    if not all(map(isfinite, logprobs)):
        raise ProviderError("vLLM failed: the model's logits are not numbers; a wider dtype may help")
    return logprobs


def _ended(text: str, stops: Sequence[str]) -> str:
    """A text up to the end of the first stop string in it."""
    found = [text.index(stop) + len(stop) for stop in stops if stop in text]
    return text[: min(found)] if found else text
