"""Errors in an agent's or a game's code outside of a match, as one line that says whose code it was."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from games.errors import RunError, UserError, in_words

ONE_LINE = (UserError, RunError)
"""Errors that tell a person in one line what is wrong."""


@contextmanager
def foreign_code(
    doing: str, kind: Callable[[str], Exception], passing: tuple[type[Exception], ...] = ONE_LINE
) -> Iterator[None]:
    """Turn what a block raises into one error of a kind, such as `DOING: ValueError: ...`; those `passing` stay.

    KeyboardInterrupt passes.
    """
    try:
        yield
    except passing:
        raise
    except (Exception, SystemExit) as error:  # such code comes from anywhere and may raise anything
        raise kind(f"{doing}: {in_words(error)}") from error


def need(package: str, extra: str) -> None:
    """Raise UserError with the extra to install where a package is not there. It is not imported."""
    if find_spec(package) is None:
        raise UserError(f'{package} is not installed: pip install "metarena[{extra}]"')
