"""The pages of the shop in words, and the rules."""

from collections.abc import Iterable

from games.tasks.shop.catalogue import Product
from games.tasks.shop.sight import PER_PAGE, Page


def results_page(words: str, number: int, found: int, shown: Iterable[Product]) -> str:
    """A page of results; `number` from 1."""
    if not found:
        return f"Results for: {words}\nNothing was found."
    pages = -(-found // PER_PAGE)
    lines = [f"[{product.number}] {_line(product.name)} - {price_of(product)}" for product in shown]
    return "\n".join([f"Results for: {words}", f"Page {number} of {pages} ({found} found)", *lines])


def item_page(product: Product, chosen: tuple[tuple[str, str], ...]) -> str:
    """A product, its options, and what is chosen of them."""
    lines = [f"Item {product.number}: {_line(product.name)}", f"Price: {price_of(product)}"]
    taken = dict(chosen)
    for name, values in product.options.items():
        now = f"chosen: {taken[name]}" if name in taken else "nothing chosen"
        lines.append(f"{name}: {' '.join([f'[{value}]' for value in values])} ({now})")
    return "\n".join(lines)


def sub_page(product: Product, page: Page) -> str:
    """The description or the features of a product."""
    lines = [f"Item {product.number}: {_line(product.name)}"]
    if page is Page.DESCRIPTION:
        lines += ["Description:", _line(product.description) or "There is none."]
    else:
        lines += ["Features:", *[f"- {_line(bullet)}" for bullet in product.bullets if bullet.strip()]]
        lines += [] if len(lines) > 2 else ["There are none."]
    return "\n".join(lines)


def price_of(product: Product) -> str:
    """A price as the shop shows it."""
    if len(product.prices) < 2:
        return f"${product.price:.2f}"
    return f"${product.prices[0]:.2f} to ${product.prices[1]:.2f}"


def rules(turns: int) -> str:
    """The rules in plain English."""
    return (
        "You buy in a web shop what an instruction asks for: a kind of product with certain attributes, certain values "
        "of its options, and a price that is not too high. "
        "search[words] searches all products and shows the best results, ten on a page, 50 at most; each has a number "
        "in brackets, such as b0qd7rc8s6. click[...] follows a link of the page, written in lower case. "
        "On results: a product's number opens its page; next > and < prev turn the page; back to search leads to the "
        "search. On a product's page: a value of an option chooses it (the last one chosen of each option counts); "
        "description and features show more of it; < prev leads back; buy now buys it as chosen, which ends the "
        "episode. Prices from one sum to another depend on more than what is shown; one of them holds. "
        f"There are {turns} turns. What is no search and no link of the page changes nothing, and takes a turn. "
        "The purchase earns from 0 to 1: the share that is fulfilled of all attributes, options and the price that "
        "were asked for, less where the product is of another kind. Nothing bought earns 0. Success is a reward of 1."
    )


def _line(text: str) -> str:
    return " ".join(text.split())
