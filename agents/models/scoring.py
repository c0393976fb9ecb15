"""How likely a transformers model finds given answers: log-probabilities of their tokens, what they share done once."""

import inspect
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from transformers.cache_utils import DynamicCache, DynamicLayer, DynamicSlidingWindowLayer

from agents.models.sharing import Request, Tree, groups, trees

_UNBOUNDED = 1 << 62


class Limits(NamedTuple):
    """How the work is cut into forward passes."""

    tokens: int
    """Tokens of one pass, padding included. A tree with more of them has a pass of its own."""
    numbers: int
    """Numbers in a pass's attention mask and logits together."""
    pays: int
    """Tokens that must be saved for a prefix to be computed apart: the time of a pass that is due to their number is
    saved, the time that each pass takes is added, and prompts with different prefixes no longer make one batch."""


# A CPU's time goes with the tokens from some hundred a pass on: smaller chunks are less padding, larger ones no faster.
# Measured with SmolLM2 on one thread, 2 to 32 prompts: from 64 tokens saved on a prefix of its own is as fast, from 128
# on it is faster. A GPU needs thousands of tokens to be busy, and to start the many small steps of a pass takes it
# about as long as thousands of tokens do; its limits are estimates.
CPU = Limits(tokens=2048, numbers=1 << 26, pays=128)
GPU = Limits(tokens=16384, numbers=1 << 29, pays=4096)

Scored: TypeAlias = tuple[Tree, list[list[float]]]
"""A tree and the log-probabilities of its answers."""


class _Past(NamedTuple):
    """Keys and values of tokens that come before: of each layer, shape (1, heads, length, size)."""

    length: int
    layers: Sequence[tuple[torch.Tensor, torch.Tensor]]


class _Shared(DynamicLayer):  # type: ignore[misc]  # transformers has no types
    """A layer's part of a past that all rows of a batch have; what a forward pass adds to it is not kept."""

    def __init__(self, keys: torch.Tensor, values: torch.Tensor) -> None:
        super().__init__()
        self.lazy_initialization(keys, values)
        self.keys, self.values = keys, values

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any) -> Any:
        """Keys and values for each row: those of the past, then its own."""
        pairs = ((self.keys, key_states), (self.values, value_states))
        return tuple([torch.cat([past.expand(len(new), -1, -1, -1), new], dim=-2) for past, new in pairs])


def score_batch(
    model: Any,
    pad_id: int,
    requests: Sequence[Request],
    adapter_names: Sequence[str] | None = None,
    limits: Limits | None = None,
) -> list[list[list[float]]]:
    """Natural log-probability of each token of each answer after the prompt and the answer's earlier tokens.

    `requests` are prompts (at least one token) with answers (any number of tokens), `model` is a causal language model
    of transformers in evaluation mode, as it is or with LoRA adapters of PEFT; then `adapter_names` tells the adapter
    of each request, `__base__` for none. Temperature 1; in float32 from the model's logits on.

    A prompt's answers are one tree behind it, computed in one forward pass: an attention mask lets each token see the
    prompt and the tokens before it in its own answers. What prompts begin with in common is computed once where that
    pays. Models that cannot be masked like this (see `reach`) get a sequence for each answer, and share nothing.
    Raises ValueError for a prompt without tokens.
    """
    found: list[list[list[float]]] = [[[] for _ in answers] for _, answers in requests]
    names = [None] * len(requests) if adapter_names is None else adapter_names
    with torch.no_grad():
        for name in dict.fromkeys(names):
            mine = [number for number, other in enumerate(names) if other == name]
            scorer = _Scorer(model, pad_id, name, limits)
            for tree, scores in scorer.scored([requests[number] for number in mine]):
                for place, score in zip(tree.places, scores, strict=True):
                    found[mine[tree.request]][place] = score
    return found


