"""What other installed packages offer by entry points, games and agents alike, and which offers cannot be used."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib.metadata import Distribution, EntryPoint, distributions, entry_points
from typing import NamedTuple

from games.foreign import foreign_code
from games.spec import Spec, SpecError, parse


class Offer(NamedTuple):
    """One entry point."""

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


@lru_cache(maxsize=8)
def offers(group: str) -> dict[str, list[Offer]]:
    """Name -> the offers of that name in a group, sorted. The same object offered twice counts once."""
    found: dict[str, dict[str, Offer]] = {}
    for point in sorted(_points(group)):
        found.setdefault(point.name, {}).setdefault(point.value, Offer(point))
    return {name: list(by_value.values()) for name, by_value in found.items()}


def refusal(name: str, offered: Sequence[Offer], whose: str) -> str | None:
    """Why an offered name cannot be used, whatever is behind it: it is offered twice or cannot be read. Else None.

    `whose` is what the name is for, `an agent` or `a game`.
    """
    if len(offered) > 1:
        return f"{' and '.join(map(str, offered))} have the same name"
    if not _is_name(name):
        return f"{offered[0]}: its name is none that {whose} string can hold (letters, digits and _ - . alone)"
    return None


def unreadable() -> list[tuple[str, str]]:
    """Installed packages whose entry points cannot be read: the name of each, and in one line what is wrong."""
    found = []
    for package in distributions():
        try:
            _read(package)
        except SpecError as error:
            found.append((_name(package), str(error)))
    return found


def _points(group: str) -> Iterable[EntryPoint]:
    """The entry points of a group; packages whose entry points cannot be read are passed over."""
    try:
        with foreign_code("entry points cannot be read", SpecError, passing=()):
            return list(entry_points(group=group))
    except SpecError:
        return _readable_points(group)


def _readable_points(group: str) -> list[EntryPoint]:
    """The same package by package, the first of a name on the path counting, as Python itself does it."""
    found: dict[str, list[EntryPoint]] = {}
    for package in distributions():
        try:
            points = [point for point in _read(package) if point.group == group]
        except SpecError:
            continue
        if points:
            found.setdefault(_name(package), points)
    return [point for points in found.values() for point in points]


def _read(package: Distribution) -> list[EntryPoint]:
    """Raises SpecError where the file of a package's entry points cannot be read."""
    with foreign_code(f"package {_name(package)}: its entry_points.txt cannot be read", SpecError, passing=()):
        return list(package.entry_points)


def _name(package: Distribution) -> str:
    try:
        with foreign_code("its name cannot be read", SpecError, passing=()):
            return str(package.name)
    except SpecError:
        return "unknown"


def _is_name(name: str) -> bool:
    try:
        return parse(name) == Spec(name)
    except SpecError:
        return False
