"""Decisions that are ready for training: tokens as they were sampled, with credit and where they come from.

What must not be trained on is left out and counted by its reason.
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from agents.generation import Generation
from games import registry
from league.store.rows import MatchRecord
from training.credit import Credit, credit
from training.decisions import Decided, decided
from training.meta_episodes import MetaEpisodes
from training.rewards import Rewards

Shared: TypeAlias = Literal["game", "seat", "opponents", "seed"]
"""What matches may have to share to be compared."""
SHARED: tuple[Shared, ...] = ("game", "seat", "opponents", "seed")


class Sample(NamedTuple):
    """One decision with its own prompt."""

    prompt_ids: Sequence[int]
    completion_ids: Sequence[int]
    logprobs: Sequence[float] | None
    """Natural logarithms when it was sampled, one a token of the completion; None where they are not known."""
    advantage: float
    learns: bool
    """False where the answer was cut off: it then fills its place and teaches nothing."""
    phase: Literal["play", "reflect"]
    match_id: str
    episode: int
    turn: int | None
    attempt: int
    seat: int
    game: str
    opponents: tuple[str, ...]
    group: int
    """Number of its group."""
    anchor: str
    reward: float
    penalty: float
    returns: float
    """The credited return of the decision."""
    fault: str | None
    finish_reason: str
    agent: str
    fingerprint: str
    model: str
    sampling: Mapping[str, Any]


class Gathered(NamedTuple):
    """What some matches come to."""

    samples: Sequence[Sample]
    left_out: Mapping[str, int]
    """Reason -> how many decisions are not among the samples."""
    decisions: int
    """How many there were."""


def gather(
    records: Sequence[MatchRecord],
    learner: str,
    rewards: Rewards = Rewards(),  # noqa: B008 - frozen
    how: Credit = Credit(),  # noqa: B008
    key: Sequence[Shared] = SHARED,
) -> Gathered:
    """The samples of an agent, by its name, from matches of equally many episodes; matches without it are passed over.

    A match of fewer episodes than the longest, whose last one was won, is taken for one that stopped there: the rest
    counts as won. Raises ValueError for one whose last was not, and for matches that do not fit their game.
    """
    left_out: Counter[str] = Counter()
    own = [record for record in records if learner in record.match.agents]
    found = [decided(record, record.match.agents.index(learner)) for record in own]
    groups = [_group(record, learner, key) for record in own]
    columns = _columns(own, found, groups, learner, rewards)
    given = credit(columns, how)
    sizes = Counter(groups)
    numbers: dict[Hashable, int] = {}
    samples: list[Sample] = []
    row = 0
    for record, decisions, group in zip(own, found, groups, strict=True):
        for one in decisions:
            reason = _unfit(one) or ("group of one" if sizes[group] < 2 else "" if given.kept[row] else "level group")
            if reason:
                left_out[reason] += 1
            else:
                assert one.said is not None
                place = numbers.setdefault(group, len(numbers))
                credited = (float(given.advantage[row]), float(given.returns[row]), float(columns.penalty[row]))
                samples.append(_sample(record, learner, one, one.said, place, credited))
            row += 1
    return Gathered(samples, left_out, row)


def _unfit(one: Decided) -> str:
    """Why a decision must not be trained on; "" for one that may."""
    said = one.said
    if said is None:
        return "no model's answer"
    if one.fault is not None and one.action is not None:
        return "fallback"
    if said.constrained:
        return "constrained"
    if said.prompt_ids is None or said.completion_ids is None:
        return "no tokens"
    return "" if said.completion_ids else "empty"


def _group(record: MatchRecord, learner: str, key: Sequence[Shared]) -> Hashable:
    match = record.match
    parts: Mapping[Shared, Hashable] = {
        "game": match.game,
        "seat": match.agents.index(learner),
        "opponents": _others(record, learner),
        "seed": match.seed,
    }
    return tuple([parts[part] for part in key])


def _others(record: MatchRecord, learner: str) -> tuple[str, ...]:
    place = record.match.agents.index(learner)
    return tuple([name for number, name in enumerate(record.match.agents) if number != place])


def _columns(
    records: Sequence[MatchRecord],
    found: Sequence[Sequence[Decided]],
    groups: Sequence[Hashable],
    learner: str,
    rewards: Rewards,
) -> MetaEpisodes:
    """Matches as numbers."""
    planned = max([record.match.episodes for record in records], default=1)
    returns = np.full((len(records), planned), np.nan)
    for number, record in enumerate(records):
        task = registry.make(record.match.game).spec.task
        for row in record.episodes:
            seat = row.seats.index(learner)
            outcome = rewards.outcome(row.success, seat, task)
            worth = outcome if rewards.kind == "outcome" else rewards.scale * row.returns[seat]
            returns[number, row.episode - 1] = worth
        match, last = record.match, record.episodes[-1]
        if match.episodes < planned and not last.success[last.seats.index(learner)]:
            raise ValueError(
                f"match {match.match_id} has {match.episodes} episodes, others {planned}, and did not end with a win: "
                "they cannot be credited together"
            )
    flat = [(number, one) for number, decisions in enumerate(found) for one in decisions]
    by_return = rewards.kind == "return"
    return MetaEpisodes(
        np.array([number for number, _ in flat], dtype=np.int64),
        np.array([one.episode - 1 for _, one in flat], dtype=np.int64),
        np.array([rewards.scale * one.reward if by_return else 0.0 for _, one in flat]),
        np.array([rewards.fine(one.fault, _tokens(one.said)) for _, one in flat]),
        [one.anchor for _, one in flat],
        np.array([one.reflects for _, one in flat], dtype=np.bool_),
        groups,
        returns,
    )


def _tokens(said: Generation | None) -> int:
    return 0 if said is None else said.completion_tokens or len(said.completion_ids or ())


def _sample(
    record: MatchRecord, learner: str, one: Decided, said: Generation, group: int, credited: tuple[float, float, float]
) -> Sample:
    match, (advantage, returns, penalty) = record.match, credited
    assert said.prompt_ids is not None
    assert said.completion_ids is not None
    return Sample(
        said.prompt_ids,
        said.completion_ids,
        said.logprobs,
        advantage,
        said.finish_reason != "length",
        "reflect" if one.reflects else "play",
        match.match_id,
        one.episode,
        one.turn,
        one.attempt,
        one.seat,
        match.game,
        _others(record, learner),
        group,
        one.anchor,
        one.reward,
        penalty,
        returns,
        one.fault,
        said.finish_reason,
        learner,
        match.fingerprints[match.agents.index(learner)],
        said.model,
        said.sampling,
    )
