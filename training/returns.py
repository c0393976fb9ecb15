"""Meta-rewards and returns: what the episodes of a match count, and what each decision gets of them.

Source: MAGE (arXiv 2603.03680), LaMer (arXiv 2512.16848). R_n is the return of episode n = 1..N, r[n,t] the reward of
its decision t, gs the discount of a step, gj that of an episode boundary.
"""

from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from training.meta_episodes import Flags, Floats, MetaEpisodes

Mode: TypeAlias = Literal["cumulative", "differential", "final", "single"]
Form: TypeAlias = Literal["paper", "code"]


class Discounts(NamedTuple):
    """How what comes later counts."""

    step: float = 1.0
    """gs"""
    episode: float = 1.0
    """gj"""


def credited(returns: Floats, mode: Mode) -> Floats:
    """(M, N): what each episode counts, of its return (M, N).

    cumulative and single: R_n. differential: R_1, then R_n - R_(n-1). final: R_N for the last, else 0.
    """
    if mode == "differential":
        return np.diff(returns, axis=1, prepend=0.0)
    if mode == "final":
        found = np.zeros_like(returns)
        found[:, -1] = returns[:, -1]
        return found
    return returns


def totals(counted: Floats, gj: float) -> Floats:
    """(M, N): from each episode on, the sum of gj^(m - n) over what the episodes m >= n count."""
    found = counted.copy()
    for episode in range(counted.shape[1] - 2, -1, -1):
        found[:, episode] += gj * found[:, episode + 1]
    return found


def decision_returns(given: MetaEpisodes, mode: Mode, form: Form, discounts: Discounts) -> Floats:
    """(n,): the return of each decision.

    Within an episode g[n,t] = sum over l >= t of gs^(l-t) r[n,l]. Across episodes, `paper`: G[n,t] = g[n,t] + the sum
    over m > n of gj^(m-n) g[m,0]. `code` goes backwards: the last decision of episode n gets r + gj G[n+1,0], every
    other r + gs G[next]. A reflection after episode n gets G[n+1,0]. With `single` nothing crosses a boundary.
    """
    gs, gj = discounts.step, 0.0 if mode == "single" else discounts.episode
    filled = given.filled()
    counted = credited(filled, mode)
    last = given.last()
    rewards = _rewards(given, mode, counted, filled, last)
    within, distance = _discounted(given, rewards, last, gs)
    first = np.array(counted)  # an episode without a decision counts as it is
    heads = _heads(given)
    first[given.match[heads], given.episode[heads]] = within[heads]
    reach = gs ** np.maximum(given.lengths() - 1, 0) if form == "code" else np.ones_like(first)
    whole = first.copy()
    for episode in range(first.shape[1] - 2, -1, -1):
        whole[:, episode] += reach[:, episode] * gj * whole[:, episode + 1]
    after = np.zeros_like(whole)
    after[:, :-1] = whole[:, 1:]
    crossing = gj * after[given.match, given.episode]
    if form == "code":
        crossing = crossing * gs**distance
    return np.where(given.reflection, after[given.match, given.episode], within + crossing)


def _rewards(given: MetaEpisodes, mode: Mode, counted: Floats, filled: Floats, last: Flags) -> Floats:
    """(n,): rewards as the mode counts them."""
    found = given.earned()
    if mode == "final":
        return np.where(given.episode == filled.shape[1] - 1, found, 0.0)
    found[last] += (counted - filled)[given.match[last], given.episode[last]]
    return found


def _discounted(given: MetaEpisodes, rewards: Floats, last: Flags, gs: float) -> tuple[Floats, Floats]:
    """(n,) twice: the discounted sum to the end of the episode, and how many decisions of it follow."""
    plays = np.flatnonzero(~given.reflection)
    ends = np.flatnonzero(last[plays])
    distance = np.zeros(len(rewards))
    following = (ends[np.searchsorted(ends, np.arange(len(plays)))] - np.arange(len(plays))) if len(plays) else plays
    distance[plays] = following
    sums = rewards[plays].copy()
    order = np.argsort(following, kind="stable")
    bounds = np.searchsorted(following[order], np.arange(1, following.max(initial=0) + 2))
    for begin, end in pairwise(bounds):
        rows = order[begin:end]
        sums[rows] += gs * sums[rows + 1]
    found = np.zeros(len(rewards))
    found[plays] = sums
    return found, distance


def _heads(given: MetaEpisodes) -> Flags:
    """(n,): whether a decision is the first of its episode."""
    place = given.match * given.returns.shape[1] + given.episode
    found = np.ones(len(place), dtype=np.bool_)
    found[1:] = np.diff(place) != 0
    return found & ~given.reflection
