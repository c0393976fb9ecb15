"""Samples from matches that a store holds already: those of an ordinary tournament, or of earlier checkpoints."""

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

from games.errors import UserError
from league.store.records import stored
from league.store.rows import MatchRecord
from league.store.store import Store
from training.collect import Collection, told
from training.config import Samples, TrainConfig
from training.draw import Field
from training.policy import Policy
from training.samples import Sample, gather
from training.windows import Shape, Window, windows

STALE = "stale"
"""Why a decision is no sample: the policy has had too many updates since."""
_VERSION = re.compile(r"@(\d+)$")


class Stored(Sequence[Window]):
    """The windows of a store's matches, each once, or as many as the run has updates."""

    def __init__(self, config: TrainConfig, field: Field, parts: int, say: Callable[[str], None]) -> None:
        """Raises UserError for a store without such matches, or with nothing in them to learn from."""
        assert config.samples is not None
        how = config.samples
        began = time.perf_counter()
        records = records_of(how.store, field.game.spec.name, how.agents)
        read = time.perf_counter()
        samples: list[Sample] = []
        left_out: Counter[str] = Counter()
        decisions = 0
        for agent in how.agents:
            found = gather(records, agent, config.rewards, config.credit, how.key)
            samples += found.samples
            left_out.update(found.left_out)
            decisions += found.decisions
        fresh = [one for one in samples if not _stale(one, how)]
        if len(fresh) < len(samples):
            left_out[STALE] += len(samples) - len(fresh)
        reasons = counted(left_out)
        say(f"{how.store}: {len(records)} matches, {decisions} decisions, {len(fresh)} to learn from"
            + (f"; left out: {reasons}" if reasons else ""))  # fmt: skip
        if not fresh:
            raise UserError(f"samples.store = {how.store!r}: nothing to learn from; left out: {reasons or 'nothing'}")
        rows = -(-how.rows // parts) * parts
        self._windows = windows(fresh, Shape(rows), config.seed)[: config.optimise.updates]
        self.policy: Policy | None = None
        self.last: Collection | None = None
        summed = told(records, how.agents[0], read - began, time.perf_counter() - read)
        self._summed = summed._replace(left_out=left_out, decisions=decisions)

    def __len__(self) -> int:
        return len(self._windows)

    @overload
    def __getitem__(self, number: int) -> Window: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[Window]: ...
    def __getitem__(self, number: Any) -> Any:
        window = self._windows[number]
        self.last = self._summed._replace(samples=[one for one in window if one is not None])
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


def _stale(sample: Sample, how: Samples) -> bool:
    """Whether a sample is of a version of a policy, NAME@VERSION, that lies too far behind the newest one asked for."""
    newest = max([_version(agent) for agent in how.agents])
    return newest - _version(sample.model) > how.staleness


def _version(name: str) -> int:
    found = _VERSION.search(name)
    return int(found[1]) if found else 0


def counted(left_out: Mapping[str, int]) -> str:
    """Reasons and counts in words."""
    return ", ".join([f"{count} {reason}" for reason, count in sorted(left_out.items())])
