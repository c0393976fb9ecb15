"""The 43 bots of the International RoShamBo Programming Competition that OpenSpiel ships."""

from typing import Annotated, Any

import pyspiel
from pydantic import AfterValidator

from agents.agent import Agent, Decision, Setup
from agents.clib_random import CRandomStream
from games.game import Event, Game, Observation
from games.spec import near
from games.spiel import SpielGame

BOTS: tuple[str, ...] = tuple(sorted(pyspiel.roshambo_bot_names()))
THROWS: int = pyspiel.ROSHAMBO_NUM_THROWS
"""Throws of one game: the bots' tables are made for this length and end the process at any other."""


def _known_bot(name: str) -> str:
    if name not in BOTS:
        raise ValueError(f"no such bot; {near(name, BOTS)}")
    return name


class Roshambo(Agent):
    """One bot of the International RoShamBo Programming Competition (1999, and Greenberg of 2000).

    bot: its name, such as greenberg, iocainebot or rockbot.

    Plays repeated rock-paper-scissors of exactly 1,000 throws. Each episode starts a fresh bot: it remembers the
    throws of its own episode alone. Most bots draw from the C library's `random()`; each has a private stream of it,
    seeded by the match, so that what it throws does not depend on what else the process plays.
    """

    draws_from_process = True

    def __init__(self, setup: Setup, *, bot: Annotated[str, AfterValidator(_known_bot)] = "greenberg") -> None:
        super().__init__(setup)
        game = setup.game
        assert isinstance(game, SpielGame)
        self._spiel = game.spiel
        self._name = bot
        self._stream = CRandomStream(setup.seed)
        start = game.new_episode(0)
        self._numbers = [start.legal(seat) for seat in (0, 1)]
        self._throws = [{number: name for name, number in names.items()} for names in self._numbers]
        self._asked: Observation | None = None
        self._decision = Decision("")

    @classmethod
    def misfit(cls, game: Game, **params: Any) -> str | None:
        """Anything but rock-paper-scissors of 1,000 throws does not fit."""
        wanted = f"roshambo plays repeated_game(stage_game=matrix_rps,num_repetitions={THROWS}) only"
        if not isinstance(game, SpielGame) or game.spiel.get_type().short_name != "repeated_game":
            return wanted
        given = game.spiel.get_parameters()
        if given["stage_game"]["name"] != "matrix_rps":
            return f"{wanted}, and the stage game here is {given['stage_game']['name']}"
        if given["num_repetitions"] != THROWS:
            return f"{wanted}: the bots' tables are made for that length, not for {given['num_repetitions']}"
        return None

    async def act(self, observation: Observation) -> Decision:
        # Asked twice about one position (a late answer tried again), the bot must not count the last throw twice.
        if observation is not self._asked:
            self._follow(observation)
            throw = self._stream.call(self._bot.step, self._state)
            self._asked = observation
            self._decision = Decision(self._throws[observation.seat][throw])
        return self._decision

    def _follow(self, observation: Observation) -> None:
        """Bring the bot's own copy of the game up to date; no events yet means that an episode begins."""
        events = observation.events
        if not events:
            self._state = self._spiel.new_initial_state()
            self._bot = self._stream.call(pyspiel.make_roshambo_bot, observation.seat, self._name)
            return
        self._state.apply_actions(self._joint(events[0], events[1]))

    def _joint(self, first: Event, second: Event) -> list[int]:
        """The numbers of the two throws that were made at once, by seat."""
        joint = [0, 0]
        for seat, throw in (first, second):
            joint[seat] = self._numbers[seat][throw]
        return joint
