"""Training runs: they learn, they go on exactly, and what they tell adds up."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

pytest.importorskip("trl", reason="the extra train is not installed")

import torch
from hypothesis import given
from hypothesis import strategies as st

from agents.models import marked
from agents.registry import recipe
from arena.rules import MatchRules
from games import registry
from league.store import training as kept
from league.store.store import Store
from tests.local_models import forward
from tests.play import match_of, play_here
from tests.test_trainer import sample
from tests.training_runs import (
    config,
    lines,
    same,
    stopped_after,
    toml,
    train_alone,
    trained,
    updates,
    weights,
)
from training import loop
from training.begin import field_of
from training.collect import Collected, Collection
from training.config import TrainConfig
from training.draw import Field, Pool, groups
from training.evaluation import ARMS, Plan, _score, evaluate
from training.policy import Policy
from training.progress import Reached, measured
from training.samples import Sample

ROOT = Path(__file__).parent.parent
FIVE = {"optimise": {"updates": 5, "minibatches": 2}, "save": {"every": 2}}
"""A run whose samples are shuffled, with checkpoints and looks on the way."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of five updates that nobody stopped."""
    place = tmp_path_factory.mktemp("whole")
    outcome = trained(config(place / "run", **FIVE))
    assert outcome == loop.Outcome(5, 5, False, place / "run" / "checkpoint-10")
    return place / "run"


# Learning


def test_a_learner_from_nothing_learns_to_beat_rock(tmp_path: Path) -> None:
    told: list[Reached] = []
    how = {
        "groups": {"count": 8, "size": 8}, "optimise": {"updates": 15, "learning_rate": 3e-2},
        "evaluate": {"every": 15, "matches": 16},
    }  # fmt: skip
    outcome = trained(config(tmp_path, **how), tell=told.append)
    found = [one.metrics["return"] for one in told if one.metrics]
    assert len(found) == 15
    assert found[0] < 0
    assert found[-1] > 0.8
    looks = {one.update: [score.returns[0] for score in one.scores] for one in told if one.scores}
    assert list(looks) == [0, 15]
    assert max(looks[0]) < 0.2
    assert min(looks[15]) > 0.8
    played = play_here_checkpoint(outcome.checkpoint)
    assert played.count("paper") >= 9


def play_here_checkpoint(place: Path | None) -> list[str]:
    """What a checkpoint plays against rock in ten matches, as an agent of the arena."""
    assert place is not None
    from tests.play import match_of

    found = []
    for seed in range(10):
        result = play_here(match_of("matrix_rps", f"checkpoint(path={place})", "biased(weights=[1,0,0])", seed=seed))
        found += [row.actions[0] for row in result.episodes if row.actions]
    return found


def test_a_run_of_the_same_seed_ends_with_the_same_weights(whole: Path, tmp_path: Path) -> None:
    assert same(weights(trained(config(tmp_path / "again", **FIVE)).checkpoint), weights(whole / "checkpoint-10"))
    assert lines(tmp_path / "again") == lines(whole)
    other = trained(config(tmp_path / "other", seed=1, **FIVE)).checkpoint
    assert not same(weights(other), weights(whole / "checkpoint-10"))


# Going on


@pytest.mark.parametrize("update", [1, 2, 4, 5])
def test_a_run_that_was_stopped_and_goes_on_is_as_if_it_had_not_been(whole: Path, tmp_path: Path, update: int) -> None:
    given = config(tmp_path / "run", **FIVE)
    outcome = stopped_after(update, given)
    assert (outcome.update, outcome.stopped) == (update, True)
    assert outcome.checkpoint == tmp_path / "run" / f"checkpoint-{2 * update}"
    assert len(updates(tmp_path / "run")) == update
    outcome = trained(given)
    assert (outcome.update, outcome.stopped) == (5, False)
    assert same(weights(outcome.checkpoint), weights(whole / "checkpoint-10"))
    assert lines(tmp_path / "run") == lines(whole)


def test_a_run_that_was_stopped_at_once_has_no_checkpoint_and_goes_on(whole: Path, tmp_path: Path) -> None:
    given, stop = config(tmp_path / "run", **FIVE), Event()
    stop.set()
    assert trained(given, stop=stop) == loop.Outcome(0, 5, True, None)
    assert same(weights(trained(given).checkpoint), weights(whole / "checkpoint-10"))
    assert lines(tmp_path / "run") == lines(whole)


