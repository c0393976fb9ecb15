"""Names for language agents that papers play under: `llm` with other defaults."""

import inspect
from typing import Any

from agents.agent import Setup
from agents.language import Language


def _with_defaults(name: str, summary: str, **defaults: Any) -> type[Language]:
    """A class like Language with some other defaults, which the registry reads off its signature."""
    plain = inspect.signature(Language.__init__, eval_str=True)
    changed = [
        parameter.replace(default=defaults.get(key, parameter.default)) for key, parameter in plain.parameters.items()
    ]

    def init(self: Language, setup: Setup, **params: Any) -> None:
        Language.__init__(self, setup, **{**defaults, **params})

    init.__signature__ = plain.replace(parameters=changed)  # type: ignore[attr-defined]
    _, _, told = (Language.__doc__ or "").partition("\n\n")
    return type(name, (Language,), {"__init__": init, "__doc__": f"{summary}\n\n{told}", "__module__": __name__})


React = _with_defaults("React", "Thinks, then acts (ReAct, arXiv 2210.03629): `llm` with style=react.", style="react")
Reflexion = _with_defaults(
    "Reflexion",
    "Thinks, acts and learns from its reflections (Reflexion, arXiv 2303.11366): `react` with memory=reflection.",
    style="react",
    memory="reflection",
)
