"""The two PettingZoo environments that a Game can become. Needs the extra `pettingzoo`."""

import random
from typing import Any

import numpy as np
from gymnasium import logger
from gymnasium.spaces import Box, Dict, Discrete
from pettingzoo import AECEnv, ParallelEnv

from arena.encoding import Encoding, encoding
from games.errors import UserError
from games.game import Game, Observation, State
from games.seeding import SEED_BITS, derive

Shown = dict[str, np.ndarray]
"""What an agent is given: `observation`, and `action_mask` of 0 and 1 (all 0 when it is not to act)."""


class Table:
    """What both environments share: a game being played, its numbers, and the names of its agents."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.encoding: Encoding = encoding(game)
        self.agents = [f"player_{seat}" for seat in range(game.spec.seats)]
        self.seats = {agent: seat for seat, agent in enumerate(self.agents)}
        self.observation_spaces = {agent: self._observation_space() for agent in self.agents}
        self.action_spaces = {agent: Discrete(self.encoding.actions) for agent in self.agents}
        self._first: int | None = None
        self._episodes = 0
        self._state: State | None = None
        self.legal: dict[int, dict[int, str]] = {}
        """Seat to act -> number -> action."""
        self._last: dict[int, Observation] = {}

    def _observation_space(self) -> Dict:
        form = self.encoding
        seen = Box(form.low, form.high, form.shape, form.dtype.type)
        return Dict({"observation": seen, "action_mask": Box(0, 1, (form.actions,), np.int8)})

    @property
    def state(self) -> State:
        """The episode in progress. Raises RuntimeError before the first reset."""
        if self._state is None:
            raise RuntimeError(f"{self.game.spec.name}: reset() comes first")
        return self._state

    def reset(self, seed: int | None) -> None:
        """Start an episode: the one of `seed`; without a seed, one drawn from the last seed that was given."""
        if seed is not None:
            self._first, self._episodes = seed, 0
        elif self._first is None:
            self._first = random.SystemRandom().getrandbits(SEED_BITS)
        chosen = self._first if seed is not None else derive("reset", self._first, self._episodes)
        self._episodes += 1
        self._state = self.game.new_episode(chosen)
        self._last = {}
        self._look()

    def play(self, numbers: dict[int, Any]) -> tuple[float, ...]:
        """Play one numbered action for each seat to act; returns the rewards of all seats."""
        state = self.state
        state.apply({seat: self._named(seat, numbers[seat]) for seat in self.legal})
        self._look()
        return state.rewards()

    def _named(self, seat: int, number: Any) -> str:
        legal = self.legal[seat]
        if number is None or int(number) not in legal:
            choices = ", ".join([f"{choice} ({name})" for choice, name in list(legal.items())[:12]])
            raise ValueError(f"{number!r} is no legal action of player_{seat}; legal: {choices}")
        return legal[int(number)]

    def _look(self) -> None:
        state = self.state
        acting = state.seats_to_act()
        self.legal = {seat: self.encoding.numbers(state, seat) for seat in acting}
        self._last.update({seat: state.observe(seat) for seat in acting})

    def shown(self, agent: str) -> Shown:
        seat = self.seats[agent]
        mask = np.zeros(self.encoding.actions, np.int8)
        mask[list(self.legal.get(seat, ()))] = 1
        return {"observation": self.encoding.observe(self.state, seat, self._last.get(seat)), "action_mask": mask}

    def info(self, agent: str) -> dict[str, Any]:
        """`legal_actions`: number -> action, as the game writes it. Empty when the agent is not to act."""
        return {"legal_actions": dict(self.legal.get(self.seats[agent], {}))}

    def text(self, agent: str) -> str:
        observation = self._last.get(self.seats[agent])
        return "" if observation is None else observation.text

    def metadata(self, parallel: bool) -> dict[str, Any]:
        return {"name": self.game.spec.name, "render_modes": ["ansi"], "is_parallelizable": parallel}

    def render(self, mode: str | None) -> str | None:
        if mode is None:
            logger.warn("render() was called on an environment that was made without a render_mode")
            return None
        return self.state.board()


def checked_mode(mode: str | None) -> str | None:
    """A render mode. Raises UserError for one that is not there."""
    if mode not in (None, "ansi"):
        raise UserError(f"render_mode is {mode!r}; choices: None, 'ansi'")
    return mode


class _AtTable:
    """What both kinds of environment have in common: a table, and spaces by agent."""

    def _sit_down(self, game: Game, render_mode: str | None, parallel: bool) -> None:
        self.table = Table(game)
        self.render_mode = checked_mode(render_mode)
        self.metadata = self.table.metadata(parallel=parallel)
        self.possible_agents = list(self.table.agents)
        self.agents: list[str] = []
        self.observation_spaces = self.table.observation_spaces
        self.action_spaces = self.table.action_spaces

    def observation_space(self, agent: str) -> Dict:
        """`observation` and `action_mask`; the same object at every call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Discrete:
        """The numbers of the game's actions; the same object at every call."""
        return self.action_spaces[agent]


