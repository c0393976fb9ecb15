"""What training runs begin with: matches of a store, agents to copy, checkpoints, adapters; and what KL holds to."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import Any

import pytest

pytest.importorskip("trl", reason="the extra train is not installed")

from peft import PeftModel

from agents.models import marked
from games.errors import UserError
from league import tournament
from league.config import checked
from league.plan import plan
from league.store import training as kept
from league.store.store import Store
from tests.local_models import by_forward, fresh_model
from tests.play import match_of, play_here
from tests.training_runs import ROCK, config, lines, same, stopped_after, trained, updates, weights
from training.config import TrainConfig
from training.stored import records_of
from training.trainer import MetaGRPOTrainer

BRIEF = {"telling": "brief", "memory": "history", "legal": "hidden", "turns": 0}
FAVOURITES = [f"biased(weights={weights})" for weights in ("[28,1,1]", "[1,28,1]", "[1,1,28]")]
LORA = {"rank": 2, "alpha": 8.0, "targets": ["q_proj", "v_proj"]}
ALL: list[str] = ["game", "seat", "opponents"]
"""What matches of a tournament share: each deal is met once in each seat."""


def played(store: Path, *agents: str, pairs: int = 8, game: str = "matrix_rps", **rules: Any) -> Path:
    """An ordinary tournament in a store: the first agent meets all others."""
    how = {"games": [game], "agents": list(agents), "format": "gauntlet", "pairs": pairs, "workers": 1, **rules}
    outcome = tournament.run(plan(checked(how)), Store(store), lambda standing, notices: None)
    assert outcome.finished == outcome.total > 0
    return store


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of four updates with a checkpoint of each."""
    place = tmp_path_factory.mktemp("first") / "run"
    trained(config(place, optimise={"updates": 4}, save={"every": 1, "keep": 9}))
    return place


# A store


def llm(model: Path) -> str:
    return f"llm(model={model},dtype=float32,{','.join([f'{key}={value}' for key, value in BRIEF.items()])})"


def test_a_run_learns_from_matches_of_a_store_alone(first: Path, tmp_path: Path) -> None:
    store = played(tmp_path / "old.duckdb", f"model={llm(first / 'base')}", ROCK, pairs=20)
    samples = {"store": str(store), "agents": ["model"], "rows": 10, "key": ALL}
    learner = {"model": str(first / "base"), **BRIEF}
    told: list[str] = []
    given = config(
        tmp_path / "run", samples=samples, opponents=[], optimise={"updates": 99, "minibatches": 2}, learner=learner
    )
    outcome = trained(given, say=told.append)
    assert told[0] == f"{store}: 40 matches, 40 decisions, 40 to learn from"
    assert (outcome.update, outcome.updates) == (4, 4)
    assert [(line["learned"], line["decisions"]) for line in updates(tmp_path / "run")] == [(10, 10)] * 4
    assert not same(weights(outcome.checkpoint), weights(first / "base"))
    given = TrainConfig(**{**given.__dict__, "out": str(tmp_path / "parts")})
    assert stopped_after(2, given).update == 2
    assert same(weights(trained(given).checkpoint), weights(outcome.checkpoint))
    assert lines(tmp_path / "parts") == lines(tmp_path / "run")


def test_samples_of_versions_that_lie_too_far_back_are_left_out_and_counted(first: Path, tmp_path: Path) -> None:
    agents = [f"pupil@{number}=checkpoint(path={first / f'checkpoint-{number}'})" for number in (1, 3, 4)]
    store = played(tmp_path / "old.duckdb", ROCK, *agents, pairs=10)
    samples = {"store": str(store), "agents": [agent.partition("=")[0] for agent in agents], "rows": 20, "key": ALL}
    for staleness, stale in ((0, 40), (1, 20), (2, 20), (3, 0)):
        place = tmp_path / f"run{staleness}"
        told: list[str] = []
        trained(
            config(
                place, checkpoint=first / "checkpoint-4", samples={**samples, "staleness": staleness}, opponents=[],
                credit={"drop_level_groups": False},
            ),
            say=told.append,
        )  # fmt: skip
        found = updates(place)
        assert found[0].get("left_out/stale", 0) == stale
        assert sum([line["learned"] for line in found]) == 60 - stale
        assert sum([line["decisions"] for line in found]) == 60
        assert told[0].endswith(f"{60 - stale} to learn from" + (f"; left out: {stale} stale" if stale else ""))


