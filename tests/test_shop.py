"""The shop: pages, search, what a purchase is worth, catalogues from files."""

import json
import math
import os
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from games.errors import UserError
from games.registry import make
from games.tasks.shop.catalogue import Goal, Product, cap_above
from games.tasks.shop.game import Shop, ShopState
from games.tasks.shop.porter import stem
from games.tasks.shop.reward import kind_of, worth
from games.tasks.shop.search import K1, B, Index, short_length
from games.tasks.shop.words import terms

DATA = Path(os.environ.get("METARENA_DATA", "")) / "webshop"
WANTED = Product(
    number="b01",
    name="Oak Console Table with Drawer",
    query="console tables",
    category="Home \u203a Furniture \u203a Tables",
    description="A narrow table of solid wood.",
    bullets=("Easy assembly", "Two shelves"),
    prices=(45.0,),
    options={"color": ("light oak", "black"), "size": ("small", "large")},
    attributes=("solid wood", "easy assembly"),
)
GOAL = Goal(0, "i want a table", ("solid wood", "easy assembly"), ("black", "large"), 60.0)


def shop_of(more: str = "") -> Shop:
    game = make(f"shop({more})" if more else "shop")
    assert isinstance(game, Shop)
    return game


def written(folder: Path, products: Any, goals: Any) -> str:
    (folder / "products.json").write_text(json.dumps(products))
    (folder / "goals.json").write_text(json.dumps(goals))
    return f'catalogue="{folder / "products.json"}",goals="{folder / "goals.json"}"'


def record(**changed: Any) -> dict[str, Any]:
    """A product as it is published."""
    return {
        "asin": "B01", "name": WANTED.name, "query": WANTED.query, "product_category": WANTED.category,
        "full_description": WANTED.description, "small_description": list(WANTED.bullets), "pricing": "$45.00",
        "customization_options": {"color": [{"value": "Light Oak"}, {"value": "Black"}]}, **changed,
    }  # fmt: skip


WISHES = {
    "B01": {"instruction": "i want a table", "instruction_attributes": ["solid wood"], "attributes": ["solid wood"]}
}


# What a purchase is worth


@pytest.mark.parametrize(
    ("bought", "chosen", "reward"),
    [
        (WANTED, ("black", "large"), 1.0),
        (WANTED, ("black",), 4 / 5),
        (WANTED, (), 3 / 5),
        (WANTED, ("light oak", "small"), 3 / 5),
        (WANTED, ("jet black", "large"), 1.0),
        (replace(WANTED, prices=(60.0,)), ("black", "large"), 1.0),
        (replace(WANTED, prices=(60.01,)), ("black", "large"), 4 / 5),
        (replace(WANTED, prices=()), ("black", "large"), 4 / 5),
        (replace(WANTED, attributes=("solid wood",), bullets=()), ("black", "large"), 4 / 5),
        (replace(WANTED, attributes=()), ("black", "large"), 4 / 5),
        (replace(WANTED, attributes=("wood solid",)), ("black", "large"), 1.0),
        (replace(WANTED, query="desks"), ("black", "large"), 1.0),
    ],
)
def test_a_purchase_is_worth_what_is_fulfilled_of_attributes_options_and_price(
    bought: Product, chosen: tuple[str, ...], reward: float
) -> None:
    """Without its own attributes the product still says "easy assembly" and, in its description, "solid wood"."""
    if bought.attributes == ():
        bought = replace(bought, description="A narrow table.")
    assert worth(GOAL, WANTED, bought, chosen).reward == pytest.approx(reward)


@pytest.mark.parametrize(
    ("name", "query", "category", "kind"),
    [
        ("Oak Console Table with Drawer", "console tables", WANTED.category, 1.0),
        ("Lamp Shade", "console tables", WANTED.category, 0.0),
        ("Oak Console Table with Drawer", "lamps", "Other", 1.0),
        ("Table Lamp", "lamps", "Home \u203a Furniture \u203a Lamps", 1.0),
    ],
)
def test_another_kind_of_product_is_worth_less(name: str, query: str, category: str, kind: float) -> None:
    assert kind_of(replace(WANTED, name=name, query=query, category=category), WANTED) == kind


def test_shared_nouns_decide_between_a_half_a_tenth_and_nothing() -> None:
    long = replace(
        WANTED, name=" ".join(["Table Chair Sofa Shelf Drawer Lamp Mirror Cushion Carpet Curtain Bench Stool"])
    )
    other = replace(WANTED, query="lamps", category="Other")
    assert kind_of(replace(other, name="Lamp"), long) == 0.1, "one noun of twelve"
    assert kind_of(replace(other, name="Lamp Mirror"), long) == 0.5, "two of twelve, filed elsewhere"
    assert kind_of(replace(other, name="Lamp Mirror", query=WANTED.query), long) == 1.0
    assert kind_of(replace(other, name="Lamp Mirror", category=WANTED.category), long) == 1.0
    assert kind_of(replace(other, name="Lamp Mirror Bench"), long) == 1.0, "a quarter of them"


