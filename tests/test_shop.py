"""The shop: pages, search, what a purchase is worth, catalogues from files."""

import json
import math
import os
import random
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.errors import UserError
from games.registry import make
from games.tasks.shop.catalogue import Goal, Product, cap_above
from games.tasks.shop.files import read_catalogue
from games.tasks.shop.game import Shop, ShopState
from games.tasks.shop.generate import generate
from games.tasks.shop.nouns import nouns
from games.tasks.shop.porter import stem
from games.tasks.shop.queries import suggested
from games.tasks.shop.reward import alike, colour_of, has, kind_of, shared_nouns, worth
from games.tasks.shop.search import HITS, K1, B, Index, short_length
from games.tasks.shop.sight import Page
from games.tasks.shop.words import terms
from games.testing import check_game

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
    assert state.board().splitlines()[2].startswith("Nothing happened")
    assert (state.board().splitlines()[3:], state.rewards(), len(state.log)) == (before, (0.0,), 1)


@pytest.mark.parametrize("action", ["", "a\nb", "a\n", "x" * 501])
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
        (["B01"], WISHES, "product 1: 'B01'; an object was expected"),
        ([{key: value for key, value in record().items() if key != "name"}], WISHES,
         r"product 1 \(B01\), field 'name': missing; a text was expected"),
        ([record(name=3)], WISHES, r"field 'name': 3; a text was expected"),
        ([record(asin="")], WISHES, "field 'asin': ''; a text that is not empty"),
        ([record(pricing="cheap")], WISHES, r"field 'pricing': 'cheap'; sums such as '\$1.99'"),
        ([record(pricing=[-1])], WISHES, "field 'pricing': .*a list of sums of 0 and more"),
        ([record(customization_options={"size": "large"})], WISHES, "a list of values was expected for option 'size'"),
        ([record(small_description=[1])], WISHES, "field 'small_description': .*a list of texts was expected"),
        ([record()], [], "an object of products by asin was expected"),
        ([record()], {"B01": 5}, "product B01: 5; an object or a list was expected"),
        ([record()], {"B01": {"instruction": 4}}, "field 'instruction': 4; a text"),
        ([record()], {}, "none of its products is wanted and in catalogue"),
        ([record()], {"NOPE": WISHES["B01"]}, "none of its products, such as 'NOPE', is wanted and in catalogue"),
        ([record(name="half \ud800")], WISHES, r"products.json', line 1 or later: .ud800 is half a character"),
        ([record()], {"B01": {**WISHES["B01"], "instruction": "half \udfff"}}, "goals.json', line 1 or later"),
    ],
)  # fmt: skip
def test_a_malformed_catalogue_names_file_product_field_and_what_was_expected(
    tmp_path: Path, products: Any, goals: Any, words: str
) -> None:
    with pytest.raises(UserError, match=words) as caught:
        shop_of("split=test," + written(tmp_path, products, goals))
    assert "\n" not in str(caught.value)


def test_a_catalogue_that_has_changed_is_another_game(tmp_path: Path) -> None:
    there = written(tmp_path, [record()], WISHES)
    name = shop_of("split=test," + there).spec.name
    assert "digest=" in name
    make.cache_clear()
    read_catalogue.cache_clear()
    assert make(name).spec.name == name
    written(tmp_path, [record(name="Another table")], WISHES)
    make.cache_clear()
    read_catalogue.cache_clear()
    with pytest.raises(UserError, match=r"or its goals has changed: digest=.* was asked for, and it is"):
        make(name)


def test_a_number_of_thousands_of_digits_is_one_line(tmp_path: Path) -> None:
    there = written(tmp_path, [record()], WISHES)
    file = tmp_path / "products.json"
    file.write_text(file.read_text().replace('"pricing": ', f'"pricing": {"9" * 5000}, "was": '))
    with pytest.raises(UserError, match=r"products.json': Exceeds the limit .*; JSON was expected"):
        shop_of("split=test," + there)


@pytest.mark.parametrize("action", ["click[1]", "buy now", "search[]", "blah"])
def test_an_action_that_leads_nowhere_is_told(action: str) -> None:
    state, _ = start(shop_of())
    state.apply({0: action})
    assert "Nothing happened" in state.observe(0).text
    state.apply({0: "search[shirt]"})
    assert "Nothing happened" not in state.observe(0).text


