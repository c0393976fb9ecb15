"""WebShop's own files: products, and instructions by product, as they are published or as its engine keeps them."""

import json
import re
from functools import lru_cache
from typing import Any, NoReturn, TypeAlias

from games.errors import UserError
from games.tasks.files import content, place_of, read_json, read_text
from games.tasks.shop.catalogue import Catalogue, Product, Wish

Fields: TypeAlias = dict[str, Any]
"""An object of a JSON file."""
MAX_LABEL = 400
"""Characters of a product's number or of an option's value: a click on it is one action."""
ORDER = 233
"""The seed by which WebShop's server mixes its goals."""
_HALF = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_SUM = re.compile(r"\$\s*([\d,]*\.?\d+)")


@lru_cache(maxsize=4)
def read_catalogue(products: str, goals: str) -> tuple[Catalogue, str]:
    """Read a catalogue, with the digest of its files.

    Raises UserError with file, product, field and what was expected for what cannot be read.
    """
    said, sold = _text(goals, "goals"), _text(products, "catalogue")
    instructions = _json(said, goals, "goals")
    if not isinstance(instructions, dict):
        raise UserError(f"goals file {goals!r}: {_kind(instructions)}; an object of products by asin was expected")
    listed = _json(sold, products, "catalogue")
    if not isinstance(listed, list) or not listed:
        raise UserError(f"catalogue file {products!r}: {_kind(listed)}; a list of products was expected")
    found: dict[str, Product] = {}
    wishes: list[Wish] = []
    for place, given in enumerate(listed):
        record = _Record(products, "catalogue", f"product {place + 1}", given)
        asin = record.text("asin", empty=False)
        record.where += f" ({asin:.40})"
        told = instructions.get(asin)
        product = _product(record, asin, told if isinstance(told, dict) else {}, goals)
        if product.number not in found:  # WebShop keeps the first of several, too
            wishes += _wishes(told, len(found), goals, asin)
            found[product.number] = product
    if not wishes:
        some = next(iter(instructions), None)
        beside = f", such as {some!r:.60}," if some else ""
        raise UserError(f"goals file {goals!r}: none of its products{beside} is wanted and in catalogue {products!r}")
    return Catalogue(list(found.values()), wishes, ORDER), content([sold.encode(), said.encode()])


class _Record:
    """An object of a file, with where it is for messages."""

    def __init__(self, file: str, kind: str, where: str, given: object) -> None:
        self.file, self.kind, self.where = file, kind, where
        if not isinstance(given, dict):
            raise UserError(f"{kind} file {file!r}, {where}: {_kind(given)}; an object was expected")
        self.given: Fields = given

    def wrong(self, field: str, expected: str) -> NoReturn:
        there = _kind(self.given[field]) if field in self.given else "missing"
        raise UserError(f"{self.kind} file {self.file!r}, {self.where}, field {field!r}: {there}; {expected}")

    def text(self, field: str, empty: bool = True, null: bool = False) -> str:
        """A text. `empty`: or one of nothing but space. `null`: or null, for an empty one."""
        value = self.given.get(field)
        if value is None and null and field in self.given:
            return ""
        if not isinstance(value, str):
            self.wrong(field, "a text was expected")
        if not empty and not value.strip():
            self.wrong(field, "a text that is not empty was expected")
        return value

    def texts(self, field: str, alone: bool = False) -> tuple[str, ...]:
        """A list of texts; `alone`: or one text by itself, or nothing."""
        value = self.given.get(field)
        if alone and (isinstance(value, str) or (value is None and field in self.given)):
            return (value,) if value else ()
        if not isinstance(value, list) or not all([isinstance(each, str) for each in value]):
            self.wrong(field, "a list of texts was expected" + (", or a text" if alone else ""))
        return tuple(value)


def _product(record: _Record, asin: str, told: Fields, goals: str) -> Product:
    if "Attributes" in record.given:
        attributes = record.texts("Attributes")
    elif "attributes" in told:
        attributes = _Record(goals, "goals", f"product {asin:.40}", told).texts("attributes")
    else:
        attributes = ()
    return Product(
        number=_label(record, "asin", asin),
        name=record.text("name"),
        query=record.text("query").lower().strip(),
        category=record.text("product_category", null=True),
        description=record.text("full_description", null=True),
        bullets=record.texts("small_description", alone=True),
        prices=_prices(record),
        options=_options(record),
        attributes=attributes,
    )


