"""The shop on one core: searches and clicks a second, text, purchases of the goal.

    python -m benchmarks.shop

prints a `Speeds` as JSON, measured in this process.
"""

import json
import sys
import time
from statistics import median
from typing import NamedTuple

from benchmarks.arena_runs import interleaved
from benchmarks.cost import measured
from benchmarks.table import Figure, Goal, Row
from games.game import Action
from games.registry import make
from games.tasks.shop.game import Shop, ShopState
from games.tasks.shop.queries import suggested

GOALS, CLICKS = 6_000, 100_000


class Speeds(NamedTuple):
    """What was measured."""

    words: float
    """Mean length of a search."""
    searches: float
    """A second, each with other words."""
    clicks: float
    """A second, around one product: item, options, sub-pages, pages of results."""
    told: float
    """Steps a second of the solver, the text of every observation made."""
    solved: float
    """Share of goals that the solver buys for the full reward."""


def rows(runs: int) -> list[Row]:
    """All figures, from a process of its own on one core."""

    def work() -> Speeds:
        return Speeds(*json.loads(measured([sys.executable, "-m", "benchmarks.shop"], one_core=True).output))

    found = interleaved({"shop": work}, runs)["shop"]
    words, searches, clicks, told, solved = [median(values) for values in zip(*found, strict=True)]
    return [
        Row(f"shop, searches of {words:.1f} words", Figure(searches, "/s"), goal=Goal(4_000, at_least=True)),
        Row("shop, clicks", Figure(clicks, "/s"), goal=Goal(50_000, at_least=True)),
        Row("shop, its solver, every observation as text", Figure(told, "steps/s")),
        Row("shop, goals that its solver buys for 1.0", Figure(100 * solved, "%"), goal=Goal(100, at_least=True)),
    ]


def main() -> None:
    """Measure and print."""
    task = make("shop")
    assert isinstance(task, Shop)
    task.turns = GOALS + 2 * CLICKS  # one long episode
    state, catalogue = task.begin(task.instances.first), task.catalogue
    goals = [catalogue.goal(number % catalogue.size) for number in range(GOALS)]
    queries = [suggested(goal.text)[0] for goal in goals]
    searches = _rate(state, [f"search[{query}]" for query in queries])
    clicks = _rate(state, _around(task, state))
    task.turns = task.given.turns
    begun, steps, solved = time.perf_counter(), 0, 0
    for seed in range(1_000):
        played, advisor = task.new_episode(seed), task.advisor()
        while played.seats_to_act():
            observation = played.observe(0)
            _ = observation.text
            played.apply({0: advisor.advise(observation)})
        steps += len(played.log)
        solved += played.returns()[0] == 1.0
    told = steps / (time.perf_counter() - begun)
    words = sum([len(query.split()) for query in queries]) / len(queries)
    print(json.dumps(Speeds(words, searches, clicks, told, solved / 1_000)))


def _around(task: Shop, state: ShopState) -> list[Action]:
    """Clicks around a product with options, which the state's last search is made to show."""
    product = next(product for product in task.catalogue.products if len(product.option_of) > 2)
    state.apply({0: f"search[{product.name}]"})
    place = state.sight.hits.index(task.catalogue.products.index(product))
    for _ in range(place // 10):
        state.apply({0: "click[next >]"})
    one, two, *_ = product.option_of
    labels = [product.number, one, two, "description", "< prev", "features", "< prev", "< prev", "next >", "< prev"]
    return [f"click[{label}]" for label in labels] * (CLICKS // len(labels))


def _rate(state: ShopState, actions: list[Action]) -> float:
    begun = time.perf_counter()
    for action in actions:
        state.apply({0: action})
    return len(actions) / (time.perf_counter() - begun)


if __name__ == "__main__":
    main()