def test_goods_of_another_kind_earn_nothing() -> None:
    """What the made-up products are called must not make all of them alike."""
    game, rng = shop_of(), random.Random(5)
    kinds = Counter[float]()
    for number in rng.sample(range(game.catalogue.size), 300):
        goal = game.catalogue.goal(number)
        meant, other = game.catalogue.products[goal.product], rng.choice(game.catalogue.products)
        if meant.query != other.query:
            kinds[worth(goal, meant, other, ()).kind] += 1
    assert kinds[0] > 0.7 * kinds.total()


def test_files_that_are_no_json_or_come_alone_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text('[{"asin": ')
    there = written(tmp_path, [record()], WISHES)
    with pytest.raises(UserError, match=r"broken.json', line 1, column 11: .*JSON was expected"):
        shop_of(f'catalogue="{tmp_path / "broken.json"}",goals="{tmp_path / "goals.json"}"')
    with pytest.raises(UserError, match="catalogue names a file, and goals none; both were expected"):
        shop_of(there.split(",goals=")[0])
    with pytest.raises(UserError, match="No such file"):
        shop_of('catalogue="/none.json",goals="/none.json"')


# More of the search


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Women's DRESSES for the summer", "women dress summer"),
        ("3.5 fl. oz, 1,000 mAh / 5:30", "3.5 fl oz 1,000 mah 5 30"),
        ("d.o.n. v2.0 x.5 a_b foo:bar", "d.o.n v2.0 x 5 a_b foo:bar"),
        ("half-dry wi-fi", "half dry wi fi"),
        ("\u2764\ufe0f tea \u7dd1\u8336 1\u20442", "\u2764\ufe0f tea \u7dd1 \u8336 1\u20442"),
        ("size \u00bd cup \u00b2 __ -", "size cup"),
        ("", ""),
    ],
)
def test_texts_are_cut_into_terms_as_by_lucene(text: str, expected: str) -> None:
    assert terms(text) == expected.split()


def plain_scores(texts: list[str], words: str) -> dict[int, float]:
    """Lucene's formula, one document at a time."""
    counted = [Counter(terms(text)) for text in texts]
    filled = [counts for counts in counted if counts]
    average = sum([counts.total() for counts in filled]) / max(len(filled), 1)
    scores: dict[int, float] = {}
    for place, counts in enumerate(counted):
        for term, times in Counter(terms(words)).items():
            if counts[term]:
                having = sum([term in other for other in counted])
                idf = math.log(1 + (len(filled) - having + 0.5) / (having + 0.5))
                norm = K1 * (1 - B + B * short_length(counts.total()) / average)
                scores[place] = scores.get(place, 0.0) + times * idf * counts[term] / (counts[term] + norm)
    return scores


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from("red blue shirt shirts the tea cup".split()), max_size=70), min_size=1),
    st.lists(st.sampled_from("red blue shirt the tea none".split()), min_size=1, max_size=6),
)
def test_the_index_scores_as_the_formula_does(documents: list[list[str]], words: list[str]) -> None:
    texts = [" ".join(document) for document in documents]
    expected = plain_scores(texts, " ".join(words))
    found = Index(texts).search(" ".join(words))
    assert len(found) == min(HITS, len(expected))
    assert set(found) <= set(expected)
    for one, other in pairwise(found):
        assert expected[one] > expected[other] - 1e-5
    assert sorted(expected.values(), reverse=True)[: len(found)] == pytest.approx([expected[each] for each in found])


def test_equal_products_come_in_the_order_of_the_catalogue_and_fifty_at_most() -> None:
    index = Index(["tea"] * 300 + ["tea cup"])
    assert index.search("tea") == tuple(range(HITS))
    assert index.search("cup tea")[:3] == (300, 0, 1)
    assert index.search("the of") == index.search("nothing") == ()


def test_a_word_asked_for_twice_counts_twice() -> None:
    index = Index(["red shirt", "blue tea", "blue cup", "red tea"])
    assert index.search("shirt tea")[0] == 3 or index.search("shirt tea")[0] == 0
    assert index.search("blue blue blue red")[:2] == (1, 2)


