"""The public check of agents: whether an agent keeps what every agent promises."""

import asyncio
import json
import math
import random
import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple, NoReturn

import numpy as np

from agents.agent import Agent, Decision, Reflection, Setup, Step, Trajectory
from agents.clib_random import process_stream_watched
from agents.parameters import parameters
from agents.registry import Recipe, recipe
from agents.uniform import Uniform
from games.foreign import foreign_code
from games.game import Action, Game, Observation, State, Termination
from games.registry import make
from games.seeding import derive

OTHER_GAMES = ("tic_tac_toe", "kuhn_poker", "kuhn_poker(players=3)", "matrix_rps", "catch")
"""Games that `misfit` is asked about beside the one to play."""

DRAWS = 200
"""Fresh agents that decide in one position, to compare what they play with the probabilities they state."""

CLOSE = 1e-9
"""How far stated probabilities may be from a sum of 1."""


class AgentCheckError(AssertionError):
    """An agent breaks a promise; the message is one line that names the agent and what it did."""


def check_agent(agent: str, game: str, *, matches: int = 3, seed: int = 0) -> None:
    """Check that an agent keeps the promises of `Agent` in a game that it fits.

    Raises AgentCheckError for the first promise broken; an exception of the agent's own breaks one, and is its cause.

    - Its canonical spec reads back as the same agent, and the docstring of its class names each parameter.
    - `misfit` answers None or one line for any game; `prepare` gets the one to play ready.
    - In `matches` matches of two episodes from each seat, uniform players in the others, it plays legal actions, gives
      decisions that can be kept, and draws from no generator of the process.
    - The same match again, with a fresh agent, gives the same decisions, the seconds they took aside.
    - Where it has `probabilities`, they are over exactly the legal actions, sum to 1, do not depend on what it has
      played, and are what it plays by.

    An agent that declares `answers_freely` may answer with what is not legal, if it keeps what it said. It is treated
    as a referee would: told why and asked again up to `retries` times, then a legal move is played for it.

    An agent that declares `draws_from_process` may draw from the C library's `random()`, but not from Python's or
    numpy's generators, and its matches must replay all the same. A person (`interactive`) is not asked to play.
    """
    player, played = recipe(agent), make(game)
    _check_recipe(player)
    _check_documented(player)
    for other in (*map(make, OTHER_GAMES), played):
        _check_misfit(player, other)
    if why := player.misfit(played):
        _fail(player, f"cannot be checked in {played.spec.name}: {why}")
    with _named(player, "prepare"):
        player.prepare(played)
    if player.agent.interactive:
        return
    for seat in range(played.spec.seats):
        for number in range(matches):
            _check_match(_Match(player, played, seat, derive(seed, "match", number)))
        if _is_tabular(player.agent):
            _check_frequencies(player, played, seat, seed)


def _check_recipe(player: Recipe) -> None:
    with _named(player, "reading its canonical spec"):
        again = recipe(player.spec)
    if (again.spec, again.fingerprint) != (player.spec, player.fingerprint) or again.params != player.params:
        _fail(player, f"its canonical spec reads back as {again.spec} with {dict(again.params)}")


def _check_documented(player: Recipe) -> None:
    text = player.agent.__dict__.get("__doc__") or ""
    if not text.strip():
        _fail(player, f"class {player.agent.__name__} has no docstring")
    for key in parameters(player.agent):
        if not re.search(rf"\b{re.escape(key)}\b", text):
            _fail(player, f"the docstring of class {player.agent.__name__} does not name parameter {key!r}")


def _check_misfit(player: Recipe, game: Game) -> None:
    with _named(player, "misfit"):
        why = player.misfit(game)
    if why is not None and "\n" in why:
        _fail(player, f"misfit answers {why!r} for {game.spec.name}, neither None nor one line")


