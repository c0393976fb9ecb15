"""The oracle of a catalogue: knows which product was meant, finds it, chooses its options and buys it."""

from collections.abc import Iterator

from games.errors import RunError
from games.game import Action
from games.tasks.shop.catalogue import Catalogue, Goal, Product
from games.tasks.shop.reward import alike, colour_of
from games.tasks.shop.sight import PER_PAGE, Page, Sight
from games.tasks.task import Advisor, TaskObservation

MOST_CHARACTERS = 400
"""Of a search."""


class Oracle(Advisor):
    """Goes from any page to the product that was meant and buys it with the options that were asked for."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def advise(self, observation: TaskObservation) -> Action:
        """The next step. Raises RunError where no search finds the product among the results."""
        sight: Sight = observation.sight
        goal = self._catalogue.goal(observation.state.instance)
        if sight.page is Page.RESULTS and goal.product in sight.hits:
            return self._on_results(sight, goal)
        if sight.page is Page.SEARCH or sight.page is Page.RESULTS or sight.product != goal.product:
            return f"search[{self._finding(goal.product)}]"
        if sight.page is not Page.ITEM:
            return "click[< prev]"
        product, now = self._catalogue.products[goal.product], dict(sight.chosen)
        wanted = choices(product, goal)
        if not set(wanted.values()) <= set(now.values()):  # of which option a value is does not matter to the reward
            left = [name for name, value in wanted.items() if now.get(name) != value]
            # Values that several options have come first: a click on one may choose it for another option.
            return f"click[{wanted[max(left, key=lambda name: len(product.option_of[wanted[name]]))]}]"
        return "click[buy now]"

    def _on_results(self, sight: Sight, goal: Goal) -> Action:
        page = sight.hits.index(goal.product) // PER_PAGE
        if page == sight.number:
            return f"click[{self._catalogue.products[goal.product].number}]"
        return "click[next >]" if page > sight.number else "click[< prev]"

    def _finding(self, place: int) -> str:
        product = self._catalogue.products[place]
        best: tuple[int, str] | None = None
        for words in _searches(product):
            hits = self._catalogue.index.search(words)
            if place in hits and (best is None or hits.index(place) < best[0]):
                best = hits.index(place), words
            if best and best[0] < PER_PAGE:
                return best[1]
        if best is None:
            raise RunError(f"no search finds product {product.number} among the results: {product.name:.100}")
        return best[1]


def choices(product: Product, goal: Goal) -> dict[str, str]:
    """A value for each option of a product that the goal asks for: the value itself, else the first that counts."""
    found: dict[str, str] = {}
    for wanted in goal.options:
        exact = [name for name in product.option_of.get(wanted, ()) if name not in found]
        if exact:
            found[exact[0]] = wanted
            continue
        near = ((name, value) for name, values in product.options.items() if name not in found for value in values)
        match = next((pair for pair in near if alike(colour_of(pair[1]), colour_of(wanted))), None)
        if match:
            found[match[0]] = match[1]
    return found


def _searches(product: Product) -> Iterator[str]:
    """Searches that may find a product, the plainest first. A search is one line without brackets at its end."""
    for text in (product.name, product.searched, f"{product.description} {product.name}", " ".join(product.bullets)):
        words = " ".join(text.split())[:MOST_CHARACTERS].strip()
        if words:
            yield words
