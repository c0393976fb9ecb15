"""Any OpenSpiel game that can be played move by move, as a Game."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import pyspiel

from games.game import (
    CHANCE,
    Action,
    Dynamics,
    Event,
    Game,
    GameSpec,
    Information,
    Observation,
    SampleError,
    State,
    Utility,
)
from games.sampling import resamples, sampler_of
from games.seeding import SEED_BITS
from games.spiel_facts import KNOWN_TO_ALL, PAYS_ON_THE_WAY
from games.spiel_names import Legal, Names
from games.spiel_recipe import Recipe
from games.text.table import words_for

_SIMULTANEOUS = int(pyspiel.PlayerId.SIMULTANEOUS)
_CHANCE = int(pyspiel.PlayerId.CHANCE)
_Kind = pyspiel.GameType
_UTILITY = {
    _Kind.Utility.ZERO_SUM: Utility.ZERO_SUM,
    _Kind.Utility.CONSTANT_SUM: Utility.CONSTANT_SUM,
    _Kind.Utility.GENERAL_SUM: Utility.GENERAL_SUM,
    _Kind.Utility.IDENTICAL: Utility.IDENTICAL,
}


class SpielGame(Game):
    """One OpenSpiel game. `spiel` is the loaded pyspiel game, for planners and solvers."""

    def __init__(self, recipe: Recipe, game: Any) -> None:
        kind = game.get_type()
        self.recipe = recipe
        self.spiel = game
        self.words = words_for(game)
        self.single = tuple([(seat,) for seat in range(game.num_players())])
        self.has_chance = kind.chance_mode != _Kind.ChanceMode.DETERMINISTIC or recipe.begins_with_chance()
        self.chance_matters = self.has_chance and not recipe.chance_is_fixed(len(self.single))
        self.draws_itself = self.chance_matters and kind.chance_mode == _Kind.ChanceMode.SAMPLED_STOCHASTIC
        hidden = kind.information == _Kind.Information.IMPERFECT_INFORMATION
        tells = kind.short_name in KNOWN_TO_ALL or (recipe.name == "cached_tree" and not recipe.hides_inside())
        self.perfect = not hidden or tells
        self.resamples = not self.perfect and resamples(recipe)
        self.all_see_moves = self.perfect or self.words.public_moves
        self.names = Names(self.words, len(self.single))
        self.sampler = None if self.draws_itself else sampler_of(recipe, self.perfect, self.words.seen)
        self.spec = self._spec(kind)

    def _spec(self, kind: Any) -> GameSpec:
        game, seats = self.spiel, len(self.single)
        simultaneous = kind.dynamics == _Kind.Dynamics.SIMULTANEOUS
        names = set(self.recipe.names())
        return GameSpec(
            name=self.recipe.canonical,
            title=self.words.title(),
            seats=seats,
            dynamics=Dynamics.SIMULTANEOUS if simultaneous else Dynamics.SEQUENTIAL,
            information=Information.PERFECT if self.perfect else Information.IMPERFECT,
            utility=_UTILITY[kind.utility],
            min_utility=game.min_utility(),
            max_utility=game.max_utility(),
            max_turns=(game.max_game_length() + self.recipe.extra_turns()) * (seats if simultaneous else 1),
            rules=self.words.rules(),
            chance=self.chance_matters,
            terminal_rewards=kind.reward_model == _Kind.RewardModel.TERMINAL and names.isdisjoint(PAYS_ON_THE_WAY),
            can_sample_state=self.sampler is not None,
        )

    def new_episode(self, seed: int) -> "SpielState":
        return SpielState(self, seed, self.initial(seed))

    def initial(self, seed: int) -> Any:
        """A pyspiel state at the start; a game that samples its own chance is loaded anew with the episode's seed."""
        if not self.draws_itself:
            return self.spiel.new_initial_state()
        return self.recipe.load(seed % 2**31).new_initial_state()