# More of the reward, term by term


def a_product(**fields: object) -> Product:
    plain = {
        "number": "b1",
        "name": "Acme Cotton Shirt",
        "query": "shirts",
        "category": "Clothing \u203a Men \u203a Shirts",
        "description": "",
        "bullets": (),
        "prices": (10.0,),
        "options": {},
        "attributes": (),
    }
    return Product(**(plain | fields))  # type: ignore[arg-type]


def a_goal(attributes: str = "", options: str = "", cap: float = 20.0) -> Goal:
    def listed(text: str) -> tuple[str, ...]:
        return tuple([part.strip() for part in text.split(",")]) if text else ()

    return Goal(0, "", listed(attributes), listed(options), cap)


@pytest.mark.parametrize(
    ("attributes", "options", "cap", "chosen", "reward"),
    [
        ("soft,warm", "red", 20.0, ("blue",), 3 / 4),
        ("soft,warm", "red", 20.0, (), 3 / 4),
        ("soft,warm", "red", 9.99, ("red",), 3 / 4),
        ("soft,warm", "red", 10.0, ("red",), 1.0),
        ("soft,cold", "red", 20.0, ("red",), 3 / 4),
        ("cold", "", 5.0, (), 0.0),
        ("cold,iron", "red,large", 20.0, ("large",), 2 / 5),
        ("soft", "", 20.0, ("red",), 1.0),
    ],
)
def test_each_attribute_option_and_the_price_weigh_the_same(
    attributes: str, options: str, cap: float, chosen: tuple[str, ...], reward: float
) -> None:
    product = a_product(attributes=("soft", "warm"))
    assert worth(a_goal(attributes, options, cap), product, product, chosen).reward == pytest.approx(reward)


@pytest.mark.parametrize(
    ("fields", "attribute", "expected"),
    [
        ({"attributes": ("essential oil",)}, "essential oils", True),
        ({"attributes": ("oil of tea tree",)}, "tea tree", True),
        ({"attributes": ("tea bag", "earl gray")}, "tea tree", False),
        ({"name": "Tea Tree Soap"}, "tea tree", True),
        ({"bullets": ("Made of", "Tea Tree")}, "tea tree", True),
        ({"bullets": ("Of tea", "tree bark")}, "tea tree", True),
        ({"description": "With TEA TREE."}, "tea tree", True),
        ({"description": "A tree of tea."}, "tea tree", False),
    ],
)
def test_an_attribute_counts_if_alike_or_in_the_texts(
    fields: dict[str, object], attribute: str, expected: bool
) -> None:
    assert has(a_product(**fields), attribute) is expected


@pytest.mark.parametrize(
    ("chosen", "wanted", "counts"),
    [
        ("navy blue", "blue", True),
        ("a-blue", "z1-blue", True),
        ("dark blue", "black", False),
        ("cool powder", "powder", True),
        ("pack of 12", "12 pack", True),
        ("x-large", "xx-large", True),
        ("small", "large", False),
        ("6 ounce", "12 ounce", False),
        ("XL", "xl", True),
        ("+", "+", True),
        ("+", "-", False),
    ],
)
def test_options_count_if_alike_after_their_colours(chosen: str, wanted: str, counts: bool) -> None:
    product = a_product()
    assert worth(a_goal("", wanted), product, product, (chosen,)).options == int(counts)


def test_likeness_is_above_85() -> None:
    assert alike("abcdefg", "abcdefh"), "6 of 7 letters are the same: 85.7"
    assert alike("abcdefgh", "abcdefgx"), "87.5"
    assert not alike("abcdef", "abcdex"), "83.3"
    assert colour_of("light navy blue") == "blue", "the first in the alphabet"
    assert colour_of("size 7") == "size 7"


def test_a_name_without_nouns_is_shared_by_a_fifth() -> None:
    assert nouns("the 12 of 3.5 with") == ()
    assert shared_nouns("Acme Zebra", "the 12 of 3.5 with") == 0.2
    wanted = a_product(name="12 with 5")
    assert kind_of(a_product(name="Zebra", query="other", category="Other"), wanted) == 0.5
    assert kind_of(a_product(name="Zebra"), wanted) == 1.0


