"""How often agents solve tasks: success, return and turns by episode of a match, pass@k beside the retry reference."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from league.store.queries import solved_by_episode
from league.store.rows import EpisodeSolved
from league.store.store import Store


@dataclass(frozen=True)
class TaskResult:
    """What an agent reached in a task, over all its matches there."""

    game: str
    agent: str
    episodes: Sequence[EpisodeSolved]
    """By episode of a match, from the first; matches of fewer episodes count as far as they go."""

    @property
    def played(self) -> int:
        """Episodes in all."""
        return sum([row.matches for row in self.episodes])

    @property
    def success(self) -> float:
        """Share of all episodes that were solved."""
        return sum([row.solved for row in self.episodes]) / self.played

    @property
    def mean_return(self) -> float:
        """Over all episodes."""
        return sum([row.total for row in self.episodes]) / self.played

    @property
    def mean_turns(self) -> float:
        """Over all episodes."""
        return sum([row.turns for row in self.episodes]) / self.played

    @property
    def k(self) -> int:
        """Episodes of its longest matches."""
        return self.episodes[-1].episode

    @property
    def pass_at(self) -> list[float]:
        """pass@k for k = 1, 2, ...: the share of matches of at least k episodes that solved one of the first k."""
        return [row.passed / row.matches for row in self.episodes]

    @property
    def retry_at(self) -> list[float]:
        """What independent tries as good as the first would reach: 1 - (1 - p)^k, p the success of first episodes.

        Where deals are the same in all episodes of a match, p is one of many instances, easy and hard ones mixed, so
        that it is a fair reference for agents without memory only in the limit of equal instances.
        """
        first = self.episodes[0]
        p = first.solved / first.matches
        return [1 - (1 - p) ** row.episode for row in self.episodes]


def task_results(store: Store, game: str | None = None) -> list[TaskResult]:
    """What agents reached in each task of a store, or in one: by game, then the most successful first."""
    found = [
        TaskResult(*who, list(rows))
        for who, rows in groupby(solved_by_episode(store, game), key=lambda row: (row.game, row.agent))
    ]
    return sorted(found, key=lambda result: (result.game, -result.success, -result.mean_return, result.agent))
