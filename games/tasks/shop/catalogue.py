"""A catalogue: products, what is wanted of them, and the search that finds them."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from games.seeding import derive
from games.tasks.shop.search import Index

NO_PRICE = 100.0
"""Price of what has none."""
STEP, STEPS = 10, 4
"""The cap on the price is one of so many multiples above the price."""


@dataclass(frozen=True)
class Product:
    """One thing that is sold. Labels (its number and its options) are in lower case."""

    number: str
    """The label that its links have."""
    name: str
    query: str
    """The search under which it is filed, such as `console tables`."""
    category: str
    """Its places in a tree, from the widest on, apart by a pointed bracket."""
    description: str
    bullets: tuple[str, ...]
    prices: tuple[float, ...]
    """None, one, or the least and the greatest."""
    options: Mapping[str, tuple[str, ...]]
    """Name of an option -> the values to choose from."""
    attributes: tuple[str, ...]
    """What it is or has, in words. Hidden from buyers."""

    @cached_property
    def price(self) -> float:
        """What it costs: between two prices one is drawn, for good."""
        if len(self.prices) < 2:
            return self.prices[0] if self.prices else NO_PRICE
        return round(random.Random(derive("price", self.number)).uniform(*self.prices), 2)

    @cached_property
    def path(self) -> frozenset[str]:
        """The parts of its category."""
        return frozenset([part.strip() for part in self.category.split("\u203a")])

    @cached_property
    def lowered(self) -> tuple[str, str, str]:
        """Name, bullets and description in lower case."""
        return self.name.lower(), " ".join(self.bullets).lower(), self.description.lower()

    @cached_property
    def option_of(self) -> Mapping[str, tuple[str, ...]]:
        """Value -> the options that have it."""
        found: dict[str, tuple[str, ...]] = {}
        for name, values in self.options.items():
            for value in values:
                found[value] = (*found.get(value, ()), name)
        return found

    @property
    def searched(self) -> str:
        """The text that a search looks at."""
        options = ", and ".join([f"{name}: {', '.join(values)}" for name, values in self.options.items()])
        return " ".join([self.name, self.description, *self.bullets[:1], options])


class Wish(NamedTuple):
    """What some buyer wants, as a catalogue comes with it."""

    product: int
    """Place of the product wanted."""
    text: str
    attributes: tuple[str, ...]
    options: tuple[str, ...] | None
    """Values wanted; None for every combination of the product's own, each a goal."""


class Goal(NamedTuple):
    """One instance of the task."""

    product: int
    text: str
    """The instruction."""
    attributes: tuple[str, ...]
    options: tuple[str, ...]
    cap: float
    """The price must not be above."""


class _Place(NamedTuple):
    """Where a goal comes from: a wish, and the number of its combination of options."""

    wish: int
    combination: int


class Catalogue:
    """Products with their index, and goals in a fixed order that mixes them."""

    def __init__(self, products: Sequence[Product], wishes: Sequence[Wish], order: int | None = None) -> None:
        """`order` is the seed by which goals are mixed, one of our own where it is None."""
        self.products = tuple(products)
        self.wishes = tuple(wishes)
        self.place_of = {product.number: place for place, product in enumerate(products)}
        self._places = [
            _Place(place, number)
            for place, wish in enumerate(wishes)
            for number in range(_count(wish, self.products[wish.product]))
        ]
        random.Random(derive("order of goals") if order is None else order).shuffle(self._places)

    @cached_property
    def index(self) -> Index:
        """The search."""
        return Index([product.searched for product in self.products])

    @property
    def size(self) -> int:
        """Number of goals."""
        return len(self._places)

    def goal(self, number: int) -> Goal:
        """The goal of a number from 0."""
        place = self._places[number]
        wish = self.wishes[place.wish]
        product = self.products[wish.product]
        names, values = sorted(product.options), wish.options
        if values is None:
            values = _combination([product.options[name] for name in names], place.combination)
            told = [f"{name}: {value}" for name, value in zip(names, values, strict=True)]
        else:
            told = []
        cap = cap_above(product.price, random.Random(derive("cap", product.number, place.combination)))
        text = ", ".join([wish.text.strip().rstrip("."), *told, f"price at most {cap:.2f} dollars"])
        return Goal(wish.product, text, wish.attributes, values, cap)


def cap_above(price: float, rng: random.Random) -> float:
    """A cap for a price: of the next four multiples of 10 above it, the larger of two that are drawn."""
    next_one = int(price // STEP) + 1
    return float(max(rng.sample([STEP * (next_one + more) for more in range(STEPS)], 2)))


def _count(wish: Wish, product: Product) -> int:
    count = 1
    for values in product.options.values() if wish.options is None else ():
        count *= len(values)
    return count


def _combination(options: Sequence[Sequence[str]], number: int) -> tuple[str, ...]:
    """The combination of a number, in the order in which the last option runs fastest."""
    chosen = []
    for values in reversed(options):
        number, place = divmod(number, len(values))
        chosen.append(values[place])
    return tuple(reversed(chosen))