@pytest.mark.parametrize(
    ("wanted", "bought", "share"),
    [
        ("Bolt Unisex-Adult R.o.w. Issue 2 Basketball Shoe", "Bolt Unisex-Adult R.o.w. Issue 2 Court Shoe", 6 / 7),
        ("Listed 2 Prong Power Cord for 4K Soundbar", "AC Power Cord Cable for Radio System", 2 / 4),
        ("Women's Dress, a Women's Summer Dress", "Dress for Women", 2 / 5),
        ("Beautiful Washable Beds", "Quickly Assembled Bed", 0.0),
    ],
)
def test_nouns_of_names(wanted: str, bought: str, share: float) -> None:
    assert shared_nouns(bought, wanted) == pytest.approx(share)


def test_repeated_nouns_of_the_goal_are_counted_but_shared_once() -> None:
    assert nouns("Tea Cup, Tea Pot") == ("tea", "cup", "tea", "pot")
    assert shared_nouns("Tea Cup, Tea Pot", "Tea Cup, Tea Pot") == 3 / 4


def test_a_missing_price_is_100_and_a_range_is_drawn_once() -> None:
    assert a_product(prices=()).price == 100.0
    ranged = a_product(prices=(10.0, 20.0))
    assert 10.0 <= ranged.price <= 20.0
    assert ranged.price == a_product(prices=(10.0, 20.0)).price
    assert ranged.price != a_product(prices=(10.0, 20.0), number="b2").price


# More of pages and clicks


def published(**fields: object) -> dict[str, object]:
    """A product as WebShop publishes it."""
    return {
        "asin": "B0ABC",
        "name": "Acme Cotton Shirt",
        "query": " Shirts ",
        "category": "fashion",
        "product_category": "Clothing \u203a Men",
        "full_description": None,
        "small_description": ["Soft", "Warm"],
        "pricing": "$1,019.50 to $1,030.00",
        "customization_options": {
            "Color": [{"value": " Black/Red ", "image": "x"}, {"value": "Blue", "image": None}],
            "Size": None,
        },
    } | fields


INSTRUCTIONS = {
    "B0ABC": {"attributes": ["soft"], "instruction": "Find me shirts.", "instruction_attributes": ["Soft"]},
    "B0UNKNOWN": {"attributes": []},
}


def files(folder: Path, products: object = None, goals: object = None) -> Shop:
    """The game of two files."""
    return shop_of(
        "split=test," + written(folder, [published()] if products is None else products, goals or INSTRUCTIONS)
    )


def visit(state: ShopState, *actions: str) -> ShopState:
    for action in actions:
        state.apply({0: action})
    return state


def small(tmp_path: Path, count: int = 23) -> Shop:
    """Shirts in a file, the first with two options that share a value."""
    products = [
        published(
            asin=f"B{place}",
            name=f"Shirt number {place}",
            pricing=f"${place + 1}.50",
            customization_options={"color": [{"value": "White"}, {"value": "Red"}], "edge": [{"value": "White"}]}
            if place == 0
            else {},
        )
        for place in range(count)
    ]
    goals = {"B0": {"attributes": ["soft"], "instruction": "Find me a shirt.", "instruction_attributes": ["soft"]}}
    return files(tmp_path, products, goals)


def test_pages_of_results_and_of_an_item_lead_back_and_forth(tmp_path: Path) -> None:
    state = small(tmp_path).begin(0)
    assert state.sight.page is Page.SEARCH
    visit(state, "search[shirt]")
    assert "Page 1 of 3 (23 found)" in state.board()
    assert state.observe(0).legal_actions[:3] == ("click[back to search]", "click[next >]", "click[b1]")
    visit(state, "click[next >]", "click[next >]")
    assert "Page 3 of 3" in state.board()
    assert state.observe(0).legal_actions == (
        "click[back to search]", "click[< prev]", "click[b21]", "click[b22]", "click[b0]",
    )  # fmt: skip
    visit(state, "click[next >]", "click[b1]")
    assert "Page 3 of 3" in state.board(), "there is no further page, and b1 is on the first"
    visit(state, "click[< prev]", "click[< prev]", "click[B1]")
    assert state.sight.page is Page.ITEM, "labels are read in lower case"
    visit(state, "click[description]")
    assert "There is none." in state.board()
    visit(state, "click[< prev]", "click[features]")
    assert "- Soft\n- Warm" in state.board()
    visit(state, "click[< prev]", "click[< prev]")
    assert "Page 1 of 3" in state.board()
    visit(state, "click[back to search]")
    assert state.sight.page is Page.SEARCH
    visit(state, "click[back to search]")
    assert not state.seats_to_act(), "fifteen turns are over"
    assert state.returns() == (0.0,)
    assert state.observe(0).text.endswith("Over: not solved. Return: 0")


