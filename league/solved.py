"""How often agents solve tasks: success, return and turns by episode of a match, pass@k beside the retry reference."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from league.store.queries import solved_by_episode
from league.store.rows import EpisodeSolved
from league.store.store import Store


@dataclass(frozen=True)
class TaskResult:
    """What an agent reached in a task, in its matches of one length and one way to deal."""

    game: str
    agent: str
    deals: str
    planned: int
    """Episodes of a match."""
    episodes: Sequence[EpisodeSolved]
    """By episode of a match, from the first, as far as any was played."""

    @property
    def played(self) -> int:
        """Episodes in all."""
        return sum([row.played for row in self.episodes])

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
    def pass_at(self) -> list[float]:
        """pass@k for k = 1 to the length of a match: the share of matches that solved one of the first k episodes.

        A match that stopped at a win has solved one for every k from there on.
        """
        shares = [row.passed / row.matches for row in self.episodes]
        return shares + shares[-1:] * (self.planned - len(shares))

    @property
    def retry_at(self) -> list[float]:
        """What independent tries as good as the first would reach: 1 - (1 - p)^k, p the success of first episodes.

        Where deals are the same in all episodes of a match, p is one of many instances, easy and hard ones mixed, so
        that it is a fair reference for agents without memory only in the limit of equal instances.
        """
        first = self.episodes[0]
        p = first.solved / first.played
        return [1 - (1 - p) ** k for k in range(1, self.planned + 1)]


def task_results(store: Store, game: str | None = None) -> list[TaskResult]:
    """What agents reached in each task of a store, or in one: by game, longest matches first, then by success."""
    rows = solved_by_episode(store, game)
    keys = groupby(rows, key=lambda row: (row.game, row.agent, row.deals, row.planned))
    found = [TaskResult(*who, list(episodes)) for who, episodes in keys]
    return sorted(
        found,
        key=lambda one: (one.game, -one.planned, one.deals, -one.success, -one.mean_return, one.agent),
    )
