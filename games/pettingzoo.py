"""Any PettingZoo environment with discrete actions, AEC or parallel, as a Game."""

import inspect
import re
import warnings
from collections.abc import Mapping
from functools import partial
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from games.foreign import need
from games.spec import Spec, SpecError, Value, near, render
from games.text.zoo import words_class
from games.zoo_game import Limits, PettingZooGame, one_line

_PLACE = re.compile(r"([a-z][a-z0-9_]{0,39})/([a-z][a-z0-9_]{0,79}_v[0-9]{1,4})")
_OWN = ("env", "max_turns", "min_utility", "max_utility")
_UNDRAWN = ("render_mode", "render_fps", "screen_height", "screen_width", "screen_scaling")


def load(spec: Spec) -> "PettingZooGame":
    """Load `pettingzoo(env=FAMILY/MODULE_vN, ...)`; further parameters go to the environment.

    Only modules of the package `pettingzoo` are ever imported. Raises SpecError for what does not exist or does not
    fit, UserError where the extra is not installed.
    """
    place = _place(spec)
    module = _module(place)
    limits = _limits(spec)
    known = _parameters(module)
    given = {key: _checked(place, key, value, known) for key, value in spec.params.items() if key not in _OWN}
    _check_ranges(place, given)
    written = {key: value for key, value in given.items() if key not in known or known[key] != value}
    own = {key: value for key, value in spec.params.items() if key in _OWN}
    words = words_class(place)
    make = getattr(module, "parallel_env", None) or module.env
    defaults = {key: value for key, value in known.items() if value is not inspect.Parameter.empty}
    game = PettingZooGame(
        partial(make, **{**words.hidden, **given}),
        str(Spec(spec.name, {**own, **written})),
        lambda agents: words({**defaults, **given}, agents),
        limits,
    )
    return game


def environments() -> list[str]:
    """Names `FAMILY/MODULE_vN` of all environments that the installed package has, whether or not they import."""
    package = import_module("pettingzoo")
    families = [module.name for module in iter_modules(package.__path__) if module.ispkg]
    return sorted([f"{family}/{name}" for family in families for name in _modules(family)])


def _place(spec: Spec) -> str:
    """The environment that a spec names, checked to be a plain `family/module_vN`."""
    place = spec.params.get("env")
    if place is None:
        raise SpecError(f"game {spec.name!r} needs the parameter 'env', as in {spec.name}(env=classic/connect_four_v3)")
    if not isinstance(place, str) or not _PLACE.fullmatch(place):
        raise SpecError(f"env={render(place)} is not of the form family/module_vN, such as classic/connect_four_v3")
    return place


def _module(place: str) -> Any:
    """Import the module of an environment, and nothing outside the package `pettingzoo`."""
    need("pettingzoo", "pettingzoo")
    family, _, name = place.partition("/")
    try:
        if place in environments():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the package asks for its own registry in place of imports
                return import_module(f"pettingzoo.{family}.{name}")
        import_module(f"pettingzoo.{family}")  # a family that has moved says where to
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("pettingzoo"):
            raise SpecError(f'env={place} needs {error.name}: pip install "pettingzoo[{family}]"') from error
    except (ImportError, OSError) as error:
        raise SpecError(f"env={place} cannot be imported: {one_line(error)}") from error
    raise SpecError(f"PettingZoo has no environment {place!r}; {near(place, environments())}")


def _modules(family: str) -> list[str]:
    """Names of the environment modules of a family, found without importing it."""
    package = import_module("pettingzoo")
    roots = [f"{root}/{family}" for root in package.__path__]
    return [module.name for module in iter_modules(roots) if _PLACE.fullmatch(f"{family}/{module.name}")]


def _parameters(module: Any) -> dict[str, Any]:
    """The parameters an environment takes, with their defaults; `Parameter.empty` where it names none.

    `env(**kwargs)` of most modules passes on to `raw_env`. Where even that takes anything, the key `**` is among them.
    """
    found: dict[str, Any] = {}
    for maker in (getattr(module, "raw_env", None), module.env):
        if maker is None:
            continue
        signature = inspect.signature(maker.__init__ if inspect.isclass(maker) else maker)
        kinds = {parameter.kind for parameter in signature.parameters.values()}
        for key, parameter in signature.parameters.items():
            if key != "self" and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                found.setdefault(key, parameter.default)
        if inspect.Parameter.VAR_KEYWORD not in kinds:
            return found
        if inspect.isclass(maker):
            found["**"] = inspect.Parameter.empty
    return found


def _checked(place: str, key: str, value: Value, known: Mapping[str, Any]) -> Value:
    """One parameter of an environment, refused where its name or type is wrong."""
    if key in _UNDRAWN:
        raise SpecError(f"parameter {key!r} of {place} is about drawing; nothing is drawn here")
    if key not in known and "**" not in known:
        raise SpecError(f"{place} has no parameter {key!r}; {near(key, [*_OWN[1:], *(set(known) - set(_UNDRAWN))])}")
    default = known.get(key)
    if isinstance(default, float) and type(value) is int:
        return float(value)
    if isinstance(default, bool | int | float | str) and type(value) is not type(default):
        raise SpecError(f"parameter {key!r} of {place} takes {type(default).__name__}, not {render(value)}")
    return value


def _check_ranges(place: str, given: Mapping[str, Value]) -> None:
    """Refuse numbers with which an environment is no game or never comes back."""
    for key, (low, high) in words_class(place).ranges.items():
        value = given.get(key, low)
        if isinstance(value, int) and not low <= value <= high:
            raise SpecError(f"parameter {key!r} of {place} takes {low} to {high}, not {render(value)}")


def _limits(spec: Spec) -> Limits:
    """The parameters that are ours: bounds on turns and returns."""
    turns, low, high = (spec.params.get(key) for key in _OWN[1:])
    if turns is not None and (type(turns) is not int or turns < 1):
        raise SpecError(f"parameter 'max_turns' of {spec.name} takes a whole number from 1, not {render(turns)}")
    for key, bound in (("min_utility", low), ("max_utility", high)):
        if bound is not None and type(bound) not in (int, float):
            raise SpecError(f"parameter {key!r} of {spec.name} takes a number, not {render(bound)}")
    return Limits(
        *(
            None if value is None else kind(value)
            for kind, value in zip((int, float, float), (turns, low, high), strict=True)
        )
    )