def test_options_are_chosen_and_the_last_one_counts(tmp_path: Path) -> None:
    state = visit(small(tmp_path).begin(0), "search[shirt number 0]", "click[b0]", "click[red]")
    assert "color: [white] [red] (chosen: red)" in state.board()
    visit(state, "click[white]")
    assert state.sight.chosen == (("color", "red"), ("edge", "white")), "white is for what has no choice yet"
    visit(state, "click[description]", "click[white]")
    assert state.sight.page is Page.DESCRIPTION, "there is no such link here"
    visit(state, "click[< prev]", "click[white]")
    assert dict(state.sight.chosen) == {"color": "white", "edge": "white"}
    visit(state, "click[red]")
    assert dict(state.sight.chosen) == {"color": "red", "edge": "white"}
    visit(state, "click[buy now]")
    assert not state.seats_to_act()
    assert state.sight.page is Page.DONE


def test_choices_are_forgotten_on_another_visit_of_the_item(tmp_path: Path) -> None:
    state = visit(small(tmp_path).begin(0), "search[shirt number 0]", "click[b0]", "click[red]", "click[< prev]")
    assert visit(state, "click[b0]").sight.chosen == ()


def test_a_purchase_ends_the_episode_and_pays(tmp_path: Path) -> None:
    game = small(tmp_path)
    for number in range(game.catalogue.size):
        goal = game.catalogue.goal(number)
        state = visit(game.begin(number), "search[shirt number 0]", "click[b0]")
        visit(state, *[f"click[{value}]" for value in goal.options], "click[buy now]")
        assert state.rewards() == state.returns() == (1.0,)
        assert state.success() == (True,)
        assert "reward 1" in state.board()
    state = visit(game.begin(0), "search[shirt number 0]", "click[b0]", "click[buy now]")
    assert state.returns() == (pytest.approx(2 / 4),), "the attribute and the price of four"
    assert state.success() == (False,)
    with pytest.raises(ValueError, match="the episode is over"):
        state.apply({0: "click[buy now]"})


def test_the_oracle_chooses_values_that_several_options_have(tmp_path: Path) -> None:
    options = {"color": [{"value": "White"}, {"value": "Red"}], "edge": [{"value": "White"}, {"value": "Blue"}]}
    goals = {"B0ABC": {"attributes": [], "instruction": "A shirt", "instruction_attributes": ["soft"]}}
    game = files(tmp_path, [published(customization_options=options)], goals)
    advisor = game.advisor()
    for number in range(game.catalogue.size):
        for first in ((), ("red", "blue"), ("white", "white"), ("white", "blue")):
            state = visit(ShopState(game, number), "search[shirt]", "click[b0abc]")
            visit(state, *[f"click[{value}]" for value in first])
            while state.seats_to_act():
                visit(state, advisor.advise(state.observe(0)))
            assert state.success() == (True,)


def test_a_search_works_from_every_page_and_may_find_nothing(tmp_path: Path) -> None:
    state = visit(small(tmp_path).begin(0), "search[shirt]", "click[b0]", "search[zebra]")
    assert "Results for: zebra\nNothing was found." in state.board()
    assert state.observe(0).legal_actions == ("click[back to search]",)


def test_suggested_searches_come_from_the_instruction_alone() -> None:
    game = shop_of("split=test")
    for number in range(200):
        goal = game.catalogue.goal(number)
        for words in suggested(goal.text):
            assert words
            assert all([word in goal.text.lower() for word in words.split()])
        assert str(int(goal.cap)) not in suggested(goal.text)[0].split()[-1:]
    assert suggested("") == ("new",)


