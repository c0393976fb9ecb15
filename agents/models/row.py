"""One answer while it is drawn: its tokens so far, what may follow, and what ends it."""

from collections.abc import Callable, Collection, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from agents.models.model import Sampling
from agents.models.trie import Trie

_CHARACTER = 4
"""Most tokens that one character of text can take: tokens of single bytes."""


class Row:
    """An answer of a batch. What is drawn for it comes from its own seed, whoever else is in the batch."""

    def __init__(self, sampling: Sampling, seed: int, trie: Trie | None = None) -> None:
        self.sampling = sampling
        self.ids: list[int] = []
        self.logprobs: list[float] = []
        self.finish: Literal["stop", "length"] | None = None
        """What ended it; None until then."""
        self.gone = False
        """Whether nobody waits for it any more."""
        self._trie = trie
        self._node = 0
        self._rng = np.random.default_rng(seed)
        self._tail = _CHARACTER * max(map(len, sampling.stop), default=0) + _CHARACTER

    @property
    def most(self) -> int:
        """The most tokens it may take. A choice is never cut off."""
        return self._trie.longest if self._trie else self.sampling.max_tokens

    @property
    def done(self) -> bool:
        """Whether no more tokens are to be drawn."""
        return self.gone or self.finish is not None

    def allowed(self) -> list[int] | None:
        """Tokens that may come next; None for all."""
        return self._trie.allowed(self._node) if self._trie else None

    def draw(self, into: npt.NDArray[np.float32]) -> None:
        """Fill with what the next token is drawn by: a number of the exponential distribution for each token."""
        self._rng.standard_exponential(out=into, dtype=np.float32)

    def take(self, token: int, logprob: float, ends: Collection[int], decode: Callable[[Sequence[int]], str]) -> None:
        """Add a token. `ends` are those that end answers, `decode` turns tokens into text."""
        self.ids.append(token)
        self.logprobs.append(logprob)
        if self._trie:
            self._node = self._trie.step(self._node, token)
            if self._trie.over(self._node, token):
                self.finish = "stop"
        elif token in ends or (self.sampling.stop and self._stops(decode)):
            self.finish = "stop"
        elif len(self.ids) >= self.most:
            self.finish = "length"

    def text(self, decode: Callable[[Sequence[int]], str]) -> str:
        """The whole answer; it ends with the first stop string in it, and a choice is just as it was given."""
        if self._trie:
            return self._trie.choice(self._node)
        text = decode(self.ids)
        found = [text.index(stop) + len(stop) for stop in self.sampling.stop if stop in text]
        return text[: min(found)] if found else text

    def _stops(self, decode: Callable[[Sequence[int]], str]) -> bool:
        """Whether a stop string has come. Only the last tokens are looked at; the one added last completes it."""
        tail = decode(self.ids[-self._tail :])
        return any(stop in tail for stop in self.sampling.stop)