def test_a_run_that_is_done_stays_as_it_is(whole: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in whole.rglob("*") if path.name != "metrics.jsonl"}
    told, seen = lines(whole), list[Reached]()
    assert trained(config(whole, **FIVE), tell=seen.append) == loop.Outcome(5, 5, False, whole / "checkpoint-10")
    assert not seen
    assert lines(whole) == told
    assert {path: path.stat().st_mtime_ns for path in before} == before


@pytest.mark.parametrize(
    "moment", ["base.part/config.json", "metrics.jsonl", "checkpoint-4/model.safetensors", "checkpoint-8/metarena.json"]
)
def test_a_run_that_was_killed_goes_on_as_if_it_had_not_been(whole: Path, tmp_path: Path, moment: str) -> None:
    """By SIGKILL, as soon as a file is there. The process comes from one that has loaded all modules already."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.training_runs"])
    given, store = config(tmp_path / "run", **FIVE), tmp_path / "s.duckdb"
    process = context.Process(target=train_alone, args=(given, store))
    process.start()
    until = time.monotonic() + 60
    while not (tmp_path / "run" / moment).exists() and time.monotonic() < until and process.is_alive():
        time.sleep(0.0005)
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    outcome = trained(given, Store(store))
    assert same(weights(outcome.checkpoint), weights(whole / "checkpoint-10"))
    assert lines(tmp_path / "run") == lines(whole)
    assert [step.step for step in kept.steps(Store(store), "pupil")][-1] == 5


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": "", "ARENA_STORE": str(folder / "s.duckdb")}


def told_of(given: TrainConfig) -> dict[str, Any]:
    values: dict[str, Any] = given.model_dump(mode="json", exclude_defaults=True)
    return values


@pytest.mark.slow
@pytest.mark.parametrize("count", [3, 1])
def test_two_processes_train_as_one_does(tmp_path: Path, count: int) -> None:
    """One step an update: which samples come together in smaller ones depends on the number of processes.

    With one group one of them plays nothing. Adam makes whole steps even of gradients that are but noise, so a few
    weights go elsewhere.
    """
    how: dict[str, Any] = {"optimise": {"updates": 3}, "save": {"every": 1}, "groups": {"count": count, "size": 6}}
    trained(config(tmp_path / "alone", **how))
    (tmp_path / "run.toml").write_text(toml(told_of(config(tmp_path / "two", **how))))
    together = [
        sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2",
        "-m", "tui.cli", "train", str(tmp_path / "run.toml"),
    ]  # fmt: skip
    for _ in range(2):  # the second time nothing is left to do
        done = subprocess.run(
            together, cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr[-3000:]
        assert "done" in done.stderr
    one, two = (weights(tmp_path / place / "checkpoint-1") for place in ("alone", "two"))
    apart = torch.cat([(one[key] - two[key]).abs().flatten() for key in one])
    assert float((apart > 1e-5).float().mean()) < 0.1
    before = weights(tmp_path / "alone" / "base")
    moved = torch.cat([(one[key] - before[key]).abs().flatten() for key in one])
    assert float(moved.median()) > 1e-3
    for alone, other in zip(lines(tmp_path / "alone"), lines(tmp_path / "two"), strict=True):
        if alone["kind"] == "evaluation":
            assert alone == other
        else:
            del alone["kind"], other["kind"]
            assert other == pytest.approx(alone, abs=1e-3)
    assert [step.step for step in kept.steps(Store(tmp_path / "s.duckdb"), "pupil")] == [1, 2, 3]


# What is drawn


def a_field(game: str, seats: Sequence[int], seed: int) -> Field:
    return Field("run", seed, registry.make(game), MatchRules(episodes=2), recipe("learner=random"), seats)


MEMBERS = [recipe(f"o{number}=biased(weights=[{number + 1},1])") for number in range(4)]
DRAWN = st.tuples(
    st.lists(st.floats(0.05, 20), min_size=1, max_size=4),
    st.sampled_from([("kuhn_poker", (0,)), ("kuhn_poker", (0, 1)), ("kuhn_poker(players=3)", (0, 1, 2))]),
    st.integers(1, 40), st.integers(2, 4), st.integers(0, 2**63 - 1), st.integers(0, 500),
)  # fmt: skip


@given(DRAWN)
def test_groups_share_deals_opponents_and_seat_and_differ_in_replicas(drawn: Any) -> None:
    shares, (game, seats), count, size, seed, update = drawn
    field, pool = a_field(game, seats, seed), Pool(MEMBERS[: len(shares)], shares)
    found = groups(field, pool, update, count, size)
    assert len(found) == count * size
    parts = [found[first : first + size] for first in range(0, len(found), size)]
    for part in parts:
        assert len({(one.match.seed, one.match.names, one.match.specs) for one in part}) == 1
        assert [one.match.replica for one in part] == list(range(size))
        assert len({one.match.names.index("learner") for one in part}) == 1
        assert all([one.recipes[one.match.names.index("learner")] is field.learner for one in part])
    assert len({part[0].match.seed for part in parts}) == count, "each group has deals of its own"
    assert len({one.match.match_id for one in found}) == len(found)
    assert groups(field, pool, update, count, size) == found
    assert {one.match.seed for one in groups(field, pool, update + 1, count, size)}.isdisjoint(
        {one.match.seed for one in found}
    )


@given(DRAWN)
def test_shares_are_kept_as_far_as_the_groups_allow(drawn: Any) -> None:
    shares, (game, seats), count, _, seed, update = drawn
    if "players" in game:
        game, seats = "kuhn_poker", (0, 1)  # with one opponent, whom a group meets is told by its place
    found = groups(a_field(game, seats, seed), Pool(MEMBERS[: len(shares)], shares), update, count, 2)[::2]
    met: Counter[tuple[int, str]] = Counter()
    for one in found:
        seat = one.match.names.index("learner")
        met[seat, one.match.names[1 - seat]] += 1
    for seat in seats:
        for member, share in zip(MEMBERS, shares, strict=False):
            wanted = count * share / sum(shares) / len(seats)
            assert abs(met[seat, member.name] - wanted) < 1 + 1e-6
    assert sum(met.values()) == count


# Looks


def test_deals_are_the_same_at_every_look_and_learning_meets_others(tmp_path: Path) -> None:
    seen: list[list[int]] = []

    class Watched(Policy):
        def play(self, given_: Any, concurrent: int, stop: Event) -> Any:
            seen.append([one.match.seed for one in given_])
            return super().play(given_, concurrent, stop)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "Policy", Watched)
        trained(config(tmp_path, optimise={"updates": 2}, evaluate={"every": 1, "matches": 4}))
    looks = [seeds for seeds in seen if len(seeds) == 2 * 2 * 4]
    assert len(looks) == 3
    assert looks[0] == looks[1] == looks[2]
    assert looks[0][:8] == looks[0][8:], "both arms meet the same deals"
    assert len(set(looks[0])) == 8
    assert not set(looks[0]) & {seed for seeds in seen if len(seeds) == 12 for seed in seeds}


def test_the_arm_without_memory_is_told_of_no_earlier_episode(tmp_path: Path) -> None:
    given = config(tmp_path, match={"episodes": 3}, optimise={"updates": 1})
    outcome = trained(given)
    field, pool = field_of(given)
    made, tokenizer = loaded_of(outcome.checkpoint)
    policy = Policy("pupil", made, tokenizer, loop.source_of(field.learner.params))
    results: list[Any] = []

    def played(lines_: Any, concurrent: int, stop: Event) -> Any:
        results.extend(Policy.play(policy, lines_, concurrent, stop))
        return results

    policy.play = played  # type: ignore[method-assign]
    evaluate(policy, field, Plan(pool, [], 2, ARMS), 8, Event())
    policy.close()
    assert len(results) == 8
    texts: dict[int, list[str]] = {0: [], 1: []}
    for number, result in enumerate(results):
        for record in result.episodes:
            for note in record.notes:
                for said in note.generations:
                    texts[number // 4].append(tokenizer.decode(said.prompt_ids))
    later = [text for text in texts[0] if "Episode 3 of 3." in text or "Episode 2 of 3." in text]
    assert later
    assert all(["Episode 1, seat" in text for text in later])
    assert any(["Episode 2 of 3." in text for text in texts[1]])
    assert not any(["Episode 1, seat" in text for text in texts[1]])


def loaded_of(place: Path | None) -> tuple[Any, Any]:
    from agents.models.weights import load

    assert place is not None
    return load("checkpoint", place, torch.float32)


def test_greedy_looks_draw_nothing(tmp_path: Path) -> None:
    told: list[Reached] = []
    trained(
        config(tmp_path, optimise={"updates": 1}, evaluate={"every": 1, "matches": 8, "greedy": True}), tell=told.append
    )
    for one in told:
        assert all([score.errors == [0.0] for score in one.scores]), "rock is met in one way alone"


@pytest.mark.parametrize(("episodes", "late"), [(1, 1), (2, 1), (3, 1), (5, 1), (6, 2), (9, 3)])
def test_the_last_third_of_a_match_has_an_episode_at_least(episodes: int, late: int) -> None:
    results = [play_here(match_of("kuhn_poker", "random", "random", seed=k, episodes=episodes)) for k in range(20)]
    score = _score(("random", False, "memory", 0), results)
    ends = [
        [record.returns[record.order.index(0)] for record in result.episodes[-late:]] for result in results
    ]  # fmt: skip
    assert score.late == pytest.approx(np.mean(ends))
    assert score.late_error == pytest.approx(np.std(np.mean(ends, axis=1), ddof=1) / np.sqrt(20))


@pytest.mark.usefixtures("troublemakers")
def test_wins_losses_and_draws_are_all_there_is() -> None:
    results = [play_here(match_of("tic_tac_toe", "random", "random", seed=k, episodes=2)) for k in range(60)]
    score, other = [_score(("random", False, "memory", seat), results) for seat in (0, 1)]
    assert [sum(shares) for shares in zip(score.success, other.success, score.draws, strict=True)] == [1.0, 1.0]
    assert all([0 < draws < 0.3 for draws in score.draws])
    lost = play_here(match_of("tic_tac_toe", "answer(kind=illegal)", "random"))
    assert lost.episodes[0].offender == 0
    assert _score(("random", False, "memory", 0), [lost]).draws == [0.0]


# What is told


def test_what_was_learned_and_left_out_is_all_that_was_decided(whole: Path, tmp_path: Path) -> None:
    trained(
        config(
            tmp_path,
            game="kuhn_poker",
            opponents=[{"agent": "random"}],
            match={"episodes": 2},
            optimise=FIVE["optimise"],
        )
    )
    for place in (whole, tmp_path):
        assert len(updates(place)) == 5
        for line in updates(place):
            left_out = sum([value for key, value in line.items() if key.startswith("left_out/")])
            assert line["learned"] + left_out == line["decisions"] > 0
            assert line["tokens"] >= line["tokens/learned"] >= 2 * line["learned"]
            assert line["matches"] == 12
            assert 0 <= line["faulty"] <= 1


def test_answers_that_were_cut_off_are_not_counted_as_learned() -> None:
    samples = [sample(number, [1], [2], 1.0, learns=number > 1) for number in range(5)]
    found = measured(Collection(samples, {"fallback": 3}, 8, 4, 2, [0.5, 1.5], 0.0, 1.0, 1.0, 77), False, 5.0)
    assert (found["learned"], found["left_out/cut off"], found["left_out/fallback"]) == (3, 2, 3)
    assert (found["return"], found["return/episode_2"], found["seconds/update"]) == (1.0, 1.5, 3.0)
    assert (found["matches"], found["void"]) == (4, 2)
    assert (found["tokens"], found["tokens/learned"]) == (77, 6)


def test_a_window_with_nothing_to_learn_from_changes_no_weight_and_is_counted(tmp_path: Path) -> None:
    """With the momentum and the decay of earlier updates, which would move weights without any gradient."""
    how = {"learning_rate": 1e-2, "weight_decay": 0.1, "entropy": 0.1, "entropy_end": 0.1}
    level = {"kind": "outcome", "win": 1e-12, "fault": 0.0}
    given = config(tmp_path / "a", rewards=level, optimise={"updates": 2, **how}, save={"every": 1})
    trained(given)
    assert [(line["idle"], line["learned"], line["grad_norm"]) for line in updates(tmp_path / "a")] == [(1, 0, 0)] * 2
    assert same(weights(tmp_path / "a" / "checkpoint-2"), weights(tmp_path / "a" / "base"))
    trained(config(tmp_path / "b", optimise={"updates": 2, **how}, save={"every": 1}))
    assert [line["idle"] for line in updates(tmp_path / "b")] == [0, 0]


def test_an_idle_window_after_others_leaves_the_momentum_alone(tmp_path: Path) -> None:
    """A learner that has learned meets groups in which all is equal."""
    how = {"updates": 14, "learning_rate": 5e-2, "weight_decay": 0.1}
    given = config(tmp_path, groups={"count": 2, "size": 4}, optimise=how, save={"every": 1, "keep": 99})
    trained(given)
    idle = [line["update"] for line in updates(tmp_path) if line["idle"] and line["update"] > 1]
    assert idle, "it has learned"
    for update in idle:
        assert same(weights(tmp_path / f"checkpoint-{update}"), weights(tmp_path / f"checkpoint-{update - 1}"))


def test_the_trainer_finds_the_log_probabilities_that_were_sampled(tmp_path: Path) -> None:
    """So the ratio of a token is 1 before the first step: every update begins on its policy."""
    seen: list[Sample] = []
    collect = Collected._collect

    def watched(self: Collected, number: int) -> Any:
        found = collect(self, number)
        if number == 0:
            seen.extend(found.samples)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Collected, "_collect", watched)
        trained(config(tmp_path, learner={"temperature": 0.7}, match={"episodes": 2}, optimise={"updates": 1}))
    assert len(seen) > 4
    for one in seen:
        assert one.logprobs is not None
        found = forward(tmp_path / "base", one.prompt_ids, one.completion_ids, 0.7)
        assert list(one.logprobs) == pytest.approx(found, abs=1e-4)
    assert updates(tmp_path)[0]["clip_ratio/region_mean"] == 0
    assert {one.model for one in seen} == {"pupil@0"}


def test_runs_steps_and_checkpoints_are_in_the_store(tmp_path: Path) -> None:
    store = Store(tmp_path / "s.duckdb")
    given = config(tmp_path / "run", **FIVE)
    stopped_after(3, given, store)
    trained(given, store)
    (run,) = kept.runs(store)
    assert (run.run, run.seed) == ("pupil", 0)
    assert json.loads(run.config)["optimise"]["updates"] == 5
    steps = kept.steps(store, "pupil")
    assert [step.step for step in steps] == [1, 2, 3, 4, 5]
    assert [step.metrics["return"] for step in steps] == [line["return"] for line in updates(tmp_path / "run")]
    rows = kept.checkpoints(store)
    assert [(row.step, row.agent, row.parent) for row in rows] == [
        (update, f"pupil@{update}", None) for update in (2, 3, 4, 5)
    ]
    last = marked.read(rows[-1].path)[1]
    assert (rows[-1].digest, rows[-1].metrics["return"]) == (last.digest, last.metrics["return"])
    assert recipe(f"checkpoint(path={rows[-1].path})").fingerprint == rows[-1].fingerprint


def test_old_checkpoints_go_and_as_many_as_asked_for_stay(tmp_path: Path) -> None:
    trained(config(tmp_path, optimise={"updates": 5}, save={"every": 1, "keep": 2}))
    assert sorted(place.name for place in tmp_path.glob("checkpoint-*")) == ["checkpoint-4", "checkpoint-5"]


def test_reports_hold_what_an_update_measured(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TENSORBOARD_LOGGING_DIR", str(tmp_path / "events"))
        trained(config(tmp_path / "run", report_to=["tensorboard"]))
    found = EventAccumulator(str(tmp_path / "events"))
    found.Reload()
    for key in ("return", "faulty", "decisions", "learned", "idle", "loss", "entropy", "seconds/rollout"):
        values = [event.value for event in found.Scalars(f"train/{key}")]
        assert len(values) == 3
        if not key.startswith("seconds"):
            assert values == pytest.approx([line[key] for line in updates(tmp_path / "run")], abs=1e-5)
