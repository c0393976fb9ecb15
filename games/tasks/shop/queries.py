"""Searches that suggest themselves from an instruction alone, for agents that choose from a list."""

import re
from functools import lru_cache

from games.tasks.shop.words import STOP_WORDS, word_set

_WORDS = re.compile(r"[^\W_]+(?:[-'.&][^\W_]+)*")
_EMPTY = STOP_WORDS | word_set(
    "i i'm im me my am you your find need want looking look buy get please would like some one that's which whose also "
    "color colour size style price most lower than under less dollars"
)
"""Words that say nothing of the product."""
MOST_WORDS = 20


@lru_cache(maxsize=20_000)
def suggested(instruction: str) -> tuple[str, ...]:
    """Different searches, the fullest first: all words that say something, the first and last few, the halves."""
    before_price = re.split(r",? (?:and )?price ", instruction)[0]
    words = [word for word in _WORDS.findall(before_price.lower()) if word not in _EMPTY]
    words = list(dict.fromkeys(words))[:MOST_WORDS] or ["new"]
    half = -(-len(words) // 2)
    parts = [words, words[:half], words[half:], words[:3], words[1:4], words[2:5], words[-3:]]
    return tuple(dict.fromkeys([" ".join(part) for part in parts if part]))
