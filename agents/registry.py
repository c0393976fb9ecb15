"""Which agents there are, and how an agent string becomes a player of a match."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import import_module
from typing import Any

from agents.agent import Agent, Setup
from agents.offers import offers, refusal
from agents.parameters import checked, flaw, parameters, written
from games.errors import RunError
from games.foreign import foreign_code
from games.game import Game
from games.seeding import digest
from games.spec import Spec, SpecError, Value, near, parse, split_name

TABLE: dict[str, str] = {
    "always": "agents.constant:Always",
    "best_response": "agents.best_response:BestResponse",
    "biased": "agents.constant:Biased",
    "cfr": "agents.equilibrium:Cfr",
    "checkpoint": "agents.checkpoint:Checkpoint",
    "counter_last": "agents.last_throw:CounterLast",
    "heuristic": "agents.heuristic:Heuristic",
    "human": "agents.human:Human",
    "ismcts": "agents.search:Ismcts",
    "kuhn": "agents.archetypes:Kuhn",
    "llm": "agents.language:Language",
    "mcts": "agents.search:Mcts",
    "minimax": "agents.minimax:Minimax",
    "mixture": "agents.mixture:Mixture",
    "posterior": "agents.posterior:Posterior",
    "priority": "agents.archetypes:Priority",
    "random": "agents.uniform:Uniform",
    "react": "agents.shorthands:React",
    "reflexion": "agents.shorthands:Reflexion",
    "repeat_last": "agents.last_throw:RepeatLast",
    "roshambo": "agents.roshambo:Roshambo",
    "solver": "agents.solver:Solver",
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
        """16 hexadecimal digits of what the agent is, its name left out. Raises SpecError if the class gives none."""
        where = f"agent {self.name}: version, follows and traits of class {self.agent.__qualname__}"
        with foreign_code(f"{where} give no fingerprint", SpecError):
            followed = [recipe(spec).fingerprint for spec in self.agent.follows(**self.params)]
            traits = self.agent.traits(**self.params)
            return digest(8, self._essence(), self.agent.version, *followed, *traits).hex()

    def _essence(self) -> str:
        """The canonical spec without the parameters that do not change what the agent is."""
        spec = parse(self.spec)
        return str(Spec(spec.name, {key: value for key, value in spec.params.items() if key not in self.agent.apart}))

    def misfit(self, game: Game) -> str | None:
        """Why it cannot play this game, or None. Raises SpecError if the class cannot say."""
        where = f"agent {self.name}: misfit of class {self.agent.__qualname__}"
        with foreign_code(f"{where} failed for {game.spec.name}", SpecError):
            why: object = self.agent.misfit(game, **self.params)
        if why is not None and not (isinstance(why, str) and why.strip()):
            raise SpecError(f"{where} answers {why!r:.200} for {game.spec.name}, neither None nor a reason in words")
        return why

    def prepare(self, game: Game) -> None:
        """Do once what may take long, such as solving a table that is then cached. Raises RunError if that fails."""
        where = f"agent {self.name}: prepare of class {self.agent.__qualname__}"
        with foreign_code(f"{where} failed for {game.spec.name}", RunError):
            self.agent.prepare(game, **self.params)

    def make(self, setup: Setup) -> Agent:
        """Make the player of one match."""
        return self.agent(setup, **self.params)


@lru_cache(maxsize=4096)
def recipe(text: str) -> Recipe:
    """Read `SPEC` or `NAME=SPEC`. Raises SpecError for an unknown agent, parameter or value, naming the near ones."""
    name, spec = read(text)
    agent = agent_class(spec.name)
    declared = parameters(agent)
    params: dict[str, Any] = {
        key: default for key, (_, default) in declared.items() if default is not inspect.Parameter.empty
    }
    given: dict[str, Value] = {}
    for key, value in spec.params.items():
        if key not in declared:
            raise SpecError(f"agent {spec.name!r} has no parameter {key!r}; {near(key, declared)}")
        params[key] = checked(spec.name, key, value, declared[key][0])
        if params[key] != declared[key][1]:
            given[key] = params[key]
    missing = [key for key in declared if key not in params]
    if missing:
        raise SpecError(f"agent {spec.name!r} needs the parameter {missing[0]!r}, as in {spec.name}({missing[0]}=...)")
    canonical = str(Spec(spec.name, given))
    if name is not None and name != canonical and (name in TABLE or name in offers()):
        raise SpecError(f"the name {name} is that of another agent than {canonical}; choose another")
    return Recipe(name or canonical, canonical, agent, params)


def read(text: str) -> tuple[str | None, Spec]:
    """Read `SPEC` or `NAME=SPEC` as it is written. Raises SpecError for what cannot be read."""
    name, spec = split_name(text)
    if name is not None and not (name.isprintable() and 0 < len(name) <= MAX_NAME):
        raise SpecError(f"agent name {name[:MAX_NAME]!r}: a name is 1 to {MAX_NAME} characters, all of which print")
    if spec not in TABLE and spec in offers() and (why := refusal(spec)):  # such a name may be none that can be read
        raise SpecError(why)
    return name, parse(spec)


def agent_class(name: str) -> type[Agent]:
    """The class behind an agent's name. Raises SpecError with the near names, or with what is wrong with the class."""
    if place := TABLE.get(name):
        module, _, attribute = place.partition(":")
        whose, found = f"agent {name!r} ({place})", getattr(import_module(module), attribute)
    elif offered := offers().get(name):
        if why := refusal(name):
            raise SpecError(why)
        whose, found = str(offered[0]), offered[0].load()
    else:
        raise SpecError(f"no agent {name!r}; {near(name, names(), listed_by='arena agents')}")
    if why := flaw(found):
        raise SpecError(f"{whose}: {why}")
    return found  # type: ignore[no-any-return]


def ours(agent: type[Agent]) -> bool:
    """Whether an agent is one of this program, not of another package."""
    return f"{agent.__module__}:{agent.__qualname__}" in TABLE.values()


def names() -> list[str]:
    """Names of every agent that can be asked for, sorted; what is behind one of another package is not looked at."""
    return sorted({*TABLE, *[name for name in offers() if refusal(name) is None]})


def problems() -> list[tuple[str, str]]:
    """Agents of other packages that cannot be used: the name of each, and in one line whose it is and what is wrong."""
    found: list[tuple[str, str]] = []
    for name, offered in sorted(offers().items()):
        if name in TABLE:
            found.extend([(name, f"{offer}: an agent of this program has that name") for offer in offered])
            continue
        try:
            agent_class(name)
        except SpecError as error:
            found.append((name, str(error)))
    return found


def described(name: str) -> str:
    """An agent with its parameters and their defaults, such as `mcts(simulations=1000,uct_c=1.4)`."""
    parts = [
        f"{key}=..." if default is inspect.Parameter.empty else f"{key}={written(default)}"
        for key, (_, default) in parameters(agent_class(name)).items()
    ]
    return f"{name}({','.join(parts)})" if parts else name
