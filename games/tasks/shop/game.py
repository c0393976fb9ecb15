"""The shop as a task: search, look, choose and buy; what was bought is worth what WebShop's reward says."""

from functools import lru_cache

from pydantic import Field, model_validator

from games.errors import UserError
from games.game import Action
from games.spec import Spec
from games.tasks.files import FromFiles, held
from games.tasks.instances import Instances, SplitName, chosen
from games.tasks.parameters import canonical, read
from games.tasks.shop.catalogue import Catalogue
from games.tasks.shop.expert import Oracle
from games.tasks.shop.files import read_catalogue
from games.tasks.shop.generate import generate
from games.tasks.shop.queries import suggested
from games.tasks.shop.reward import Worth, worth
from games.tasks.shop.sight import PER_PAGE, Page, Sight
from games.tasks.shop.text import item_page, results_page, rules, sub_page
from games.tasks.task import MOST_CHARACTERS, Task, TaskState, is_line, task_spec

TURNS = 15
SPLITS: dict[SplitName, tuple[int, int | None]] = {"test": (0, 500), "validation": (500, 1_500), "train": (1_500, None)}
"""First goal of each split, and the first after it."""
_LINKS = {"back to search", "next >", "< prev", "description", "features", "buy now"}


class ShopParameters(FromFiles):
    """What `shop(...)` takes."""

    turns: int = Field(TURNS, ge=1, le=1_000, description="Turns of an episode.")
    catalogue: str = Field("", description="A file of products in WebShop's form; without it, 1,000 made-up ones.")
    goals: str = Field("", description="The file of instructions that goes with the products.")

    @model_validator(mode="after")
    def _files_go_together(self) -> "ShopParameters":
        if bool(self.catalogue) != bool(self.goals):
            there, other = ("catalogue", "goals") if self.catalogue else ("goals", "catalogue")
            raise ValueError(f"{there} names a file, and {other} none; both were expected, or neither")
        return self


class Shop(Task):
    """A catalogue and its goals."""

    free = True

    def __init__(self, spec: Spec) -> None:
        given = read(spec, ShopParameters)
        if given.catalogue:
            self.catalogue, digest = read_catalogue(given.catalogue, given.goals)
        else:  # it takes a while to make
            self.catalogue, digest = made_up(), ""
        what = f"catalogue {given.catalogue!r} or its goals" if given.catalogue else "the made-up catalogue"
        self.given = given = held(given, digest, what)
        self.instances = _instances(given, self.catalogue.size)
        self.turns = given.turns
        self.spec = task_spec(
            name=canonical(spec.name, given),
            title="Shop",
            rules=rules(given.turns),
            turns=given.turns,
            returns=(0.0, 1.0),
            perfect=False,
            chance=self.instances.size > 1,
            terminal_rewards=True,
        )

    def begin(self, instance: int) -> "ShopState":
        return ShopState(self, instance)

    def advisor(self) -> Oracle:
        return Oracle(self.catalogue)


