"""The made-up catalogue: 1,000 products of 50 kinds, each time the same."""

import random

from games.seeding import derive
from games.tasks.shop.catalogue import Catalogue, Product, Wish
from games.tasks.shop.goods import KINDS, LINES, OPTIONS, Kind, Line
from games.tasks.shop.words import word_set

PRODUCTS = 1_000
_BEGINNINGS = sorted(
    word_set("al bel cor dan el fen gar hol ir jun kel lor mar nor ol pel quin ros sel tor ul ver wil")
)
_ENDINGS = sorted(word_set("ado bury den eva field ica ino lane mont ora ova ridge rin sen stone ton tra wick wood"))
_VIRTUES = (
    "Made to last",
    "Chosen with care",
    "A favourite of many buyers",
    "Simple and good",
    "Made in small numbers",
)
_DIGITS = "0123456789BCDFGHJKLMNPQRSTVWXYZ"


def generate() -> Catalogue:
    """Make the catalogue."""
    rng = random.Random(derive("catalogue"))
    brands = sorted({first.title() + last for first in _BEGINNINGS for last in rng.sample(_ENDINGS, 4)})
    products: dict[str, Product] = {}
    names: set[str] = set()
    while len(products) < PRODUCTS:
        product = _product(rng, KINDS[len(products) % len(KINDS)], brands)
        if product.number not in products and product.name not in names:
            products[product.number] = product
            names.add(product.name)
    made = list(products.values())
    rng.shuffle(made)
    return Catalogue(made, [_wish(rng, place, product) for place, product in enumerate(made)])


def _product(rng: random.Random, kind: Kind, brands: list[str]) -> Product:
    line = LINES[kind.line]
    attributes = rng.sample(kind.attributes, rng.randint(1, 2)) + rng.sample(line.attributes, rng.randint(2, 4))
    rng.shuffle(attributes)
    brand, thing, shown = rng.choice(brands), rng.choice(kind.names), rng.randint(1, 2)
    detail = " ".join([attribute.title() for attribute in attributes[:shown]])
    return Product(
        number="b0" + "".join(rng.choices(_DIGITS, k=8)).lower(),
        name=f"{brand} {thing}, {detail}",
        query=kind.query,
        category=" \u203a ".join([line.path, *kind.place.split(" > "), kind.query.title()]),
        description=_description(rng, line, kind, brand, attributes),
        bullets=tuple(_bullets(rng, line, attributes)),
        prices=_prices(rng, *kind.price),
        options=_options(rng, kind),
        attributes=tuple(attributes),
    )


def _prices(rng: random.Random, least: int, most: int) -> tuple[float, ...]:
    """Mostly one price, sometimes a range, seldom none."""
    price = round(least + (most - least) * rng.random() ** 2, 0) - 0.01
    drawn = rng.random()
    if drawn < 0.05:
        return ()
    return (price, round(price * rng.uniform(1.1, 1.6), 2)) if drawn < 0.15 else (price,)


def _options(rng: random.Random, kind: Kind) -> dict[str, tuple[str, ...]]:
    options = {}
    for each in kind.options:
        if rng.random() < 0.85:
            name, values = OPTIONS[each]
            places = sorted(rng.sample(range(len(values)), rng.randint(2, min(5, len(values)))))
            options[name] = tuple([values[place] for place in places])
    return options


def _description(rng: random.Random, line: Line, kind: Kind, brand: str, attributes: list[str]) -> str:
    if rng.random() < 0.1:
        return ""
    told = rng.sample(attributes, 2)
    return (
        f"{rng.choice(_VIRTUES)}: one of the {kind.query} of {brand}, for {rng.choice(line.uses)}. "
        f"What speaks for it: {told[0]} and {told[1]}."
    )


def _bullets(rng: random.Random, line: Line, attributes: list[str]) -> list[str]:
    """Each attribute in a line of its own; which of them comes first is what a search sees."""
    lines = [f"{attribute.title()}: good for {rng.choice(line.uses)}" for attribute in attributes]
    rng.shuffle(lines)
    return [*lines, rng.choice(("Free return within 30 days", "Comes with a guarantee of two years"))]


def _wish(rng: random.Random, place: int, product: Product) -> Wish:
    attributes = tuple(rng.sample(product.attributes, rng.randint(1, 3)))
    *first, last = attributes
    listed = f"{', '.join(first)} and {last}" if first else last
    return Wish(place, f"I want to buy {product.query} with {listed}", attributes, None)
