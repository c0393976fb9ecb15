"""Which furniture stands in which room, which things lie there, and what may be done with them."""

from typing import NamedTuple


class Furniture(NamedTuple):
    """A kind of place where things lie."""

    inside: bool = False
    """Whether things lie in it, not on it."""
    openable: bool = False
    holds: int = 0
    """How many things lie there at first, at most; 0 for any number."""


class Thing(NamedTuple):
    """A kind of thing."""

    places: tuple[str, ...]
    """Kinds of furniture in or on which it may be put."""
    heated: bool = False
    cooled: bool = False
    cleaned: bool = False
    sliced: bool = False


LAMP = "desklamp"
KNIVES = frozenset({"knife", "butterknife"})
HEATER, COOLER, CLEANER = "microwave", "fridge", "sinkbasin"

FURNITURE: dict[str, Furniture] = {
    "armchair": Furniture(),
    "bathtubbasin": Furniture(inside=True),
    "bed": Furniture(),
    "cabinet": Furniture(inside=True, openable=True),
    "coffeemachine": Furniture(inside=True, holds=1),
    "coffeetable": Furniture(),
    "countertop": Furniture(),
    "desk": Furniture(),
    "diningtable": Furniture(),
    "drawer": Furniture(inside=True, openable=True),
    "dresser": Furniture(),
    "fridge": Furniture(inside=True, openable=True),
    "garbagecan": Furniture(inside=True),
    "handtowelholder": Furniture(holds=1),
    "laundryhamper": Furniture(inside=True, openable=True),
    "microwave": Furniture(inside=True, openable=True),
    "safe": Furniture(inside=True, openable=True),
    "shelf": Furniture(),
    "sidetable": Furniture(),
    "sinkbasin": Furniture(inside=True),
    "sofa": Furniture(),
    "stoveburner": Furniture(holds=1),
    "toaster": Furniture(inside=True, holds=1),
    "toilet": Furniture(),
    "toiletpaperhanger": Furniture(holds=1),
    "towelholder": Furniture(holds=1),
    "tvstand": Furniture(),
}

ROOMS: dict[str, dict[str, tuple[int, int]]] = {
    "kitchen": {
        "cabinet": (3, 8),
        "coffeemachine": (1, 1),
        "countertop": (1, 3),
        "diningtable": (0, 1),
        "drawer": (2, 5),
        "fridge": (1, 1),
        "garbagecan": (1, 1),
        "microwave": (1, 1),
        "shelf": (0, 3),
        "sidetable": (0, 1),
        "sinkbasin": (1, 1),
        "stoveburner": (2, 4),
        "toaster": (1, 1),
    },
    "living room": {
        "armchair": (0, 2),
        "cabinet": (0, 3),
        "coffeetable": (0, 2),
        "desk": (0, 1),
        "diningtable": (0, 1),
        "drawer": (0, 5),
        "dresser": (0, 1),
        "garbagecan": (1, 1),
        "shelf": (0, 4),
        "sidetable": (1, 3),
        "sofa": (1, 1),
        "tvstand": (0, 1),
    },
    "bedroom": {
        "armchair": (0, 1),
        "bed": (1, 1),
        "cabinet": (0, 2),
        "desk": (1, 2),
        "drawer": (2, 6),
        "dresser": (0, 1),
        "garbagecan": (1, 1),
        "laundryhamper": (0, 1),
        "safe": (0, 1),
        "shelf": (0, 5),
        "sidetable": (0, 2),
    },
    "bathroom": {
        "bathtubbasin": (0, 1),
        "cabinet": (1, 5),
        "countertop": (1, 2),
        "drawer": (0, 5),
        "garbagecan": (1, 1),
        "handtowelholder": (1, 2),
        "shelf": (0, 3),
        "sinkbasin": (1, 2),
        "toilet": (1, 1),
        "toiletpaperhanger": (1, 1),
        "towelholder": (1, 2),
    },
}
"""Room -> kind of furniture -> how many of it stand there, at least and at most."""

_TABLES = ("coffeetable", "countertop", "desk", "diningtable", "dresser", "shelf", "sidetable", "tvstand")
_BOARDS = ("countertop", "diningtable", "sidetable")
_FOOD = (*_BOARDS, "fridge", "garbagecan", "microwave", "sinkbasin")
_DISHES = (*_BOARDS, "cabinet", "coffeetable", "desk", "dresser", "fridge", "microwave", "shelf", "sinkbasin")
_CUTLERY = (*_BOARDS, "drawer", "sinkbasin")
_POTS = (*_BOARDS, "cabinet", "fridge", "sinkbasin", "stoveburner")
_SMALL = (*_TABLES, "armchair", "bed", "drawer", "safe", "sofa")
_STORED = (*_TABLES, "cabinet", "drawer", "garbagecan", "toilet")
_SOFT = ("armchair", "bed", "sofa")

