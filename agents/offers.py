"""The agents that other installed packages offer by entry points, and which of them cannot be used."""

from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import NamedTuple

from agents.foreign import foreign_code
from games.spec import Spec, SpecError, parse

GROUP = "metarena.agents"


class Offer(NamedTuple):
    """One entry point of the group."""

    point: EntryPoint

    def __str__(self) -> str:
        package = self.point.dist.name if self.point.dist else "unknown"
        return f"entry point {self.point.name!r} of package {package} ({self.point.value})"

    def load(self) -> object:
        """What the entry point names. Raises SpecError, whatever may be wrong with the package."""
        if not self.point.pattern.match(self.point.value):
            raise SpecError(f"{self}: it does not read module:class")
        with foreign_code(f"{self} cannot be loaded", SpecError, passing=()):
            return self.point.load()


@lru_cache(maxsize=1)
def offers() -> dict[str, list[Offer]]:
    """Name -> the offers of that name, sorted. The same class offered twice counts once."""
    found: dict[str, dict[str, Offer]] = {}
    for point in sorted(entry_points(group=GROUP)):
        found.setdefault(point.name, {}).setdefault(point.value, Offer(point))
    return {name: list(by_value.values()) for name, by_value in found.items()}


def refusal(name: str) -> str | None:
    """Why an offered name cannot be used, whatever is behind it: it is offered twice or cannot be read. Else None."""
    offered = offers()[name]
    if len(offered) > 1:
        return f"{' and '.join(map(str, offered))} have the same name"
    if not _is_name(name):
        return f"{offered[0]}: its name is none that an agent string can hold (letters, digits and _ - . alone)"
    return None


def _is_name(name: str) -> bool:
    try:
        return parse(name) == Spec(name)
    except SpecError:
        return False