class ShopState(TaskState):
    """One visit to the shop."""

    __slots__ = ("_catalogue", "goal", "worth")

    task: Shop

    def __init__(self, task: Shop, instance: int) -> None:
        super().__init__(task, instance)
        self._catalogue = task.catalogue
        self.goal = task.catalogue.goal(instance)
        self.worth: Worth | None = None
        self.sight = Sight(Page.SEARCH, 0)

    def _play(self, action: Action) -> float:
        if not is_line(action):
            raise ValueError(f"{action!r:.200} is not one line of 1 to {MOST_CHARACTERS} characters")
        sight: Sight = self.sight
        turn = sight.turn + 1
        after = None
        if action.endswith("]"):
            if action.startswith("click["):
                after = self._clicked(sight, turn, action[6:-1].strip().lower())
            elif action.startswith("search["):
                after = self._searched(turn, action[7:-1].strip().lower())
        self.sight = after = after or sight._replace(turn=turn, nothing=True)
        reward = self._bought(after) if after.page is Page.DONE else 0.0
        self.over = after.page is Page.DONE or turn >= self.task.turns
        return reward

    def _searched(self, turn: int, words: str) -> Sight | None:
        if not words:
            return None
        return Sight(Page.RESULTS, turn, words, self._catalogue.index.search(words))

    def _clicked(self, sight: Sight, turn: int, label: str) -> Sight | None:
        """What a click leads to, if anything."""
        page = sight.page
        if page is Page.SEARCH:
            return None
        if label == "back to search":
            return Sight(Page.SEARCH, turn)
        _, _, words, hits, number, product, taken, _ = sight
        if page is Page.RESULTS:
            if label == "next >":
                return Sight(page, turn, words, hits, number + 1) if (number + 1) * PER_PAGE < len(hits) else None
            if label == "< prev":
                return Sight(page, turn, words, hits, number - 1) if number else None
            place = self._catalogue.place_of.get(label, -1)
            if place not in hits[number * PER_PAGE : (number + 1) * PER_PAGE]:
                return None
            return Sight(Page.ITEM, turn, words, hits, number, place)
        if label == "< prev":
            if page is Page.ITEM:
                return Sight(Page.RESULTS, turn, words, hits, number)
            return Sight(Page.ITEM, turn, words, hits, number, product, taken)
        return self._on_item(sight, turn, label) if page is Page.ITEM else None

    def _on_item(self, sight: Sight, turn: int, label: str) -> Sight | None:
        _, _, words, hits, number, product, taken, _ = sight
        page = _FROM_ITEM.get(label)
        if page is None:
            names = self._catalogue.products[product].option_of.get(label)
            if names is None:
                return None
            # A value of several options is chosen for one of them: the first without any, else the first with another.
            now = dict(taken)
            left = [each for each in names if each not in now] or [each for each in names if now[each] != label]
            name = (left or names)[0]
            taken = (*[pair for pair in taken if pair[0] != name], (name, label))
        return Sight(page or Page.ITEM, turn, words, hits, number, product, taken)

    def _bought(self, sight: Sight) -> float:
        products = self._catalogue.products
        values = tuple([value for _, value in sight.chosen])
        self.worth = worth(self.goal, products[self.goal.product], products[sight.product], values)
        self.solved = self.worth.reward == 1
        return self.worth.reward

    def _allows(self, sight: Sight, action: Action) -> bool:
        return is_line(action)

    def _legal(self, sight: Sight) -> tuple[Action, ...]:
        if sight.page is Page.SEARCH:
            return tuple([f"search[{words}]" for words in suggested(self.goal.text)])
        return tuple([f"click[{label}]" for label in self._links(sight)])

    def _links(self, sight: Sight) -> list[str]:
        products = self._catalogue.products
        if sight.page is Page.RESULTS:
            begin = sight.number * PER_PAGE
            shown = [products[place].number for place in sight.hits[begin : begin + PER_PAGE]]
            more = ["next >"] if begin + PER_PAGE < len(sight.hits) else []
            return ["back to search", *(["< prev"] if sight.number else []), *more, *shown]
        if sight.page is Page.ITEM:
            values = [value for value in products[sight.product].option_of if value not in _LINKS]
            return ["back to search", "< prev", "description", "features", *values, "buy now"]
        return ["back to search", "< prev"]

    def _told(self, sight: Sight) -> str:
        lines = [f"Instruction: {self.goal.text}", f"Turns taken: {sight.turn} of {self.task.turns}."]
        idle = ["Nothing happened: that was no search, and no link of this page."] if sight.nothing else []
        return "\n".join([*lines, *idle, self._page_of(sight)])

    def _page_of(self, sight: Sight) -> str:
        products = self._catalogue.products
        if sight.page is Page.SEARCH:
            return "You are at the search."
        if sight.page is Page.RESULTS:
            shown = sight.hits[sight.number * PER_PAGE : (sight.number + 1) * PER_PAGE]
            found = [products[place] for place in shown]
            return results_page(sight.words, sight.number + 1, len(sight.hits), found)
        if sight.page in (Page.DESCRIPTION, Page.FEATURES):
            return sub_page(products[sight.product], sight.page)
        told = item_page(products[sight.product], sight.chosen)
        return f"Bought.\n{told}" if sight.page is Page.DONE else told

    def board(self) -> str:
        """The page, what was meant, and what the purchase was worth part by part."""
        product, goal = self._catalogue.products[self.goal.product], self.goal
        lines = [
            self._told(self.sight),
            f"Meant: {product.number} {' '.join(product.name.split())}",
            f"Attributes: {', '.join(goal.attributes)}. Options: {', '.join(goal.options) or 'none'}.",
        ]
        if self.worth:
            kind, attributes, options, price, _ = self.worth
            lines.append(
                f"Kind {kind:g}, attributes {attributes} of {len(goal.attributes)}, options {options} of "
                f"{len(goal.options)}, price {'kept' if price else 'too high'}: reward {self.worth.reward:g}"
            )
        return "\n".join(lines)


_FROM_ITEM = {"description": Page.DESCRIPTION, "features": Page.FEATURES, "buy now": Page.DONE}


def load(spec: Spec) -> Shop:
    """Make `shop(...)`. Raises UserError for parameters and files that are none."""
    return Shop(spec)


@lru_cache(maxsize=1)
def made_up() -> Catalogue:
    """The catalogue that needs no file."""
    return generate()


def _instances(given: ShopParameters, size: int) -> Instances:
    """The goals that are played. No two splits share one; what is asked of one product may come in several."""
    first, end = SPLITS[given.split]
    there = range(min(first, size), size if end is None else min(end, size))
    if not there:
        splits = ", ".join([f"{name} from goal {begin}" for name, (begin, _) in SPLITS.items()])
        raise UserError(f"split {given.split} has no goals: the catalogue has {size} ({splits})")
    return chosen(there, given.first, given.count)
