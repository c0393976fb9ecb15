"""Advantages: what a decision was worth beside others of its group.

Sources: GRPO, RLOO, GiGPO (arXiv 2505.10978). A unit is what a baseline counts once: a whole match, or one episode.
"""

from collections.abc import Hashable, Iterable
from typing import NamedTuple

import numpy as np

from training.meta_episodes import Floats, Ints

TINY = 1e-6
"""What keeps a standard deviation of 0 from being divided by."""


class Scores(NamedTuple):
    """The scores of n decisions, with what they are compared within."""

    value: Floats
    """(n,): the score of a decision, its own penalty in it."""
    unit: Ints
    """(n,): the unit that it belongs to."""
    group: Ints
    """(n,): the group of that unit."""
    per_step: bool = False
    """Whether each decision is counted, not each unit once."""


def numbered(keys: Iterable[Hashable]) -> Ints:
    """A number from 0 for each key, equal ones for equal keys, in the order of their first places."""
    known: dict[Hashable, int] = {}
    return np.array([known.setdefault(key, len(known)) for key in keys], dtype=np.int64)


def centred(scores: Scores, scaled: bool = False) -> Floats:
    """(n,): value - mean of the group; `scaled`: divided by (sd + 1e-6), sd with one degree of freedom less.

    In a group of one unit (or, per step, one decision) all is 0.
    """
    values, groups, where = _counted(scores)
    count, mean = _count(groups), _mean(values, groups)
    found = np.where(count[groups] > 1, values - mean[groups], 0.0)
    own = _own(scores, found, values, where)
    own[count[scores.group] < 2] = 0.0
    if not scaled:
        return own
    squares = np.bincount(groups, (values - mean[groups]) ** 2, minlength=len(count))
    deviation = np.sqrt(squares / np.maximum(count - 1, 1))
    scaled_by: Floats = deviation[scores.group] + TINY
    return own / scaled_by


def left_one_out(scores: Scores) -> Floats:
    """(n,): value - mean of the others of the group (RLOO); in a group of one all is 0."""
    values, groups, where = _counted(scores)
    count = _count(groups)
    sums = np.bincount(groups, values, minlength=len(count))
    others = (sums[groups] - values) / np.maximum(count[groups] - 1, 1)
    found: Floats = np.where(count[scores.group] > 1, scores.value - others[where], 0.0)
    return found


def among_equals(returns: Floats, anchors: Ints) -> Floats:
    """(n,): return - mean over the decisions of the same anchor; alone 0 (the step level of GiGPO)."""
    mean = _mean(returns, anchors)
    found: Floats = np.where(_count(anchors)[anchors] > 1, returns - mean[anchors], 0.0)
    return found


def _counted(scores: Scores) -> tuple[Floats, Ints, Ints]:
    """What a baseline counts: values and groups, and for each decision which of them is its own."""
    if scores.per_step or not len(scores.value):
        return scores.value, scores.group, np.arange(len(scores.value))
    _, first, where = np.unique(scores.unit, return_index=True, return_inverse=True)
    return _mean(scores.value, where), scores.group[first], where


def _own(scores: Scores, found: Floats, values: Floats, where: Ints) -> Floats:
    """For each decision what was found for its unit, and what it is itself above its unit."""
    own: Floats = found[where] + scores.value - values[where]
    return own


def _count(groups: Ints) -> Ints:
    return np.bincount(groups)


def _mean(values: Floats, groups: Ints) -> Floats:
    found: Floats = np.bincount(groups, values) / np.maximum(np.bincount(groups), 1)
    return found