class _Match(NamedTuple):
    """A match of two episodes between the agent under check in one seat and uniform players in the others."""

    player: Recipe
    game: Game
    seat: int
    seed: int

    def play(self) -> list[Decision]:
        """Play it with fresh agents, and check each decision as it is made. Returns the agent's decisions."""
        return asyncio.run(self._play())

    def make(self) -> Agent:
        return _made(self.player, Setup(self.game, self.seat, derive(self.seed, self.seat), 2))

    async def _play(self) -> list[Decision]:
        seats = range(self.game.spec.seats)
        agents: list[Agent] = [Uniform(Setup(self.game, seat, derive(self.seed, seat), 2)) for seat in seats]
        agents[self.seat] = self.make()
        first = await self._episode(agents, 1)
        second = await self._episode(agents, 2)
        return [*first, *second]

    async def _episode(self, agents: Sequence[Agent], number: int) -> list[Decision]:
        state = self.game.new_episode(self.game.deal(self.seed, number))
        decisions: list[Decision] = []
        steps: list[Step] = []
        while seats := state.seats_to_act():
            joint = {}
            for seat in seats:
                observation = state.observe(seat)
                if seat == self.seat:
                    joint[seat] = await self._decide(agents[seat], observation, decisions)
                    steps.append(Step(observation, joint[seat]))
                else:
                    joint[seat] = (await agents[seat].act(observation)).action
            state.apply(joint)
        if number == 1:
            await self._reflect(agents[self.seat], steps, state)
        return decisions

    async def _decide(self, agent: Agent, observation: Observation, decisions: list[Decision]) -> Action:
        """Let the agent under check decide; each of its decisions is added to those before. Returns what is played."""
        for _ in range(agent.retries + 1):
            with _named(self.player, "act"):
                decision = await agent.act(observation)
            self._check_turn(observation, decision, agent)
            decisions.append(decision)
            if observation.allows(decision.action):
                return decision.action
            with _named(self.player, "refused"):
                agent.refused(observation, f"{decision.action[:200]!r} is not a legal action")
        return observation.legal_actions[0]

    async def _reflect(self, agent: Agent, steps: Sequence[Step], state: State) -> None:
        total, success = state.returns()[self.seat], state.success()[self.seat]
        trajectory = Trajectory(
            1, self.seat, steps, total, success, Termination.FINISHED, at_fault=False, final=state.observe(self.seat)
        )
        with _named(self.player, "reflect"):
            told: object = await agent.reflect(trajectory)
        if told is not None and not isinstance(told, Reflection):
            _fail(self.player, f"reflect returns {told!r}, neither None nor a Reflection")

    def _check_turn(self, observation: Observation, decision: object, agent: Agent) -> None:
        """A decision must be legal and fit to be kept; what a tabular agent plays must be possible by its policy."""
        if not isinstance(decision, Decision):
            _fail(self.player, f"act returns {decision!r}, not a Decision")
        if not observation.allows(decision.action):
            legal = ", ".join(observation.legal_actions)
            if not agent.answers_freely:
                _fail(self.player, f"plays {decision.action!r} where {legal} are legal")
            if decision.raw is None:
                _fail(self.player, f"answers {decision.action!r} where {legal} are legal, and keeps no raw answer")
        if not (decision.raw is None or isinstance(decision.raw, str)):
            _fail(self.player, f"keeps a raw answer that is no text: {decision.raw!r}")
        try:
            json.dumps(decision.extra)
        except (TypeError, ValueError) as error:
            _fail(self.player, f"keeps an extra that JSON cannot hold: {error}")
        try:
            json.dumps([(generation.sampling, generation.notes) for generation in decision.generations])
        except (TypeError, ValueError) as error:
            _fail(self.player, f"keeps a generation that JSON cannot hold: {error}")
        if _is_tabular(self.player.agent):
            self._check_probabilities(observation, decision)

    def _check_probabilities(self, observation: Observation, decision: Decision) -> None:
        stated = _stated(self.player, self.make(), observation)
        if set(stated) != set(observation.legal_actions):
            _fail(
                self.player,
                f"states probabilities of {', '.join(stated)}, not of {', '.join(observation.legal_actions)}",
            )
        if not all(0 <= value <= 1 + CLOSE for value in stated.values()) or abs(sum(stated.values()) - 1) > CLOSE:
            _fail(self.player, f"states probabilities that are none or do not sum to 1: {stated}")
        if not stated[decision.action] > 0:
            _fail(self.player, f"plays {decision.action!r}, to which it gives probability 0")


