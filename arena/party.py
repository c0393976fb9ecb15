"""The agents of one attempt at a match that waits for language models: who plays where, and how far it has come."""

import time
from collections.abc import Callable
from typing import NamedTuple

from agents.agent import Agent, Pace, ProviderError, Setup
from agents.models.pool import Models
from agents.registry import Recipe, ours
from arena.episode import EpisodeRecord
from arena.hosts import Chair, Hosts, Loss
from arena.match import Match, ReflectionRecord, Told
from arena.record import Run, utc_now
from arena.referee import Note
from arena.seat import ReflectingSeat, Seat, checked
from games.errors import in_words


class Attempt(NamedTuple):
    """A match to play."""

    match: Match
    number: int = 0
    """How often it has been tried before."""
    void: int = 0
    """How many of these tries count against it."""
    alone: bool = False
    """Whether its agents that compute are given hosts of their own, since one of them may take its host down."""
    accused: tuple[int, ...] = ()
    """Agents that were acting when a host died of this match."""


class Party:
    """Brings the agents of an attempt to the table and listens to how the match goes on."""

    def __init__(self, attempt: Attempt, hosts: Hosts, models: Models) -> None:
        self._attempt = attempt
        self._hosts = hosts
        self._models = models
        self._chairs: list[Chair] = []
        self._started, self._clock = utc_now(), time.monotonic()
        self.told = Told([], [], [])
        self.loss: Loss | None = None
        """Why it cannot go on, if a host has failed."""
        self.on_loss: Callable[[], object] = lambda: None
        """Called when a host has failed."""

    def run(self) -> Run:
        """The attempt as it is recorded, if it ends now."""
        return Run(self._attempt.number, None, self._started, time.monotonic() - self._clock)

    async def make(self, recipe: Recipe, setup: Setup) -> Agent:
        """Make an agent: in this process if it awaits, or is brief and one of ours; else in a host.

        Raises FaultError for what its constructor does wrong there, ProviderError where no host is to be had.
        """
        if recipe.agent.pace is Pace.AWAITS or (recipe.agent.pace is Pace.BRIEF and ours(recipe.agent)):
            return recipe.make(setup._replace(models=self._models))
        try:
            chair, sit = self._hosts.sit(self._attempt.match, setup.seat, self._attempt.alone, self._lose)
        except OSError as error:
            raise ProviderError(f"no host process can be made: {in_words(error)}") from error
        self._chairs.append(chair)
        answer = checked(await chair.ask(sit))
        return (ReflectingSeat if answer.reflects else Seat)(setup, chair, self.told)

    def leave(self) -> None:
        """The match is over: hosts need no longer keep its agents."""
        for chair in self._chairs:
            chair.leave()

    def note(self, note: Note) -> None:
        """Not told: the record of the episode brings it."""

    def turn(self, seat: int, action: str) -> None:
        self.told.turns.append((seat, action))

    def episode(self, record: EpisodeRecord) -> None:
        self.told.episodes.append(record)
        self.told.turns.clear()

    def reflection(self, record: ReflectionRecord) -> None:
        self.told.reflections.append(record)

    def _lose(self, loss: Loss) -> None:
        if self.loss is None:
            self.loss = loss
            self.on_loss()
