"""An episode in few words, for models that learn what they mean: a line for each move, and what was seen at its end.

Nothing is said twice and nothing is explained, so that a whole match fits into a short prompt.
"""

from collections.abc import Sequence

from agents.agent import Trajectory
from agents.telling import Turn, one_line, opening_of, turns_of
from games.game import CHANCE, Event, GameSpec, Termination


def moves(opening: Sequence[Event], turns: Sequence[Turn], seat: int, latest: int | None = None) -> list[str]:
    """The moves that the seat saw, an entry a turn of its own, of which only some of the latest may be told."""
    kept = len(turns) if latest is None else min(latest, len(turns))
    entries = [_turn(turn, seat) for turn in turns[len(turns) - kept :]]
    if kept == len(turns) and opening:
        entries.insert(0, _lines(opening, seat))
    return [entry for entry in entries if entry]


def episode(trajectory: Trajectory, ending: str, latest: int) -> str:
    """An earlier episode: its number and seat, its latest moves, what was seen at its end, and `ending`."""
    seat = trajectory.seat
    return "\n".join(
        [
            f"Episode {trajectory.episode}, seat {seat}.",
            *moves(opening_of(trajectory), turns_of(trajectory), seat, latest),
            *filter(None, [trajectory.final.text.strip("\n"), ending]),
        ]
    )


def ending(trajectory: Trajectory, spec: GameSpec, answered: str = "") -> str:
    """Why an episode ended that did not come to the end of its game; nothing for one that did."""
    del spec, answered
    why = trajectory.termination
    if why is Termination.FINISHED:
        return ""
    whose = "yours" if trajectory.at_fault else "" if why is Termination.MAX_TURNS else "another's"
    return f"Ended: {why.value}{f', {whose}' if whose else ''}."


def _turn(turn: Turn, seat: int) -> str:
    own = [] if any([event.seat == seat for event in turn.after]) else [_own(turn)]
    return "\n".join([*own, *filter(None, [_lines(turn.after, seat)])])


def _own(turn: Turn) -> str:
    return "You: ?" if turn.action is None else f"You: {one_line(turn.action)}"


def _lines(events: Sequence[Event], seat: int) -> str:
    return "\n".join([f"{_who(event, seat)}: {one_line(event.action)}" for event in events])


def _who(event: Event, seat: int) -> str:
    if event.seat == CHANCE:
        return "Chance"
    return "You" if event.seat == seat else f"Seat {event.seat}"
