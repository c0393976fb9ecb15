"""The terminal: the command line and what it prints. Nothing below imports this package."""

import os

# Pydantic looks for plugins among the entry points of all installed packages, and one that cannot be read ends the
# program before a command begins. None is used here.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "true")
