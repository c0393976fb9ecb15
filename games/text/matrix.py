"""Words of matrix games, played once or repeatedly: everyone chooses at the same time."""

import re
from collections import Counter
from itertools import product
from math import prod
from typing import Any

import pyspiel

from games.text.grid import draw
from games.text.words import Words, signed

LARGEST = 64
"""Payoff tables of more joint choices than this are not written out."""
SHOWN_ROUNDS = 10
"""Rounds of a repeated game that a seat is shown one by one; earlier ones are in the counts."""
SHOWN_COUNTS = 8
"""Choices of a seat that the counts list, the most frequent ones."""


class Stage:
    """One round of simultaneous choices: what they are called and what they pay."""

    def __init__(self, game: Any) -> None:
        self.game = game
        self.seats: int = game.num_players()
        start = game.new_initial_state()
        legal = [start.legal_actions(seat) for seat in range(self.seats)]
        self.names = [_names(start, seat, actions) for seat, actions in enumerate(legal)]
        self.small = prod(map(len, legal)) <= LARGEST
        self.joint = list(product(*legal)) if self.small else []
        self._tables: dict[int | None, str] = {}

    @property
    def title(self) -> str:
        return str(self.game.get_type().long_name)

    @property
    def others(self) -> str:
        return "the other chooses" if self.seats == 2 else "the others choose"

    def pay(self, joint: tuple[int, ...]) -> list[float]:
        """What each seat gets for a joint choice."""
        state = self.game.new_initial_state()
        state.apply_actions(list(joint))
        return list(state.returns())

    def choices(self) -> str:
        """The actions of each seat in words."""
        lists = [", ".join(names.values()) for names in self.names]
        if len(set(lists)) == 1:
            return f"An action is one of: {lists[0]}."
        return " ".join(f"Actions of seat {seat}: {names}." for seat, names in enumerate(lists))

    def payoffs(self, seat: int | None = None) -> str:
        """The payoff table, for everyone or as one seat would write it. Each is written once."""
        table = self._tables.get(seat)
        if table is None:
            table = self._tables[seat] = self._table(seat)
        return table

    def _table(self, seat: int | None) -> str:
        if not self.small:
            return f"The payoffs are those of {self.title}."
        if self.seats != 2:
            return "Payoffs in the order of the seats:\n" + "\n".join(
                f"  {', '.join(self.called(joint))}: {', '.join(f'{value:g}' for value in self.pay(joint))}"
                for joint in self.joint
            )
        own = seat or 0
        other = 1 - own
        head = (
            "Payoffs, seat 0's first in each cell; seat 0's action is the row, seat 1's the column:"
            if seat is None
            else f"Payoffs, yours first in each cell; your action is the row, seat {other}'s the column:"
        )
        cells = [[self._pair(own, mine, theirs) for theirs in self.names[other]] for mine in self.names[own]]
        return f"{head}\n{draw(list(self.names[other].values()), list(self.names[own].values()), cells)}"

    def _pair(self, own: int, mine: int, theirs: int) -> str:
        pay = self.pay((mine, theirs) if own == 0 else (theirs, mine))
        return f"{pay[own]:g},{pay[1 - own]:g}"

    def called(self, joint: tuple[int, ...]) -> list[str]:
        """The names of a joint choice, in the order of the seats."""
        return [names[action] for names, action in zip(self.names, joint, strict=True)]


def _names(start: Any, seat: int, actions: list[int]) -> dict[int, str]:
    """Names of the choices of one seat: OpenSpiel's in lower case, without brackets, commas and spaces."""
    names = {
        action: re.sub(r"[^\w.+-]+", "-", str(start.action_to_string(seat, action)).lower()).strip("-")
        for action in actions
    }
    if len(set(names.values())) == len(names):
        return names
    return {action: f"{name}-{action}" for action, name in names.items()}


