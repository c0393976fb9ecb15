"""What a purchase is worth: the reward of WebShop (Yao et al., WebShop, 2022, arXiv 2207.01206)."""

from functools import lru_cache
from typing import NamedTuple

from rapidfuzz.fuzz import token_set_ratio
from rapidfuzz.utils import default_process

from games.tasks.shop.catalogue import Goal, Product
from games.tasks.shop.nouns import nouns
from games.tasks.shop.words import word_set

ALIKE = 85
"""Texts whose token set ratio is above are taken for the same."""

COLOURS = tuple(
    sorted(
        word_set(
            "alabaster amber amethyst apricot aqua ash azure beige black blue blush bordeaux brass bronze brown "
            "burgundy camel camo caramel champagne charcoal chestnut chocolate cobalt coffee cognac copper coral "
            "cranberry cream crimson crystal cyan dark denim emerald espresso fuchsia gold granite graphite gray "
            "green grey heather indigo ivory jade khaki lavender lemon leopard light lilac lime magenta maroon "
            "mauve midnight mint mocha multicolor mustard natural navy nude olive orange peach pewter pink "
            "platinum plum purple rainbow red rose ruby rust sand sapphire scarlet silver slate steel stone tan "
            "taupe teal turquoise violet walnut wheat white wine yellow"
        )
    )
)
"""Words for colours, in alphabetical order."""


class Worth(NamedTuple):
    """The parts of a reward."""

    kind: float
    """1 for the kind of product that was asked for, less for others."""
    attributes: int
    """Attributes of the goal that the product has."""
    options: int
    """Options of the goal that were chosen."""
    price: bool
    """Whether the price is at most the cap."""
    of: int
    """Most of the three together."""

    @property
    def reward(self) -> float:
        """From 0 to 1."""
        return self.kind * ((self.attributes + self.options + self.price) / self.of)


def worth(goal: Goal, wanted: Product, bought: Product, chosen: tuple[str, ...]) -> Worth:
    """What buying a product with the values chosen of its options is worth, where `wanted` is the goal's product."""
    colours = [colour_of(value) for value in chosen]
    return Worth(
        kind=kind_of(bought, wanted),
        attributes=sum([has(bought, attribute) for attribute in goal.attributes]),
        options=sum([any([alike(value, colour_of(option)) for value in colours]) for option in goal.options]),
        price=bought.price <= goal.cap,
        of=len(goal.attributes) + len(goal.options) + 1,
    )


def kind_of(bought: Product, wanted: Product) -> float:
    """How far the kind of the product bought is that of the product wanted: 1, 0.5, 0.1 or 0."""
    shared = shared_nouns(bought.name, wanted.name)
    if shared == 0:
        return 0.0
    if shared < 0.1:
        return 0.1
    agree = bought.query == wanted.query or len(bought.path & wanted.path) >= 2 or shared > 0.2
    return 1.0 if agree else 0.5


def shared_nouns(bought: str, wanted: str) -> float:
    """Nouns that two names share, each once, by the number of nouns of the second; 0.2 where that has none."""
    there = nouns(wanted)
    return len(set(there) & set(nouns(bought))) / len(there) if there else 0.2


def has(product: Product, attribute: str) -> bool:
    """Whether a product has an attribute: among its own, or word by word in its texts."""
    if any([alike(own, attribute) for own in product.attributes]):
        return True
    return any([attribute in text for text in product.lowered])


@lru_cache(maxsize=100_000)
def colour_of(value: str) -> str:
    """An option's value as its colour: the first of COLOURS that stands in it, or the value where none does."""
    return next((colour for colour in COLOURS if colour in value), value)


@lru_cache(maxsize=100_000)
def alike(one: str, other: str) -> bool:
    """Whether two texts are the same but for the order of words, case, punctuation and what one says in addition."""
    return one == other or round(token_set_ratio(one, other, processor=default_process)) > ALIKE