@given(st.floats(0, 5000), st.integers(0, 2**32))
def test_a_cap_is_one_of_the_next_four_multiples_of_ten_and_never_the_first(price: float, seed: int) -> None:
    cap = cap_above(price, random.Random(seed))
    steps = [10.0 * (int(price // 10) + more) for more in (1, 2, 3, 4)]
    assert cap in steps[1:]


# Search


@pytest.mark.parametrize(
    ("word", "root"),
    [
        ("caresses", "caress"), ("ponies", "poni"), ("cats", "cat"), ("agreed", "agre"), ("plastered", "plaster"),
        ("motoring", "motor"), ("hopping", "hop"), ("falling", "fall"), ("filing", "file"), ("happy", "happi"),
        ("relational", "relat"), ("conditional", "condit"), ("vietnamization", "vietnam"), ("triplicate", "triplic"),
        ("electrical", "electr"), ("hopefulness", "hope"), ("adjustment", "adjust"), ("adoption", "adopt"),
        ("effective", "effect"), ("rate", "rate"), ("controll", "control"), ("roll", "roll"), ("as", "as"),
    ],
)  # fmt: skip
def test_words_are_stemmed_as_porter_does(word: str, root: str) -> None:
    assert stem(word) == root


def test_scores_are_those_of_the_formula_and_ties_stay_in_order() -> None:
    texts = ["red table", "red red table of wood", "blue chair", "table red", "lamp " * 50 + "red"]
    index = Index(texts)
    counts = [Counter(terms(text)) for text in texts]
    lengths = [short_length(count.total()) for count in counts]
    mean = sum([count.total() for count in counts]) / len(texts)

    def score(place: int, words: list[str]) -> float:
        total = 0.0
        for word in words:
            holders = sum([word in count for count in counts])
            often = counts[place][word]
            idf = math.log(1 + (len(texts) - holders + 0.5) / (holders + 0.5))
            total += idf * often / (often + K1 * (1 - B + B * lengths[place] / mean))
        return total

    for query in (["red"], ["red", "tabl"], ["lamp", "red"], ["chair"]):
        expected = sorted([place for place in range(5) if score(place, query) > 0], key=lambda p: -score(p, query))
        assert list(index.search(" ".join(query))) == expected
    assert index.search("table red")[1:3] == (0, 3), "equal scores"
    assert index.search("nothing") == index.search("the of") == ()


@given(st.integers(0, 10**6))
def test_a_length_is_kept_in_one_byte(length: int) -> None:
    short = short_length(length)
    assert short <= length
    assert length < 40 or short >= length * 7 / 8
    assert short == length or length >= 40


# Pages


def start(game: Shop) -> tuple[ShopState, Product]:
    """A visit and the product that is wanted."""
    state = game.new_episode(3)
    assert isinstance(state, ShopState)
    return state, game.catalogue.products[state.goal.product]


def test_a_visit_goes_through_all_pages_to_a_purchase() -> None:
    state, wanted = start(shop_of("turns=40"))
    assert state.observe(0).text.startswith(f"Instruction: {state.goal.text}")
    state.apply({0: f"search[{wanted.name}]"})
    assert len(state.sight.hits) <= 50
    shown = [action for action in state.observe(0).legal_actions if action not in ("click[back to search]",)]
    assert len(shown) <= 12
    state.apply({0: f"click[{wanted.number.upper()}]"})
    assert state.board().splitlines()[2].startswith(f"Item {wanted.number}")
    state.apply({0: "click[description]"})
    assert "Description:" in state.board()
    state.apply({0: "click[< prev]"})
    state.apply({0: "click[Features]"})
    assert "Features:" in state.board()
    state.apply({0: "click[< prev]"})
    for option in state.goal.options:
        state.apply({0: f"click[{option}]"})
        assert f"chosen: {option}" in state.board()
    state.apply({0: "click[buy now]"})
    assert (state.rewards(), state.success(), state.seats_to_act()) == ((1.0,), (True,), ())


@pytest.mark.parametrize(
    "action", ["click[buy now]", "search[]", "click[]", "buy", "think[hm]", "click[b0nothing]", "search[x"]
)
def test_what_means_nothing_takes_a_turn_and_changes_nothing_else(action: str) -> None:
    state, _ = start(shop_of())
    before = state.board().splitlines()[2:]
    assert state.observe(0).allows(action)
    state.apply({0: action})
    assert (state.board().splitlines()[2:], state.rewards(), len(state.log)) == (before, (0.0,), 1)


@pytest.mark.parametrize("action", ["", "a\nb", "x" * 501])
def test_what_is_no_line_is_refused(action: str) -> None:
    state, _ = start(shop_of())
    assert not state.observe(0).allows(action)
    with pytest.raises(ValueError, match="is not one line"):
        state.apply({0: action})


def test_the_oracle_earns_everything_and_no_goal_is_in_two_splits() -> None:
    seen: list[range] = []
    for split in ("train", "validation", "test"):
        game = shop_of(f"split={split}")
        seen.append(range(game.instances.first, game.instances.first + game.instances.size))
        for seed in range(0, game.instances.size, max(1, game.instances.size // 100)):
            state, advisor = game.new_episode(seed), game.advisor()
            while state.seats_to_act():
                state.apply({0: advisor.advise(state.observe(0))})
            assert state.returns() == (1.0,)
    assert sum(map(len, seen)) == len(set().union(*seen))


# Files


def test_a_catalogue_in_the_published_form_is_read(tmp_path: Path) -> None:
    game = shop_of("split=test," + written(tmp_path, [record()], WISHES))
    assert game.catalogue.size == 2, "a goal for each value of the option"
    assert {game.catalogue.goal(number).options for number in (0, 1)} == {("light oak",), ("black",)}
    (product,) = game.catalogue.products
    assert (product.number, product.price, product.attributes) == ("b01", 45.0, ("solid wood",))


@pytest.mark.parametrize(
    ("products", "goals", "words"),
    [
        ({}, WISHES, "a list of products was expected"),
        ([], WISHES, "a list of products was expected"),
        (["B01"], WISHES, "product 0: 'B01'; an object was expected"),
        ([{key: value for key, value in record().items() if key != "name"}], WISHES,
         r"product 0 \(B01\), field 'name': missing; a text was expected"),
        ([record(name=3)], WISHES, r"field 'name': 3; a text was expected"),
        ([record(asin="")], WISHES, "field 'asin': ''; a text that is not empty"),
        ([record(pricing="cheap")], WISHES, r"field 'pricing': 'cheap'; sums such as '\$1.99'"),
        ([record(pricing=[-1])], WISHES, "field 'pricing': .*a list of sums of 0 and more"),
        ([record(customization_options={"size": "large"})], WISHES, "a list of values was expected for option 'size'"),
        ([record(small_description=[1])], WISHES, "field 'small_description': .*a list of texts was expected"),
        ([record()], [], "an object of products by asin was expected"),
        ([record()], {"B01": 5}, "product B01: 5; an object or a list was expected"),
        ([record()], {"B01": {"instruction": 4}}, "field 'instruction': 4; a text"),
        ([record()], {}, "split test has no goals"),
    ],
)  # fmt: skip
def test_a_malformed_catalogue_names_file_product_field_and_what_was_expected(
    tmp_path: Path, products: Any, goals: Any, words: str
) -> None:
    with pytest.raises(UserError, match=words) as caught:
        shop_of("split=test," + written(tmp_path, products, goals))
    assert "\n" not in str(caught.value)


def test_files_that_are_no_json_or_come_alone_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text('[{"asin": ')
    there = written(tmp_path, [record()], WISHES)
    with pytest.raises(UserError, match=r"broken.json', line 1, column 11: .*JSON was expected"):
        shop_of(f'catalogue="{tmp_path / "broken.json"}",goals="{tmp_path / "goals.json"}"')
    with pytest.raises(UserError, match="catalogue names a file, and goals none; both were expected"):
        shop_of(there.split(",goals=")[0])
    with pytest.raises(UserError, match="No such file"):
        shop_of('catalogue="/none.json",goals="/none.json"')


@pytest.mark.skipif(not DATA.is_dir(), reason="$METARENA_DATA names no folder with WebShop's files")
def test_on_the_real_products_the_product_of_each_goal_earns_everything() -> None:
    files = f'catalogue="{DATA / "products_1000.json"}",goals="{DATA / "items_ins_v2_1000.json"}"'
    worths: Counter[float] = Counter()
    for split in ("train", "validation", "test"):
        game = shop_of(f"split={split},{files}")
        for seed in range(game.instances.size):
            state, advisor = game.new_episode(seed), game.advisor()
            while state.seats_to_act():
                state.apply({0: advisor.advise(state.observe(0))})
            worths[state.returns()[0]] += 1
    assert worths == {1.0: worths.total()}
    assert worths.total() > 6_800