THINGS: dict[str, Thing] = {
    "alarmclock": Thing(_TABLES),
    "apple": Thing(_FOOD, heated=True, cooled=True, cleaned=True, sliced=True),
    "basketball": Thing(("armchair", "bed", "desk", "dresser", "sidetable", "sofa")),
    "book": Thing((*_TABLES, *_SOFT, "cabinet", "drawer")),
    "bowl": Thing(_DISHES, cooled=True, cleaned=True),
    "box": Thing((*_TABLES, *_SOFT)),
    "bread": Thing((*_BOARDS, "fridge", "garbagecan", "microwave", "toaster"), heated=True, cooled=True, sliced=True),
    "butterknife": Thing(_CUTLERY, cleaned=True),
    "candle": Thing((*_TABLES, "bathtubbasin", "cabinet", "drawer", "toilet")),
    "cd": Thing((*_TABLES, "cabinet", "drawer", "garbagecan", "safe")),
    "cellphone": Thing(_SMALL),
    "cloth": Thing((*_STORED, "bathtubbasin", "laundryhamper", "sinkbasin"), cleaned=True),
    "creditcard": Thing(_SMALL),
    "cup": Thing(_DISHES, heated=True, cooled=True, cleaned=True),
    LAMP: Thing(("coffeetable", "desk", "diningtable", "dresser", "shelf", "sidetable")),
    "dishsponge": Thing((*_BOARDS, "cabinet", "drawer", "garbagecan", "shelf", "sinkbasin"), cleaned=True),
    "egg": Thing(_FOOD, heated=True, cooled=True, cleaned=True),
    "fork": Thing(_CUTLERY, cleaned=True),
    "glassbottle": Thing((*_BOARDS, "cabinet", "fridge", "garbagecan", "shelf", "sinkbasin")),
    "handtowel": Thing(("bathtubbasin", "cabinet", "countertop", "handtowelholder", "shelf", "sinkbasin")),
    "kettle": Thing((*_BOARDS, "cabinet", "shelf", "sinkbasin", "stoveburner"), cleaned=True),
    "keychain": Thing(_SMALL),
    "knife": Thing(_CUTLERY, cleaned=True),
    "ladle": Thing((*_CUTLERY, "cabinet"), cleaned=True),
    "laptop": Thing((*_TABLES, *_SOFT)),
    "lettuce": Thing((*_BOARDS, "fridge", "garbagecan", "sinkbasin"), cooled=True, cleaned=True, sliced=True),
    "mug": Thing((*_DISHES, "coffeemachine"), heated=True, cooled=True, cleaned=True),
    "newspaper": Thing((*_TABLES, *_SOFT, "drawer", "garbagecan", "toilet")),
    "pan": Thing(_POTS, cooled=True, cleaned=True),
    "papertowelroll": Thing((*_BOARDS, "cabinet", "drawer", "garbagecan", "shelf")),
    "pen": Thing((*_TABLES, "bed", "drawer", "garbagecan")),
    "pencil": Thing((*_TABLES, "bed", "drawer", "garbagecan")),
    "peppershaker": Thing((*_BOARDS, "cabinet", "drawer", "shelf")),
    "pillow": Thing(_SOFT),
    "plate": Thing(_DISHES, heated=True, cooled=True, cleaned=True),
    "pot": Thing(_POTS, cooled=True, cleaned=True),
    "potato": Thing(_FOOD, heated=True, cooled=True, cleaned=True, sliced=True),
    "remotecontrol": Thing(_SMALL),
    "saltshaker": Thing((*_BOARDS, "cabinet", "drawer", "shelf")),
    "soapbar": Thing((*_STORED, "bathtubbasin", "sinkbasin"), cleaned=True),
    "soapbottle": Thing((*_STORED, "bathtubbasin", "sinkbasin")),
    "spatula": Thing((*_CUTLERY, "cabinet"), cleaned=True),
    "spoon": Thing(_CUTLERY, cleaned=True),
    "spraybottle": Thing(_STORED),
    "statue": Thing((*_TABLES, "safe")),
    "teddybear": Thing((*_SOFT, "desk", "dresser", "sidetable")),
    "tennisracket": Thing(("armchair", "bed", "desk", "dresser", "sofa")),
    "tissuebox": Thing((*_TABLES, "cabinet", "drawer", "toilet")),
    "toiletpaper": Thing((*_STORED, "toiletpaperhanger")),
    "tomato": Thing(_FOOD, heated=True, cooled=True, cleaned=True, sliced=True),
    "towel": Thing(("bathtubbasin", "bed", "laundryhamper", "towelholder")),
    "vase": Thing((*_TABLES, "cabinet", "safe")),
    "watch": Thing(_SMALL),
    "winebottle": Thing((*_BOARDS, "cabinet", "fridge", "garbagecan", "shelf", "sinkbasin"), cooled=True),
}  # fmt: skip

_LIES_IN = {
    "kitchen": """
        apple bowl bread butterknife cup dishsponge egg fork glassbottle kettle knife ladle lettuce mug pan
        papertowelroll peppershaker plate pot potato saltshaker soapbottle spatula spoon tomato vase winebottle
    """,
    "living room": """
        book box candle cellphone creditcard keychain laptop newspaper pen pencil pillow remotecontrol statue tissuebox
        vase watch
    """,
    "bedroom": """
        alarmclock basketball book bowl box cd cellphone creditcard keychain laptop mug pen pencil pillow teddybear
        tennisracket tissuebox vase watch
    """,
    "bathroom": "candle cloth dishsponge handtowel soapbar soapbottle spraybottle tissuebox toiletpaper towel",
}
LIES_IN: dict[str, tuple[str, ...]] = {room: tuple(things.split()) for room, things in _LIES_IN.items()}
"""Room -> the things found there, lamps left out."""
LIT_ROOMS = ("bedroom", "living room")
"""Rooms with a lamp."""
