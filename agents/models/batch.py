"""One batch of requests computed by a model of transformers: answers drawn, or given answers scored."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
import transformers

from agents.models.row import Row
from agents.models.sampling import RowSampler
from agents.models.scoring import score_batch
from agents.models.weights import BASE, Weights

MOST_ROWS = 32
"""Rows of a batch on a CPU."""
SMALL = 10_000_000
"""Parameters below which a model is small: what is done for each batch then takes longer than one more row of it."""
SMALL_ROWS = 512
"""Rows of a batch of a small model on a CPU."""
CACHE_BYTES = 384 << 20
"""What the keys and values of a batch may take on a CPU, so that the default model stays under 2 GB in all."""
CHUNK = 4096
"""Tokens of prompts that a CPU computes at once: more would be no faster, and what a layer makes of them takes room."""
GPU_ROWS = 256
GPU_SHARE = 0.5
"""Of the free memory of a GPU, what the keys and values of a batch may take."""
ALIKE = 2
"""How many times as long as the oldest request's answer another of its batch may become, or as short: a batch takes as
long as its longest answer, and short moves should not wait for long reflections."""


class UnwantedError(Exception):
    """Nobody waits for a batch any more."""


class Request(NamedTuple):
    """What one call of the model asks for."""

    prompt: Sequence[int]
    work: Row | Sequence[Sequence[int]]
    """An answer to draw, or the tokens of the answers to score."""
    adapter: str
    """What PEFT calls the adapter."""
    threads: Callable[[], int]
    """How many threads may be computed with, asked when the batch starts."""

    @property
    def draws(self) -> bool:
        """Whether an answer is to be drawn."""
        return isinstance(self.work, Row)

    @property
    def longest(self) -> int:
        """Most tokens of an answer."""
        return self.work.most if isinstance(self.work, Row) else max(map(len, self.work), default=0)


def first_batch(weights: Weights, waiting: Sequence[Request]) -> list[int]:
    """Places of the requests that make the next batch, in order, as many as memory allows.

    All are of the oldest one's kind, and answers that are drawn may become about as long as its answer.
    """
    rows, tokens = _room(weights)
    taken: list[int] = []
    prompt = answer = 0
    for place, request in enumerate(waiting):
        if not _alike(request, waiting[0]):
            continue
        prompt, answer = max(prompt, len(request.prompt)), max(answer, request.longest)
        if taken and (len(taken) == rows or (len(taken) + 1) * (prompt + answer) > tokens):
            break
        taken.append(place)
    return taken


def computed(weights: Weights, batch: Sequence[Request], unwanted: Callable[[], bool]) -> Sequence[Any]:
    """Answer a batch of one kind: the text of each row (its tokens are in the Row), or the scores of each request.

    Raises UnwantedError soon after `unwanted` says that nobody waits: a run that is stopped ends within a second.
    """
    adapters = [request.adapter or BASE for request in batch] if weights.has_adapters else None
    threads = min(request.threads() for request in batch)
    with _threads(threads), _left_off(weights, unwanted), torch.inference_mode():
        if batch[0].draws:
            rows = [request.work for request in batch if isinstance(request.work, Row)]
            prompts = [request.prompt for request in batch]
            if _says_one_token(weights, rows):
                _draw_tokens(weights, prompts, rows)
            else:
                _draw(weights, prompts, rows, adapters)
            return ["" if row.gone else row.text(weights.chat.text) for row in rows]
        answers = [(request.prompt, request.work) for request in batch if not isinstance(request.work, Row)]
        return score_batch(weights.model, weights.vocabulary.pad, answers, adapters)


def _draw(
    weights: Weights, prompts: Sequence[Sequence[int]], rows: Sequence[Row], adapters: Sequence[str] | None
) -> None:
    """Draw the answers of some rows to their prompts, padded on the left, until each has ended."""
    width = max(map(len, prompts))
    ids = torch.full((len(prompts), width), weights.vocabulary.pad)
    mask = torch.zeros((len(prompts), width), dtype=torch.long)
    for place, prompt in enumerate(prompts):
        ids[place, width - len(prompt) :] = torch.tensor(prompt)
        mask[place, width - len(prompt) :] = 1
    sampler = RowSampler(rows, weights.vocabulary, weights.device)
    weights.model.generate(
        inputs=ids.to(weights.device),
        attention_mask=mask.to(weights.device),
        generation_config=transformers.GenerationConfig(
            max_new_tokens=max(row.most for row in rows),
            do_sample=False,
            pad_token_id=weights.vocabulary.pad,
            prefill_chunk_size=_chunk(weights, len(rows), width),
        ),
        logits_processor=transformers.LogitsProcessorList([sampler]),
        stopping_criteria=transformers.StoppingCriteriaList([sampler.stopped]),
        **({} if adapters is None else {"adapter_names": list(adapters)}),
    )


def _says_one_token(weights: Weights, rows: Sequence[Row]) -> bool:
    """Whether each answer is over with its first token, since every token of the model ends an answer."""
    return (
        len(weights.vocabulary.ends) == weights.model.config.get_text_config().vocab_size
        and not weights.has_adapters
        and "logits_to_keep" in inspect.signature(weights.model.forward).parameters
        and all([row.allowed() is None for row in rows])
    )


def _draw_tokens(weights: Weights, prompts: Sequence[Sequence[int]], rows: Sequence[Row]) -> None:
    """Draw a token for each row, with just one pass through the model, in which equal prompts are one."""
    distinct = sorted({tuple(prompt) for prompt in prompts}, key=len)
    places = {prompt: place for place, prompt in enumerate(distinct)}
    logits = torch.cat([_next_logits(weights, part) for part in _parts(weights, distinct)])
    sampler = RowSampler(rows, weights.vocabulary, weights.device)
    sampler.draw(logits[[places[tuple(prompt)] for prompt in prompts]])


def _parts(weights: Weights, prompts: Sequence[Sequence[int]]) -> Iterator[Sequence[Sequence[int]]]:
    """Prompts, shortest first, split into what is computed at once."""
    first = 0
    for place, prompt in enumerate(prompts):
        if place > first and weights.device.type == "cpu" and (place + 1 - first) * len(prompt) > CHUNK:
            yield prompts[first:place]
            first = place
    yield prompts[first:]


def _next_logits(weights: Weights, prompts: Sequence[Sequence[int]]) -> torch.Tensor:
    """What may follow prompts, shortest first, in float32; (prompts, vocabulary).

    Padding comes after them, where no token of theirs sees it.
    """
    shortest, width = len(prompts[0]), len(prompts[-1])
    ids = torch.tensor([[*prompt, *[weights.vocabulary.pad] * (width - len(prompt))] for prompt in prompts])
    kept = width - shortest + 1
    logits: torch.Tensor = weights.model(input_ids=ids.to(weights.device), use_cache=False, logits_to_keep=kept).logits
    return logits[range(len(prompts)), [len(prompt) - shortest for prompt in prompts]].float()


def _chunk(weights: Weights, rows: int, width: int) -> int | None:
    """Columns of the prompts that are computed at once; None for all."""
    if weights.device.type != "cpu" or rows * width <= CHUNK:
        return None
    return max(1, CHUNK // rows)


def _room(weights: Weights) -> tuple[int, int]:
    """Most rows of a batch, and most tokens, padding included."""
    if weights.device.type == "cpu":
        small = sum([parameter.numel() for parameter in weights.model.parameters()]) < SMALL
        return SMALL_ROWS if small else MOST_ROWS, CACHE_BYTES // weights.token_bytes
    free, _ = torch.cuda.mem_get_info(weights.device)
    return GPU_ROWS, int(GPU_SHARE * free) // weights.token_bytes


def _alike(one: Request, other: Request) -> bool:
    if one.draws and other.draws:
        return max(one.longest, other.longest) <= ALIKE * min(one.longest, other.longest)
    return one.draws == other.draws


@contextmanager
def _left_off(weights: Weights, unwanted: Callable[[], bool]) -> Iterator[None]:
    """Look before each layer whether anyone still waits: a pass through all of them may take half a minute."""

    def look(*_: Any) -> None:
        if unwanted():
            raise UnwantedError

    hooks = [layer.register_forward_pre_hook(look) for layer in weights.layers]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Compute with so many threads. torch keeps the number by thread, but what is newest is where others start from."""
    before = torch.get_num_threads()
    torch.set_num_threads(max(1, count))
    try:
        yield
    finally:
        torch.set_num_threads(before)
