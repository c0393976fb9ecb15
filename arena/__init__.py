"""Play one match fairly, many at once; this floor knows no database."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from arena.export import to_pettingzoo

__all__ = ["to_pettingzoo"]


def __getattr__(name: str) -> Any:
    """Import what needs other libraries only when it is asked for."""
    if name == "to_pettingzoo":
        from arena.export import to_pettingzoo

        return to_pettingzoo
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
