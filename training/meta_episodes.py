"""One learner's matches as columns of numbers: what was decided, what it earned, and how each episode ended."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]

_CLOSE = 1e-9


@dataclass(frozen=True)
class MetaEpisodes:
    """M matches of N episodes, with n decisions in the order in which they were made.

    A reflection is a decision, too: it stands after the decisions of the episode that it looks back on.
    """

    match: Ints
    """(n,): the match of each decision, from 0, never falling."""
    episode: Ints
    """(n,): its episode, from 0, never falling within a match."""
    reward: Floats
    """(n,): what it earned at once, in the units that are trained on."""
    penalty: Floats
    """(n,): what it was fined for its form, 0 or less: a term of its own, which no other decision shares."""
    anchor: Sequence[str]
    """(n,): the information state in which it was made."""
    reflection: Flags
    """(n,): whether it is a reflection."""
    group: Sequence[Hashable]
    """(M,): what matches must share to be compared."""
    returns: Floats
    """(M, N): the return of each episode; nan for those that were left out because the one before was won."""

    def __post_init__(self) -> None:
        """Raises ValueError for columns that do not fit together."""
        count, matches = len(self.match), len(self.group)
        for name in ("episode", "reward", "penalty", "anchor", "reflection"):
            if len(getattr(self, name)) != count:
                raise ValueError(f"{name} has {len(getattr(self, name))} entries for {count} decisions")
        if self.returns.ndim != 2 or self.returns.shape[0] != matches or not self.returns.shape[1]:
            raise ValueError(f"returns have the shape {self.returns.shape}, for {matches} matches (M, N) is expected")
        if count and not (self.match.min() >= 0 and self.match.max() < matches):
            raise ValueError(f"match lies outside 0 to {matches - 1}")
        if count and not (self.episode.min() >= 0 and self.episode.max() < self.returns.shape[1]):
            raise ValueError(f"episode lies outside 0 to {self.returns.shape[1] - 1}")
        place = self.match * self.returns.shape[1] + self.episode
        if np.any(np.diff(place) < 0):
            raise ValueError("decisions do not stand in the order of match and episode")
        if np.any(self.reflection[:-1] & ~self.reflection[1:] & (np.diff(place) == 0)):
            raise ValueError("a reflection stands before a decision of its own episode")
        if np.any(self.penalty > 0) or not np.all(np.isfinite(self.penalty)):
            raise ValueError("a penalty is above 0, or no number")
        left_out = np.isnan(self.returns)
        if np.any(left_out[:, 0]) or np.any(left_out[:, :-1] & ~left_out[:, 1:]):
            raise ValueError("an episode that was left out is not at the end of its match")
        if np.any(left_out[self.match, self.episode]):
            raise ValueError("there are decisions of an episode that was left out")
        if not np.all(np.isfinite(self.reward)) or np.any(np.isinf(self.returns)):
            raise ValueError("a reward or return is no number")

    def filled(self) -> Floats:
        """(M, N): the returns, those left out as that of the win before them."""
        found = self.returns.copy()
        for episode in range(1, found.shape[1]):
            left_out = np.isnan(found[:, episode])
            found[left_out, episode] = found[left_out, episode - 1]
        return found

    def lengths(self) -> Ints:
        """(M, N): how many decisions each episode has, reflections left out."""
        counts = np.zeros(self.returns.shape, dtype=np.int64)
        np.add.at(counts, (self.match[~self.reflection], self.episode[~self.reflection]), 1)
        return counts

    def earned(self) -> Floats:
        """(n,): the rewards, and at the last decision of an episode what its return has beyond them.

        So what came after the last decision, such as an opponent's answer, counts for that decision.
        """
        total = np.zeros(self.returns.shape)
        np.add.at(total, (self.match, self.episode), self.reward)
        missing = np.nan_to_num(self.returns) - total
        missing[np.abs(missing) < _CLOSE] = 0.0
        found: Floats = np.where(self.reflection, 0.0, self.reward)
        last = self.last()
        found[last] += missing[self.match[last], self.episode[last]]
        return found

    def last(self) -> Flags:
        """(n,): whether a decision is the last of its episode, reflections left out."""
        plays = np.flatnonzero(~self.reflection)
        place = self.match[plays] * self.returns.shape[1] + self.episode[plays]
        found = np.zeros(len(self.match), dtype=np.bool_)
        found[plays] = np.append(np.diff(place) != 0, True)[: len(plays)]
        return found