def test_samples_that_cannot_be_trained_on_are_told_before_any_is(first: Path, tmp_path: Path) -> None:
    kuhn = config(tmp_path / "kuhn", game="kuhn_poker", opponents=[{"agent": "random"}], optimise={"updates": 1})
    trained(kuhn)
    store = played(tmp_path / "s.duckdb", f"other={llm(tmp_path / 'kuhn' / 'base')}", ROCK, on_fault="fallback")
    played(store, f"warm={llm(first / 'base').replace('dtype', 'temperature=0.5,dtype')}", ROCK)

    def told(agent: str) -> str:
        how = {"store": str(store), "agents": [agent], "key": ALL}
        with pytest.raises(UserError) as caught:
            trained(config(tmp_path / agent, checkpoint=first / "checkpoint-4", samples=how, opponents=[]))
        assert not (tmp_path / agent).exists()
        return str(caught.value)

    assert "is of another tokenizer than the learner's" in told("other")
    assert "it was sampled with temperature 0.5, and 1.0 is trained with" in told("warm")
    assert told("nobody") == f"store {store}: no match of nobody in matrix_rps"
    assert told("rock").partition("left out: ")[2].endswith(" no model's answer")


# Copies


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a teacher's matches, who works out whom of three it meets."""
    place = tmp_path_factory.mktemp("taught") / "old.duckdb"
    teacher = f"teacher=posterior(pool=[{','.join(FAVOURITES)}])"
    return played(place, teacher, *FAVOURITES, pairs=30, episodes=3)


def test_a_copy_plays_as_its_teacher_and_the_run_goes_on_from_it(taught: Path, tmp_path: Path) -> None:
    store, notices = Store(tmp_path / "s.duckdb"), list[str]()
    how: dict[str, Any] = {
        "match": {"episodes": 3}, "opponents": [{"agent": FAVOURITES[0]}],
        "learner": {"model": "tiny(layers=1,hidden=32)"},
        "warm_start": {"store": str(taught), "agents": ["teacher"], "epochs": 15.0, "learning_rate": 1e-2},
        "optimise": {"updates": 2},
    }  # fmt: skip
    given = config(tmp_path / "run", **how)
    stopped_after(1, given, store)
    outcome = trained(given, store, say=notices.append)
    records = records_of(str(taught), "matrix_rps", ["teacher"])
    answers = right = faults = 0
    for favourite, best in zip(FAVOURITES, ("paper", "scissors", "rock"), strict=True):
        for seed in range(12):
            agents = (f"checkpoint(path={tmp_path / 'run' / 'warm'})", favourite)
            result = play_here(match_of("matrix_rps", *agents, seed=seed, episodes=3))
            faults += sum([episode.offender is not None for episode in result.episodes])
            answers += len(result.episodes)
            right += result.episodes[-1].actions[:1] == [best]
    assert faults <= 0.05 * answers
    teacher = [record.episodes[-1].actions[0] for record in records if record.match.agents[0] == "teacher"]
    assert len(set(teacher)) == 3
    assert right >= 0.75 * 36, "it saw two throws of theirs"
    rows = kept.checkpoints(store)
    assert [(row.step, row.agent) for row in rows] == [(0, "pupil@0"), (1, "pupil@1"), (2, "pupil@2")]
    assert [row.parent for row in rows] == [None, rows[0].digest, rows[0].digest]
    assert rows[0].metrics["loss"] is not None
    assert [row.agent for row in kept.lineage(store, rows[2].digest)] == ["pupil@2", "pupil@0"]
    assert not same(weights(outcome.checkpoint), weights(tmp_path / "run" / "warm"))
    assert not [line for line in notices if "copied" in line], "what was copied is not copied again"


