"""How the tokens of a batch are drawn: each row by its own settings, choices and seed, inside `generate`."""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from agents.models.row import Row

_GREEDY = 1e-5
"""Temperature below which the most likely token is taken."""
_LEAST = 1e-30
"""What noise is raised to: a quotient by 0 would be no number."""
_NEAR = 9.0
"""How far below the likeliest token's logit others are looked at first for `top_p`: to sort a whole vocabulary takes as
long as the model."""


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

    A token is drawn by the Gumbel-max trick (Maddison et al. 2014, A* Sampling), from numbers of the row's own: small
    differences of the logits, as another batch makes them in bfloat16, then seldom change the token. Its
    log-probability is that of the distribution it was drawn from, after temperature, choices, top_k and top_p.
    """

    def __init__(self, rows: Sequence[Row], vocabulary: Vocabulary, device: "torch.device | str" = "cpu") -> None:
        self._rows = rows
        self._vocabulary = vocabulary
        temperatures = torch.tensor([[row.sampling.temperature] for row in rows], device=device)
        self._greedy = temperatures < _GREEDY
        self._temperatures = temperatures.masked_fill(self._greedy, 1.0)
        self._drawn_by: npt.NDArray[np.float32] | None = None
        self._cut = [i for i, row in enumerate(rows) if row.sampling.top_k > 0 or row.sampling.top_p < 1.0]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Draw a token for each row. `scores` (rows, vocabulary) in float32; what comes back is all -inf but for it."""
        return torch.full_like(scores, -torch.inf).scatter_(1, self.draw(scores)[:, None], 0.0)

    def draw(self, scores: torch.Tensor) -> torch.Tensor:
        """Draw a token for each row from `scores` (rows, vocabulary) in float32, and add it to the row; (rows,)."""
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
        return tokens

    def stopped(self, input_ids: torch.Tensor, scores: object, **_: object) -> torch.Tensor:
        """Stopping criterion of `generate`: which rows are done."""
        return torch.tensor([row.done for row in self._rows], device=input_ids.device)

    def _drawn(self, logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Token and log-probability of each row; (rows,) each. Raises FloatingPointError for logits that are NaN."""
        top, best = logits.max(dim=1, keepdim=True)
        weights = (logits - top).exp_()
        total = weights.sum(dim=1, keepdim=True)
        if not bool(total.isfinite().all()):
            raise FloatingPointError("the model's logits are not numbers; a wider dtype may help")
        # argmax(log weight + Gumbel noise) is argmax(weight / exponential noise).
        drawn = weights.div_(self._noise(weights)).argmax(dim=1, keepdim=True)
        tokens = torch.where(self._greedy, best, drawn)
        logprobs = logits.gather(1, tokens) - top - total.log()
        pad = torch.tensor([[row.done] for row in self._rows], device=logits.device)
        logprobs = logprobs.masked_fill(self._greedy, 0.0)
        return tokens.masked_fill(pad, self._vocabulary.pad)[:, 0], logprobs[:, 0]

    def _noise(self, like: torch.Tensor) -> torch.Tensor:
        """What the rows draw by, exponential and above 0; (rows, vocabulary)."""
        if self._drawn_by is None:
            self._drawn_by = np.ones(like.shape, np.float32)
        for row, into in zip(self._rows, self._drawn_by, strict=True):
            if not row.done and row.sampling.temperature >= _GREEDY:
                row.draw(into)
        return torch.from_numpy(self._drawn_by).to(like.device).clamp(min=_LEAST)


def _only(logits: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """The logits of some tokens, and -inf for all others; (vocabulary,)."""
    return torch.full_like(logits, -torch.inf).index_copy_(0, tokens, logits[tokens])


def _likely(logits: torch.Tensor, top_k: int, top_p: float) -> torch.Tensor:
    """The `top_k` likeliest tokens (0 for all), and of these the fewest whose probability reaches `top_p`."""
    if 0 < top_k < len(logits):
        values, tokens = logits.topk(top_k)
        return tokens if top_p >= 1.0 else tokens[: _reach(values - values.logsumexp(0), top_p)]
    logprobs = logits - logits.logsumexp(0)
    near = (logits > logits.max() - _NEAR).nonzero()[:, 0]
    if float(logprobs[near].exp().sum()) < top_p:
        near = torch.arange(len(logits), device=logits.device)
    values, order = logprobs[near].sort(descending=True)
    return near[order[: _reach(values, top_p)]]


def _reach(logprobs: torch.Tensor, top_p: float) -> int:
    """How many of the likeliest tokens it takes to reach a probability; at least one."""
    return 1 + int((logprobs.exp().cumsum(0)[:-1] < top_p).sum())
