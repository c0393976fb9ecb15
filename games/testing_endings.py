"""Check that the end of an episode tells no seat what stayed hidden from it."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from games.game import CHANCE, Action, Event, Game, Information
from games.testing_play import Look, Play, fail

_BREAKS = re.compile(r"[\n\[\]|;]+|\. ")
"""What stands between the pieces of a text: the ends of lines, brackets and sentences."""


class _Past(NamedTuple):
    """All that a seat may tell two ended episodes apart by, but for what every seat is told."""

    seat: int
    known: tuple[tuple[str, Action | None], ...]
    """Its key before each joint move, and what it did then."""
    since: tuple[tuple[tuple[int, Action], ...], ...]
    """All joint moves since (and with) its last decision."""
    chance: tuple[Event, ...]
    """The chance it saw since then."""
    total: float
    """Its return."""


class _End(NamedTuple):
    """What a seat is told at the end, in pieces, and which of them every seat is told."""

    look: Look
    pieces: frozenset[str]
    public: frozenset[str]


def check_endings(game: Game, plays: Sequence[Play]) -> None:
    """Where something is hidden, equal pasts of a seat must end with the same events and the same text.

    Pieces of text that every seat is told in the same words may differ: cards that are shown are shown to everybody.
    """
    if game.spec.information is not Information.IMPERFECT or game.spec.seats == 1:
        return
    known: dict[_Past, _End] = {}
    for played in plays:
        for past, end in _ends(played):
            other = known.setdefault(past, end)
            news, missing = end.pieces - other.pieces, other.pieces - end.pieces
            if not (news <= end.public and missing <= other.public) or other.look.others() != end.look.others():
                fail(
                    game,
                    f"seat {past.seat} is told at the end what it did not see, with one past: "
                    f"{end.look} and {other.look} after {past}",
                )


def _ends(played: Play) -> Iterator[tuple[_Past, _End]]:
    """What each seat is told at the end of a finished episode that was looked at before every move."""
    if not played.finished or not all([step.looks for step in played.steps]):
        return
    pieces = [frozenset(_BREAKS.split(one.text)) for one in played.ends]
    public = frozenset.intersection(*pieces)
    for one, told in zip(played.ends, pieces, strict=True):
        seat = one.seat
        keys = [{look.seat: look.key for look in step.looks + step.asides}[seat] for step in played.steps]
        known = tuple([(key, step.actions.get(seat)) for key, step in zip(keys, played.steps, strict=True)])
        own = [number for number, step in enumerate(played.steps) if seat in step.actions]
        since = played.actions()[own[-1] if own else 0 :]
        chance = tuple([event for event in one.events if event.seat == CHANCE])
        yield _Past(seat, known, since, chance, played.steps[-1].returns[seat]), _End(one, told, public)
