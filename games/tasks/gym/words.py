"""What an environment of gymnasium says, in words: the Toy-text ones in plain English, all others in numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

from games.game import Action
from games.text.arrays import show
from games.text.zoo import UNKNOWN_BOUND


class GymWords:
    """How an environment speaks. This base class tells numbers.

    `env` is the innermost environment after a reset; what is told may depend on an observation and on what never
    changes in an environment.
    """

    hidden = False
    """Whether an observation leaves out something that matters."""
    ends_solved = False
    """Whether an episode that comes to its own end was solved, whatever its return."""
    solved_from: float | None = None
    """The return from which an episode counts as solved."""

    def __init__(self, title: str, env: Any, turns: int) -> None:
        self.title = title
        self.turns = turns
        self.count = int(env.action_space.n)
        self.first = int(getattr(env.action_space, "start", 0))
        self.bounds = (-UNKNOWN_BOUND, UNKNOWN_BOUND)

    def actions(self) -> Sequence[Action]:
        """Names of the actions, by number."""
        return [str(number) for number in range(self.first, self.first + self.count)]

    def rules(self) -> str:
        return (
            f"{self.title}, an environment of gymnasium. Actions are numbers from {self.first} to "
            f"{self.first + self.count - 1}. Reach the highest return within {self.turns} turns."
        )

    def view(self, seen: Any) -> str:
        """An observation in words."""
        return show(seen)

    def board(self, env: Any, seen: Any) -> str:
        """What spectators see."""
        return self.view(seen)


class FrozenLake(GymWords):
    """A walk over ice with holes."""

    solved_from = 1.0

    def __init__(self, title: str, env: Any, turns: int) -> None:
        super().__init__(title, env, turns)
        self._map = [[sign.decode() for sign in row] for row in env.desc]
        self._slips = any([len(ends) > 1 for ends in env.P[0].values()])
        self.bounds = (0.0, 1.0)

    def actions(self) -> Sequence[Action]:
        return ["left", "down", "right", "up"]

    def rules(self) -> str:
        slips = "The ice is slippery: you may move at a right angle to where you want. " if self._slips else ""
        return (
            "Walk over a frozen lake from S to G. F is frozen and safe, H is a hole that ends the episode, @ is you. "
            f"You move left, down, right or up by one cell; at the edge you stay. {slips}Reaching G earns 1, all else "
            f"0. There are {self.turns} turns."
        )

    def view(self, seen: Any) -> str:
        row, column = divmod(int(seen), len(self._map[0]))
        lines = [list(line) for line in self._map]
        under, lines[row][column] = lines[row][column], "@"
        return "\n".join(["".join(line) for line in lines]) + f"\nYou stand on {under}."


class CliffWalking(GymWords):
    """A walk along a cliff."""

    ends_solved = True
    _ROWS, _COLUMNS = 4, 12

    def __init__(self, title: str, env: Any, turns: int) -> None:
        super().__init__(title, env, turns)
        self._slips = any([len(ends) > 1 for ends in env.P[0].values()])
        self.bounds = (-100.0 * turns, -1.0)

    def actions(self) -> Sequence[Action]:
        return ["up", "right", "down", "left"]

    def rules(self) -> str:
        slips = "The ground is slippery: you may move at a right angle to where you want. " if self._slips else ""
        return (
            "Walk from the lower left corner S to the lower right corner G of a grid of 4 rows and 12 columns. C is "
            "the cliff between them, @ is you. You move up, right, down or left by one cell; at the edge you stay. "
            f"{slips}A step costs 1; a step into the cliff costs 100 and takes you back to S. The episode ends at G, "
            f"or after {self.turns} turns."
        )

    def view(self, seen: Any) -> str:
        signs = ["."] * (self._ROWS * self._COLUMNS)
        low = (self._ROWS - 1) * self._COLUMNS
        signs[low:] = ["S", *["C"] * (self._COLUMNS - 2), "G"]
        signs[int(seen)] = "@"
        return "\n".join(["".join(signs[at : at + self._COLUMNS]) for at in range(0, len(signs), self._COLUMNS)])


class Taxi(GymWords):
    """A taxi with a passenger."""

    ends_solved = True

    def __init__(self, title: str, env: Any, turns: int) -> None:
        super().__init__(title, env, turns)
        self._map = ["".join([sign.decode() for sign in row]) for row in env.desc]
        self._places = list("RGYB")
        self._decode = env.decode
        self.bounds = (-10.0 * turns, 20.0)

    def actions(self) -> Sequence[Action]:
        return ["south", "north", "east", "west", "pickup", "dropoff"]

    def rules(self) -> str:
        return (
            "Drive a taxi to a passenger, pick the passenger up, and drop the passenger off at the destination. In the "
            "drawing : can be passed, | and - are walls, R, G, Y and B are the places, @ is the taxi. Actions: south, "
            "north, east, west, pickup, dropoff. A turn costs 1, a wrong pickup or dropoff 10; the right dropoff earns "
            f"20 and ends the episode. There are {self.turns} turns."
        )

    def view(self, seen: Any) -> str:
        row, column, passenger, goal = self._decode(int(seen))
        lines = [list(line) for line in self._map]
        lines[row + 1][2 * column + 1] = "@"
        where = "in the taxi" if passenger == len(self._places) else f"at {self._places[passenger]}"
        drawn = "\n".join(["".join(line) for line in lines])
        return (
            f"{drawn}\nThe taxi is in row {row + 1}, column {column + 1}. The passenger is {where}, the destination is "
            f"{self._places[goal]}."
        )


class Blackjack(GymWords):
    """One hand against the dealer."""

    hidden = True
    solved_from = 1e-9

    def __init__(self, title: str, env: Any, turns: int) -> None:
        super().__init__(title, env, turns)
        self.bounds = (-1.0, 1.5 if env.natural and not env.sab else 1.0)

    def actions(self) -> Sequence[Action]:
        return ["stick", "hit"]

    def rules(self) -> str:
        return (
            "Come closer to 21 than the dealer, but not above. Hit takes a card, stick ends your turn; then the dealer "
            "takes cards up to 17. Picture cards count 10, an ace 11 where that does not pass 21 and else 1. Winning "
            "earns 1, losing costs 1, a draw is 0."
        )

    def view(self, seen: Any) -> str:
        total, dealer, ace = seen
        usable = "with an ace that counts 11" if ace else "without an ace that counts 11"
        return f"Your cards make {int(total)}, {usable}. The dealer shows {'an ace' if dealer == 1 else int(dealer)}."

    def board(self, env: Any, seen: Any) -> str:
        return f"Cards of the player: {env.player}, of the dealer: {env.dealer}.\n{self.view(seen)}"


TABLE: Mapping[str, type[GymWords]] = {
    "FrozenLake": FrozenLake,
    "FrozenLake8x8": FrozenLake,
    "CliffWalking": CliffWalking,
    "CliffWalkingSlippery": CliffWalking,
    "Taxi": Taxi,
    "Blackjack": Blackjack,
}
"""Name of an environment without its version -> its words."""
TURNS = {"CliffWalking": 100, "CliffWalkingSlippery": 100, "Blackjack": 22}
"""Turns where the environment itself sets no limit."""
