"""`arena games` and `arena agents`: what can be played, and who can play."""

import inspect
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from tui.cli.options import json_option
from tui.cli.output import print_json, print_list, print_text, safe
from tui.cli.tables import print_table

if TYPE_CHECKING:
    from games.game import GameSpec


MAX_PARAMETERS = 50
"""Characters of an agent's parameters in the list of all agents; its own page shows all."""


@click.command()
@click.argument("game", required=False)
@json_option
def games(game: str | None, as_json: bool) -> None:
    """List the games, or show the rules of one (such as kuhn_poker or "kuhn_poker(players=3)")."""
    from games import registry

    if game is None:
        names = registry.names()
        if as_json:
            print_json(names)
        else:
            print("\n".join(names))
        return
    spec = registry.make(game).spec
    if as_json:
        print_json({**_facts(spec), "rules": spec.rules})
        return
    _print_facts(_facts(spec))
    print()
    print_text(spec.rules)


def _facts(spec: "GameSpec") -> dict[str, Any]:
    return {
        "name": spec.name,
        "title": spec.title,
        "seats": spec.seats,
        "dynamics": spec.dynamics.value,
        "information": spec.information.value,
        "utility": spec.utility.value,
        "min_utility": spec.min_utility,
        "max_utility": spec.max_utility,
        "max_turns": spec.max_turns,
        "chance": spec.chance,
        "can_sample_state": spec.can_sample_state,
    }


@click.command()
@click.argument("agent", required=False)
@json_option
def agents(agent: str | None, as_json: bool) -> None:
    """List the agents with their parameters, or show one (such as mcts or "mcts(simulations=5)")."""
    if agent is None:
        _list_agents(as_json)
    else:
        _show_agent(agent, as_json)


def _list_agents(as_json: bool) -> None:
    """All agents by name; those of other packages that cannot be used stand there with the reason."""
    from agents import registry

    broken = registry.problems()
    usable = set(registry.names()) - {name for name, _ in broken if name not in registry.TABLE}
    rows = [_row(name) for name in sorted(usable)]
    rows += [{"agent": name, "parameters": None, "about": None, "problem": problem} for name, problem in broken]
    if as_json:
        print_json(rows)
        return
    shown = [
        [row["agent"], "", f"cannot be used: {row['problem']}"]
        if row["problem"]
        else [row["agent"], _brief(row["parameters"][len(row["agent"]) + 1 : -1]), row["about"]]
        for row in rows
    ]
    print_table("", ["agent", "parameters", "about"], shown, spare=["parameters"], wraps="about")


def _row(name: str) -> dict[str, Any]:
    from agents.registry import agent_class, described

    return {"agent": name, "parameters": described(name), "about": _about(agent_class(name)), "problem": None}


def _show_agent(text: str, as_json: bool) -> None:
    """One agent: its parameters and what it says of itself, and what a spec with parameters makes of them."""
    from pydantic_core import to_jsonable_python

    from agents.parameters import written
    from agents.registry import agent_class, read, recipe

    _, spec = read(text)
    row, made = _row(spec.name), recipe(text) if spec.params else None
    if as_json:
        values = to_jsonable_python(made.params, inf_nan_mode="null", fallback=str) if made else None
        print_json([{**row, "spec": made.spec if made else None, "values": values}])
        return
    print_list(row["parameters"])
    print()
    print_text(_doc(agent_class(spec.name)))
    if made:
        print(safe(f"\n{made.spec}"))
        _print_facts({key: written(value) for key, value in made.params.items()})


def _brief(parameters: str) -> str:
    """The first of many parameters."""
    if len(parameters) <= MAX_PARAMETERS:
        return parameters
    place = parameters.rfind(",", 0, MAX_PARAMETERS)
    return f"{parameters[: place if place > 0 else MAX_PARAMETERS]},..."


def _about(agent: type) -> str:
    """The first sentence of what a class says of itself."""
    return re.split(r"(?<=[.!?])\s", _doc(agent), maxsplit=1)[0].partition("\n")[0]


def _doc(agent: type) -> str:
    """A class's docstring with each paragraph in one line; what begins with `parameter:` begins a line."""
    paragraphs = re.split(r"\n\s*\n", inspect.cleandoc(agent.__doc__ or ""))
    return "\n\n".join([re.sub(r"\s*\n(?!\w+: )\s*", " ", paragraph.strip()) for paragraph in paragraphs])


def _print_facts(facts: Mapping[str, object]) -> None:
    width = max(map(len, facts)) + 2
    for key, value in facts.items():
        print(safe(f"{key + ':':{width}}{_in_words(value)}"))


def _in_words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.12g}" if isinstance(value, float) else str(value)