def _check_match(match: _Match) -> None:
    """A match leaves the generators of the process alone, and played again it goes the same way."""
    with _generators_watched(match.player):
        first = match.play()
    with _generators_watched(match.player):
        again = match.play()
    for place, (before, now) in enumerate(zip(first, again, strict=False)):
        if _timeless(before) != _timeless(now):
            _fail(match.player, f"does not replay: decision {place} of a match is {before} and then {now}")


def _timeless(decision: Decision) -> Decision:
    """A decision without the seconds that its generations took."""
    return decision._replace(generations=[generation._replace(seconds=0.0) for generation in decision.generations])


def _check_frequencies(player: Recipe, game: Game, seat: int, seed: int) -> None:
    """Fresh agents with different seeds play by the probabilities stated: within 5 standard errors, and 2 draws."""
    observation = _first_observation(game, seat, seed)
    if observation is None:
        return
    made = [_made(player, Setup(game, seat, derive(seed, "draw", number))) for number in range(DRAWS)]
    stated = _stated(player, made[0], observation)
    with _named(player, "act"):
        actions = [asyncio.run(_acts(agent, observation)) for agent in made]
    for action, probability in stated.items():
        share = actions.count(action) / DRAWS
        if abs(share - probability) > 5 * math.sqrt(probability * (1 - probability) / DRAWS) + 2 / DRAWS:
            _fail(player, f"plays {action!r} with frequency {share:g} where it states {probability:g}")


def _first_observation(game: Game, seat: int, seed: int) -> Observation | None:
    """What a seat sees at its first decision of an episode of random play; None if it has none."""
    state = game.new_episode(derive(seed, "deal"))
    rng = random.Random(derive(seed, "opening"))
    while seats := state.seats_to_act():
        if seat in seats:
            return state.observe(seat)
        state.apply({mover: rng.choice(state.observe(mover).legal_actions) for mover in seats})
    return None


@contextmanager
def _generators_watched(player: Recipe) -> Iterator[None]:
    """Fail if the process's generators are not, at the end of the block, where they were at its start."""
    python, numbers = random.getstate(), _numpy_state()
    with process_stream_watched() as drawn:
        yield
        native = drawn()
    if random.getstate() != python:
        _fail(player, "draws from Python's global generator `random`")
    if _numpy_state() != numbers:
        _fail(player, "draws from numpy's global generator")
    if native and not player.agent.draws_from_process:
        _fail(player, "draws from the C library's random() and does not declare draws_from_process")


def _numpy_state() -> tuple[bytes, int, int, float]:
    _, words, place, has_gauss, gauss = np.random.get_state(legacy=True)
    return np.asarray(words).tobytes(), int(place), int(has_gauss), float(gauss)


async def _acts(agent: Agent, observation: Observation) -> str:
    return (await agent.act(observation)).action


def _is_tabular(agent: type[Agent]) -> bool:
    return hasattr(agent, "probabilities")


def _made(player: Recipe, setup: Setup) -> Agent:
    with _named(player, "making it"):
        return player.make(setup)


def _stated(player: Recipe, agent: Agent, observation: Observation) -> dict[str, float]:
    with _named(player, "probabilities"):
        return dict(agent.probabilities(observation))  # type: ignore[attr-defined]


def _named(player: Recipe, what: str) -> AbstractContextManager[None]:
    """Name the agent in whatever its own code raises."""
    return foreign_code(f"agent {player.spec}: {what} fails", AgentCheckError, passing=())


def _fail(player: Recipe, why: str) -> NoReturn:
    raise AgentCheckError(f"agent {player.spec}: {why}")
