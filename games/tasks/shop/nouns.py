"""The nouns of a product's name, by rules: what is left of its words without those that are plainly something else."""

import re
from functools import lru_cache

from games.tasks.shop.words import word_set

_WORD = re.compile(r"(?<![^\W_])[^\W\d_](?:[.'\u2019]?[^\W_])*")
_FUNCTION = word_set(
    "a about above after all also an and any are as at be been before below between both but by can do each even for "
    "from has have her his how i if in into is it its just less me mine more most much my no non nor not of off on "
    "only onto or other our out over own per plus same she so some such than that the their them then these they this "
    "those through to too under until up upon us very via vs was we were what when where which while who will with "
    "within without would you your x ii iii w"
)
"""Articles, pronouns, prepositions, conjunctions, auxiliaries."""
_ADJECTIVES = word_set(
    "big small large medium mini slim long short high low deep wide narrow thick thin heavy light tall extra new old "
    "soft hard firm warm cool cold hot dry wet clean clear fresh raw pure fine great good best better perfect easy "
    "quick fast slow strong tough smart sexy cute loose tight flat round square oval sharp smooth rough bright dark "
    "black white red blue green yellow pink purple brown grey gray natural organic vegan modern vintage classic "
    "casual formal elegant fancy plain multi full empty single double triple dual deluxe rich safe sweet spicy salty "
    "sour gentle daily real true universal portable electric electronic digital professional original official "
    "traditional ultimate super compatible available suitable ready genuine authentic solid sturdy waterproof wireless "
    "outdoor indoor front rear left right upper lower inner outer open free"
)
"""Adjectives whose endings do not tell that they are."""
_OTHER = word_set(
    "make makes made use uses get gets give gives go goes keep keeps let fit fits help helps include includes "
    "contain contains work works need needs find come comes take takes really always never again together away "
    "here there one two three four five six seven eight nine ten twelve"
)
"""Verbs, adverbs and numbers."""
_ADJECTIVE_ENDINGS = re.compile(r"..(?:ful|less|able|ible|ous|ical|ish|est|proof|like)$|...ly$|....ive$|...ed$|...ic$")
_NOUNS_ALL_THE_SAME = word_set(
    "assembly supply family jelly lily belly fly seed feed weed speed reed breed need bread bed shed sled fabric "
    "music plastic ceramic elastic garlic cosmetic comic mosaic acrylic logic clinic traffic table cable vegetable "
    "stable brush wish fish dish radish relish polish varnish finish chest vest nest test guest forest harvest west "
    "interest adhesive olive drive archive detective"
)
"""Nouns with the ending of an adjective or an adverb."""


@lru_cache(maxsize=100_000)
def nouns(name: str) -> tuple[str, ...]:
    """The nouns of a name in lower case, in order, each as often as it stands there.

    Numbers and what begins with one are no nouns; the parts of a word with hyphens are words of their own. What no rule
    or list knows is a noun, for most words of a product's name are, the names of makers above all.
    """
    words = [re.sub(r"['\u2019]s$", "", word) for word in _WORD.findall(name.lower())]
    return tuple([word for word in words if _is_noun(word)])


def _is_noun(word: str) -> bool:
    if word in _FUNCTION or word in _ADJECTIVES or word in _OTHER:
        return False
    return word in _NOUNS_ALL_THE_SAME or not _ADJECTIVE_ENDINGS.search(word)
