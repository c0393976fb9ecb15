"""The two kinds of error that a person sees: what they asked for, and what failed on the way."""


class UserError(Exception):
    """What was asked for cannot be done as asked; the message is one line that names the value and the choices.

    The command line prints it and exits 2.
    """


class RunError(Exception):
    """Something failed while a correct request was carried out; the command line exits 1."""