# More of catalogues and goals


def test_the_made_up_catalogue_is_always_the_same() -> None:
    one, other = generate(), generate()
    assert one.products == other.products
    assert one.wishes == other.wishes
    assert [one.goal(number) for number in range(500)] == [other.goal(number) for number in range(500)]
    assert len(one.products) == len(one.place_of) == len({product.name for product in one.products}) == 1_000
    assert one.size > 5_000


def test_every_goal_asks_for_what_its_product_has() -> None:
    catalogue = shop_of().catalogue
    for number in range(0, catalogue.size, 7):
        goal = catalogue.goal(number)
        product = catalogue.products[goal.product]
        assert set(goal.attributes) <= set(product.attributes)
        pairs = zip(sorted(product.options), goal.options, strict=True)
        assert all([value in product.options[name] for name, value in pairs])
        assert product.price < goal.cap <= product.price + 40
        assert all([part in goal.text for part in (product.query, *goal.attributes, *goal.options, f"{goal.cap:.2f}")])
        assert worth(goal, product, product, goal.options).reward == 1.0


def test_the_made_up_catalogue_keeps_the_promises_of_games() -> None:
    for text in ("", "split=test", "count=1,first=3,split=test", "turns=3"):
        game = shop_of(text)
        assert game.spec.name == (f"shop({text})" if text else "shop")
        check_game(game)


def solved(game: Shop, numbers: range) -> int:
    count = 0
    advisor = game.advisor()
    for number in numbers:
        state = game.begin(number)
        while state.seats_to_act():
            visit(state, advisor.advise(state.observe(0)))
        count += state.success() == (True,)
    return count


def test_the_oracle_reaches_1_and_random_play_does_not() -> None:
    game = shop_of()
    numbers = range(1_500, 1_800)
    assert solved(game, numbers) == len(numbers)
    rng = random.Random(0)
    total = 0.0
    for number in numbers:
        state = game.begin(number)
        while state.seats_to_act():
            visit(state, rng.choice(state.observe(0).legal_actions))
        total += state.returns()[0]
    assert 0.05 < total / len(numbers) < 0.4


def test_the_oracle_finds_its_way_from_any_page() -> None:
    game = shop_of("turns=40")
    advisor, rng = game.advisor(), random.Random(1)
    for number in range(1_500, 1_560):
        state = game.begin(number)
        for _ in range(rng.randrange(20)):
            links = [action for action in state.observe(0).legal_actions if action != "click[buy now]"]
            visit(state, rng.choice(links))
        while state.seats_to_act():
            visit(state, advisor.advise(state.observe(0)))
        assert state.success() == (True,)


def test_products_as_the_engine_keeps_them_are_read(tmp_path: Path) -> None:
    kept = published(pricing=[19.5], options={"size": ["S", "M"]}, Attributes=["tea"], small_description="One text")
    product = files(tmp_path, [kept, kept]).catalogue.products[0]
    assert (product.prices, product.options, product.attributes) == ((19.5,), {"size": ("s", "m")}, ("tea",))
    assert product.bullets == ("One text",)


def test_instructions_of_people_name_their_own_options(tmp_path: Path) -> None:
    told = [
        {"instruction": "I need a shirt.", "instruction_attributes": ["soft"], "instruction_options": ["Blue"]},
        {"instruction": "A shirt", "instruction_attributes": ["soft"], "instruction_options": {"color": "dark blue"}},
        {"instruction": "Skipped", "instruction_attributes": [], "instruction_options": []},
    ]
    game = files(tmp_path, goals={"B0ABC": told})
    assert {game.catalogue.goal(number).options for number in range(2)} == {("blue",), ("dark blue",)}
    assert game.catalogue.size == solved(game, range(2)) == 2


@pytest.mark.parametrize("field", sorted(set(published()) - {"category"}))
def test_no_field_may_be_missing(tmp_path: Path, field: str) -> None:
    product = published()
    del product[field]
    told = "options" if field == "customization_options" else field
    with pytest.raises(UserError, match=f"field '{told}': missing; "):
        files(tmp_path, [product])


# WebShop's own products


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
