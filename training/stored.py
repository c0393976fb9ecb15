"""Samples from matches that a store holds already: those of an ordinary tournament, or of earlier checkpoints."""

import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import Any, overload

from games.errors import UserError
from league.store.records import stored
from league.store.rows import MatchRecord
from league.store.store import Store
from training.collect import Collection as Collected
from training.collect import agree, told
from training.config import TrainConfig
from training.draw import Field
from training.policy import Policy
from training.samples import Sample, gather
from training.windows import Shape, Window, windows

STALE = "stale"
"""Why a decision is no sample: the policy has had too many updates since."""
_VERSION = re.compile(r"(.*)@(\d+)")


class Stored(Sequence[Window]):
    """The windows of a store's matches, each once, or as many as the run has updates."""

    def __init__(
        self, config: TrainConfig, field: Field, parts: int, tokenizer: Any, stop: Event, say: Callable[[str], None]
    ) -> None:
        """`parts` is what the rows of a window must be a multiple of.

        Raises UserError for a store without such matches, of another tokenizer, or with nothing in them to learn from.
        """
        assert config.samples is not None
        how = config.samples
        began = time.perf_counter()
        records = records_of(how.store, field.game.spec.name, how.agents)
        _check_tokens(records, how.agents, tokenizer)
        read = time.perf_counter()
        samples: list[Sample] = []
        left_out: Counter[str] = Counter()
        decisions = 0
        for agent in how.agents:
            found = gather(records, agent, config.rewards, config.credit, how.key)
            samples += found.samples
            left_out.update(found.left_out)
            decisions += found.decisions
        newest = _newest([*how.agents, *[one.model for one in samples]])
        fresh = [one for one in samples if not _stale(one, newest, how.staleness)]
        if len(fresh) < len(samples):
            left_out[STALE] += len(samples) - len(fresh)
        reasons = counted(left_out)
        say(f"{how.store}: {len(records)} matches, {decisions} decisions, {len(fresh)} to learn from"
            + (f"; left out: {reasons}" if reasons else ""))  # fmt: skip
        if not fresh:
            raise UserError(f"samples.store = {how.store!r}: nothing to learn from; left out: {reasons or 'nothing'}")
        rows = -(-how.rows // parts) * parts
        self._stop = stop
        self.windows = windows(fresh, Shape(rows), config.seed)[: config.optimise.updates]
        self.policy: Policy | None = None
        self.last: Collected | None = None
        summed = told(records, how.agents[0], read - began, time.perf_counter() - read)
        self._summed = summed._replace(left_out=left_out)

    def __len__(self) -> int:
        return len(self.windows)

    @overload
    def __getitem__(self, number: int) -> Window: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Window]: ...
    def __getitem__(self, number: Any) -> Any:
        """The window of an update, from 0. Raises StoppedError once the run is to stop."""
        agree(self._stop)
        window = self.windows[number]
        samples = [one for one in window if one is not None]
        decisions = len(samples) + sum(self._summed.left_out.values())
        self.last = self._summed._replace(samples=samples, decisions=decisions)
        self._summed = self._summed._replace(rollout_seconds=0.0, credit_seconds=0.0, left_out={})
        return window


def records_of(path: str, game: str, agents: Iterable[str]) -> list[MatchRecord]:
    """The matches of some agents in a game. Raises UserError for a store that is not there, or one without them."""
    if not Path(path).is_file():
        raise UserError(f"store {path}: there is no such file")
    store, found = Store(path), dict[str, MatchRecord]()
    for agent in agents:
        some = stored(store, game, agent)
        if not some:
            raise UserError(f"store {path}: no match of {agent} in {game}")
        found.update({record.match.match_id: record for record in some})
    return [found[match_id] for match_id in sorted(found)]


def _newest(names: Iterable[str]) -> dict[str, int]:
    """The newest version of each policy, of names such as NAME@VERSION; others have none."""
    newest: dict[str, int] = {}
    for found in filter(None, map(_VERSION.fullmatch, names)):
        newest[found[1]] = max(newest.get(found[1], 0), int(found[2]))
    return newest


def _stale(sample: Sample, newest: Mapping[str, int], most: int) -> bool:
    """Whether a sample is of a version of a policy that lies too far behind the newest one that is known of."""
    found = _VERSION.fullmatch(sample.model) or _VERSION.fullmatch(sample.agent)
    return found is not None and newest[found[1]] - int(found[2]) > most


def _check_tokens(records: Iterable[MatchRecord], agents: Collection[str], tokenizer: Any) -> None:
    """Raises UserError for answers that are not what their tokens say."""
    for record in records:
        names = {(row.episode, seat): name for row in record.episodes for seat, name in enumerate(row.seats)}
        for episode, seat, said in [(row.episode, row.seat, row.said) for row in record.generations]:
            if names.get((episode, seat)) not in agents or not said.completion_ids or said.constrained:
                continue
            read, raw = tokenizer.decode(said.completion_ids, skip_special_tokens=True).strip(), said.raw.strip()
            if raw not in read or (read and not raw):  # a stop string may have cut it
                raise UserError(
                    f"samples: match {record.match.match_id}, episode {episode}: the answer {raw!r:.80} is of another "
                    f"tokenizer than the learner's, which reads it as {read!r:.80}"
                )


def counted(left_out: Mapping[str, int]) -> str:
    """Reasons and counts in words."""
    return ", ".join([f"{count} {reason}" for reason, count in sorted(left_out.items())])
