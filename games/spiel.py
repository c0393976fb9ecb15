"""Any OpenSpiel game that can be played move by move, as a Game."""

import os
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
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
from games.sampling import sample_by_search
from games.spec import Spec, SpecError, Value, near, parse, render
from games.text.table import words_for

LEFT_OUT = {
    "mfg_crowd_modelling": "mean-field: one representative of a population, not seats",
    "mfg_crowd_modelling_2d": "mean-field: one representative of a population, not seats",
    "mfg_dynamic_routing": "mean-field: one representative of a population, not seats",
    "mfg_garnet": "mean-field: one representative of a population, not seats",
    "crossword": "its moves are structures, not a list of legal actions",
}
"""Registered OpenSpiel games that cannot be played here, and why."""

_RESAMPLES = frozenset(
    ["bargaining", "blackjack", "bridge", "colored_trails", "euchre", "gin_rummy", "hearts", "kuhn_poker", "leduc_poker", "oh_hell", "universal_poker"]
)
"""Games of hidden information whose own resampler is implemented (trying it elsewhere prints to stderr)."""

_SIMULTANEOUS = int(pyspiel.PlayerId.SIMULTANEOUS)
_CHANCE = int(pyspiel.PlayerId.CHANCE)
_Kind = pyspiel.GameType
_UTILITY = {
    _Kind.Utility.ZERO_SUM: Utility.ZERO_SUM,
    _Kind.Utility.CONSTANT_SUM: Utility.CONSTANT_SUM,
    _Kind.Utility.GENERAL_SUM: Utility.GENERAL_SUM,
    _Kind.Utility.IDENTICAL: Utility.IDENTICAL,
}


def load(spec: Spec) -> "SpielGame":
    """Load an OpenSpiel game by its short name and parameters. Raises SpecError for what it does not know."""
    if spec.name in LEFT_OUT:
        raise SpecError(f"game {spec.name!r} cannot be played here: {LEFT_OUT[spec.name]}")
    known = _parameters(spec.name)
    params: dict[str, Any] = {}
    written: dict[str, Value] = {}
    for key, value in spec.params.items():
        if key not in known:
            raise SpecError(f"game {spec.name!r} has no parameter {key!r}; {near(key, known)}")
        params[key] = _as_type_of(known[key], value, spec.name, key)
        written[key] = value if isinstance(params[key], dict) else params[key]
    try:
        with _native_stderr_closed():
            game = pyspiel.load_game(spec.name, dict(params))
    except (RuntimeError, TypeError) as error:
        raise SpecError(f"OpenSpiel refuses {spec}: {' '.join(str(error).split())[:300]}") from error
    given = {key: value for key, value in written.items() if known[key] != value}
    return SpielGame(game, str(Spec(spec.name, given)))


def names() -> list[str]:
    """Short names of the games that can be played, wrappers that need parameters among them."""
    return [kind.short_name for kind in pyspiel.registered_games() if kind.short_name not in LEFT_OUT]


class SpielGame(Game):
    """One OpenSpiel game. `spiel` is the loaded pyspiel game, for planners and solvers."""

    def __init__(self, game: Any, name: str) -> None:
        kind = game.get_type()
        self.spiel = game
        self.words = words_for(game)
        self.single = tuple([(seat,) for seat in range(game.num_players())])
        self.has_chance = kind.chance_mode != _Kind.ChanceMode.DETERMINISTIC
        self.seeded_by = _seed_parameter(game)
        self.fixed_names = self.words.fixed_names
        self.name_table: dict[tuple[int, int], Action] = {}
        self.spec = self._spec(kind, name)
        self.perfect = self.spec.information is Information.PERFECT
        self.all_see_moves = self.perfect or self.words.public_moves

    def _spec(self, kind: Any, name: str) -> GameSpec:
        game = self.spiel
        imperfect = kind.information == _Kind.Information.IMPERFECT_INFORMATION
        simultaneous = kind.dynamics == _Kind.Dynamics.SIMULTANEOUS
        return GameSpec(
            name=name,
            title=self.words.title(),
            seats=game.num_players(),
            dynamics=Dynamics.SIMULTANEOUS if simultaneous else Dynamics.SEQUENTIAL,
            information=Information.IMPERFECT if imperfect else Information.PERFECT,
            utility=_UTILITY[kind.utility],
            min_utility=game.min_utility(),
            max_utility=game.max_utility(),
            max_turns=game.max_game_length(),
            rules=self.words.rules(),
            chance=self.has_chance,
            terminal_rewards=kind.reward_model == _Kind.RewardModel.TERMINAL,
            can_sample_state=not self.seeded_by and not (imperfect and simultaneous),
        )

    @cached_property
    def resamples(self) -> bool:
        """Whether the game draws a state from an information state by itself."""
        return self.spiel.get_type().short_name in _RESAMPLES

    def new_episode(self, seed: int) -> "SpielState":
        return SpielState(self, seed, self.initial(seed), random.Random(seed) if self.has_chance else None)

    def initial(self, seed: int) -> Any:
        """A pyspiel state at the start; a game that samples its own chance is loaded anew with the episode's seed."""
        if not self.seeded_by:
            return self.spiel.new_initial_state()
        params = {**self.spiel.get_parameters(), self.seeded_by: seed % 2**31}
        return pyspiel.load_game(self.spiel.get_type().short_name, params).new_initial_state()


