"""The tables of docs/games.md, made from the registry: `python -m tests.games_table` writes them anew."""

from collections import defaultdict
from pathlib import Path

from games.game import Dynamics, GameSpec, Information
from games.registry import make
from games.spiel_facts import LEFT_OUT
from games.spiel_recipe import kinds, names

PAGE = Path(__file__).parent.parent / "docs" / "games.md"
BEGIN, END = "<!-- made by tests/games_table.py: begin -->", "<!-- end -->"

_GROUPS = {
    (Dynamics.SEQUENTIAL, Information.PERFECT): "In turn, nothing hidden",
    (Dynamics.SEQUENTIAL, Information.IMPERFECT): "In turn, with hidden information",
    (Dynamics.SIMULTANEOUS, Information.PERFECT): "At the same time, nothing else hidden",
    (Dynamics.SIMULTANEOUS, Information.IMPERFECT): "At the same time, with hidden information",
}
_HEAD = "| game | in words | seats | returns | chance | rewards | states |\n|---|---|---|---|---|---|---|"


def tables() -> str:
    """One table for each kind of game, and one of what is left out."""
    groups: dict[tuple[Dynamics, Information], list[str]] = defaultdict(list)
    for name in sorted(names()):
        if kinds()[name].default_loadable:
            spec = make(name).spec
            groups[spec.dynamics, spec.information].append(_row(name, spec))
    parts = [f"### {title}\n\n{_HEAD}\n" + "\n".join(groups[kind]) for kind, title in _GROUPS.items()]
    left_out = "\n".join(f"| `{name}` | {why} |" for name, why in sorted(LEFT_OUT.items()))
    return "\n\n".join([*parts, f"### Left out\n\n| game | reason |\n|---|---|\n{left_out}"])


def _row(name: str, spec: GameSpec) -> str:
    low, high = kinds()[name].min_num_players, kinds()[name].max_num_players
    seats = str(spec.seats) if low == high else f"{spec.seats} ({low} to {high})"
    cells = [
        f"`{name}`",
        spec.title,
        seats,
        f"{spec.min_utility:g} to {spec.max_utility:g}, {spec.utility.value.replace('_', '-')}",
        "yes" if spec.chance else "",
        "at the end" if spec.terminal_rewards else "on the way",
        "sampled" if spec.can_sample_state else "",
    ]
    return "| " + " | ".join(cells) + " |"


def page_with_tables(page: str) -> str:
    """The page with its tables replaced by those of today."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{tables()}\n\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page_with_tables(PAGE.read_text()))