def _prices(record: _Record) -> tuple[float, ...]:
    """Prices as numbers, or as they are published: `$1.99`, `$1.99 to $5.99`."""
    given = record.given.get("pricing")
    if isinstance(given, str):
        found = [float(each.replace(",", "")) for each in _SUM.findall(given)]
        if given.strip() and not found:
            record.wrong("pricing", "sums such as '$1.99' or '$1.99 to $5.99' were expected")
    elif isinstance(given, list) and all([type(each) in (int, float) and 0 <= each < 1e9 for each in given]):
        found = [float(each) for each in given]
    elif given is None and "pricing" in record.given:
        found = []
    else:
        record.wrong("pricing", "a list of sums of 0 and more was expected, or a text such as '$1.99'")
    return tuple(found[:2])


def _options(record: _Record) -> dict[str, tuple[str, ...]]:
    """Options as the engine keeps them (`options`), or as they are published (`customization_options`)."""
    field = "customization_options" if "customization_options" in record.given else "options"
    field = "options" if "options" in record.given else field
    given = record.given.get(field)
    if field in record.given and not given:
        return {}
    if not isinstance(given, dict):
        record.wrong(field, "an object of lists by option was expected")
    options: dict[str, tuple[str, ...]] = {}
    for name, values in given.items():
        if values is None:
            continue
        if not isinstance(values, list):
            record.wrong(field, f"a list of values was expected for option {name!r:.60}")
        texts = [value.get("value") if isinstance(value, dict) else value for value in values]
        if not all([isinstance(text, str) and text.strip() for text in texts]):
            record.wrong(field, f"texts that are not empty were expected as values of option {name!r:.60}")
        said = [str(text) for text in texts]
        if field == "customization_options":
            said = [text.strip().replace("/", " | ") for text in said]
        if said:
            labels = [_label(record, field, text) for text in said]
            options[" ".join(name.lower().split())] = tuple(dict.fromkeys(labels))
    return options


def _label(record: _Record, field: str, text: str) -> str:
    label = " ".join(text.lower().split())
    if len(label) > MAX_LABEL:
        record.wrong(field, f"at most {MAX_LABEL} characters were expected, and {label:.40}... has {len(label)}")
    return label


def _wishes(told: object, product: int, goals: str, asin: str) -> list[Wish]:
    """The instructions for a product: one to combine with all its options, or a list with the options of each."""
    if told is None:
        return []
    if not isinstance(told, list | dict):
        raise UserError(f"goals file {goals!r}, product {asin:.40}: {_kind(told)}; an object or a list was expected")
    wishes = []
    for place, given in enumerate(told if isinstance(told, list) else [told]):
        where = f"product {asin:.40}" + (f", instruction {place}" if isinstance(told, list) else "")
        record = _Record(goals, "goals", where, given)
        if isinstance(told, dict) and record.given.get("instruction") is None:
            continue
        text = " ".join(record.text("instruction", empty=False).split())
        if attributes := record.texts("instruction_attributes"):
            options = _chosen(record) if isinstance(told, list) else None
            wishes.append(Wish(product, text, tuple([each.lower() for each in attributes]), options))
    return wishes


def _chosen(record: _Record) -> tuple[str, ...]:
    """Options that an instruction asks for: values, alone or by the name of the option."""
    given = record.given.get("instruction_options")
    values = list(given.values()) if isinstance(given, dict) else given
    if not isinstance(values, list) or not all([isinstance(value, str) for value in values]):
        record.wrong("instruction_options", "a list of values was expected, or an object of values by option")
    return tuple([" ".join(value.lower().split()) for value in values])


def _text(path: str, kind: str) -> str:
    return read_text(place_of(path), f"{kind} file {path!r}")


def _json(text: str, path: str, kind: str) -> object:
    found = read_json(text, f"{kind} file {path!r}")
    if (half := _HALF.search(text)) is not None:
        try:
            json.dumps(found, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            line = text.count("\n", 0, half.start()) + 1
            raise UserError(f"{kind} file {path!r}, line {line} or later: {half[0]} is half a character") from None
    return found


def _kind(value: object) -> str:
    """A value in few words."""
    if isinstance(value, dict | list):
        kind = "an object" if isinstance(value, dict) else "a list"
        return f"{kind} of {len(value)}" if value else f"{kind} that is empty"
    return "null" if value is None else f"{value!r:.60}"