def reach(model: Any) -> int:
    """How long a sequence may be for each token to see just what a mask lets it see; 0 for never.

    A tree needs attention that goes by the mask and the positions it is given alone, and keys that can be kept. So it
    does not fit models that have a state instead, whose positions come from the mask (ALiBi), that look at where a
    token stands in the batch (GPT-Neo's local layers), or kernels that take no such mask (flash attention).
    Windows and chunks make no difference to what is shorter than they are, nor do rotations that change with length.
    """
    config = model.config.get_text_config(decoder=True)
    takes = _parameters(model)
    by_mask = config._attn_implementation in ("eager", "sdpa") and not model._is_stateful
    by_place = getattr(config, "alibi", False) or hasattr(config, "attention_layers")
    if not by_mask or by_place or "position_ids" not in takes or not {"cache", "past_key_values"} & set(takes):
        return 0
    reaches = [_UNBOUNDED]
    for layer in DynamicCache(config=config).layers:
        if type(layer) not in (DynamicLayer, DynamicSlidingWindowLayer):
            return 0
        reaches.append(getattr(layer, "sliding_window", _UNBOUNDED))
    rotation = getattr(config, "rope_parameters", None) or {}
    if rotation.get("rope_type") in ("dynamic", "longrope"):
        reaches.append(rotation.get("original_max_position_embeddings") or config.max_position_embeddings)
    return min(reaches)


class _Scorer:
    """Scores with one model and one adapter."""

    def __init__(self, model: Any, pad_id: int, adapter: str | None, limits: Limits | None) -> None:
        self._model, self._pad_id, self._adapter = model, pad_id, adapter
        self._base = model.get_base_model() if hasattr(model, "get_base_model") else model
        self._device: torch.device = self._base.device
        self._takes = _parameters(self._base)
        self._limits = limits or (CPU if self._device.type == "cpu" else GPU)
        self._vocabulary: int = self._base.config.get_text_config(decoder=True).vocab_size

    def scored(self, requests: Sequence[Request]) -> Iterator[Scored]:
        """The requests' trees with their scores."""
        lengths = [len(prompt) + max(map(len, answers), default=0) for prompt, answers in requests]
        most = self._limits.numbers // self._vocabulary
        if max(lengths) > reach(self._base):
            for chunk in self._chunks(trees(requests, most, chains=True), 0):
                yield from self._by_sequences(chunk)
            return
        # What is left to do: trees, how much of their prompts is to be computed once, how much of it is already.
        stack = [(trees(requests, most), 0, _Past(0, ()))]
        while stack:
            some, shared, past = stack.pop()
            if shared > past.length:
                past = self._longer(past, some[0].prompt[:shared])
            for group, length in groups(some, shared, self._limits.pays, self._limits.tokens):
                if length > shared:
                    stack.append((group, length, past))
                    continue
                for chunk in self._chunks(group, shared):
                    yield from self._by_trees(chunk, past)

    def _chunks(self, some: Sequence[Tree], start: int) -> Iterator[list[Tree]]:
        """Trees of similar size, so that little is padding, in chunks that keep to the limits."""
        chunk: list[Tree] = []
        prompt = nodes = 0
        for tree in sorted(some, key=lambda tree: len(tree.sequence), reverse=True):
            prompt, nodes = max(prompt, len(tree.prompt) - start), max(nodes, len(tree.tokens))
            width, count = prompt + nodes, len(chunk) + 1
            numbers = width * (start + width) + (nodes + 1) * self._vocabulary
            if chunk and (count * width > self._limits.tokens or count * numbers > self._limits.numbers):
                yield chunk
                chunk, prompt, nodes = [], len(tree.prompt) - start, len(tree.tokens)
            chunk.append(tree)
        if chunk:
            yield chunk

    def _longer(self, past: _Past, prefix: Sequence[int]) -> _Past:
        """The past that goes on from another one to the end of a prefix."""
        cache = DynamicCache(past.layers or None)
        for begin in range(past.length, len(prefix), self._limits.tokens):
            piece = torch.tensor([prefix[begin : begin + self._limits.tokens]])
            self._logits(piece, 1, cache)
        return _Past(len(prefix), [(layer.keys, layer.values) for layer in cache.layers])

    def _by_trees(self, chunk: Sequence[Tree], past: _Past) -> Iterator[Scored]:
        """Prompts end in one column, which the trees follow: just the logits from there on are computed."""
        nodes = max([len(tree.tokens) for tree in chunk])
        prompt = max([len(tree.prompt) for tree in chunk]) - past.length
        width = prompt + nodes
        tokens = np.full((len(chunk), width), self._pad_id)
        positions = np.zeros((len(chunk), width), dtype=np.int64)
        sees = np.ones((len(chunk), width, past.length + width), dtype=bool)
        own = sees[:, :, past.length :]
        own[:] = np.eye(width, dtype=bool)  # padding too: softmax over nothing would be no number
        causal = np.tri(prompt, dtype=bool)
        for row, tree in enumerate(chunk):
            begin, end = prompt + past.length - len(tree.prompt), prompt + len(tree.tokens)
            tokens[row, begin:end] = tree.sequence[past.length :]
            positions[row, begin:prompt] = range(past.length, len(tree.prompt))
            positions[row, prompt - 1 : end] = np.array(tree.depths) + len(tree.prompt) - 1
            own[row, begin:prompt, begin:prompt] = causal[begin:, begin:]
            for place, parent in enumerate(tree.parents, prompt):
                own[row, place] |= own[row, prompt - 1 + parent]
        logits = self._logits(
            torch.from_numpy(tokens),
            nodes + 1,
            _cache(past),
            attention_mask=_additive(torch.from_numpy(sees).to(self._device), self._base.dtype),
            position_ids=torch.from_numpy(positions).to(self._device),
        )
        for row, tree in enumerate(chunk):
            yield tree, _read(tree, logits[row])

    def _by_sequences(self, chunk: Sequence[Tree]) -> Iterator[Scored]:
        """Trees without forks as plain sequences; padding comes after them, where no token of theirs sees it."""
        width = max([len(tree.sequence) for tree in chunk])
        first = min([len(tree.prompt) for tree in chunk]) - 1
        tokens = torch.full((len(chunk), width), self._pad_id)
        mask = torch.zeros((len(chunk), width), dtype=torch.long)
        for row, tree in enumerate(chunk):
            tokens[row, : len(tree.sequence)] = torch.tensor(tree.sequence)
            mask[row, : len(tree.sequence)] = 1
        logits = self._logits(tokens, width - first, attention_mask=mask.to(self._device))
        for row, tree in enumerate(chunk):
            yield tree, _read(tree, logits[row, len(tree.prompt) - 1 - first :])

    def _logits(
        self, tokens: torch.Tensor, last: int, cache: DynamicCache | None = None, **inputs: torch.Tensor
    ) -> torch.Tensor:
        """Logits of the last columns: shape (rows, last, vocabulary)."""
        more: dict[str, Any] = {}
        if cache is not None:
            more["cache" if "cache" in self._takes else "past_key_values"] = cache  # renamed in transformers 5.24
        if "logits_to_keep" in self._takes:
            more["logits_to_keep"] = last
        if self._adapter is not None:
            more["adapter_names"] = [self._adapter] * len(tokens)
        output = self._model(input_ids=tokens.to(self._device), use_cache=cache is not None, **inputs, **more)
        logits: torch.Tensor = output.logits[:, -last:]
        return logits