class SequentialEnv(_AtTable, AECEnv):  # type: ignore[misc]  # PettingZoo is not typed where it is not installed
    """A game whose seats move one at a time."""

    def __init__(self, game: Game, render_mode: str | None = None) -> None:
        super().__init__()
        self._sit_down(game, render_mode, parallel=False)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start an episode. Equal seeds give equal episodes; without one, the episodes follow from the last seed."""
        self.table.reset(seed)
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.truncations = dict.fromkeys(self.agents, False)
        self._skip_agent_selection = None
        self._turn()

    def step(self, action: Any) -> None:
        """Play the number of a legal action for `agent_selection`, or None where it is dead.

        Raises ValueError, which names the legal ones, for any other; nothing has then happened.
        """
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        rewards = self.table.play({self.table.seats[agent]: action})
        self._cumulative_rewards[agent] = 0.0
        self.rewards = dict(zip(self.possible_agents, rewards, strict=True))
        self._accumulate_rewards()
        self._turn()

    def _turn(self) -> None:
        """Point to the agent that is to move, or to the first one when the episode is over."""
        over = not self.table.legal
        self.terminations = dict.fromkeys(self.agents, over)
        self.agent_selection = self.agents[0] if over else self.possible_agents[next(iter(self.table.legal))]
        self.infos = {agent: self.table.info(agent) for agent in self.agents}

    def observe(self, agent: str) -> Shown:
        """What an agent may know now."""
        return self.table.shown(agent)

    def observation_text(self, agent: str) -> str:
        """What the agent is told in words; when it is not to act, what it was told the last time that it was."""
        return self.table.text(agent)

    def render(self) -> str | None:
        """The board as text, everything on it, where `render_mode` is "ansi"."""
        return self.table.render(self.render_mode)

    def close(self) -> None:
        """Nothing is held open."""


class SimultaneousEnv(_AtTable, ParallelEnv):  # type: ignore[misc]  # PettingZoo is not typed where it is not installed
    """A game whose seats move at once. All agents stay until the end.

    Where only some seats are to move, the mask of the others is all 0 and whatever they send is ignored.
    """

    def __init__(self, game: Game, render_mode: str | None = None) -> None:
        self._sit_down(game, render_mode, parallel=True)

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Shown], dict[str, dict[str, Any]]]:
        """Start an episode. Equal seeds give equal episodes; without one, the episodes follow from the last seed."""
        self.table.reset(seed)
        self.agents = list(self.possible_agents)
        return self._shown()

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[dict[str, Shown], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Play the number of a legal action for every agent that is to move.

        Raises ValueError, which names the legal ones, for any other or a missing one; nothing has then happened.
        """
        table = self.table
        rewards = table.play({seat: actions.get(agent) for agent, seat in table.seats.items()})
        shown, infos = self._shown()
        over = not table.legal
        ended = dict.fromkeys(self.agents, over)
        cut = dict.fromkeys(self.agents, False)
        gains = dict(zip(self.possible_agents, rewards, strict=True))
        self.agents = [] if over else self.agents
        return shown, gains, ended, cut, infos

    def _shown(self) -> tuple[dict[str, Shown], dict[str, dict[str, Any]]]:
        table = self.table
        return {agent: table.shown(agent) for agent in self.agents}, {agent: table.info(agent) for agent in self.agents}

    def observation_text(self, agent: str) -> str:
        """What the agent is told in words; when it is not to act, what it was told the last time that it was."""
        return self.table.text(agent)

    def render(self) -> str | None:
        """The board as text, everything on it, where `render_mode` is "ansi"."""
        return self.table.render(self.render_mode)

    def close(self) -> None:
        """Nothing is held open."""
