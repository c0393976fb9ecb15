"""The lines and actions that a game's players read and write, met by playing it at random."""

import asyncio
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Event
from typing import Any, NamedTuple

from agents.agent import Agent, Decision, Pace, Setup
from agents.generation import Generation
from agents.language import Language
from agents.manners import source_of
from agents.models.model import Message, Model, Sampling, Scores
from agents.models.pool import Models
from agents.parsing import CLOSE, OPEN
from agents.registry import Recipe, recipe
from arena.match import play_match
from games.errors import UserError
from games.game import Action, Observation
from training.draw import Field, Pool, groups
from training.policy import StoppedError

MATCHES = 64
"""Of a round."""
MOST_ROUNDS = 16
MISTAKES = 0.05
"""Share of answers that are none, so that what is told of them is met, too."""


class Vocabulary(NamedTuple):
    """What was met."""

    lines: Mapping[str, int]
    """Line of a prompt, without space around it -> how often."""
    actions: frozenset[Action]


def vocabulary(field: Field, pool: Pool, params: Mapping[str, Any], stop: Event) -> Vocabulary:
    """What an `llm` with these parameters reads in matches of a run, and what it may answer.

    Opponents are those of the run and `random`. Rounds are played until one brings nothing new. Raises UserError for a
    game that accepts other answers than its actions, StoppedError once `stop` is set, and what `play_match` raises.
    """
    met = _Met(Counter(), set())
    others = Pool([*pool.members, recipe("random")], [*pool.shares, sum(pool.shares) or 1.0])
    for number in range(MOST_ROUNDS):
        if stop.is_set():
            raise StoppedError
        before = len(met.lines) + len(met.actions)
        asyncio.run(_round(field._replace(run=f"{field.run} words"), others, number, params, met))
        if met.open:
            name = field.game.spec.name
            raise UserError(f"{name} accepts answers in words of one's own; a tiny model says whole actions alone")
        if len(met.lines) + len(met.actions) == before:
            break
    return Vocabulary(met.lines, frozenset(met.actions))


@dataclass
class _Met:
    """What was met so far."""

    lines: Counter[str]
    actions: set[Action]
    open: bool = False
    """Whether other answers than actions were accepted somewhere."""


async def _round(field: Field, pool: Pool, number: int, params: Mapping[str, Any], met: _Met) -> None:
    async def make(recipe: Recipe, setup: Setup) -> Agent:
        if recipe is not field.learner:
            return recipe.make(setup._replace(models=shared))
        models, notebook = Models(), _Notebook(met.lines)
        models.put(source_of(params), notebook)
        return _Wanderer(setup._replace(models=models), notebook, met, params)

    shared = Models()
    try:
        for match, recipes in groups(field, pool, number, MATCHES, 1):
            await play_match(match, field.game, recipes, make=make)
    finally:
        await shared.close()


class _Wanderer(Language):
    """A language agent that plays at random."""

    pace = Pace.AWAITS

    def __init__(self, setup: Setup, notebook: "_Notebook", met: _Met, params: Mapping[str, Any]) -> None:
        super().__init__(setup, **params)
        self._notebook = notebook
        self._met = met
        self._rng = random.Random(setup.seed)

    async def act(self, observation: Observation) -> Decision:
        """Say any action, now and then nothing."""
        self._met.actions.update(observation.legal_actions)
        self._met.open = self._met.open or observation.open
        action = self._rng.choice(observation.legal_actions)
        self._notebook.answer = "" if self._rng.random() < MISTAKES else f"{OPEN}{action}{CLOSE}"
        return await super().act(observation)


class _Notebook(Model):
    """Keeps what it is asked, and answers what it is told to."""

    name = "notebook"

    def __init__(self, lines: Counter[str]) -> None:
        self._lines = lines
        self.answer = ""

    async def generate(
        self, prompt: Sequence[Message], sampling: Sampling, seed: int, choices: Sequence[str] = ()
    ) -> Generation:
        """Note the lines of a prompt: see Model."""
        for message in prompt:
            self._lines.update([line.strip() for line in message.content.splitlines() if line.strip()])
        return Generation(self.name, self.answer)

    async def score(self, prompt: Sequence[Message], choices: Sequence[str]) -> Scores:
        """Not asked for: a run that samples freely does not score."""
        raise NotImplementedError
