"""What a buyer sees at one moment."""

from enum import Enum
from typing import NamedTuple

PER_PAGE = 10


class Page(Enum):
    """What is shown."""

    SEARCH = "search"
    RESULTS = "results"
    ITEM = "item"
    DESCRIPTION = "description"
    FEATURES = "features"
    DONE = "done"


class Sight(NamedTuple):
    """What the buyer sees."""

    page: Page
    turn: int
    """Turns taken."""
    words: str = ""
    """The last search."""
    hits: tuple[int, ...] = ()
    """Places of the products found."""
    number: int = 0
    """Page of the results, from 0."""
    product: int = -1
    """Place of the product that is open or bought."""
    chosen: tuple[tuple[str, str], ...] = ()
    """Option and value, by the order of the options chosen."""
    nothing: bool = False
    """Whether the last action led nowhere."""
