"""The two kinds of error that a person sees, what they asked for and what failed on the way, and others in words."""

MAX_WORDS = 500
"""Characters that are kept of an exception's message."""


class UserError(Exception):
    """What was asked for cannot be done as asked; the message is one line that names the value and the choices.

    The command line prints it and exits 2.
    """


class RunError(Exception):
    """Something failed while a correct request was carried out; the command line exits 1."""


def in_words(error: BaseException, *, kind: bool = True) -> str:
    """Kind and message of an exception in one line; its own `__str__` may fail.

    Without `kind` the message alone, where there is one.
    """
    try:
        words = " ".join(str(error).split())[:MAX_WORDS]
    except Exception:  # noqa: BLE001 - it is an agent's or a game's code
        words = "its message cannot be read"
    if not words:
        return type(error).__name__
    return f"{type(error).__name__}: {words}" if kind else words
