"""Which agents there are, and how an agent string becomes a player of a match."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from pydantic import TypeAdapter, ValidationError

from agents.agent import Agent, Setup
from games.game import Game
from games.seeding import digest
from games.spec import Spec, SpecError, Value, near, parse, render, split_name

TABLE: dict[str, str] = {
    "always": "agents.constant:Always",
    "best_response": "agents.best_response:BestResponse",
    "biased": "agents.constant:Biased",
    "cfr": "agents.equilibrium:Cfr",
    "heuristic": "agents.heuristic:Heuristic",
    "human": "agents.human:Human",
    "ismcts": "agents.search:Ismcts",
    "kuhn": "agents.archetypes:Kuhn",
    "mcts": "agents.search:Mcts",
    "minimax": "agents.minimax:Minimax",
    "priority": "agents.archetypes:Priority",
    "random": "agents.uniform:Uniform",
    "roshambo": "agents.roshambo:Roshambo",
}
"""Name -> "module:class"."""


MAX_NAME = 100
"""Characters of an agent's name."""


@dataclass(frozen=True)
class Recipe:
    """An agent that can be made: a name to go by, a canonical spec, and the class with its parameters."""

    name: str
    spec: str
    agent: type[Agent]
    params: Mapping[str, Any]

    @cached_property
    def fingerprint(self) -> str:
        """16 hexadecimal digits of what the agent is, its name left out."""
        followed = [recipe(spec).fingerprint for spec in self.agent.follows(**self.params)]
        return digest(8, self.spec, self.agent.version, *followed).hex()

    def misfit(self, game: Game) -> str | None:
        """Why it cannot play this game, or None."""
        return self.agent.misfit(game, **self.params)

    def prepare(self, game: Game) -> None:
        """Do once what may take long, such as solving a table that is then cached."""
        self.agent.prepare(game, **self.params)

    def make(self, setup: Setup) -> Agent:
        """Make the player of one match."""
        return self.agent(setup, **self.params)


@lru_cache(maxsize=4096)
def recipe(text: str) -> Recipe:
    """Read `SPEC` or `NAME=SPEC`. Raises SpecError for an unknown agent, parameter or value, naming the near ones."""
    name, written = split_name(text)
    if name is not None and not (name.isprintable() and 0 < len(name) <= MAX_NAME):
        raise SpecError(f"agent name {name[:MAX_NAME]!r}: a name is 1 to {MAX_NAME} characters, all of which print")
    spec = parse(written)
    agent = agent_class(spec.name)
    declared = parameters(agent)
    params: dict[str, Any] = {
        key: default for key, (_, default) in declared.items() if default is not inspect.Parameter.empty
    }
    given: dict[str, Value] = {}
    for key, value in spec.params.items():
        if key not in declared:
            raise SpecError(f"agent {spec.name!r} has no parameter {key!r}; {near(key, declared)}")
        params[key] = _checked(spec.name, key, value, declared[key][0])
        if params[key] != declared[key][1]:
            given[key] = params[key]
    missing = [key for key in declared if key not in params]
    if missing:
        raise SpecError(f"agent {spec.name!r} needs the parameter {missing[0]!r}, as in {spec.name}({missing[0]}=...)")
    canonical = str(Spec(spec.name, given))
    return Recipe(name or canonical, canonical, agent, params)


def agent_class(name: str) -> type[Agent]:
    """The class behind an agent's name. Raises SpecError with the near names."""
    place = TABLE.get(name) or _installed().get(name)
    if place is None:
        raise SpecError(f"no agent {name!r}; {near(name, names(), listed_by='arena agents')}")
    module, _, attribute = place.partition(":")
    found: type[Agent] = getattr(import_module(module), attribute)
    return found


def names() -> list[str]:
    """Names of every agent that can be made, sorted."""
    return sorted({*TABLE, *_installed()})


def parameters(agent: type[Agent]) -> dict[str, tuple[Any, Any]]:
    """The parameters of an agent: name -> (annotation, default); `inspect.Parameter.empty` where it has no default."""
    signature = inspect.signature(agent.__init__, eval_str=True)
    return {
        key: (parameter.annotation, parameter.default)
        for key, parameter in signature.parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }


def described(name: str) -> str:
    """An agent with its parameters and their defaults, such as `mcts(simulations=1000,uct_c=1.4)`."""
    written = [
        f"{key}=..." if default is inspect.Parameter.empty else f"{key}={render(default)}"
        for key, (_, default) in parameters(agent_class(name)).items()
    ]
    return f"{name}({','.join(written)})" if written else name


def _checked(agent: str, key: str, value: Value, annotation: Any) -> Any:
    try:
        return TypeAdapter(annotation).validate_python(value, strict=True)
    except ValidationError as error:
        why = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise SpecError(f"parameter {key!r} of agent {agent!r} is {render(value)}: {why}") from None


@lru_cache(maxsize=1)
def _installed() -> dict[str, str]:
    """Agents that other installed packages offer by the entry point `metarena.agents`."""
    return {point.name: point.value for point in entry_points(group="metarena.agents")}