class Matrix(Words):
    """A matrix game played once."""

    fixed_names = True

    def __init__(self, game: Any) -> None:
        super().__init__(game)
        self.stage = Stage(game)

    def rules(self) -> str:
        return (
            f"{self.title()}. {self.seats} players choose one action each, at the same time and without knowing what "
            f"{self.stage.others}; then the game is over.\n{self.stage.choices()}\n{self.stage.payoffs()}\n"
            "Returns: the payoffs."
        )

    def board(self, state: Any) -> str:
        if not state.is_terminal():
            return self.status(state)
        return f"{self._chosen(state)}\n{self.status(state)}"

    def view(self, state: Any, seat: int) -> str:
        return f"You are seat {seat}.\n{self._chosen(state) if state.is_terminal() else self.stage.payoffs(seat)}"

    def _chosen(self, state: Any) -> str:
        names = self.stage.called(tuple(state.history()))
        return "Chosen: " + ", ".join(f"{name} by seat {seat}" for seat, name in enumerate(names))

    def action(self, state: Any, seat: int, action: int) -> str:
        return self.stage.names[seat][action]


class Repeated(Words):
    """A matrix game played a fixed number of rounds, every seat seeing each round's choices.

    The key is the whole history, which `Observation.events` tells too; OpenSpiel's observation (of `recall` rounds)
    leaves out what every seat knows.
    """

    fixed_names = True

    def __init__(self, game: Any) -> None:
        super().__init__(game)
        params = game.get_parameters()
        inner = dict(params["stage_game"])
        self.stage = Stage(pyspiel.load_game(inner.pop("name"), inner))
        self.rounds: int = params["num_repetitions"]

    def title(self) -> str:
        return f"Repeated {self.stage.title}"

    def rules(self) -> str:
        return (
            f"{self.title()}, for {self.rounds} rounds. In each round the {self.seats} players choose one "
            f"action each, at the same time and without knowing what {self.stage.others}; then all choices are shown "
            f"and the next round begins.\n{self.stage.choices()}\n{self.stage.payoffs()}\n"
            "Returns: the sum of the payoffs of all rounds."
        )

    def key(self, state: Any, seat: int) -> str:
        return str(state.history_str())

    def board(self, state: Any) -> str:
        return "\n".join([*self._played(state, self.seat_name), self.status(state)])

    def view(self, state: Any, seat: int) -> str:
        return "\n".join(
            [f"You are seat {seat}.", *self._played(state, lambda other: "you" if other == seat else f"seat {other}")]
        )

    def _played(self, state: Any, called: Any) -> list[str]:
        """Rounds, totals, counts and the last rounds, with seats named by `called`."""
        history = state.history()
        joints = [tuple(history[at : at + self.seats]) for at in range(0, len(history), self.seats)]
        seats = [called(seat) for seat in range(self.seats)]
        lines = [f"Rounds played: {len(joints)} of {self.rounds}."]
        if not joints:
            return lines
        totals = ", ".join(
            f"{name} {'have' if name == 'you' else 'has'} {value:g}"
            for name, value in zip(seats, state.returns(), strict=True)
        )
        lines += [f"Totals so far: {totals}.", "Choices so far:"]
        lines += [f"  {name}: {self._counts(seat, joints)}" for seat, name in enumerate(seats)]
        lines.append("Last rounds:" if len(joints) > SHOWN_ROUNDS else "Rounds:")
        first = max(0, len(joints) - SHOWN_ROUNDS)
        return lines + [
            f"  {first + place + 1}: {self._round(joint, seats)}" for place, joint in enumerate(joints[first:])
        ]

    def _round(self, joint: tuple[int, ...], seats: list[str]) -> str:
        parts = zip(seats, self.stage.called(joint), self.stage.pay(joint), strict=True)
        return ", ".join(f"{name} {choice} ({signed(value)})" for name, choice, value in parts)

    def _counts(self, seat: int, joints: list[tuple[int, ...]]) -> str:
        counts = Counter([joint[seat] for joint in joints])
        names = self.stage.names[seat]
        order = sorted(names, key=lambda action: -counts[action]) if len(names) > SHOWN_COUNTS else list(names)
        shown = [f"{names[action]} {counts[action]}" for action in order[:SHOWN_COUNTS]]
        rest = len(joints) - sum(counts[action] for action in order[:SHOWN_COUNTS])
        return ", ".join([*shown, f"others {rest}"] if rest else shown)

    def action(self, state: Any, seat: int, action: int) -> str:
        return self.stage.names[seat][action]
