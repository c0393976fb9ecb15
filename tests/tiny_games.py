"""A tiny game that keeps every promise, and games that each break one: what the check of games must tell apart."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

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

SPEC = GameSpec(
    name="coins",
    title="Coins",
    seats=2,
    dynamics=Dynamics.SEQUENTIAL,
    information=Information.IMPERFECT,
    utility=Utility.ZERO_SUM,
    min_utility=-1,
    max_utility=1,
    max_turns=4,
    rules="Each player has a hidden coin and moves twice; a die is rolled after each move.",
    chance=True,
    can_sample_state=True,
)


class CoinsObservation(Observation):
    """What a seat knows: its own coin, the moves and the dice, as of when it was made."""

    def __init__(self, state: "CoinsState", seat: int) -> None:
        self.seat = seat
        self.state = state
        self.coin = state.coins[seat]
        self.log = tuple(state.log)
        self.acts = seat in state.seats_to_act()
        self.over = not state.seats_to_act()

    @property
    def legal_actions(self) -> tuple[Action, ...]:
        return ("bid", "pass", "fold")[: 2 + len(self.log) % 2] if self.acts else ()

    @property
    def text(self) -> str:
        return f"Your coin is {self.coin}. " + " ".join(f"{event.seat}:{event.action}" for event in self.log)

    @property
    def key(self) -> str:
        return f"{self.coin} {self.log}"

    @property
    def events(self) -> Sequence[Event]:
        own = [number for number, event in enumerate(self.log) if event.seat == self.seat]
        return self.log[own[-1] if own else 0 :]

    def sample_state(self, rng: random.Random) -> State:
        sample = type(self.state)(self.state.game, 0)
        sample.rng = random.Random(rng.getrandbits(63))
        sample.log = list(self.log)
        sample.coins = [rng.choice("HT"), rng.choice("HT")]
        sample.coins[self.seat] = self.coin
        return sample


class CoinsState(State):
    observation: type[CoinsObservation] = CoinsObservation

    def __init__(self, game: Game, seed: int) -> None:
        self.game = game
        self.rng = random.Random(seed)
        self.coins = [self.rng.choice("HT"), self.rng.choice("HT")]
        self.log: list[Event] = []

    def moves(self) -> int:
        return sum(event.seat != CHANCE for event in self.log)

    def seats_to_act(self) -> tuple[int, ...]:
        return () if self.moves() == 4 else (self.moves() % 2,)

    def observe(self, seat: int) -> CoinsObservation:
        return self.observation(self, seat)

    def check(self, actions: Mapping[int, Action]) -> None:
        for seat in self.seats_to_act():
            if actions.get(seat) not in self.observe(seat).legal_actions:
                raise ValueError("not legal")
        if not self.seats_to_act():
            raise ValueError("over")

    def apply(self, actions: Mapping[int, Action]) -> None:
        self.check(actions)
        self.play(actions)

    def play(self, actions: Mapping[int, Action]) -> None:
        (seat,) = self.seats_to_act()
        self.log.append(Event(seat, actions[seat]))
        self.log.append(Event(CHANCE, self.roll()))

    def roll(self) -> str:
        return str(self.rng.randint(1, 6))

    def rewards(self) -> tuple[float, ...]:
        return self.returns()

    def returns(self) -> tuple[float, ...]:
        if self.seats_to_act():
            return (0.0, 0.0)
        score = sum(int(event.action) for event in self.log if event.seat == CHANCE) + (self.coins[0] > self.coins[1])
        return (1.0, -1.0) if score % 2 else (-1.0, 1.0)

    def board(self) -> str:
        return f"{self.coins} {self.log}"


class Coins(Game):
    """The honest game; a test changes its spec, its state or its observation."""

    def __init__(self, state: type[CoinsState] = CoinsState, **spec: Any) -> None:
        self.state = state
        self.spec = replace(SPEC, **spec)

    def new_episode(self, seed: int) -> CoinsState:
        return self.state(self, seed)


def seen(**changed: Any) -> type[CoinsState]:
    """The state whose observation differs from the honest one in these attributes."""
    observation = type("Changed", (CoinsObservation,), changed)
    return type("ChangedState", (CoinsState,), {"observation": observation})


def state(**changed: Any) -> type[CoinsState]:
    """The state that differs from the honest one in these attributes."""
    return type("ChangedState", (CoinsState,), changed)


def other_coin(observation: CoinsObservation) -> str:
    return observation.state.coins[1 - observation.seat]


class SharedLog(CoinsState):
    """Episodes of one game get in each other's way."""

    counter = 0

    def roll(self) -> str:
        SharedLog.counter += 1
        return str(SharedLog.counter % 6 + 1)


