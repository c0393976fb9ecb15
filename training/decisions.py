"""What one agent decided in a recorded match, in order, with where it stood and what came of it.

The record has no positions: each episode is played again, which gives anchors and rewards as they were.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from agents.generation import Generation
from arena.replay import Follower
from games import registry
from games.game import Game
from league.store.rows import EpisodeRow, GenerationRow, MatchRecord

_Faults: TypeAlias = Mapping[tuple[int, int, int, int], str | None]
"""Episode, turn, seat and attempt -> the fault that it was, if one."""


class Decided(NamedTuple):
    """One decision: an attempt at a turn, or a reflection."""

    episode: int
    """From 1."""
    turn: int | None
    """None for a reflection."""
    seat: int
    attempt: int
    anchor: str
    """Key of the observation; of a reflection that of the end of its episode."""
    reward: float
    """What the seat earned from here to its next turn, in the game's units."""
    fault: str | None
    """A value of Termination, where it was a fault."""
    action: str | None
    """What was played; None where the attempt failed, and for a reflection."""
    said: Generation | None
    """What a language model answered; None where none was asked."""

    @property
    def reflects(self) -> bool:
        """Whether it is a reflection."""
        return self.turn is None


def decided(record: MatchRecord, agent: int) -> list[Decided]:
    """The decisions of an agent, by its place in the match. Raises ValueError where the record does not fit the game.

    Several answers of a model may lead to one decision: the last one is its own.
    """
    game = registry.make(record.match.game)
    name = record.match.agents[agent]
    said: dict[tuple[int, int], list[GenerationRow]] = defaultdict(list)
    for row in record.generations:
        said[row.episode, row.seat].append(row)
    faults = {(row.episode, row.turn, row.seat, row.attempt): row.fault for row in record.turns}
    found: list[Decided] = []
    for episode in record.episodes:
        seat = episode.seats.index(name)
        found += _of_episode(game, episode, seat, said[episode.episode, seat], faults)
    return found


def _of_episode(
    game: Game, row: EpisodeRow, seat: int, said: Sequence[GenerationRow], faults: _Faults
) -> Iterator[Decided]:
    attempts: dict[int, dict[int, Generation | None]] = defaultdict(dict)
    reflection = None
    for answer in said:
        if answer.turn is None:
            reflection = answer.said
        else:
            attempts[answer.turn][answer.attempt] = answer.said  # the last one stays
    for _, turn, whose, attempt in (place for place in faults if place[0] == row.episode):
        if whose == seat:
            attempts[turn].setdefault(attempt, None)
    turns, end = _turns(game, row, seat, max([len(row.actions), *attempts]))
    for turn, anchor, action, reward in turns:
        tries = attempts.get(turn) or {0: None}
        last = max(tries)
        for attempt, generation in sorted(tries.items()):
            played = action if attempt == last else None
            fault = faults.get((row.episode, turn, seat, attempt))
            earned = reward if attempt == last else 0.0
            yield Decided(row.episode, turn, seat, attempt, anchor, earned, fault, played, generation)
    if reflection is not None:
        yield Decided(row.episode, None, seat, 0, end, 0.0, None, None, reflection)


def _turns(game: Game, row: EpisodeRow, seat: int, ended: int) -> tuple[list[tuple[int, str, str | None, float]], str]:
    """The seat's turns (number, anchor, action, reward up to its next turn), and its key at the end.

    A turn that ended the episode by a fault has no action; its number is `ended`, which moves that are made at once
    and are not recorded lie before. Rewards before the first turn belong to none.
    """
    follower = Follower(game, row.seed)
    turns: list[tuple[int, str, str | None, float]] = []
    key = ""
    for number, (mover, action) in enumerate(zip(row.turn_seats, row.actions, strict=True)):
        if mover == seat:
            key = follower.state.observe(seat).key
            turns.append((number, key, action, 0.0))
        if follower.turn(mover, action) and turns:
            turns[-1] = (*turns[-1][:3], turns[-1][3] + follower.state.rewards()[seat])
    if row.offender == seat and seat in follower.state.seats_to_act():
        turns.append((ended, follower.state.observe(seat).key, None, 0.0))
    return turns, follower.state.observe(seat).key