def _parameters(model: Any) -> Collection[str]:
    """What a model's forward pass takes."""
    return inspect.signature(model.forward).parameters


def _cache(past: _Past) -> DynamicCache | None:
    """A past as the model takes it; forward passes leave it as it is."""
    if not past.length:
        return None
    cache = DynamicCache()
    cache.layers = [_Shared(keys, values) for keys, values in past.layers]
    return cache


def _additive(sees: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """A mask (rows, from, to) in the form that each kind of attention takes: what is added before the softmax."""
    return torch.zeros(sees.shape, dtype=dtype, device=sees.device).masked_fill_(~sees, torch.finfo(dtype).min)[:, None]


def _read(tree: Tree, logits: torch.Tensor) -> list[list[float]]:
    """Log-probabilities of a tree's answers, from the logits of its nodes (and more), shape (nodes, vocabulary)."""
    logits = logits[: len(tree.tokens) + 1].float()
    nodes = torch.tensor([node for path in tree.reads for node in path], dtype=torch.long, device=logits.device)
    tokens = torch.tensor([token for ids in tree.answers for token in ids], dtype=torch.long, device=logits.device)
    flat = iter((logits[nodes, tokens] - logits.logsumexp(-1)[nodes]).tolist())
    return [[next(flat) for _ in answer] for answer in tree.answers]
