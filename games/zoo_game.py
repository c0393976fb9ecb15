"""A PettingZoo environment as a Game: its spec, its episodes, and what a seat is shown."""

import random
import warnings
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple

from games.errors import RunError
from games.game import Action, Dynamics, Event, Game, GameSpec, Information, Observation, SampleError, State
from games.seeding import derive
from games.spec import SpecError
from games.text.arrays import digest
from games.text.words import signed
from games.text.zoo import ZooWords
from games.zoo_episode import AecEpisode, ParallelEpisode, Sight, ZooEpisode

_REFUSALS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)

TRIAL = 6
"""Decisions that are tried when an environment becomes a game."""


class Limits(NamedTuple):
    """Bounds that the game string may set where the environment's own are unknown or too wide."""

    max_turns: int | None = None
    min_utility: float | None = None
    max_utility: float | None = None


class PettingZooGame(Game):
    """One PettingZoo environment. Seats are the places in its `possible_agents`.

    `make_env` makes a fresh environment at each call, `make_words` the words for its agents. A fresh one is made for
    every episode, since several may be in play at once and nothing may leak from one to the next.
    """

    def __init__(
        self,
        make_env: Callable[[], Any],
        name: str,
        make_words: Callable[[tuple[str, ...]], ZooWords] | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.make_env = make_env
        self.name = name
        probe = self._probe()
        self.agents: tuple[str, ...] = tuple(probe.possible_agents)
        self.seat_of = {agent: seat for seat, agent in enumerate(self.agents)}
        self.parallel = not hasattr(probe, "agent_iter")
        self.words = make_words(self.agents) if make_words else ZooWords({}, self.agents)
        self.facts = self.words.facts()
        self._check_spaces(probe)
        self.spec = self._spec(probe, limits or Limits())
        self._try_to_play()

    def new_episode(self, seed: int) -> "PettingZooState":
        around = self.words.around(seed)
        with around:
            env = self._make_quietly()
        episode = (ParallelEpisode if self.parallel else AecEpisode)(env, self.seat_of, around)
        episode.reset(derive("pettingzoo", seed) % 2**31)  # C libraries behind some environments take 31 bits
        return PettingZooState(self, seed, episode)

    def _make_quietly(self) -> Any:
        """A fresh environment; what it warns of (old interfaces, precision of its bounds) helps no player."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.make_env()

    def _probe(self) -> Any:
        """One environment to ask for agents and spaces."""
        try:
            with ZooWords({}, ()).around(0):
                probe = self._make_quietly()
        except _REFUSALS as error:
            raise SpecError(f"PettingZoo refuses {self.name}: {one_line(error)}") from error
        if not getattr(probe, "possible_agents", None):
            raise SpecError(f"{self.name} does not say who may take part (possible_agents)")
        return probe

    def _check_spaces(self, probe: Any) -> None:
        from gymnasium.spaces import Discrete

        for agent in self.agents:
            space = probe.action_space(agent)
            if not isinstance(space, Discrete):
                raise SpecError(f"{self.name} has actions {space} for {agent!r}, not discrete ones")

    def _try_to_play(self) -> None:
        """An environment shows some wrong parameters at its reset or in play only."""
        try:
            why = fault(self.new_episode(0))
        except (*_REFUSALS, RunError) as error:
            raise SpecError(f"PettingZoo refuses {self.name}: {one_line(error)}") from error
        if why is not None:
            raise SpecError(f"game {self.name!r} cannot be played: {why}")

    def _spec(self, probe: Any, limits: Limits) -> GameSpec:
        facts = self.facts
        perfect = facts.information is Information.PERFECT
        rules = self.words.rules()
        title = self.words.title or str(getattr(probe, "metadata", {}).get("name", type(probe).__name__))
        return GameSpec(
            name=self.name,
            title=title,
            seats=len(self.agents),
            dynamics=Dynamics.SIMULTANEOUS if self.parallel else Dynamics.SEQUENTIAL,
            information=facts.information,
            utility=facts.utility,
            min_utility=facts.min_utility if limits.min_utility is None else limits.min_utility,
            max_utility=facts.max_utility if limits.max_utility is None else limits.max_utility,
            max_turns=facts.max_turns if limits.max_turns is None else limits.max_turns,
            rules=rules if rules.startswith(title) else f"{title}, {len(self.agents)} seats. {rules}",
            chance=facts.chance,
            terminal_rewards=facts.terminal_rewards,
            can_sample_state=perfect and not facts.chance,
        )


class PettingZooState(State):
    """One episode of a PettingZoo environment. It ends with the environment or after `spec.max_turns` decisions."""

    __slots__ = ("_names", "_returns", "_rewards", "_seen", "episode", "game", "log", "seed")

    def __init__(self, game: PettingZooGame, seed: int, episode: ZooEpisode) -> None:
        self.game = game
        self.seed = seed
        self.episode = episode
        self.log: list[Event] = []
        self._seen = [0] * game.spec.seats
        self._rewards = self._returns = (0.0,) * game.spec.seats
        self._names: dict[int, dict[Action, int]] = {}

    def seats_to_act(self) -> tuple[int, ...]:
        return tuple(self.episode.sights) if len(self.log) < self.game.spec.max_turns else ()

    def observe(self, seat: int) -> "PettingZooObservation":
        if seat in self.seats_to_act():
            return PettingZooObservation(self, seat, self.episode.sights[seat], tuple(self.legal(seat)), "")
        sight = self.episode.sight(seat)._replace(legal=())
        with self.episode.around:
            shown = self.game.words.aside(self.episode.env, self.game.agents[seat], sight.shown)
        return PettingZooObservation(self, seat, sight._replace(shown=shown), (), self.ending(seat))

    def since(self, seat: int) -> int:
        """How many decisions had been made before the seat's own last one."""
        return self._seen[seat]

    def ending(self, seat: int) -> str:
        """How the episode ended, as far as a seat may know; empty while it goes on."""
        if self.seats_to_act():
            return ""
        if self.game.facts.information is not Information.PERFECT:
            return f"Over. Your return: {signed(self._returns[seat])}"
        shares = zip(self.game.agents, self._returns, strict=True)
        return "Over. Returns: " + ", ".join([f"{signed(value)} for {agent}" for agent, value in shares])

    def legal(self, seat: int) -> dict[Action, int]:
        """The legal actions of a seat to act: name -> the environment's number, in rising order."""
        names = self._names.get(seat)
        if names is None:
            words, env, agent = self.game.words, self.episode.env, self.game.agents[seat]
            names = {words.action(env, agent, number): number for number in self.episode.sights[seat].legal}
            self._names[seat] = names
        return names

    def apply(self, actions: Mapping[int, Action]) -> None:
        seats = self.seats_to_act()
        if not seats:
            raise ValueError("the episode is over")
        try:
            numbers = {seat: self.legal(seat)[actions[seat]] for seat in seats}
        except KeyError as error:
            raise ValueError(f"{error.args[0]!r} is no legal action, or a seat of {seats} is missing") from None
        for seat in seats:
            self._seen[seat] = len(self.log)
            self.log.append(Event(seat, actions[seat]))
        self._names = {}
        self._rewards = self.episode.step(numbers)
        self._returns = tuple([old + new for old, new in zip(self._returns, self._rewards, strict=True)])

    def rewards(self) -> tuple[float, ...]:
        return self._rewards

    def returns(self) -> tuple[float, ...]:
        return self._returns

    def board(self) -> str:
        game = self.game
        with self.episode.around:
            whole = game.words.board(self.episode.env)
        if whole is not None:
            return whole
        views = self.episode.views()
        return "\n".join([f"{agent} sees:\n{game.words.view(shown, agent)}" for agent, shown in views.items()])

    def copy(self) -> "PettingZooState":
        """The same position, to be played on apart."""
        twin = PettingZooState(self.game, self.seed, self.episode.copy())
        twin.log = list(self.log)
        twin._seen = list(self._seen)
        twin._rewards, twin._returns = self._rewards, self._returns
        return twin

    def back_to(self, moves: int) -> "PettingZooState":
        """The position after the first `moves` decisions: a fresh episode, played again up to there."""
        again = self.game.new_episode(self.seed)
        while len(again.log) < moves:
            start = len(again.log)
            again.apply({event.seat: event.action for event in self.log[start : start + len(again.seats_to_act())]})
        return again


class PettingZooObservation(Observation):
    """What one seat was shown, held by itself: the environment may move on."""

    __slots__ = ("_at", "_ending", "_legal", "_sight", "_since", "_state", "seat")

    def __init__(self, state: PettingZooState, seat: int, sight: Sight, legal: tuple[Action, ...], ending: str) -> None:
        self._state = state
        self.seat = seat
        self._at = len(state.log)
        self._since = state.since(seat)
        self._sight = sight
        self._legal = legal
        self._ending = ending

    @property
    def shown(self) -> Any:
        """The environment's own observation without the mask, read-only."""
        return self._sight.shown

    @property
    def legal_actions(self) -> tuple[Action, ...]:
        return self._legal

    @property
    def text(self) -> str:
        game = self._state.game
        agent = game.agents[self.seat]
        return f"You are {agent}.\n{game.words.view(self._sight.shown, agent)}\n{self._ending}".rstrip()

    @property
    def key(self) -> str:
        return digest(self.seat, self._sight.shown, self._sight.legal, *([self._ending] if self._ending else []))

    @property
    def events(self) -> Sequence[Event]:
        seen = self._state.log[self._since : self._at]
        if self._state.game.facts.information is Information.PERFECT:
            return seen
        return [event for event in seen if event.seat == self.seat]

    def sample_state(self, rng: random.Random) -> PettingZooState:
        state = self._state
        if not state.game.spec.can_sample_state:
            raise SampleError(f"no state of {state.game.spec.name} can be sampled: what a seat does not see is unknown")
        return state.copy() if len(state.log) == self._at else state.back_to(self._at)


def fault(state: PettingZooState) -> str | None:
    """Play the first moves of an episode at random; why it cannot be played, or None.

    Raises what the environment raises.
    """
    if not state.seats_to_act():
        return "there is nothing to play"
    rng = random.Random(0)
    while (seats := state.seats_to_act()) and len(state.log) < TRIAL:
        observations = {seat: state.observe(seat) for seat in seats}
        for observation in observations.values():
            _ = observation.text, observation.key
        state.apply({seat: rng.choice(observation.legal_actions) for seat, observation in observations.items()})
        if not all(map(isfinite, state.returns())):
            return "its returns are not finite"
    state.board()
    return None


def one_line(error: BaseException) -> str:
    """An error of an environment, fit to end a message."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
