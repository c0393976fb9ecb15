"""What the command line prints: JSON on stdout, narration on stderr, never anything that acts as markup."""

import json
import sys
from typing import Any

from games.text.printable import safe as safe


def narrate(line: str) -> None:
    """Say something to a person, on stderr."""
    print(safe(line), file=sys.stderr)


def print_json(value: Any) -> None:
    """Print a value as JSON on stdout; raises ValueError for a number that JSON does not know."""
    print(json.dumps(value, indent=2, allow_nan=False))
