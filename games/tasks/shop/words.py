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
_NUMERALS = (
    "\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u2079\u2080-\u2089\u2150-\u215f\u2189\u2460-\u249b"
    "\u24ea-\u24ff\u2776-\u2793"
)
"""Fractions, numbers in circles and above the line: no part of a word."""
_MARKS = "\u0300-\u036f\u200d\ufe0e\ufe0f"
"""What belongs to the character before it."""
_PICTURES = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u231a\u231b\u2328\u2388\u23cf\u23e9-\u23f3\u23f8-\u23fa"
    "\u24c2\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u2605\u2607-\u2612\u2614-\u2685\u2690-\u2705\u2708-\u2712\u2714"
    "\u2716\u271d\u2721\u2728\u2733\u2734\u2744\u2747\u274c\u274e\u2753-\u2755\u2757\u2763-\u2767\u2795-\u2797\u27a1\u27b0"
    "\u27bf\u2934\u2935\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55\U0001f000-\U0001f0ff\U0001f10d-\U0001f10f\U0001f12f"
    "\U0001f16c-\U0001f171\U0001f17e\U0001f17f\U0001f18e\U0001f191-\U0001f19a\U0001f201-\U0001f20f\U0001f21a\U0001f22f"
    "\U0001f232-\U0001f23a\U0001f249-\U0001f3fa\U0001f400-\U0001f53d\U0001f546-\U0001f64f\U0001f680-\U0001f6ff"
    "\U0001f774-\U0001f77f\U0001f7d5-\U0001f7ff\U0001f90c-\U0001f93a\U0001f93c-\U0001f945\U0001f947-\U0001faff"
)
"""Emoji and the like, each a word."""
_LETTER = rf"[^\W\d_{_CHARACTER_WORDS}{_NUMERALS}]"
_WORD = rf"(?:[^\W{_CHARACTER_WORDS}{_NUMERALS}][{_MARKS}]*)+"
_PICTURE = rf"[{_PICTURES}][\ufe0f\U0001f3fb-\U0001f3ff]*"
_TOKENS = re.compile(
    rf"{_WORD}(?:(?:(?<={_LETTER})[.:'\u2018\u2019\u00b7\u2027\uff07\uff0e\uff1a](?={_LETTER})"
    rf"|(?<=\d)[.,;'\u2018\u2019\u2044\uff07\uff0e](?=\d)){_WORD})*"
    rf"|[{_CHARACTER_WORDS}]|{_PICTURE}(?:\u200d{_PICTURE})*"
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
