"""From matches to advantages: what each decision of a learner is trained on."""

from typing import Literal, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from training.advantages import Scores, among_equals, centred, left_one_out, numbered
from training.meta_episodes import Flags, Floats, Ints, MetaEpisodes
from training.returns import Discounts, Form, Mode, credited, decision_returns, totals

_LEVEL = 1e-9
"""Advantages below it are taken for 0."""


class Credit(BaseModel):
    """How credit is given. The defaults rank matches by their last episode, whatever came before."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: Mode = Field("differential", description="What an episode counts: of its return, or of its gain.")
    form: Form = Field("paper", description="How returns cross episodes; code is what the published programs do.")
    gamma_step: float = Field(1.0, ge=0, le=1, description="Discount of a decision within an episode.")
    gamma_episode: float = Field(1.0, ge=0, le=1, description="Discount of an episode boundary.")
    estimator: Literal["grpo", "rloo", "gigpo"] = Field("gigpo", description="Which advantages are taken.")
    normalise: Literal["mean", "mean_std"] = Field("mean", description="Of the episode level of gigpo and grpo.")
    step_weight: float = Field(1.0, ge=0, description="Weight of gigpo's step level.")
    score: Literal["match", "episode"] = Field(
        "match", description="What the episode level compares: whole matches, or what each episode counts (published)."
    )
    per: Literal["episode", "step"] = Field("episode", description="Whether a baseline counts units, or decisions.")
    anchor: Literal["episode", "shared"] = Field(
        "episode", description="Whether equal positions are compared within an episode's number, or across all."
    )
    drop_level_groups: bool = Field(True, description="Leave out groups in which nothing was better than anything.")


class Credited(NamedTuple):
    """What n decisions are trained on."""

    advantage: Floats
    """(n,): both levels together."""
    returns: Floats
    """(n,): the return of each decision, with its own penalty."""
    episode_level: Floats
    step_level: Floats
    kept: Flags
    """(n,): False where a group teaches nothing."""


def credit(given: MetaEpisodes, how: Credit) -> Credited:
    """Give credit to the decisions of matches. Penalties count for their own decision, at both levels."""
    groups = numbered(given.group)
    returns = decision_returns(given, how.mode, how.form, Discounts(how.gamma_step, how.gamma_episode)) + given.penalty
    scores = _scores(given, how, groups)
    scaled = how.normalise == "mean_std"
    episode_level = left_one_out(scores) if how.estimator == "rloo" else centred(scores, scaled)
    step_level = np.zeros_like(returns)
    if how.estimator == "gigpo":
        step_level = how.step_weight * among_equals(returns, _anchors(given, how, groups))
    advantage = episode_level + step_level
    kept = np.ones(len(advantage), dtype=np.bool_)
    if how.drop_level_groups and len(advantage):
        own = groups[given.match]
        largest = np.zeros(len(given.group))
        np.maximum.at(largest, own, np.abs(advantage))
        kept = largest[own] > _LEVEL
    return Credited(advantage, returns, episode_level, step_level, kept)


def _scores(given: MetaEpisodes, how: Credit, groups: Ints) -> Scores:
    """What the episode level compares.

    `match`: the total that a match was credited with, undiscounted within episodes; with mode `single` the return of
    each episode among the same episodes of others. A reflection scores the return of the episode that follows, among
    the reflections after the same episode. `episode` is the published form: each decision scores what its own episode
    counts, a reflection 0, all of a group together.
    """
    filled = given.filled()
    counted = credited(filled, how.mode)
    episodes = counted.shape[1]
    at = (given.match, given.episode)
    if how.score == "episode":
        value = np.where(given.reflection, 0.0, counted[at])
        unit, group = 2 * (given.match * episodes + given.episode) + given.reflection, groups[given.match]
        return Scores(value + given.penalty, unit, group, how.per == "step")
    following = np.zeros_like(filled)
    following[:, :-1] = filled[:, 1:]
    alone = how.mode == "single"
    whole = counted if alone else np.repeat(totals(counted, how.gamma_episode)[:, :1], episodes, axis=1)
    value = np.where(given.reflection, following[at], whole[at])
    # which episodes, and reflections after which, are compared; whole matches are one kind
    kind = np.where(given.reflection, 1 + episodes + given.episode, 1 + given.episode if alone else 0)
    kinds = 1 + 2 * episodes
    return Scores(
        value + given.penalty, given.match * kinds + kind, groups[given.match] * kinds + kind, how.per == "step"
    )


def _anchors(given: MetaEpisodes, how: Credit, groups: Ints) -> Ints:
    """What decisions must share to be compared at the step level: group, position and, by default, episode."""
    keys = numbered(given.anchor)
    place = groups[given.match] * 2 + given.reflection
    if how.anchor == "episode":
        place = place * given.returns.shape[1] + given.episode
    return np.unique(place * (keys.max(initial=0) + 1) + keys, return_inverse=True)[1]
