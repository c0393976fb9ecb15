"""The parameters of an agent's class: which there are, whether they can be read, and what values they take."""

import inspect
from functools import lru_cache
from inspect import Parameter
from typing import Any

from pydantic import TypeAdapter, ValidationError

from agents.agent import Agent
from games.foreign import foreign_code
from games.spec import SpecError, Value, render


def parameters(agent: type[Agent]) -> dict[str, tuple[Any, Any]]:
    """The parameters of an agent: name -> (annotation, default); `inspect.Parameter.empty` where it has no default."""
    return {
        key: (parameter.annotation, parameter.default)
        for key, parameter in inspect.signature(agent.__init__, eval_str=True).parameters.items()
        if parameter.kind is Parameter.KEYWORD_ONLY
    }


def flaw(found: object) -> str | None:
    """Why something is no class of agents that the registry can read, or None."""
    if not (isinstance(found, type) and issubclass(found, Agent)):
        name = found.__qualname__ if isinstance(found, type) else f"an object of type {type(found).__qualname__}"
        return f"{name} is no subclass of agents.agent.Agent"
    try:
        return _flaw_of_class(found)
    except SpecError as error:
        return str(error)


@lru_cache(maxsize=1024)
def _flaw_of_class(agent: type[Agent]) -> str | None:
    """As `flaw`. Raises SpecError where the class's own code fails."""
    if undefined := sorted(agent.__abstractmethods__):
        return f"class {agent.__qualname__} does not define {', '.join(undefined)}"
    with foreign_code(f"the signature of {agent.__qualname__}.__init__ cannot be read", SpecError):
        _, *taken = inspect.signature(agent.__init__, eval_str=True).parameters.values()
    if not taken or taken[0].kind not in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD):
        return f"class {agent.__qualname__} does not take a Setup as its first argument"
    for parameter in taken[1:]:
        where = f"parameter {parameter.name!r} of class {agent.__qualname__}"
        if parameter.kind is not Parameter.KEYWORD_ONLY:
            return f"{where} is not keyword-only: parameters stand after a `*`, each with its name"
        if parameter.annotation is Parameter.empty:
            return f"{where} has no annotation"
        with foreign_code(f"the annotation of {where} cannot check values", SpecError):
            TypeAdapter(parameter.annotation)
    return None


def checked(agent: str, key: str, value: Value, annotation: Any) -> Value:
    """A value as its annotation takes it. Raises SpecError, naming agent, parameter and value, where it does not."""
    where = f"parameter {key!r} of agent {agent!r} is {render(value)}"
    with foreign_code(f"{where}: the check of its annotation failed", SpecError):
        try:
            taken = TypeAdapter(annotation).validate_python(value, strict=True)
        except ValidationError as error:
            why = " ".join(error.errors()[0]["msg"].removeprefix("Value error, ").split())
            raise SpecError(f"{where}: {why}") from None
    if not _is_value(taken):
        kind = type(taken).__qualname__
        raise SpecError(f"{where}: its annotation makes it an object of type {kind}, which no agent string can hold")
    return taken  # type: ignore[no-any-return]


def written(value: object) -> str:
    """A value as it stands in an agent string; as Python writes it where no agent string can hold it."""
    return render(value) if _is_value(value) else repr(value)  # type: ignore[arg-type]


def _is_value(value: object) -> bool:
    if isinstance(value, list):
        return all(_is_value(item) for item in value)
    return isinstance(value, bool | int | float | str)
