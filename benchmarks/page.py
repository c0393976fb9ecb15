"""The page docs/benchmarks.md: a section for each part of the benchmarks, renewed one by one."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from games.errors import UserError

BEGIN, END = "<!-- written by `python -m benchmarks --write` -->", "<!-- end of what the program writes -->"
_HEADING = re.compile(r"^### (?P<part>\w+): .*$", re.MULTILINE)


def section(part: str, what: str, text: str) -> str:
    """One part's text under its heading."""
    return f"### {part}: {what}\n\n{text.strip()}\n"


def write(page: Path, sections: Mapping[str, str], order: Sequence[str]) -> None:
    """Put sections, by part, into the place of their former ones; parts that are not in `order` go.

    Raises UserError if the page has no place for them.
    """
    old = page.read_text(encoding="utf-8")
    if BEGIN not in old or END not in old:
        raise UserError(f"{page} has no lines {BEGIN} and {END} to write between")
    before, rest = old.split(BEGIN, 1)
    inside, after = rest.split(END, 1)
    kept = {**_sections(inside), **sections}
    text = "\n".join([kept[part] for part in order if part in kept])
    page.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}", encoding="utf-8")


def _sections(text: str) -> dict[str, str]:
    starts = list(_HEADING.finditer(text))
    ends = [*[found.start() for found in starts[1:]], len(text)]
    return {found["part"]: text[found.start() : end].strip() + "\n" for found, end in zip(starts, ends, strict=False)}
