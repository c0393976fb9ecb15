"""Planners: Monte Carlo tree search for perfect information, and for hidden information over sampled states."""

from random import Random
from typing import Annotated, Any, Literal, TypeAlias

import pyspiel
from pydantic import Field

from agents.agent import Agent, Decision, Setup
from games.game import Action, Dynamics, Game, Information, Observation, SampleError
from games.seeding import derive
from games.spiel import SpielGame, SpielObservation

Count: TypeAlias = Annotated[int, Field(ge=1, le=2**31 - 1)]
Exploration: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False)]

_MEMORY_MB = 1000
"""Bound on the tree of one search; a search of a million simulations stays below it."""
_UNDRAWN = Random(0)
"""Given where nothing is hidden, so that nothing is drawn; making a generator for each match would take longer."""


class Mcts(Agent):
    """Monte Carlo tree search with random rollouts, on OpenSpiel's C++ search.

    simulations: how many a move; uct_c: weight of exploration; rollouts: random games that value one new position;
    solve: whether positions proved won, lost or drawn are no longer sampled.

    UCT: Kocsis and Szepesvari (2006); its solver: Winands, Bjornsson and Saito (2008).
    """

    def __init__(
        self,
        setup: Setup,
        *,
        simulations: Count = 1000,
        uct_c: Exploration = 1.4,
        rollouts: Count = 1,
        solve: bool = True,
    ) -> None:
        super().__init__(setup)
        seed, rollout_seed = _seeds(setup)
        evaluator = pyspiel.RandomRolloutEvaluator(rollouts, rollout_seed)
        game = _loaded(setup.game).spiel
        self._bot = pyspiel.MCTSBot(game, evaluator, uct_c, simulations, _MEMORY_MB, solve, seed, False)

    @classmethod
    def misfit(cls, game: Game, **params: Any) -> str | None:
        """A game that is not of perfect information, in turn, with rewards at the end only."""
        spec = game.spec
        if why := _unsearchable("mcts", game):
            return why
        if spec.information is not Information.PERFECT:
            return f"mcts needs perfect information, and {spec.name} hides some: ismcts plays it"
        if not spec.terminal_rewards:
            return f"mcts needs rewards at the end only, and {spec.name} gives some before"
        return None

    async def act(self, observation: Observation) -> Decision:
        return Decision(_step(self._bot, observation, _UNDRAWN))


class Ismcts(Agent):
    """Information set MCTS: every simulation starts in another state that the seat cannot tell from the true one.

    simulations: how many a move; uct_c: weight of exploration; rollouts: random games that value one new position;
    play: the action visited most (argmax), or one drawn by the visits (sample).

    Cowling, Powley and Whitehouse (2012), "Information set Monte Carlo tree search". It runs on OpenSpiel's Python
    search: the C++ one is 20 times as fast, but breaks ties in the order of a hash map, which its seed does not fix.
    Where no state can be drawn it plays at random, and the decision's `extra` says so.
    """

    def __init__(
        self,
        setup: Setup,
        *,
        simulations: Count = 1000,
        uct_c: Exploration = 1.4,
        rollouts: Count = 1,
        play: Literal["argmax", "sample"] = "argmax",
    ) -> None:
        super().__init__(setup)
        self._rng = Random(setup.seed)
        self._worlds: _Worlds | None = None
        self._bot = _information_set_search(setup, simulations, uct_c, rollouts, play)
        self._bot.set_resampler(self._sample)

    @classmethod
    def misfit(cls, game: Game, **params: Any) -> str | None:
        """A game that hides nothing, is not played in turn, or draws no states from what a seat knows."""
        if why := _unsearchable("ismcts", game):
            return why
        if game.spec.information is Information.PERFECT:
            return f"ismcts needs hidden information, and {game.spec.name} hides none: mcts plays it"
        return None

    async def act(self, observation: Observation) -> Decision:
        self._worlds = _Worlds(observation, self._rng)
        try:
            return Decision(_step(self._bot, observation, self._rng))
        except SampleError as error:
            choice = self._rng.choice(observation.legal_actions)
            return Decision(choice, extra={"drawn at random": str(error)})

    def _sample(self, state: Any, seat: int) -> Any:
        """Where a simulation starts. The state that the search was given is not looked at."""
        assert self._worlds is not None
        return self._worlds.draw()


class _Worlds:
    """States that a seat cannot tell from the true one, drawn for one decision."""

    def __init__(self, observation: Observation, rng: Random) -> None:
        self._observation = observation
        self._rng = rng
        self._drawn: list[Any] = []
        self._dry = False

    def draw(self) -> Any:
        """A state to play on: drawn afresh, or one drawn before once a draw has failed, since that takes long."""
        if not self._dry:
            try:
                self._drawn.append(_sampled(self._observation, self._rng))
                return self._drawn[-1].clone()
            except SampleError:
                if not self._drawn:
                    raise
                self._dry = True
        return self._rng.choice(self._drawn).clone()


def _step(bot: Any, observation: Observation, rng: Random) -> Action:
    """Search from a state that the seat cannot tell from the true one, and name the action chosen."""
    spiel = _sampled(observation, rng)
    number = bot.step(spiel)
    action: Action = observation.legal_actions[spiel.legal_actions().index(number)]
    return action


def _sampled(observation: Observation, rng: Random) -> Any:
    assert isinstance(observation, SpielObservation)
    return observation.sample_spiel(rng)


def _loaded(game: Game) -> SpielGame:
    if not isinstance(game, SpielGame):
        raise TypeError(f"{game.spec.name} is not a game of OpenSpiel")
    return game


def _unsearchable(name: str, game: Game) -> str | None:
    """What keeps both kinds of search from a game, or None."""
    spec = game.spec
    if not isinstance(game, SpielGame):
        return f"{name} searches games of OpenSpiel, and {spec.name} is none"
    if spec.dynamics is not Dynamics.SEQUENTIAL:
        return f"{name} needs moves in turn, and in {spec.name} seats move at the same time"
    if not spec.can_sample_state:
        return f"{name} needs states to search from, and none of {spec.name} can be drawn from what a seat knows"
    return None


def _seeds(setup: Setup) -> tuple[int, int]:
    """Seeds of the search and of its rollouts; OpenSpiel's generators take 31 bits."""
    both = derive(setup.seed, "search")
    return both % 2**31, both >> 32


def _information_set_search(setup: Setup, simulations: int, uct_c: float, rollouts: int, play: str) -> Any:
    """OpenSpiel's search for hidden information, its draws fixed by the setup's seed."""
    # Imported here: it takes a tenth of a second, which most runs need not spend.
    from numpy.random import RandomState
    from open_spiel.python.algorithms import ismcts, mcts

    seed, rollout_seed = _seeds(setup)
    game, final = _loaded(setup.game).spiel, ismcts.ISMCTSFinalPolicyType
    # An observation may leave out what was seen earlier, so positions that share one need not share their actions.
    forgetful = not game.get_type().provides_information_state_string
    return ismcts.ISMCTSBot(
        game,
        mcts.RandomRolloutEvaluator(rollouts, RandomState(rollout_seed)),
        uct_c,
        simulations,
        random_state=RandomState(seed),
        final_policy_type=final.MAX_VISIT_COUNT if play == "argmax" else final.NORMALIZED_VISITED_COUNT,
        use_observation_string=forgetful,
        allow_inconsistent_action_sets=forgetful,
    )
