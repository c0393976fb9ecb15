"""The samples of each update, collected when they are wanted: matches of the policy as it is then, with credit."""

import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from threading import Event
from typing import Any, NamedTuple, overload

import numpy as np
import torch.distributed

from league.store.rows import MatchRecord
from training.config import TrainConfig
from training.draw import Field, Pool, groups
from training.policy import Policy, StoppedError
from training.remembered import records_of
from training.rewards import FORM
from training.samples import Sample, gather
from training.windows import Window


class Collection(NamedTuple):
    """What came of the matches of an update."""

    samples: Sequence[Sample]
    left_out: Mapping[str, int]
    """Reason -> decisions that are no samples."""
    decisions: int
    matches: int
    void: int
    """Matches that could not be played."""
    returns: Sequence[float]
    """Mean return of the learner in each episode, in the game's units."""
    faulty: float
    """Share of its decisions that were illegal or could not be read."""
    rollout_seconds: float
    credit_seconds: float
    tokens: int = 0
    """Of the prompts and answers of the learner, whether or not they are trained on."""


class Collected(Sequence[Window]):
    """A window for each update, in order; each is collected once it is asked for."""

    def __init__(self, config: TrainConfig, field: Field, pool: Pool, parts: int, stop: Event) -> None:
        """`parts` is what the rows of a window must be a multiple of."""
        self.policy: Policy | None = None
        """What plays; to be set before the first window is asked for."""
        self.last: Collection | None = None
        """Of the latest window, all processes together."""
        self._config = config
        self._field = field
        self._pool = pool
        self._parts = parts
        self._stop = stop

    def __len__(self) -> int:
        return self._config.optimise.updates

    @overload
    def __getitem__(self, number: int) -> Window: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Window]: ...
    def __getitem__(self, number: Any) -> Any:
        """The window of an update, from 0. Raises StoppedError once the run is to stop."""
        assert self.policy is not None
        self.policy.version = number
        try:
            own = self._collect(number)
        except StoppedError:
            own = None
        self.last = _together(own)
        # an answer that was cut off would be computed and then masked
        return padded([one for one in self.last.samples if one.learns], self._parts)

    def _collect(self, number: int) -> Collection:
        """What this process collects: every so manieth group."""
        assert self.policy is not None
        began = time.perf_counter()
        how = self._config.groups
        lines = groups(self._field, self._pool, number, how.count, how.size)
        process, processes = _place()
        mine = [line for place, line in enumerate(lines) if place // how.size % processes == process]
        results = self.policy.play(mine, how.concurrent, self._stop)
        records = records_of(results)
        played = time.perf_counter()
        found = gather(records, self._field.learner.name, self._config.rewards, self._config.credit)
        seen = told(records, self._field.learner.name, played - began, time.perf_counter() - played)
        void = len(mine) - len(results)
        return seen._replace(samples=found.samples, left_out=found.left_out, decisions=found.decisions, void=void)


def padded(samples: Sequence[Sample], multiple: int) -> Window:
    """Samples in an order that does not depend on how they came, with rows without one up to a multiple."""
    ranked = sorted(samples, key=lambda one: (one.match_id, one.episode, one.turn is None, one.turn or 0, one.attempt))
    return [*ranked, *[None] * (-len(ranked) % multiple or (0 if ranked else multiple))]


def told(records: Sequence[MatchRecord], learner: str, rollout: float, credit: float) -> Collection:
    """How a learner did in some matches; the samples are left to be filled in."""
    rows = [row for record in records if learner in record.match.agents for row in record.episodes]
    seats = {(row.match_id, row.episode): row.seats.index(learner) for row in rows}
    by_episode = defaultdict(list)
    for row in rows:
        by_episode[row.episode].append(row.returns[seats[row.match_id, row.episode]])
    own = [
        note.fault
        for record in records
        for note in record.turns
        if seats.get((record.match.match_id, note.episode)) == note.seat
    ]
    faulty = sum([fault in FORM for fault in own])
    means = [float(np.mean(by_episode[episode])) for episode in sorted(by_episode)]
    tokens = sum([
        len(row.said.prompt_ids or ()) + len(row.said.completion_ids or ())
        for record in records
        for row in record.generations
        if seats.get((record.match.match_id, row.episode)) == row.seat
    ])  # fmt: skip
    return Collection([], {}, 0, len(records), 0, means, faulty / max(len(own), 1), rollout, credit, tokens)


def _together(own: Collection | None) -> Collection:
    """What all processes collected. Raises StoppedError in all of them where one was to stop."""
    _, processes = _place()
    parts: list[Any] = [own]
    if processes > 1:
        parts = [None] * processes
        torch.distributed.all_gather_object(parts, own)
    if any([part is None for part in parts]):
        raise StoppedError
    if len(parts) == 1:
        return parts[0]  # type: ignore[no-any-return]
    parts = [part for part in parts if part.matches] or parts[:1]
    left_out: Counter[str] = Counter()
    for part in parts:
        left_out.update(part.left_out)
    decisions, matches = sum([part.decisions for part in parts]), sum([part.matches for part in parts])
    returns = []
    for place in range(max([len(part.returns) for part in parts])):
        there = [part for part in parts if len(part.returns) > place]
        returns.append(float(np.average([one.returns[place] for one in there], weights=[one.matches for one in there])))
    return Collection(
        [sample for part in parts for sample in part.samples],
        left_out,
        decisions,
        matches,
        sum([part.void for part in parts]),
        returns,
        sum([part.faulty * part.decisions for part in parts]) / max(decisions, 1),
        max([part.rollout_seconds for part in parts]),
        max([part.credit_seconds for part in parts]),
        sum([part.tokens for part in parts]),
    )


def agree(stop: Event) -> None:
    """Raises StoppedError in all processes where one is to stop."""
    _, processes = _place()
    told: list[Any] = [stop.is_set()] * processes
    if processes > 1:
        torch.distributed.all_gather_object(told, stop.is_set())
    if any(told):
        raise StoppedError


def _place() -> tuple[int, int]:
    """Number of this process, and how many there are."""
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return 0, 1
    return torch.distributed.get_rank(), torch.distributed.get_world_size()
