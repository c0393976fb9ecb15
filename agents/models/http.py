"""Language models on OpenAI-compatible servers: vLLM, llama.cpp's server, Ollama, hosted ones."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from agents.generation import Generation
from agents.models import answers, wire
from agents.models.address import Address, Key, address_of, key_of
from agents.models.asking import Asker
from agents.models.model import ContextOverflow, Message, Model, Sampling, Score, Scores
from agents.models.replies import RefusedError
from agents.models.source import Source
from games.errors import UserError

if TYPE_CHECKING:
    from agents.models.pool import Models

_PACKAGES = ("httpx", "tenacity", "aiolimiter")

BATCH_PROMPTS = 64
BATCH_TOKENS = 50_000
"""Prompts, and tokens of prompts, whose scores are asked for in one request: its answer stays within a few MB."""
_KNOWN_ANSWERS = 10_000
"""Answers whose tokens are kept, since the same moves come again and again."""


def check(source: Source) -> None:
    """Look for the extra, the address, the key, the server and its model, before matches start."""
    address, key = _reached_by(source)
    from agents.models.reach import check_server  # it imports httpx

    check_server(source, address, key, named(source))


def traits(source: Source) -> Sequence[str]:
    """Nothing: the name by which a server knows a model is all that tells it from others."""
    return ()


async def open_model(source: Source, models: "Models") -> Model:
    """The model of a server; nothing is asked of the server yet.

    Raises RefusedError, a UserError: agents open their models within a match, where a missing key is no loss of theirs.
    """
    try:
        address, key = _reached_by(source)
    except UserError as error:
        raise RefusedError(str(error)) from None
    from agents.models.server import server_of  # it imports httpx

    return HttpModel(source, Asker(server_of(models, address), key, source.price))


def named(source: Source) -> str:
    """The name by which a server knows the model: that of the adapter where there is one."""
    return source.adapter or source.model


def _reached_by(source: Source) -> tuple[Address, Key | None]:
    if missing := [name for name in _PACKAGES if not _has(name)]:
        raise UserError(f'models on servers need {", ".join(missing)}: pip install "metarena[http]"')
    address = address_of(source)
    return address, key_of(source, address)


def _has(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ValueError:  # it is in sys.modules as one that may not be imported
        return False


class HttpModel(Model):
    """One model of a server."""

    def __init__(self, source: Source, asker: Asker) -> None:
        self.name = f"{source.model}+{source.adapter}" if source.adapter else source.model
        self._source = source
        self._asker = asker
        self._known_as = named(source)
        self._tokenizes = True
        """Whether the server has /tokenize, as far as is known."""
        self._ids: dict[str, list[int]] = {}

    async def generate(
        self, prompt: Sequence[Message], sampling: Sampling, seed: int, choices: Sequence[str] = ()
    ) -> Generation:
        """Answer a prompt; see Model."""
        started = time.monotonic()
        drawn = wire.drawn(sampling, seed, choices)
        answer, usage = await self._answer(prompt, drawn)
        if choices and answer.content not in choices:
            raise RefusedError(f"{self._asker.address.base} {_why_no_choice(answer)}")
        raw, added = answer.ended(() if choices else sampling.stop)
        notes = {"left_out": sorted(self._asker.unknown)} if self._asker.unknown else {}
        told = json.dumps(wire.messages(prompt), ensure_ascii=False) if answer.prompt_ids is None else None
        return Generation(
            model=self.name,
            raw=self._asker.without_key(raw),
            prompt_ids=answer.prompt_ids,
            completion_ids=answer.completion_ids,
            logprobs=answer.logprobs,
            finish_reason=self._asker.without_key(answer.finish_reason),
            sampling=sampling.told(seed),
            constrained=bool(choices),
            prompt_tokens=usage.prompt,
            completion_tokens=usage.completion,
            seconds=time.monotonic() - started,
            price=self._asker.price_of(usage),
            prompt=told,
            notes={**notes, **({"stop_assumed": True} if added and not answer.tells_stop else {})},
        )

    async def _answer(self, prompt: Sequence[Message], drawn: wire.Request) -> tuple[answers.Answer, answers.Usage]:
        room: int = drawn.needed["max_tokens"]
        if self._source.api == "completions":
            ids = await self._fitting(prompt, room)
            request = wire.completions_request(self._known_as, ids, drawn)
            answer, usage = await self._asker.ask("/completions", request, _one_read(len(ids)), len(ids) + room)
            return answer._replace(prompt_ids=ids), usage
        if self._source.context and self._tokenizes:
            await self._fitting_if_known(prompt, room)
        size = wire.guessed(*[message.content for message in prompt])
        request = wire.chat_request(self._known_as, prompt, drawn)
        return await self._asker.ask("/chat/completions", request, _chat_read(size), size + room)

    async def score(self, prompt: Sequence[Message], choices: Sequence[str]) -> Scores:
        """Score some answers by the log-probabilities that vLLM gives for tokens of a prompt; see Model."""
        started = time.monotonic()
        endings = await asyncio.gather(*[self._tokens_of(choice) for choice in choices])
        ids = await self._fitting(prompt, max([len(ending) for ending in endings], default=0))
        batches = _batches([[*ids, *ending] for ending in endings])
        scored = await asyncio.gather(*[self._score(batch) for batch in batches])
        rows = [row[len(ids) :] for batch, _ in scored for row in batch]
        prices = [price for _, usage in scored if (price := self._asker.price_of(usage)) is not None]
        scores = [Score(ending, row) for ending, row in zip(endings, rows, strict=True)]
        return Scores(scores, ids, time.monotonic() - started, sum(prices) if prices else None)

    async def _score(self, prompts: Sequence[list[int]]) -> tuple[list[list[float]], answers.Usage]:
        """Log-probability of each token of some prompts, 0 for the first of each."""
        total = sum([len(ids) for ids in prompts])

        def read(data: Any) -> tuple[list[list[float]], answers.Usage]:
            found = answers.read_completions(data, len(prompts))
            rows = [answers.scores_of(answer, ids) for answer, ids in zip(found, prompts, strict=True)]
            return rows, found[0].usage or answers.Usage(total, len(prompts))

        return await self._asker.ask("/completions", wire.scores_request(self._known_as, prompts), read, total)

    async def _fitting(self, prompt: Sequence[Message], room: int) -> list[int]:
        """The tokens of a prompt, by the server's own tokenizer. Raises ContextOverflow."""
        found = await self._asker.tokens(self._known_as, wire.chat_tokens_request(prompt))
        limit = self._source.context or found.max_model_len
        if limit and len(found.tokens) + room > limit:
            raise ContextOverflow(len(found.tokens) + room, limit)
        return found.tokens

    async def _fitting_if_known(self, prompt: Sequence[Message], room: int) -> None:
        """Raise ContextOverflow where the server can count and finds too much."""
        try:
            await self._fitting(prompt, room)
        except RefusedError:
            self._tokenizes = False

    async def _tokens_of(self, text: str) -> list[int]:
        """Tokens of an answer by itself, as they stand after the prompt."""
        if (known := self._ids.get(text)) is not None:
            return known
        found = await self._asker.tokens(self._known_as, {"prompt": text, "add_special_tokens": False})
        if len(self._ids) >= _KNOWN_ANSWERS:
            self._ids.clear()
        self._ids[text] = found.tokens
        return found.tokens

    async def close(self) -> None:
        """Close the connections to the server, which the run's models on it share."""
        await self._asker.close()


