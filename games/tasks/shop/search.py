"""BM25 over an inverted index, with the formula, the rounding and the order of ties that Lucene has."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from games.tasks.shop.words import terms

K1, B = 0.9, 0.4
HITS = 50

_Scores = npt.NDArray[np.float32]


class _Posting(NamedTuple):
    """Where a term occurs, and what it adds to the score there."""

    numbers: npt.NDArray[np.intp]
    weight: np.float32
    divisor: _Scores
    scores: _Scores


class Index:
    """Documents by their terms."""

    def __init__(self, texts: Iterable[str]) -> None:
        lengths: list[int] = []
        postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for number, text in enumerate(texts):
            counts = Counter(terms(text))
            lengths.append(counts.total())
            for term, count in counts.items():
                postings[term].append((number, count))
        self._size = len(lengths)
        filled = sum([length > 0 for length in lengths])
        inverse = _inverse_norms(lengths, filled)
        self._postings = {term: _scored(found, filled, inverse) for term, found in postings.items()}

    def search(self, words: str) -> tuple[int, ...]:
        """The best documents for some words, best first, of equal ones the earlier first; HITS at most."""
        total = np.zeros(self._size)
        for term, count in Counter(terms(words)).items():
            if (posting := self._postings.get(term)) is not None:
                weight = posting.weight * np.float32(count)
                total[posting.numbers] += posting.scores if count == 1 else weight - weight / posting.divisor
        single = total.astype(np.float32)  # Lucene sums in double precision and compares in single precision
        found = np.flatnonzero(single)
        if len(found) > 4 * HITS:
            least = np.partition(single, -HITS)[-HITS]
            found = np.flatnonzero(single >= least)
        order = np.argsort(-single[found], kind="stable")[:HITS]
        return tuple(found[order].tolist())


def short_length(length: int) -> int:
    """A length as Lucene keeps it, in one byte: exact up to 39, above in steps of an eighth or less."""
    free = 24
    rest = length - free
    if rest < 16:
        return length
    shift = rest.bit_length() - 4
    return free + (rest >> shift << shift)


def _inverse_norms(lengths: list[int], filled: int) -> _Scores:
    kept = np.array([short_length(length) for length in lengths], dtype=np.float32)
    average = np.float32(sum(lengths) / max(filled, 1))
    k1, b, one = np.float32(K1), np.float32(B), np.float32(1)
    inverse: _Scores = one / (k1 * ((one - b) + b * kept / max(average, np.float32(1e-6))))
    return inverse


def _scored(found: list[tuple[int, int]], filled: int, inverse: _Scores) -> _Posting:
    numbers = np.array([number for number, _ in found], dtype=np.intp)
    counts = np.array([count for _, count in found], dtype=np.float32)
    weight = np.float32(np.log(1 + (filled - len(found) + 0.5) / (len(found) + 0.5)))
    divisor = np.float32(1) + counts * inverse[numbers]
    return _Posting(numbers, weight, divisor, weight - weight / divisor)
