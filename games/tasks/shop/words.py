"""Text into search terms, as Lucene's analyzer of English does it: words, possessives, stop words, stems."""

import re

from games.tasks.shop.porter import stem


def word_set(text: str) -> frozenset[str]:
    """The words of a list that is written as a text."""
    return frozenset(text.split())


STOP_WORDS = word_set(
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this "
    "to was will with"
)
"""Lucene's own list."""
_CHARACTER_WORDS = "\u2e80-\u2fdf\u3005\u3007\u3021-\u3029\u3040-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Ideographs and Hiragana: each character is a word."""
_LETTER = rf"[^\W\d_{_CHARACTER_WORDS}]"
_WORD = rf"[^\W{_CHARACTER_WORDS}]+"
_TOKENS = re.compile(
    rf"{_WORD}(?:(?:(?<={_LETTER})[.:'\u2018\u2019\u00b7\u2027\uff07\uff0e\uff1a](?={_LETTER})"
    rf"|(?<=\d)[.,;'\u2018\u2019\uff07\uff0e](?=\d)){_WORD})*|[{_CHARACTER_WORDS}]"
)
"""Words by the rules of Unicode (UAX #29): a point or an apostrophe within a word or a number belongs to it."""
_POSSESSIVE = re.compile(r"['\u2019\uff07]s$")


def terms(text: str) -> list[str]:
    """The terms of a text, in its order, each as often as it occurs."""
    found = []
    for token in _TOKENS.findall(text.lower()):
        word = _POSSESSIVE.sub("", token) if token[-1] == "s" else token
        if word not in STOP_WORDS and word.strip("_"):
            found.append(stem(word))
    return found