def test_a_copy_that_is_stopped_begins_anew(taught: Path, tmp_path: Path) -> None:
    how: dict[str, Any] = {
        "match": {"episodes": 3}, "opponents": [{"agent": FAVOURITES[0]}],
        "learner": {"model": "tiny(layers=1,hidden=32)"}, "optimise": {"updates": 1},
        "warm_start": {"store": str(taught), "agents": ["teacher"], "epochs": 2.0},
    }  # fmt: skip
    given, stop, said = config(tmp_path / "run", **how), Event(), list[str]()

    def say(line: str) -> None:
        said.append(line)
        if line.startswith("copying: step"):
            stop.set()

    outcome = trained(given, stop=stop, say=say)
    assert (outcome.update, outcome.stopped, outcome.checkpoint) == (0, True, None)
    assert len(said) == 2, "it ends with the step at hand"
    whole = trained(given, say=said.append)
    assert whole.update == 1
    assert len([line for line in said[2:] if line.startswith("copying: step")]) == 10
    assert same(weights(whole.checkpoint), weights(trained(config(tmp_path / "other", **how)).checkpoint))


def test_a_run_may_copy_alone_and_looks_at_what_came_of_it(taught: Path, tmp_path: Path) -> None:
    warm = {"store": str(taught), "agents": ["teacher"], "epochs": 1.0}
    outcome = trained(config(tmp_path, match={"episodes": 3}, warm_start=warm, optimise={"updates": 0}))
    assert (outcome.update, outcome.stopped, outcome.checkpoint) == (0, False, tmp_path / "warm")
    assert [(line["kind"], line["update"]) for line in lines(tmp_path)] == [("evaluation", 0)]
    assert marked.read(str(tmp_path / "warm"))[1].name == "pupil@0"


def test_a_run_from_a_checkpoint_is_its_child(first: Path, tmp_path: Path) -> None:
    store = Store(tmp_path / "s.duckdb")
    begun = config(tmp_path / "run", checkpoint=first / "checkpoint-2", name="child", optimise={"updates": 1})
    outcome = trained(begun, store)
    assert outcome.checkpoint is not None
    mark = marked.read(str(outcome.checkpoint))[1]
    assert mark.parent == marked.read(str(first / "checkpoint-2"))[1].digest
    assert mark.manners == marked.read(str(first / "checkpoint-2"))[1].manners
    assert not (tmp_path / "run" / "base").exists()


# Adapters


def test_only_the_adapters_are_trained_and_they_play(tmp_path: Path) -> None:
    given = config(tmp_path / "run", lora=LORA, optimise={"updates": 3}, save={"every": 1})
    base = dict[str, Any]()

    def tell(reached: Any) -> None:
        base.update(weights(tmp_path / "run" / "base")) if not base else None

    outcome = trained(given, tell=tell)
    place = outcome.checkpoint
    assert place is not None
    assert {file.name for file in place.iterdir()} >= {"adapter_config.json", "adapter_model.safetensors"}
    assert not (place / "model.safetensors").exists()
    found = weights(place)
    assert all([".lora_A." in key or ".lora_B." in key for key in found])
    assert any([".lora_B." in key and bool(part.any()) for key, part in found.items()])
    assert same(weights(tmp_path / "run" / "base"), base)
    mark = marked.read(str(place))[1]
    assert mark.base == str(tmp_path / "run" / "base")
    result = play_here(match_of("matrix_rps", f"checkpoint(path={place})", "random", episodes=3))
    (said, *_) = [said for record in result.episodes for note in record.notes for said in note.generations]
    assert said.prompt_ids is not None
    assert said.completion_ids is not None
    model = PeftModel.from_pretrained(fresh_model(mark.base), place)
    assert list(said.logprobs or []) == pytest.approx(by_forward(model, said.prompt_ids, said.completion_ids), abs=1e-4)
    parts = TrainConfig(**{**given.__dict__, "out": str(tmp_path / "parts")})
    stopped_after(2, parts)
    assert same(weights(trained(parts).checkpoint), found)
    moved = (tmp_path / "run").rename(tmp_path / "moved") / place.name
    again = play_here(match_of("matrix_rps", f"checkpoint(path={moved})", "random", episodes=3))
    assert [record.actions for record in again.episodes] == [record.actions for record in result.episodes]
    assert trained(TrainConfig(**{**given.__dict__, "out": str(tmp_path / "moved")})).checkpoint == moved


