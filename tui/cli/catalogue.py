"""`arena games` and `arena agents`: what can be played, and who can play."""

from typing import Any

import click

from tui.cli.options import json_option
from tui.cli.output import print_json, print_table, safe


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
    facts: dict[str, Any] = {
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
        "rules": spec.rules,
    }
    if as_json:
        print_json(facts)
        return
    rules = facts.pop("rules")
    print_table(spec.title, ["", ""], [[key, str(value)] for key, value in facts.items()])
    print(safe(rules))


@click.command()
@click.argument("agent", required=False)
@json_option
def agents(agent: str | None, as_json: bool) -> None:
    """List the agents with their parameters, or show one."""
    from agents import registry
    from agents.registry import agent_class, described

    names = [agent] if agent else registry.names()
    rows = [{"agent": name, "parameters": described(name), "about": _about(agent_class(name))} for name in names]
    if as_json:
        print_json(rows)
    elif agent:
        print(safe(f"{rows[0]['parameters']}\n\n{(agent_class(agent).__doc__ or '').strip()}"))
    else:
        print_table("", ["agent", "about"], [[row["parameters"], row["about"]] for row in rows])


def _about(agent: type) -> str:
    """The first sentence of what a class says of itself."""
    return (agent.__doc__ or "").strip().split("\n")[0]
