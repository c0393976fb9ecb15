"""An episode in words, as one seat saw it: its turns, and how it ended."""

from collections.abc import Sequence
from typing import NamedTuple

from agents.agent import Trajectory
from games.game import CHANCE, Action, Event, GameSpec, Termination, Utility

MAX_TOLD = 200
"""Characters of an action or an answer that are told again."""

_FAULTS = {
    Termination.ILLEGAL: "gave an action that was not legal",
    Termination.UNPARSABLE: "gave an answer in which no action could be read",
    Termination.TOO_SLOW: "took too long to answer",
}


class Turn(NamedTuple):
    """One decision of this seat, with what it saw before and what happened then."""

    sight: str
    action: Action | None
    """What was played; None where a move was played for it and it is not known which."""
    after: Sequence[Event] = ()
    """What this seat saw happen since, its own move among it where the game tells."""


def turns_of(trajectory: Trajectory) -> list[Turn]:
    """The turns of an episode that is over."""
    steps = trajectory.steps
    later = [*[step.observation for step in steps[1:]], trajectory.final]
    return [Turn(step.observation.text, step.action, then.events) for step, then in zip(steps, later, strict=False)]


def opening_of(trajectory: Trajectory) -> Sequence[Event]:
    """What the seat saw happen before its first decision."""
    return (trajectory.steps[0].observation if trajectory.steps else trajectory.final).events


def told(opening: Sequence[Event], turns: Sequence[Turn], seat: int, latest: int | None = None) -> list[str]:
    """An episode in words, an entry a turn, of which only some of the latest may be told."""
    kept = len(turns) if latest is None else min(latest, len(turns))
    entries = [_told_turn(turn, seat) for turn in turns[len(turns) - kept :]]
    if kept < len(turns):
        entries.insert(0, f"(Your first {len(turns) - kept} turns are left out.)")
    elif opening:
        entries.insert(0, _happened(opening, seat))
    return entries


def _told_turn(turn: Turn, seat: int) -> str:
    lines = ["You saw:", turn.sight.strip("\n")]
    if not any([event.seat == seat for event in turn.after]):
        move = "A move was played for you" if turn.action is None else f"You played {one_line(turn.action)}"
        lines.append(f"{move}.")
    return "\n".join([*lines, *filter(None, [_happened(turn.after, seat)])])


def episode_in_words(trajectory: Trajectory, ending: str, latest: int) -> str:
    """An earlier episode as a later one is told of it: its latest turns, and how it ended."""
    seat = trajectory.seat
    return "\n".join(
        [
            f"Episode {trajectory.episode}. You were seat {seat}.",
            *told(opening_of(trajectory), turns_of(trajectory), seat, latest),
            "At its end you saw:",
            trajectory.final.text.strip("\n"),
            ending,
        ]
    )


def outcome(trajectory: Trajectory, spec: GameSpec, answered: str = "") -> str:
    """How an episode really ended for its seat, and with which score.

    `answered` is the seat's last answer, which is told where it ended the episode.
    """
    return " ".join([*_ended(trajectory, answered), *_won(trajectory, spec), _score(trajectory, spec)])


def _ended(trajectory: Trajectory, answered: str) -> list[str]:
    why = trajectory.termination
    if trajectory.at_fault:
        told_again = answered and why in (Termination.ILLEGAL, Termination.UNPARSABLE)
        said = f" (you answered: {one_line(answered)})" if told_again else ""
        return [f"It ended by a fault of yours: you {_FAULTS.get(why, f'could not go on ({why.value})')}{said}."]
    if why is Termination.MAX_TURNS:
        return ["It was cut off, since it had reached the largest number of turns."]
    if why is not Termination.FINISHED:
        return [f"It ended by a fault of another player, who {_FAULTS.get(why, f'could not go on ({why.value})')}."]
    return []


def _won(trajectory: Trajectory, spec: GameSpec) -> list[str]:
    if spec.task:
        return ["You solved the task." if trajectory.success else "You did not solve the task."]
    if spec.seats == 1 or spec.utility is Utility.IDENTICAL:
        return []  # there is nobody to win against
    if trajectory.success:
        return ["You won."]
    if trajectory.drawn:
        return ["It was a draw." if spec.seats == 2 else "No seat won alone."]
    return ["You lost."]


def _score(trajectory: Trajectory, spec: GameSpec) -> str:
    return f"Your return: {trajectory.total:g} (possible: {spec.min_utility:g} to {spec.max_utility:g})."


def _happened(events: Sequence[Event], seat: int) -> str:
    return " ".join([_sentence(event, seat) for event in events])


def _sentence(event: Event, seat: int) -> str:
    action = one_line(event.action)
    if event.seat == CHANCE:
        return f"Chance: {action}."
    return f"You played {action}." if event.seat == seat else f"Seat {event.seat} played {action}."


def one_line(text: str) -> str:
    """Text on one line, cut: what others say must not look like a part of a prompt."""
    words = " ".join(text[: 2 * MAX_TOLD].split())
    return words if len(words) <= MAX_TOLD else words[: MAX_TOLD - 3] + "..."
