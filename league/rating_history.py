"""How ratings moved: a bounded number of points per agent, whatever the number of matches."""

from __future__ import annotations

import numpy as np

from league.trueskill_fold import Floats, Ints

LIMIT = 500
"""At most so many points per agent and pool, the last match included."""


class Thinned:
    """Keeps of each agent's n-th match those where n is a multiple of its step, and at the end the last one.

    The step is 1 and doubles as soon as LIMIT - 1 points are exceeded, which drops every other point. So what is kept
    depends on the number of matches alone, not on how they were cut into batches.
    """

    def __init__(self) -> None:
        self._matches: Ints = np.zeros(0, np.int64)
        self._step: Ints = np.ones(0, np.int64)
        self._points: list[tuple[Ints, Ints, Floats, Floats]] = [(self._matches, self._step, np.zeros(0), np.zeros(0))]
        self.held = 0
        """Points in memory."""
        self._crowded = 1 << 16

    @property
    def matches(self) -> Ints:
        """Matches by agent so far."""
        return self._matches

    def add(self, agents: Ints, mu: Floats, sigma: Floats) -> None:
        """Takes what became of each seat, in the order of matches; the arrays run in parallel."""
        number = self._count(agents)
        keep = number % self._step[agents] == 0
        self._points.append((agents[keep], number[keep], mu[keep], sigma[keep]))
        self.held += int(keep.sum())
        if self.held > self._crowded:
            self._prune()
            self._crowded = max(self._crowded, 2 * self.held)

    def points(self, mu: Floats, sigma: Floats) -> tuple[Ints, Ints, Floats, Floats]:
        """(agent, its n-th match, mu, sigma) by agent and n; `mu` and `sigma` are the present ones by agent."""
        self._prune()
        last = np.flatnonzero(self._matches % self._step)  # agents whose last match is not kept anyway
        kept, ends = self._points[0], (last, self._matches[last], mu[last], sigma[last])
        agents, number, mu, sigma = (np.concatenate(columns) for columns in zip(kept, ends, strict=True))
        order = np.lexsort((number, agents))
        return agents[order], number[order], mu[order], sigma[order]

    def _count(self, agents: Ints) -> Ints:
        """Numbers each seat's match among its agent's, from 1, and brings counts and steps up to date."""
        new = int(agents.max(initial=-1)) + 1 - len(self._matches)
        if new > 0:
            self._matches = np.append(self._matches, np.zeros(new, np.int64))
            self._step = np.append(self._step, np.ones(new, np.int64))
        # A stable sort of small integers is a radix sort, several times faster.
        by_agent = np.argsort(agents.astype(np.int16) if len(self._matches) < 2**15 else agents, kind="stable")
        counts = np.bincount(agents, minlength=len(self._matches))
        number = np.empty(len(agents), np.int64)
        number[by_agent] = np.arange(len(agents)) - np.repeat(np.cumsum(counts) - counts, counts)
        number += self._matches[agents] + 1
        self._matches = self._matches + counts
        while (behind := self._matches >= LIMIT * self._step).any():
            self._step[behind] *= 2
        return number

    def _prune(self) -> None:
        agents, number, mu, sigma = (np.concatenate(column) for column in zip(*self._points, strict=True))
        keep = number % self._step[agents] == 0
        self._points = [(agents[keep], number[keep], mu[keep], sigma[keep])]
        self.held = int(keep.sum())