class SpielState(State):
    """One episode of an OpenSpiel game. `spiel` is the pyspiel state, chance already resolved."""

    __slots__ = ("_log", "_names", "_random", "_returns", "_seen", "game", "seed", "spiel")

    def __init__(self, game: SpielGame, seed: int, spiel: Any, chance: random.Random | None) -> None:
        self.game = game
        self.seed = seed
        self.spiel = spiel
        self._random = chance
        self._log: list[Event] = []
        self._seen = [0] * game.spec.seats
        self._names: dict[int, dict[Action, int]] = {}
        self._returns: tuple[float, ...] | None = None
        if chance is not None:
            self._resolve_chance()

    def seats_to_act(self) -> tuple[int, ...]:
        player = self.spiel.current_player()
        if player >= 0:
            return self.game.single[player]
        if player == _SIMULTANEOUS:
            return tuple([seat for seat in range(self.game.spec.seats) if self.spiel.legal_actions(seat)])
        return ()

    def observe(self, seat: int) -> "SpielObservation":
        return SpielObservation(self, seat, len(self._log), self._seen[seat])

    def legal(self, seat: int) -> dict[Action, int]:
        """The legal actions of a seat to act: name -> OpenSpiel's number, in OpenSpiel's order."""
        names = self._names.get(seat)
        if names is None:
            names = self._names[seat] = legal_names(self.game, self.spiel, seat)
        return names

    def apply(self, actions: Mapping[int, Action]) -> None:
        spiel, log = self.spiel, self._log
        seats = self.seats_to_act()
        try:
            numbers = [self.legal(seat)[actions[seat]] for seat in seats]
        except KeyError as error:
            raise ValueError(f"{error.args[0]!r} is no legal action, or a seat of {seats} is missing") from None
        if not seats:
            raise ValueError("the episode is over")
        if not self.game.spec.terminal_rewards:
            self._returns = tuple(spiel.returns())
        start = len(log)
        for seat in seats:
            self._seen[seat] = start
            log.append(Event(seat, actions[seat]))
        self._names = {}
        if spiel.current_player() == _SIMULTANEOUS:
            joint = dict(zip(seats, numbers, strict=True))
            spiel.apply_actions([joint.get(seat, 0) for seat in range(self.game.spec.seats)])
        else:
            spiel.apply_action(numbers[0])
        if self._random is not None:
            self._resolve_chance()

    def rewards(self) -> tuple[float, ...]:
        now = self.returns()
        if self._returns is None:
            return now
        return tuple([new - old for new, old in zip(now, self._returns, strict=True)])

    def returns(self) -> tuple[float, ...]:
        return tuple(self.spiel.returns())

    def board(self) -> str:
        return self.game.words.board(self.spiel)

    def _resolve_chance(self) -> None:
        """Draw every chance event that comes next from the episode's own generator."""
        spiel, rng = self.spiel, self._random
        assert rng is not None
        while spiel.current_player() == _CHANCE:
            outcomes, weights = zip(*spiel.chance_outcomes(), strict=True)
            outcome = rng.choices(outcomes, weights)[0]
            if self.game.perfect:
                self._log.append(Event(CHANCE, self.game.words.chance(spiel, outcome)))
            spiel.apply_action(outcome)