# What the distance is measured to


def references(given: TrainConfig) -> list[tuple[Sequence[int], Sequence[int], Sequence[float]]]:
    """Prompt, answer and the reference's log-probabilities of each sample of a run."""
    found: list[tuple[Sequence[int], Sequence[int], Sequence[float]]] = []
    real = MetaGRPOTrainer._reference

    def watched(self: MetaGRPOTrainer, own: Any) -> Any:
        logps = real(self, own)
        for row in range(len(own.prompt_ids_BP)):
            asked, said = own.prompt_mask_BP[row].bool(), own.completion_mask_BT[row].bool()
            if bool(said.any()):
                prompt, answer = own.prompt_ids_BP[row][asked], own.completion_ids_BT[row][said]
                found.append((prompt.tolist(), answer.tolist(), logps[row][said].tolist()))
        return logps

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MetaGRPOTrainer, "_reference", watched)
        trained(given)
    assert len(found) > 4
    return found


@pytest.fixture(scope="module")
def adapter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of adapters that have learned something."""
    place = tmp_path_factory.mktemp("adapter") / "run"
    trained(config(place, lora=LORA, optimise={"updates": 3, "learning_rate": 0.1}, groups={"count": 6}))
    return place


@pytest.mark.parametrize("reference", ["base", "parent"])
@pytest.mark.parametrize("begins", ["nothing", "copy", "checkpoint", "adapter"])
def test_the_distance_is_measured_to_what_was_named(
    first: Path, adapter: Path, taught: Path, tmp_path: Path, begins: str, reference: str
) -> None:
    how: Mapping[str, Any] = {"optimise": {"updates": 2, "kl": 0.1, "reference": reference}}
    changes: dict[str, Any] = {
        "nothing": {}, "checkpoint": {"checkpoint": first / "checkpoint-4"},
        "copy": {"match": {"episodes": 3}, "warm_start": {"store": str(taught), "agents": ["teacher"], "epochs": 1.0}},
        "adapter": {"checkpoint": adapter / "checkpoint-3", "lora": LORA},
    }[begins]  # fmt: skip
    if (begins, reference) in (("nothing", "parent"), ("checkpoint", "base")):
        with pytest.raises(ValueError, match="reference"):
            config(tmp_path, **changes, **how)
        return
    given = config(tmp_path, **changes, **how)
    found = references(given)
    place = {
        "nothing": tmp_path / "base", "checkpoint": first / "checkpoint-4", "adapter": adapter / "base",
        "copy": tmp_path / ("base" if reference == "base" else "warm"),
    }[begins]  # fmt: skip
    held = fresh_model(place)
    if (begins, reference) == ("adapter", "parent"):
        held = PeftModel.from_pretrained(held, adapter / "checkpoint-3")
    for prompt, answer, logps in found:
        assert logps == pytest.approx(by_forward(held, prompt, answer), abs=1e-4)
    if reference == "parent":
        assert updates(tmp_path)[0]["kl"] == pytest.approx(0, abs=1e-5)
    assert updates(tmp_path)[1]["kl"] > 0