def _why_no_choice(answer: answers.Answer) -> str:
    if answer.finish_reason == "length":
        return "cut its answer off before it came to one of the choices: max_tokens is too small for its thinking"
    return (
        "answers with none of the choices it was given: it ignores structured_outputs, which vLLM has, so that "
        "choice=constrained cannot be had from it; choice=free can"
    )


def _chat_read(size: int) -> Callable[[Any], tuple[answers.Answer, answers.Usage]]:
    """A reader of an answer to messages of about so many tokens."""

    def read(data: Any) -> tuple[answers.Answer, answers.Usage]:
        answer = answers.read_chat(data)
        return answer, answer.usage_or(size)

    return read


def _one_read(size: int) -> Callable[[Any], tuple[answers.Answer, answers.Usage]]:
    """A reader of an answer to one prompt of so many tokens."""

    def read(data: Any) -> tuple[answers.Answer, answers.Usage]:
        answer = answers.read_completions(data)[0]
        return answer, answer.usage_or(size)

    return read


def _batches(prompts: Sequence[list[int]]) -> Iterator[list[list[int]]]:
    """Prompts in groups that one request may hold."""
    batch: list[list[int]] = []
    tokens = 0
    for ids in prompts:
        if batch and (len(batch) == BATCH_PROMPTS or tokens + len(ids) > BATCH_TOKENS):
            yield batch
            batch, tokens = [], 0
        batch.append(ids)
        tokens += len(ids)
    if batch:
        yield batch