class SpielState(State):
    """One episode of an OpenSpiel game. `spiel` is the pyspiel state, chance already resolved."""

    __slots__ = ("_legal", "_log", "_origin", "_paid", "_pays", "_random", "_seen", "game", "seed", "spiel")

    def __init__(self, game: SpielGame, seed: int, spiel: Any, sampled: bool = False) -> None:
        """Take over a pyspiel state; chance is drawn from `seed`. Call `SpielGame.new_episode` for a new one.

        A sampled state does not begin where episodes of the game begin, so it keeps a copy of its beginning.
        """
        self.game = game
        self.seed = seed
        self.spiel = spiel
        self._origin = spiel.clone() if sampled else None
        self._random = random.Random(seed) if game.has_chance else None
        self._log: list[tuple[int, Action]] = []
        self._seen = [0] * len(game.single)
        self._legal: dict[int, Legal] = {}
        self._pays = False
        self._paid: tuple[float, ...] | None = None
        if game.has_chance:
            self._resolve_chance()

    def seats_to_act(self) -> tuple[int, ...]:
        player = self.spiel.current_player()
        if player >= 0:
            return self.game.single[player]
        if player == _SIMULTANEOUS:
            return tuple([seat for (seat,) in self.game.single if self.spiel.legal_actions(seat)])
        return ()

    def observe(self, seat: int) -> "SpielObservation":
        return SpielObservation(self, seat, len(self._log), self._seen[seat], self.legal_actions(seat))

    def legal(self, seat: int) -> Mapping[Action, int]:
        """The legal actions of a seat to act: name -> OpenSpiel's number, in OpenSpiel's order."""
        return self.legal_actions(seat).numbers

    def legal_actions(self, seat: int) -> Legal:
        """The same with the names as a tuple, worked out once a position."""
        legal = self._legal.get(seat)
        if legal is None:
            legal = self._legal[seat] = self.game.names.legal(self.spiel, seat)
        return legal

    def apply(self, actions: Mapping[int, Action]) -> None:
        spiel = self.spiel
        player = spiel.current_player()
        if player >= 0:
            try:
                number = (self._legal.get(player) or self.legal_actions(player)).numbers[actions[player]]
            except (KeyError, TypeError):
                raise _refusal(actions, (player,)) from None
            if self._pays:
                self._paid = tuple(spiel.returns())
            log = self._log
            self._seen[player] = len(log)
            log.append((player, actions[player]))
            self._legal.clear()
            spiel.apply_action(number)
        else:
            self._apply_joint(actions)
        if self._random is not None:
            self._resolve_chance()

    def _apply_joint(self, actions: Mapping[int, Action]) -> None:
        seats, start = self.seats_to_act(), len(self._log)
        if not seats:
            raise ValueError("the episode is over")
        try:
            numbers = {seat: self.legal_actions(seat).numbers[actions[seat]] for seat in seats}
        except (KeyError, TypeError):
            raise _refusal(actions, seats) from None
        if self._pays:
            self._paid = tuple(self.spiel.returns())
        for seat in seats:
            self._seen[seat] = start
            self._log.append((seat, actions[seat]))
        self._legal.clear()
        self.spiel.apply_actions([numbers.get(seat, 0) for (seat,) in self.game.single])

    def rewards(self) -> tuple[float, ...]:
        if self._paid is None and not self.game.spec.terminal_rewards and self._log:
            self._pays = True  # from now on the returns before each move are kept, which costs time in long games
            last = max(self._seen)
            self._paid = self.before(last).returns()
        if self._paid is None:
            return self.returns()
        return tuple([new - old for new, old in zip(self.returns(), self._paid, strict=True)])

    def returns(self) -> tuple[float, ...]:
        return tuple(self.spiel.returns())

    def board(self) -> str:
        return self.game.words.board(self.spiel)

    def before(self, at: int) -> "SpielState":
        """This episode as it was when its first `at` events had happened, played again."""
        if self._origin is None:
            again = self.game.new_episode(self.seed)
        else:
            again = SpielState(self.game, self.seed, self._origin.clone(), sampled=True)
        while len(again._log) < at:
            start = len(again._log)
            seats = again.seats_to_act()
            again.apply(dict(self._log[start : start + len(seats)]))
        return again

    def _resolve_chance(self) -> None:
        """Draw every chance event that comes next from the episode's own generator."""
        spiel, rng = self.spiel, self._random
        assert rng is not None
        while spiel.current_player() == _CHANCE:
            drawn = spiel.chance_outcomes()
            if not drawn:
                raise ValueError("chance has nothing to draw from")
            outcomes, weights = zip(*drawn, strict=True)
            outcome = rng.choices(outcomes, weights)[0]
            if self.game.perfect:
                self._log.append((CHANCE, self.game.words.chance(spiel, outcome)))
            spiel.apply_action(outcome)


class SpielObservation(Observation):
    """What one seat of an OpenSpiel game may know, as of the moment it was made."""

    __slots__ = ("_actions", "_at", "_numbers", "_since", "_state", "seat")

    def __init__(self, state: SpielState, seat: int, at: int, since: int, legal: Legal) -> None:
        self._state = state
        self.seat = seat
        self._at = at
        self._since = since
        self._actions, self._numbers = legal

    @property
    def _now(self) -> SpielState:
        """The state as it was when this observation was made: played again if it has moved on."""
        state = self._state
        if len(state._log) != self._at:
            state = self._state = state.before(self._at)
        return state

    @property
    def legal_actions(self) -> tuple[Action, ...]:
        return self._actions

    def allows(self, action: Action) -> bool:
        return action in self._numbers

    @property
    def text(self) -> str:
        state = self._now
        return self._with_ending(state, state.game.words.view(state.spiel, self.seat))

    @property
    def key(self) -> str:
        state = self._now
        return self._with_ending(state, information_key(state.game, state.spiel, self.seat))

    def _with_ending(self, state: SpielState, told: str) -> str:
        if not state.spiel.is_terminal():
            return told
        return f"{told.rstrip()}\n{state.game.words.ending(state.spiel, self.seat)}".lstrip()

    @property
    def events(self) -> Sequence[Event]:
        seen = self._state._log[self._since : self._at]
        if self._state.game.all_see_moves:
            return [Event(seat, action) for seat, action in seen]
        return [Event(seat, action) for seat, action in seen if seat == self.seat]

    def sample_state(self, rng: random.Random) -> SpielState:
        spiel = self.sample_spiel(rng)
        return SpielState(self._state.game, rng.getrandbits(SEED_BITS), spiel, sampled=True)

    def sample_spiel(self, rng: random.Random) -> Any:
        """The same as a bare pyspiel state, for planners that draw thousands; draws nothing if nothing is hidden."""
        state = self._now
        game = state.game
        if game.sampler is None:
            raise SampleError(f"no state of {game.spec.name} can be sampled from what a seat knows")
        if not (self._actions or game.perfect):
            raise SampleError(f"seat {self.seat} is not to act, and only then a state of {game.spec.name} is sampled")
        return game.sampler(state.spiel, self.seat, rng)


def information_key(game: SpielGame, spiel: Any, seat: int) -> str:
    """What identifies the information state of a seat: the board in games of perfect information."""
    return game.words.key(spiel, seat)


def _refusal(actions: Mapping[int, Action], seats: tuple[int, ...]) -> ValueError:
    return ValueError(f"{dict(actions)} is not one legal action for each seat of {seats}")
