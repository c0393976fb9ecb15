"""Play a recorded episode again: the states it went through."""

from collections.abc import Iterator, Sequence

from games.game import Action, Game, State


class Follower:
    """Keeps a state in step with the turns it is told, one at a time; moves made at once count when all are in."""

    def __init__(self, game: Game, seed: int) -> None:
        self.state: State = game.new_episode(seed)
        self._joint: dict[int, Action] = {}

    def turn(self, seat: int, action: Action) -> bool:
        """Take one turn. Returns whether the state has moved on. Raises ValueError for a turn that does not fit."""
        seats = self.state.seats_to_act()
        if seat not in seats:
            raise ValueError(f"seat {seat} plays {action!r} but {seats or 'nobody'} is to act")
        self._joint[seat] = action
        if len(self._joint) < len(seats):
            return False
        self.state.apply(self._joint)
        self._joint = {}
        return True


def replay(game: Game, seed: int, turn_seats: Sequence[int], actions: Sequence[Action]) -> Iterator[tuple[int, State]]:
    """Yield the state before the first turn and after each move, with the number of turns played by then.

    Raises ValueError where the record does not fit the game.
    """
    follower = Follower(game, seed)
    yield 0, follower.state
    for number, (seat, action) in enumerate(zip(turn_seats, actions, strict=True), start=1):
        if follower.turn(seat, action):
            yield number, follower.state
