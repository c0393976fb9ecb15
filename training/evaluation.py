"""How a learner does against each opponent, by episode, with and without its memory: matches it does not learn from."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from threading import Event
from typing import Any, NamedTuple

import numpy as np

from agents.registry import Recipe
from arena.match import MatchResult
from games.seeding import derive
from training.draw import Field, Line, Pool, line
from training.meta_episodes import Floats
from training.policy import Policy
from training.rewards import FORM

ARMS = ("memory", "no memory")


class Plan(NamedTuple):
    """What is played to look at a learner."""

    pool: Pool
    held_out: Sequence[Recipe]
    matches: int
    """Against each opponent in each seat."""
    arms: Sequence[str]
    greedy: bool = False
    """Whether the likeliest answers are taken."""


class Score(NamedTuple):
    """How it did against one opponent, in one seat, in one arm."""

    opponent: str
    """The game's name for a task."""
    held_out: bool
    arm: str
    seat: int
    matches: int
    returns: Sequence[float]
    """Mean return in each episode, in the game's units."""
    errors: Sequence[float]
    """Standard errors of these means over matches."""
    success: Sequence[float]
    """Share of the matches in which the episode was won, or solved."""
    draws: Sequence[float]
    """Share of them in which it came to its end and nobody won; of a task, in which it was not solved."""
    faulty: float
    """Share of its decisions that were illegal or could not be read."""
    late: float
    """Mean return in the last third of the episodes."""
    late_error: float
    """Its standard error over matches."""

    def told(self) -> dict[str, Any]:
        """As JSON has it."""
        return self._asdict()


def evaluate(policy: Policy, field: Field, plan: Plan, concurrent: int, stop: Event) -> list[Score]:
    """Play and score; deals are the same at every look, for every opponent and in every arm.

    All episodes are played, whoever wins.
    """
    field = field._replace(rules=field.rules.model_copy(update={"stop_on_win": False}))
    cases: list[tuple[str, bool, str, int]] = []
    lines: list[Line] = []
    members = [*[(member, False) for member in plan.pool.members], *[(member, True) for member in plan.held_out]]
    for arm in plan.arms:
        changed = {**({"memory": "none"} if arm != ARMS[0] else {}), **({"temperature": 0.0} if plan.greedy else {})}
        learner = replace(field.learner, params={**field.learner.params, **changed})
        for member, held in members if field.game.spec.seats > 1 else [(None, False)]:
            for seat in field.seats:
                for number in range(plan.matches):
                    met = [member] * (field.game.spec.seats - 1) if member is not None else []
                    seed = derive(field.seed, "evaluation", seat, number)
                    asked = field._replace(learner=learner)
                    lines.append(line(asked, met, seat, seed, 0, f"evaluation {arm} {held}"))
                    cases.append((member.name if member is not None else field.game.spec.name, held, arm, seat))
    results = {result.match.match_id: result for result in policy.play(lines, concurrent, stop)}
    sorted_: dict[tuple[str, bool, str, int], list[MatchResult]] = {}
    for case, played in zip(cases, lines, strict=True):
        if (result := results.get(played.match.match_id)) is not None:
            sorted_.setdefault(case, []).append(result)
    return [_score(case, found) for case, found in sorted_.items()]


def overall(scores: Sequence[Score], shares: Mapping[str, float], arm: str, held_out: bool) -> list[float]:
    """Mean return by episode over the opponents of a kind: those of the pool by their shares, held out ones alike."""
    some = [score for score in scores if score.arm == arm and score.held_out == held_out]
    if not some:
        return []
    weights = [1.0 if held_out else shares.get(score.opponent, 1.0) for score in some]
    return [float(np.average(values, weights=weights)) for values in zip(*[s.returns for s in some], strict=True)]


def _score(case: tuple[str, bool, str, int], results: Sequence[MatchResult]) -> Score:
    opponent, held, arm, first = case
    returns, won, drawn, answers, faulty = [], [], [], 0, 0
    for result in results:
        seats = [record.order.index(first) for record in result.episodes]
        returns.append([record.returns[seat] for seat, record in zip(seats, result.episodes, strict=True)])
        won.append([record.success[seat] for seat, record in zip(seats, result.episodes, strict=True)])
        drawn.append([record.offender is None and not any(record.success) for record in result.episodes])
        for seat, record in zip(seats, result.episodes, strict=True):
            own = [note.fault for note in record.notes if note.seat == seat]
            answers += len(own)
            faulty += sum([fault is not None and fault.value in FORM for fault in own])
    table = np.array(returns)
    late = table[:, -max(1, table.shape[1] // 3) :].mean(axis=1)
    return Score(
        opponent, held, arm, first, len(table), table.mean(axis=0).tolist(),
        [_error(column) for column in table.T], np.array(won).mean(axis=0).tolist(),
        np.array(drawn).mean(axis=0).tolist(), faulty / max(answers, 1),
        float(late.mean()), _error(late),
    )  # fmt: skip


def _error(values: Floats) -> float:
    """Standard error of a mean; nan for that of one value."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