class SpielObservation(Observation):
    """What one seat of an OpenSpiel game may know, as of the moment it was made."""

    __slots__ = ("_at", "_since", "_state", "seat")

    def __init__(self, state: SpielState, seat: int, at: int, since: int) -> None:
        self._state = state
        self.seat = seat
        self._at = at
        self._since = since

    @property
    def _now(self) -> SpielState:
        """The state as it was when this observation was made: played again if it has moved on."""
        state = self._state
        if len(state._log) != self._at:
            state = self._state = _replay(state, self._at)
        return state

    @property
    def legal_actions(self) -> tuple[Action, ...]:
        return tuple(self._now.legal(self.seat))

    def allows(self, action: Action) -> bool:
        return action in self._now.legal(self.seat)

    @property
    def text(self) -> str:
        state = self._now
        return state.game.words.view(state.spiel, self.seat)

    @property
    def key(self) -> str:
        state = self._now
        return information_key(state.game, state.spiel, self.seat)

    @property
    def events(self) -> Sequence[Event]:
        seen = self._state._log[self._since : self._at]
        if self._state.game.all_see_moves:
            return seen
        return [event for event in seen if event.seat == self.seat]

    def sample_state(self, rng: random.Random) -> SpielState:
        state = self._now
        game = state.game
        if not game.spec.can_sample_state:
            raise SampleError(f"no state of {game.spec.name} can be sampled from what a seat knows")
        if game.perfect:
            spiel = state.spiel.clone()
        elif game.resamples:
            spiel = state.spiel.resample_from_infostate(self.seat, rng.random)
        else:
            spiel = sample_by_search(state.spiel, self.seat, rng, lambda spot: information_key(game, spot, self.seat))
        return SpielState(game, state.seed, spiel, rng if game.has_chance else None)


def information_key(game: SpielGame, spiel: Any, seat: int) -> str:
    """What identifies the information state of a seat: the board in games of perfect information."""
    return game.words.key(spiel, seat)


def legal_names(game: SpielGame, spiel: Any, seat: int) -> dict[Action, int]:
    """Names of the legal actions of a seat; where OpenSpiel gives two one name, its number is added to each."""
    legal = spiel.legal_actions(seat)
    if game.fixed_names:
        table = game.name_table
        try:
            return {table[seat, action]: action for action in legal}
        except KeyError:
            table.update({(seat, action): game.words.action(spiel, seat, action) for action in legal})
            return {table[seat, action]: action for action in legal}
    names = [game.words.action(spiel, seat, action) for action in legal]
    if len(set(names)) < len(names):
        names = [name if names.count(name) == 1 else f"{name} #{action}" for name, action in zip(names, legal, strict=True)]
    return dict(zip(names, legal, strict=True))


def _replay(state: SpielState, at: int) -> SpielState:
    """Play an episode again up to its event number `at`."""
    again = state.game.new_episode(state.seed)
    while len(again._log) < at:
        start = len(again._log)
        seats = again.seats_to_act()
        again.apply({event.seat: event.action for event in state._log[start : start + len(seats)]})
    return again


def _parameters(name: str) -> dict[str, Any]:
    """The parameters a game takes, with their defaults."""
    for kind in pyspiel.registered_games():
        if kind.short_name == name:
            return dict(kind.parameter_specification)
    raise SpecError(f"OpenSpiel has no game {name!r}; {near(name, names())}")


def _seed_parameter(game: Any) -> str | None:
    """The parameter by which a game that samples its own chance takes a seed, if it is one of those."""
    params = game.get_parameters()
    if game.get_type().chance_mode == _Kind.ChanceMode.SAMPLED_STOCHASTIC and "rng_seed" in params:
        return "rng_seed"
    return None


def _as_type_of(default: Any, value: Value, game: str, key: str) -> Any:
    """A parameter in the type that OpenSpiel declares by its default; a nested game becomes its dictionary."""
    if isinstance(default, dict) and isinstance(value, str):
        inner = parse(value)
        known = _parameters(inner.name)
        return {"name": inner.name} | {name: _as_type_of(known.get(name), item, inner.name, name) for name, item in inner.params.items()}
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(default, str) and isinstance(value, int | float):
        return render(value)
    if default is not None and type(value) is not type(default):
        raise SpecError(f"parameter {key!r} of game {game!r} takes {type(default).__name__}, not {render(value)}")
    return value


@contextmanager
def _native_stderr_closed() -> Iterator[None]:
    """OpenSpiel prints each error to the process's stderr before it raises it: send that print nowhere."""
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
