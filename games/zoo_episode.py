"""One episode of a PettingZoo environment, behind one face for its two interfaces (AEC and parallel)."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np

from games.errors import RunError
from games.text.arrays import frozen


class Sight(NamedTuple):
    """What one agent is shown: its observation without the mask (a read-only copy), and its legal action numbers."""

    shown: Any
    legal: tuple[int, ...]


class ZooEpisode(ABC):
    """An environment being played. Seats are places in `possible_agents`; every call runs inside `around`."""

    def __init__(self, env: Any, seats: Mapping[str, int], around: AbstractContextManager[None]) -> None:
        self.env = env
        self.seats = seats
        self.around = around
        self.sights: dict[int, Sight] = {}
        """What each seat that must act now is shown; empty when the episode is over."""
        self._last: dict[int, Sight] = {}
        """What seats were shown last that the environment need not be asked for again, without legal actions."""

    @abstractmethod
    def reset(self, seed: int) -> None:
        """Start the environment; `seed` has 31 bits."""

    @abstractmethod
    def step(self, actions: Mapping[int, int]) -> tuple[float, ...]:
        """Play one action for each seat in `sights`; returns the rewards of all seats."""

    def sight(self, seat: int) -> Sight:
        """What any seat is shown now; one that has left, what it was shown last. No legal actions if it is not to act.

        Raises RunError where the environment shows it nothing.
        """
        return self.sights.get(seat) or self._last.get(seat) or self._ask(seat)

    @abstractmethod
    def _ask(self, seat: int) -> Sight:
        """What a seat is shown now that is not to act and still there."""

    @abstractmethod
    def views(self) -> dict[str, Any]:
        """What every agent that is still there is shown now, or was at the end."""

    def copy(self) -> "ZooEpisode":
        """A second episode that goes on from here by itself; for environments without chance or outside resources."""
        with self.around:
            twin = type(self)(_copied(self.env), self.seats, self.around)
        twin.sights, twin._last = dict(self.sights), dict(self._last)
        return twin

    def _sight(self, agent: str, observation: Any, info: Mapping[str, Any]) -> Sight:
        mask = info.get("action_mask")
        shown = observation
        if isinstance(observation, Mapping) and "action_mask" in observation:
            mask = observation["action_mask"]
            shown = {key: value for key, value in observation.items() if key != "action_mask"}
            if shown.keys() == {"observation"}:
                shown = shown["observation"]
        space = self.env.action_space(agent)
        first = int(space.start)
        if mask is None:
            return Sight(frozen(shown), tuple(range(first, first + int(space.n))))
        return Sight(frozen(shown), tuple([first + place for place in np.flatnonzero(mask).tolist()]))

    def _rewards(self, given: Mapping[str, Any]) -> tuple[float, ...]:
        return tuple([float(given.get(agent, 0.0)) for agent in self.seats])

    def _seat(self, agent: str) -> int:
        if agent not in self.seats:
            raise RunError(f"environment {self.env} brought in agent {agent!r}, which is not among {list(self.seats)}")
        return self.seats[agent]


class AecEpisode(ZooEpisode):
    """Agents move one at a time."""

    def reset(self, seed: int) -> None:
        with self.around:
            self.env.reset(seed=seed)
            self._look()

    def step(self, actions: Mapping[int, int]) -> tuple[float, ...]:
        (number,) = actions.values()
        with self.around:
            self.env.step(number)
            rewards = self._rewards(self.env.rewards)
            self._look()
        return rewards

    def views(self) -> dict[str, Any]:
        env = self.env
        with self.around:
            return {agent: self._seen(agent).shown for agent in env.agents}

    def _look(self) -> None:
        """Let the dead step aside and see who is to move. When all are dead they stay, so that they can be observed."""
        env = self.env
        while agents := env.agents:
            ended, cut, agent = env.terminations, env.truncations, env.agent_selection
            if all([ended[one] or cut[one] for one in agents]):
                break
            if not (ended[agent] or cut[agent]):
                sight = self._seen(agent)
                if not sight.legal:
                    raise RunError(f"environment {env} gives {agent!r} no legal action")
                self.sights = {self._seat(agent): sight}
                return
            self._last[self._seat(agent)] = self._seen(agent)._replace(legal=())
            env.step(None)
        self.sights = {}

    def _ask(self, seat: int) -> Sight:
        agent = list(self.seats)[seat]
        with self.around:
            return self._seen(agent)._replace(legal=())

    def _seen(self, agent: str) -> Sight:
        return self._sight(agent, self.env.observe(agent), self.env.infos.get(agent, {}))


class ParallelEpisode(ZooEpisode):
    """All live agents move at once. One whose mask allows nothing is not asked, and sends a filler."""

    def reset(self, seed: int) -> None:
        with self.around:
            self._look(*self.env.reset(seed=seed))

    def step(self, actions: Mapping[int, int]) -> tuple[float, ...]:
        env = self.env
        joint = {agent: actions.get(self.seats[agent], int(env.action_space(agent).start)) for agent in env.agents}
        with self.around:
            observations, rewards, terminations, truncations, infos = env.step(joint)
            live = [one for one in env.agents if not (terminations.get(one) or truncations.get(one))]
            self._look(observations, infos, live)
        return self._rewards(rewards)

    def _ask(self, seat: int) -> Sight:
        raise RunError(f"environment {self.env} has shown nothing to {list(self.seats)[seat]!r}")

    def views(self) -> dict[str, Any]:
        return dict(self._shown)

    def _look(
        self, observations: Mapping[str, Any], infos: Mapping[str, Any], live: Sequence[str] | None = None
    ) -> None:
        sights = {agent: self._sight(agent, shown, infos.get(agent, {})) for agent, shown in observations.items()}
        self._shown = {agent: sight.shown for agent, sight in sights.items()}
        self._last |= {self._seat(agent): sight._replace(legal=()) for agent, sight in sights.items()}
        acting = {self._seat(agent): sights[agent] for agent in (self.env.agents if live is None else live)}
        self.sights = {seat: acting[seat] for seat in sorted(acting) if acting[seat].legal}
        if acting and not self.sights:
            raise RunError(f"environment {self.env} gives none of {list(live or self.env.agents)} a legal action")


def _copied(env: Any) -> Any:
    """A deep copy of an environment in its present state.

    The environments of the package say that a copy is a new one made with the same arguments (gymnasium's EzPickle), so
    the innermost one is copied attribute by attribute. Spaces are shared.
    """
    inner = env.unwrapped
    twin = object.__new__(type(inner))
    memo = {id(inner): twin}
    for spaces in (inner.action_spaces, inner.observation_spaces):
        memo[id(spaces)] = spaces
    twin.__dict__.update(deepcopy(vars(inner), memo))
    return deepcopy(env, memo)