class RollsBeforeChecking(CoinsState):
    """A refused move uses up chance."""

    def check(self, actions: Mapping[int, Action]) -> None:
        self.rng.random()
        super().check(actions)


class LogsBeforeChecking(CoinsState):
    """A refused move is written into the public log."""

    def check(self, actions: Mapping[int, Action]) -> None:
        try:
            super().check(actions)
        except ValueError:
            self.coins.reverse()
            raise


class Live(CoinsObservation):
    """An observation that tells of the state as it is when it is read."""

    @property
    def text(self) -> str:
        return f"Your coin is {self.coin}. {self.state.log}"


class Foreseeing(CoinsObservation):
    """Samples go on with the true chance."""

    def sample_state(self, rng: random.Random) -> State:
        sample = super().sample_state(rng)
        assert isinstance(sample, CoinsState)
        sample.rng.setstate(self.state.rng.getstate())
        return sample


class OpenObservation(CoinsObservation):
    """Every seat sees both coins, and samples draw them anew all the same."""

    @property
    def key(self) -> str:
        return f"{self.state.coins} {self.log}"


class OpenForeseeing(Foreseeing):
    """Every seat sees both coins."""

    @property
    def key(self) -> str:
        return f"{self.state.coins} {self.log}"

    def sample_state(self, rng: random.Random) -> State:
        sample = super().sample_state(rng)
        assert isinstance(sample, CoinsState)
        sample.coins = list(self.state.coins)
        return sample


class FixedFuture(CoinsObservation):
    """Samples have all the same chance, which is not the true one."""

    def sample_state(self, rng: random.Random) -> State:
        sample = super().sample_state(rng)
        assert isinstance(sample, CoinsState)
        sample.rng = random.Random(7)
        return sample


class Telling(CoinsObservation):
    """Samples have the true hidden coin."""

    def sample_state(self, rng: random.Random) -> State:
        sample = super().sample_state(rng)
        assert isinstance(sample, CoinsState)
        sample.coins = list(self.state.coins)
        return sample


class HidesNothing(Telling):
    """The key holds both coins."""

    @property
    def key(self) -> str:
        return f"{self.state.coins} {self.log}"


class Forgetful(CoinsObservation):
    """Samples have another coin of the seat itself."""

    def sample_state(self, rng: random.Random) -> State:
        sample = super().sample_state(rng)
        assert isinstance(sample, CoinsState)
        sample.coins.reverse()
        return sample


class Tangled(CoinsObservation):
    """Samples share the log with the true state."""

    def sample_state(self, rng: random.Random) -> State:
        sample = super().sample_state(rng)
        assert isinstance(sample, CoinsState)
        sample.log = self.state.log
        return sample


class DrawsElsewhere(CoinsObservation):
    """Samples are drawn from a generator of their own."""

    rng = random.Random(3)

    def sample_state(self, rng: random.Random) -> State:
        return super().sample_state(self.rng)


class Itself(CoinsObservation):
    def sample_state(self, rng: random.Random) -> State:
        return self.state


class Unable(CoinsObservation):
    def sample_state(self, rng: random.Random) -> State:
        raise SampleError("no")


class Unsampled(Unable):
    """The key and the text hold both coins."""

    @property
    def key(self) -> str:
        return f"{self.state.coins} {self.log}"

    @property
    def text(self) -> str:
        return self.key


def draws_random(self: CoinsState) -> str:
    random.random()
    return CoinsState.roll(self)


def draws_numpy(self: CoinsState) -> str:
    np.random.rand()
    return CoinsState.roll(self)


def observed(observation: type[CoinsObservation]) -> type[CoinsState]:
    return state(observation=observation)


def moves_of(observation: CoinsObservation) -> tuple[Action, ...]:
    return ("bid", "pass", "fold")[: 2 + len(observation.log) % 2]


def short(**changed: Any) -> type[CoinsState]:
    """As `seen`, with two moves and a die of one face, so that the same is met again and again."""
    return type(
        "ShortState",
        (seen(**changed),),
        {
            "roll": lambda self: "1",
            "seats_to_act": lambda self: (self.moves(),) if self.moves() < 2 else (),
            "returns": lambda self: (0.0, 0.0),
        },
    )


