"""How the tokens of a batch are drawn: each row by its own settings, choices and seed, inside `generate`."""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import torch

from agents.models.row import Row

_GREEDY = 1e-5
"""Temperature below which the most likely token is taken."""
_HEAD = 1024
"""Likeliest tokens that are looked at first for `top_p`: to sort a whole vocabulary takes as long as the model."""


class Vocabulary(NamedTuple):
    """What of a tokenizer the sampler needs."""

    ends: Collection[int]
    """Tokens that end an answer."""
    end: int
    """The one of them that ends a choice."""
    pad: int
    decode: Callable[[Sequence[int]], str]


class RowSampler:
    """A logits processor that draws: it leaves `generate` one token a row to take.

    A token is drawn by one uniform number through the inverse of the distribution function, over token ids in order;
    its log-probability is that of the distribution it was drawn from, after temperature, choices, top_k and top_p.
    """

    def __init__(self, rows: Sequence[Row], vocabulary: Vocabulary, device: "torch.device | str" = "cpu") -> None:
        self._rows = rows
        self._vocabulary = vocabulary
        temperatures = torch.tensor([[row.sampling.temperature] for row in rows], device=device)
        self._greedy = temperatures < _GREEDY
        self._temperatures = temperatures.masked_fill(self._greedy, 1.0)
        self._cut = [i for i, row in enumerate(rows) if row.sampling.top_k > 0 or row.sampling.top_p < 1.0]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Draw a token for each row. `scores` (rows, vocabulary) in float32; what comes back is all -inf but for it."""
        logits = scores / self._temperatures
        for i, row in enumerate(self._rows):
            if not row.done and (allowed := row.allowed()) is not None:
                logits[i] = _only(logits[i], torch.tensor(allowed, device=logits.device))
        for i in self._cut:
            if not self._rows[i].done:
                sampling = self._rows[i].sampling
                logits[i] = _only(logits[i], _likely(logits[i], sampling.top_k, sampling.top_p))
        tokens, logprobs = self._drawn(logits)
        for row, token, logprob in zip(self._rows, tokens.tolist(), logprobs.tolist(), strict=True):
            if not row.done:
                row.take(token, logprob, self._vocabulary.ends, self._vocabulary.decode)
        return torch.full_like(scores, -torch.inf).scatter_(1, tokens[:, None], 0.0)

    def stopped(self, input_ids: torch.Tensor, scores: object, **_: object) -> torch.Tensor:
        """Stopping criterion of `generate`: which rows are done."""
        return torch.tensor([row.done for row in self._rows], device=input_ids.device)

    def _drawn(self, logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Token and log-probability of each row; (rows,) each. Raises FloatingPointError for logits that are NaN."""
        top, best = logits.max(dim=1, keepdim=True)
        below = (logits - top).exp_().cumsum(dim=1)
        total = below[:, -1:]
        if not bool(total.isfinite().all()):
            raise FloatingPointError("the model's logits are not numbers; a wider dtype may help")
        chances = torch.tensor([[0.0 if row.done else row.chance()] for row in self._rows], device=logits.device)
        # Rounded up to the total, a chance would lie beyond the last token that has any probability.
        chances = torch.minimum(chances * total, torch.nextafter(total, torch.zeros_like(total)))
        drawn = torch.searchsorted(below, chances, right=True)
        tokens = torch.where(self._greedy, best, drawn)
        logprobs = logits.gather(1, tokens) - top - total.log()
        pad = torch.tensor([[row.done] for row in self._rows], device=logits.device)
        logprobs = logprobs.masked_fill(self._greedy, 0.0)
        return tokens.masked_fill(pad, self._vocabulary.pad)[:, 0], logprobs[:, 0]


def _only(logits: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """The logits of some tokens, and -inf for all others; (vocabulary,)."""
    return torch.full_like(logits, -torch.inf).index_copy_(0, tokens, logits[tokens])


def _likely(logits: torch.Tensor, top_k: int, top_p: float) -> torch.Tensor:
    """The `top_k` likeliest tokens (0 for all), and of these the fewest whose probability reaches `top_p`."""
    size = len(logits)
    most = min(top_k or size, size)
    head = most if top_p >= 1.0 else min(most, _HEAD)
    values, tokens = logits.topk(head)
    if top_p >= 1.0:
        return tokens
    everything = logits.logsumexp(0) if most == size else logits.topk(most).values.logsumexp(0)
    before = (values - everything).exp().cumsum(0)
    if head < most and before[-1] < top_p:
        values, tokens = logits.topk(most)
        before = (values - everything).exp().cumsum(0)
    kept = 1 + int((before[:-1] < top_p).sum())
    return tokens[:kept]
