"""Lessons for a language agent: what other agents played in stored matches, under the prompts it would have got there.

Each match is played again with the language agent in the seat of the one it imitates, its memory of the match included.
"""

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from agents.manners import contradiction
from agents.models.chat import Chat
from arena.match import MatchResult, VoidMatchError
from games.errors import RunError, UserError
from games.game import Action
from games.spec import near
from league.store.rows import MatchRecord, TurnRow
from training.rehearsal import ASTRAY, Pupil, StrayedError, rehearse

if TYPE_CHECKING:
    from agents.models.sampling import Vocabulary

FAULT, FALLBACK = "fault", "fallback"
"""Why a decision is no lesson: it was a fault, or one ended an episode of its match and hid what followed; or a move
was played in its place."""


class Lesson(NamedTuple):
    """One decision as it is taught: what the pupil is shown, and what it is to answer."""

    prompt_ids: Sequence[int]
    completion_ids: Sequence[int]
    """The action in its tags, and the token that ends an answer."""
    match_id: str
    episode: int
    """From 1."""
    turn: int
    """From 0."""
    seat: int
    agent: str
    """Who is imitated."""
    action: Action


class Lessons(NamedTuple):
    """What some matches come to."""

    found: Sequence[Lesson]
    left_out: Mapping[str, int]
    """Reason -> how many decisions of the imitated agents are no lessons."""


def lessons(
    records: Sequence[MatchRecord],
    who: Collection[str],
    pupil: Mapping[str, Any],
    chat: Chat,
    vocabulary: "Vocabulary",
    *,
    context: int | None = None,
    episodes: int | None = None,
) -> Lessons:
    """The decisions of agents, by their names, as lessons for the agent `llm` with all parameters of `pupil`.

    `chat` and `vocabulary` are those of the pupil's model, `context` is how many tokens fit into it where the pupil's
    own `context` is 0; None for no limit. `episodes` is how many a match was planned to have, for matches that
    stopped at a win: prompts tell it. Matches without any of the agents are passed over.

    Raises UserError for a name that is in no match, a pupil that reflects or whose parameters contradict each other,
    RunError for a game that fails.
    """
    _check(records, who, pupil)
    student = Pupil(pupil, chat, vocabulary, pupil["context"] or context)
    left_out: Counter[str] = Counter()

    async def gathered() -> list[Lesson]:
        found: list[Lesson] = []
        for record in records:
            found += await _of_match(_Case(record, who), student, episodes, left_out)
        return found

    return Lessons(asyncio.run(gathered()), left_out)


def _check(records: Sequence[MatchRecord], who: Collection[str], pupil: Mapping[str, Any]) -> None:
    there = sorted({name for record in records for name in record.match.agents})
    if unknown := sorted(set(who) - set(there)):
        raise UserError(f"no match of agent {unknown[0]!r} among {len(records)}; {near(unknown[0], there)}")
    if (memory := pupil["memory"]) in ("reflection", "both"):
        raise UserError(
            f"memory={memory}: whoever is imitated left no reflections; a pupil has memory=history or memory=none"
        )
    if why := contradiction(pupil):
        raise UserError(f"the pupil: {why}")


class _Case:
    """A match and the agents in it that are imitated."""

    def __init__(self, record: MatchRecord, who: Collection[str]) -> None:
        self.record = record
        names = record.match.agents[: len(record.episodes[0].seats)]
        self.names = {place: name for place, name in enumerate(names) if name in who}
        self.last = {(row.episode, row.turn, row.seat): row for row in record.turns}
        """The last attempt at each turn that is noted."""

    def decisions(self, name: str) -> int:
        """How many an agent made, each attempt at a turn for itself."""
        played = [
            (row.episode, turn, seat)
            for row in self.record.episodes
            for turn, seat in enumerate(row.turn_seats)
            if row.seats[seat] == name
        ]
        return len(self._noted(name)) + sum([turn not in self.last for turn in played])

    def retried(self, name: str) -> int:
        """How many faults of an agent were followed by another attempt."""
        return sum([row is not self.last[row.episode, row.turn, row.seat] for row in self._noted(name)])

    def offended(self, name: str) -> bool:
        """Whether an agent ended an episode by a fault."""
        return any([row.offender is not None and row.seats[row.offender] == name for row in self.record.episodes])

    def _noted(self, name: str) -> list[TurnRow]:
        seats = {row.episode: row.seats.index(name) for row in self.record.episodes}
        return [row for row in self.record.turns if row.seat == seats[row.episode]]


async def _of_match(case: _Case, pupil: Pupil, episodes: int | None, left_out: Counter[str]) -> list[Lesson]:
    """The lessons of a match. What an agent would have seen after a fault of its own is not known: it is left out."""
    taught = {place: name for place, name in case.names.items() if not case.offended(name)}
    _leave(left_out, FAULT, sum([case.decisions(name) for place, name in case.names.items() if place not in taught]))
    if not taught:
        return []
    try:
        result = await rehearse(case.record, pupil, taught.keys(), episodes)
    except StrayedError as error:
        hidden = str(error) == ASTRAY and any([row.offender is not None for row in case.record.episodes])
        _leave(left_out, FAULT if hidden else str(error), sum(map(case.decisions, taught.values())))
        return []
    except VoidMatchError as error:
        raise RunError(f"match {case.record.match.match_id} cannot be played again: {error}") from error
    _leave(left_out, FAULT, sum(map(case.retried, taught.values())))
    return _told(case, result, left_out)


def _told(case: _Case, result: MatchResult, left_out: Counter[str]) -> list[Lesson]:
    """What the pupils were shown and said."""
    found = []
    for episode in result.episodes:
        for note in episode.notes:
            if note.fault is not None or note.action is None:
                continue
            last = case.last.get((episode.episode, note.turn, note.seat))
            if last is not None and last.fault is not None:
                _leave(left_out, FALLBACK, 1)
                continue
            said = note.generations[-1]
            assert said.prompt_ids is not None
            assert said.completion_ids is not None
            where = (case.record.match.match_id, episode.episode, note.turn, note.seat)
            name = result.match.names[episode.order[note.seat]]
            found.append(Lesson(said.prompt_ids, said.completion_ids, *where, name, note.action))
    return found


def _leave(left_out: Counter[str], reason: str, count: int) -> None:
    if count:
        left_out[reason] += count