def tells_at_end(observation: CoinsObservation) -> str:
    """What the seat knows, and at the end the other coin too, each in words of its own."""
    told = f"Your coin is {observation.coin}. {observation.log}"
    return f"{told}. The other coin is {other_coin(observation)}" if observation.over else told


def happened_and_coin(observation: CoinsObservation) -> Sequence[Event]:
    return (*observation.log[2 * observation.seat :], Event(CHANCE, other_coin(observation)))


def stir(state: CoinsState) -> None:
    """Once the episode is over, a look turns the first coin to tails."""
    if not state.seats_to_act():
        state.coins[0] = "T"


class Resurrecting(CoinsObservation):
    """At the end it samples states in which the seat is to act again."""

    def sample_state(self, rng: random.Random) -> State:
        sample = super().sample_state(rng)
        assert isinstance(sample, CoinsState)
        if self.over:
            sample.log = sample.log[: 4 + 2 * self.seat]
        return sample


BROKEN: dict[str, tuple[Coins, str]] = {
    "text leaks": (Coins(seen(text=property(lambda self: f"{self.coin} {other_coin(self)}"))), "different text"),
    "legal actions leak": (
        Coins(seen(legal_actions=property(lambda self: ("bid", other_coin(self)) if self.acts else ()))),
        "different legal",
    ),
    "events leak": (
        Coins(seen(events=property(lambda self: (*self.log[:0], Event(CHANCE, other_coin(self)))))),
        "which is not its own last decision|different events",
    ),
    "key and text leak": (Coins(observed(Unsampled), can_sample_state=False), "tells the whole board"),
    "key forgets what the text tells": (Coins(seen(key=property(lambda self: self.coin))), "different text"),
    "action twice": (Coins(seen(legal_actions=("bid", "bid"))), "twice"),
    "action of two lines": (Coins(seen(legal_actions=("bid\nhigh", "pass"))), "one line"),
    "action with spaces around": (Coins(seen(legal_actions=("bid ", "pass"))), "one line"),
    "no action": (Coins(seen(legal_actions=())), "legal actions are"),
    "list of actions": (Coins(seen(legal_actions=property(lambda self: ["bid", "pass"]))), "tuple"),
    "empty text": (Coins(seen(text="")), "the text not empty"),
    "forbids a legal action": (Coins(seen(allows=lambda self, action: action == "bid")), "is not allowed"),
    "allows anything": (Coins(seen(allows=lambda self, action: True)), "is not open"),
    "illegal action accepted": (Coins(state(check=lambda self, actions: None)), "is accepted|KeyError"),
    "illegal action raises KeyError": (
        Coins(state(check=lambda self, actions: [{}[action] for action in ["x"] if actions.get(0) is None])),
        "KeyError, not ValueError",
    ),
    "refused move uses chance": (Coins(RollsBeforeChecking), "replay"),
    "refused move changes the state": (Coins(LogsBeforeChecking), "refused"),
    "moves after the end": (
        Coins(
            state(
                check=lambda self, actions: self.seats_to_act() and CoinsState.check(self, actions),
                play=lambda self, actions: self.seats_to_act() and CoinsState.play(self, actions),
            )
        ),
        "after the end",
    ),
    "rewards do not sum": (Coins(state(rewards=lambda self: (0.0, 0.0))), "rewards sum to"),
    "rewards on the way": (
        Coins(
            state(
                returns=lambda self: (float(self.moves()), -float(self.moves())),
                rewards=lambda self: (float(bool(self.log)), -float(bool(self.log))),
            ),
            min_utility=-4,
            max_utility=4,
        ),
        "at the end only",
    ),
    "returns of one seat only": (Coins(state(returns=lambda self: (0.0,), rewards=lambda self: (0.0,))), "2 seats"),
    "returns out of bounds": (Coins(min_utility=-0.5, max_utility=0.5), "outside"),
    "not a number": (Coins(state(returns=lambda self: (float("nan"), 0.0))), "rewards sum to"),
    "not zero-sum": (Coins(state(returns=lambda self: (0.0, float(not self.seats_to_act())))), "zero-sum"),
    "not constant-sum": (
        Coins(
            state(returns=lambda self: (0.0, float(not self.seats_to_act()) * (self.coins[0] == "H"))),
            utility=Utility.CONSTANT_SUM,
        ),
        "constant sum",
    ),
    "not identical": (Coins(utility=Utility.IDENTICAL), "identical"),
    "too long": (Coins(max_turns=3), "max_turns"),
    "no decision": (Coins(state(seats_to_act=lambda self: ())), "before its first decision"),
    "a seat that is not there": (Coins(state(seats_to_act=lambda self: (2,))), "seats to act"),
    "empty board": (Coins(state(board=lambda self: "")), "board"),
    "board tells less than what comes": (
        Coins(state(board=lambda self: "coins")),
        "tells the whole board|all have the true board",
    ),
    "not replayable": (Coins(SharedLog), "replay|no difference"),
    "no chance": (
        Coins(state(__init__=lambda self, game, seed: CoinsState.__init__(self, game, 1))),
        "seeds make no difference",
    ),
    "chance that is not declared": (Coins(chance=False), "no chance"),
    "draws from random": (Coins(state(roll=draws_random)), "generator of the process"),
    "draws from numpy": (Coins(state(roll=draws_numpy)), "generator of the process"),
    "observation changes later": (Coins(observed(Live)), "moved on"),
    "events forget": (Coins(seen(events=())), "its own last decision"),
    "events invent": (
        Coins(seen(events=property(lambda self: (*CoinsObservation.events.fget(self), Event(1 - self.seat, "x"))))),
        "not all happened",
    ),
    "events of a perfect game are not all": (
        Coins(
            seen(events=property(lambda self: [e for e in CoinsObservation.events.fget(self) if e.seat == self.seat])),
            information=Information.PERFECT,
        ),
        "there happened",
    ),
    "sample foresees chance": (Coins(observed(Foreseeing)), "same chance"),
    "sample foresees chance where nothing is hidden": (
        Coins(observed(OpenForeseeing), information=Information.PERFECT),
        "same chance",
    ),
    "sample of another board where nothing is hidden": (
        Coins(observed(OpenObservation), information=Information.PERFECT),
        "another board|can tell",
    ),
    "sample of fixed chance": (Coins(observed(FixedFuture)), "same chance"),
    "sample tells the hidden": (Coins(observed(Telling)), "true board"),
    "sample contradicts the seat": (Coins(observed(Forgetful)), "can tell a sampled state"),
    "sample shares with the truth": (
        Coins(observed(Tangled)),
        "changes the true one|can tell|not to act|equal generators",
    ),
    "sample is the state": (Coins(observed(Itself)), "true one itself"),
    "sample from elsewhere": (Coins(observed(DrawsElsewhere)), "equal generators"),
    "declares samples and has none": (Coins(observed(Unable)), "draws failed"),
    "has samples and declares none": (Coins(can_sample_state=False), "cannot sample states, and does"),
    "hides nothing": (Coins(observed(HidesNothing)), "tells the whole board|true board"),
    "legal actions of a seat that is not to act": (
        Coins(seen(legal_actions=("bid", "pass"))),
        "is not to act and has the legal actions",
    ),
    "legal actions at the end": (
        Coins(seen(legal_actions=property(lambda self: moves_of(self) if self.acts or self.over else ()))),
        "is not to act and has the legal actions",
    ),
    "allows a move at the end": (
        Coins(seen(allows=lambda self, action: action in moves_of(self) and (self.acts or self.over))),
        "is not to act and is allowed",
    ),
    "no text at the end": (
        Coins(seen(text=property(lambda self: "" if self.over else CoinsObservation.text.fget(self)))),
        "the text not empty",
    ),
    "text leaks to a seat that waits": (
        Coins(seen(text=property(lambda self: f"{self.coin} {'' if self.acts else other_coin(self)}"))),
        "different text",
    ),
    "text leaks at the end": (
        Coins(short(text=property(lambda self: f"You: {self.coin} {other_coin(self) if self.over else ''}"))),
        "told at the end what it did not see|different text",
    ),
    "text and key leak at the end": (
        Coins(short(text=property(tells_at_end), key=property(tells_at_end))),
        "told at the end what it did not see",
    ),
    "events leak at the end": (
        Coins(short(events=property(lambda self: happened_and_coin(self) if self.over else self.log))),
        "different events|which is not its own last decision",
    ),
    "events forget the end": (
        Coins(seen(events=property(lambda self: () if self.over else CoinsObservation.events.fget(self)))),
        "its own last decision",
    ),
    "looking at the end changes it": (
        Coins(state(observe=lambda self, seat: stir(self) or CoinsState.observe(self, seat))),
        "looking on",
    ),
    "sample at the end goes on": (Coins(observed(Resurrecting)), "not to act, is the true one itself or asks"),
    "name that cannot be read": (Coins(name="coins("), "cannot be read"),
    "no rules": (Coins(rules=" "), "rules"),
}
