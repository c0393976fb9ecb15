"""Flags: those that several commands share, and those made from the fields of a configuration."""

from collections.abc import Callable
from typing import Any, Literal, TypeVar, get_args, get_origin

import click
from pydantic import BaseModel
from pydantic.fields import FieldInfo

_F = TypeVar("_F", bound=Callable[..., Any])

store_option = click.option(
    "--store",
    envvar="ARENA_STORE",
    default="arena.duckdb",
    show_default=True,
    metavar="FILE",
    help="The DuckDB file with all matches and ratings; also $ARENA_STORE.",
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")


def field_options(model: type[BaseModel], leave_out: frozenset[str] = frozenset()) -> Callable[[_F], _F]:
    """One flag for each field of a model, with the field's description as help.

    A flag that is not given is None, so that a file's value or the model's default stands.
    """

    def decorate(function: _F) -> _F:
        inherited = [name for name in model.model_fields if name not in model.__annotations__]
        own = [name for name in model.model_fields if name in model.__annotations__]
        for name in reversed([*own, *inherited]):
            if name not in leave_out:
                function = _option(name, model.model_fields[name])(function)
        return function

    return decorate


def given(values: dict[str, Any]) -> dict[str, Any]:
    """The flags that were given."""
    return {key: value for key, value in values.items() if value is not None and value != ()}


def _option(name: str, info: FieldInfo) -> Callable[[_F], _F]:
    flag = "--" + name.replace("_", "-")
    kind = _plain(info.annotation)
    default = info.get_default(call_default_factory=True, validated_data={})
    text = f"{info.description}"
    if default is not None and default != () and not info.is_required():
        text += f"  [default: {str(default).lower() if isinstance(default, bool) else default}]"
    if kind is bool:
        return click.option(f"{flag}/--no-{flag[2:]}", name, default=None, help=text)
    if get_origin(kind) is Literal:
        return click.option(flag, name, type=click.Choice(get_args(kind)), default=None, help=text)
    types = {int: click.INT, float: click.FLOAT}
    return click.option(flag, name, type=types.get(kind, click.STRING), default=None, help=text)


def _plain(annotation: Any) -> Any:
    """The type of a field without its `| None`."""
    parts = [part for part in get_args(annotation) if part is not type(None)]
    if get_origin(annotation) is not Literal and len(parts) == 1 and type(None) in get_args(annotation):
        return parts[0]
    return annotation
