"""Imitation: lessons show what a language agent would have been shown, and teach what was played and nothing else."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl", reason="the extra train is not installed")

import torch
from peft import LoraConfig
from transformers import AutoTokenizer

from agents.agent import Agent, Decision
from agents.models import folder as folders_of_models
from agents.models.pool import Models
from agents.models.weights import Weights
from agents.registry import Recipe, recipe
from arena.record import utc_now
from arena.table import play_one
from games import registry
from games.errors import RunError, UserError
from games.game import Observation
from league.single import keep, register
from league.store import queries
from league.store.rows import MatchRecord
from league.store.store import Store
from tests.local_models import fresh_model
from tests.play import match_of, play_here
from tests.test_decisions import Resigner, Sayer
from training.decisions import decided
from training.imitation import Lesson, Lessons, lessons
from training.remembered import record_of
from training.supervised import Course, supervised


class Crasher(Agent):
    """Breaks down at its third decision."""

    _count = 0

    async def act(self, observation: Observation) -> Decision:
        self._count += 1
        if self._count == 3:
            raise RuntimeError("broken")
        return Decision(observation.legal_actions[0])


@pytest.fixture(scope="session")
def weights(folders: Path) -> Weights:
    """The tiny model."""
    return Weights.of(str(folders / "m"), folders_of_models.model_folder(str(folders / "m")), "float32")


def llm(weights: Weights, **params: str | int) -> str:
    """The agent string of the tiny model's agent, held to what is legal; its history is told unless said otherwise."""
    given = {"choice": "constrained", "memory": "history", **params}
    return f"llm(model={weights.name},dtype=float32,{','.join([f'{key}={value}' for key, value in given.items()])})"


def recorded(game: str, *agents: str | type[Agent], key: str = "m", seed: int = 7, **rules: Any) -> MatchRecord:
    """The record of a match, played here; a class plays as it is."""
    specs = [agent if isinstance(agent, str) else "random" for agent in agents]
    match = match_of(game, *specs, key=key, seed=seed, **rules)
    recipes = [
        recipe(agent) if isinstance(agent, str) else Recipe(name, "random", agent, {})
        for agent, name in zip(agents, match.names, strict=True)
    ]

    async def play() -> MatchRecord:
        return record_of(await play_one(match, registry.make(game), recipes, Models(threads=lambda: 1)))

    return asyncio.run(play())


def learned(weights: Weights, records: Sequence[MatchRecord], *who: str, pupil: str = "", **more: Any) -> Lessons:
    """The lessons of some agents for a pupil."""
    params = recipe(pupil or llm(weights)).params
    return lessons(records, who, params, weights.chat, weights.vocabulary, context=weights.context, **more)


def first_of(record: MatchRecord) -> str:
    """The name of the agent that was seated first."""
    return record.match.agents[0]


def shown(record: MatchRecord) -> dict[tuple[int, int | None, int], list[int]]:
    """What the tiny model was really asked in a match, by episode, turn and seat."""
    rows = [row for row in record.generations if row.said.model != "scripted"]
    return {(row.episode, row.turn, row.seat): list(row.said.prompt_ids or ()) for row in rows}


def prompts(found: Lessons) -> dict[tuple[int, int | None, int], list[int]]:
    return {(one.episode, one.turn, one.seat): list(one.prompt_ids) for one in found.found}


def changed(record: MatchRecord, episode: int, **fields: Any) -> MatchRecord:
    """The same match with one episode told otherwise."""
    rows = [row._replace(**fields) if row.episode == episode else row for row in record.episodes]
    return record._replace(episodes=rows)


# What a pupil is shown


@pytest.mark.parametrize("seats", ["fixed", "rotate"])
@pytest.mark.parametrize("deals", ["fresh", "same"])
@pytest.mark.parametrize("game", ["matrix_rps", "kuhn_poker", "tic_tac_toe"])
def test_prompts_are_those_of_the_agent_that_sat_there(weights: Weights, game: str, deals: str, seats: str) -> None:
    record = recorded(game, llm(weights), "random", episodes=3, deals=deals, seats=seats)
    found = learned(weights, [record], first_of(record))
    assert prompts(found) == shown(record)
    assert not found.left_out


@pytest.mark.parametrize(
    "params",
    [
        {"memory": "none"},
        {"choice": "scored"},
        {"legal": "hidden", "turns": 1, "episodes": 1},
        {"context": 1500},
        {"choice": "scored", "context": 1500},
    ],
)
def test_prompts_follow_the_pupils_parameters(weights: Weights, params: Mapping[str, str | int]) -> None:
    spec = llm(weights, **params)
    record = recorded("tic_tac_toe" if "context" in params else "kuhn_poker", spec, "random", episodes=3)
    assert prompts(learned(weights, [record], first_of(record), pupil=spec)) == shown(record)
    if "context" in params:
        assert any([row.said.notes.get("dropped") for row in record.generations]), "memory was too long for the model"


@pytest.mark.parametrize(
    ("game", "rules"), [("kuhn_poker", {"on_fault": "fallback"}), ("kuhn_poker", {}), ("tic_tac_toe", {"max_turns": 4})]
)
@pytest.mark.parametrize("other", [Resigner, Crasher, Sayer])
def test_faults_of_others_and_cut_episodes_are_remembered_as_they_were(
    weights: Weights, game: str, rules: Mapping[str, Any], other: type[Agent]
) -> None:
    record = recorded(game, llm(weights), other, episodes=4, seats="rotate", **rules)
    found = learned(weights, [record], first_of(record))
    assert prompts(found) == shown(record)
    assert not found.left_out


@pytest.mark.parametrize("place", [0, 1])
def test_a_fault_of_another_who_moved_at_the_same_time_is_remembered(weights: Weights, place: int) -> None:
    agents: list[str | type[Agent]] = [Resigner]
    agents.insert(place, llm(weights))
    record = recorded("matrix_rps", *agents, episodes=4)
    found = learned(weights, [record], record.match.agents[place])
    assert prompts(found) == shown(record)
    assert not found.left_out


def test_a_match_is_left_out_where_a_fault_of_another_hid_what_was_played(weights: Weights) -> None:
    """Moves are made at once: what the first seat chose when the second gave up, no record tells."""
    record = recorded("matrix_rps", "random", Resigner, episodes=4)
    assert learned(weights, [record], first_of(record)) == Lessons([], {"fault": 2})
    record = recorded("matrix_rps", Resigner, "random", episodes=4)
    assert len(learned(weights, [record], record.match.agents[1]).found) == 2, "the second was not asked"


def test_a_match_that_stopped_at_a_win_is_told_to_be_as_long_as_planned(weights: Weights) -> None:
    record = next(
        record
        for seed in range(20)
        if len((record := recorded("kuhn_poker", llm(weights), "random", seed=seed, episodes=5, stop_on_win=True))[1])
        in (2, 3, 4)
    )
    assert prompts(learned(weights, [record], first_of(record), episodes=5)) == shown(record)
    assert prompts(learned(weights, [record], first_of(record))) != shown(record)


# What it is taught


def test_each_decision_of_the_imitated_is_a_lesson_that_ends_as_answers_end(weights: Weights) -> None:
    record = recorded("tic_tac_toe", "minimax", "heuristic", episodes=3, seats="rotate")
    found = learned(weights, [record], *record.match.agents)
    assert [(one.episode, one.turn, one.seat, one.action) for one in found.found] == [
        (row.episode, turn, seat, action)
        for row in record.episodes
        for turn, (seat, action) in enumerate(zip(row.turn_seats, row.actions, strict=True))
    ]
    for one in found.found:
        assert one.agent == record.episodes[one.episode - 1].seats[one.seat]
        assert one.match_id == record.match.match_id
        assert weights.chat.text(one.completion_ids) == f"<action>{one.action}</action>"
        assert one.completion_ids[-1] == weights.vocabulary.end
        assert weights.vocabulary.end not in one.completion_ids[:-1]


def test_only_those_who_are_imitated_teach_and_other_matches_are_passed_over(weights: Weights) -> None:
    records = [recorded("kuhn_poker", *pair, key=pair[0]) for pair in (("cfr", "random"), ("random", "random"))]
    found = learned(weights, records, "cfr#0")
    assert {(one.match_id, one.agent) for one in found.found} == {("cfr", "cfr#0")}


def test_lessons_of_a_task_are_those_of_its_only_seat(weights: Weights) -> None:
    record = recorded("minesweeper", "solver", episodes=2)
    found = learned(weights, [record], "solver#0")
    assert [one.action for one in found.found] == [action for row in record.episodes for action in row.actions]


def test_matches_of_a_store_teach_the_same(weights: Weights, tmp_path: Path) -> None:
    match = match_of("kuhn_poker", "cfr", "random", episodes=4, seats="rotate")
    result, store = play_here(match), Store(tmp_path / "arena.duckdb")
    register(store, match)
    keep(store, result, utc_now())
    stored = queries.match_record(store, match.match_id)
    found = learned(weights, [stored], "cfr#0")
    assert found == learned(weights, [record_of(result)], "cfr#0")
    assert found.found


# What is left out


@pytest.mark.parametrize("rules", [{}, {"on_fault": "fallback"}, {"on_fault": "retry(2)"}])
@pytest.mark.parametrize("agent", [Resigner, Sayer, Crasher])
def test_every_decision_is_a_lesson_or_is_counted(
    weights: Weights, agent: type[Agent], rules: Mapping[str, Any]
) -> None:
    record = recorded("kuhn_poker", agent, "random", episodes=4, seats="rotate", **rules)
    found = learned(weights, [record], first_of(record))
    met = [row.episode for row in record.episodes if row.termination != "forfeited"]
    made = [one for one in decided(record, 0) if not one.reflects and one.episode in met]
    assert len(found.found) + sum(found.left_out.values()) == len(made)
    assert found.left_out, "each of them commits a fault"
    wrong = {(one.episode, one.turn) for one in made if one.fault is not None and one.action is not None}
    assert not wrong & {(one.episode, one.turn) for one in found.found}
    if any([row.offender is not None for row in record.episodes]):
        assert found.left_out == {"fault": len(made)}
    else:
        assert found.left_out.get("fallback", 0) == len(wrong)


def test_a_match_of_other_deals_is_left_out(weights: Weights) -> None:
    record = recorded("kuhn_poker", "cfr", "random", episodes=3)
    count = sum([row.turn_seats.count(0) for row in record.episodes])
    other = record._replace(match=record.match._replace(seed=8))
    assert learned(weights, [other], "cfr#0") == Lessons([], {"other deals": count})


@pytest.mark.parametrize(
    "fields",
    [{"actions": ["r0c0"] * 9}, {"returns": [0.5, -0.5]}, {"termination": "max_turns"}, {"success": [True, True]}],
)
def test_a_match_that_does_not_come_out_as_recorded_is_left_out(weights: Weights, fields: Mapping[str, Any]) -> None:
    record = recorded("tic_tac_toe", "minimax", "heuristic", episodes=2)
    if "actions" in fields:
        fields = {"actions": fields["actions"][: len(record.episodes[1].actions)]}
    found = learned(weights, [changed(record, 2, **fields)], "minimax#0")
    assert not found.found
    assert found.left_out == {"does not follow": sum([row.turn_seats.count(0) for row in record.episodes])}


def test_an_episode_that_is_missing_or_goes_on_is_noticed(weights: Weights) -> None:
    record = recorded("tic_tac_toe", "minimax", "heuristic", episodes=2)
    row = record.episodes[1]
    for kept in (2, len(row.actions) - 1):
        short = changed(record, 2, actions=row.actions[:kept], turn_seats=row.turn_seats[:kept])
        assert set(learned(weights, [short], "minimax#0").left_out) == {"does not follow"}


@pytest.mark.parametrize(
    ("who", "pupil", "words"),
    [
        ("cfr#0", {"memory": "reflection"}, "memory=reflection: whoever is imitated left no reflections"),
        ("cfr#0", {"memory": "both"}, "memory=both: whoever is imitated left no reflections"),
        ("cfs#0", {}, "no match of agent 'cfs#0' among 1; .*cfr#0"),
        ("cfr#0", {"context": 64}, "context=64 leaves no room"),
        ("cfr#0", {"templates": "nowhere"}, "templates=nowhere: no such folder"),
    ],
)
def test_what_cannot_be_imitated_is_said(weights: Weights, who: str, pupil: Mapping[str, Any], words: str) -> None:
    record = recorded("kuhn_poker", "cfr", "random")
    with pytest.raises(UserError, match=words):
        learned(weights, [record], who, pupil=llm(weights, **pupil))


# Training


def lesson(prompt: Sequence[int], answer: Sequence[int]) -> Lesson:
    return Lesson(prompt, answer, "m", 1, 0, 0, "a", "pass")


TAUGHT = [
    lesson([5, 6, 7], [8, 9, 2]),
    lesson([5] * 9, [10, 2]),
    lesson([7, 7, 9, 9, 0, 5], [11, 12, 13, 14, 2]),
    lesson([6], [2]),
]


def by_hand(model: Any, taught: Sequence[Lesson]) -> float:
    """The mean cross-entropy of the tokens of answers, each lesson computed for itself."""
    losses = []
    for one in taught:
        with torch.no_grad():
            logits = model(torch.tensor([[*one.prompt_ids, *one.completion_ids]])).logits[0].float()
        answers = logits[len(one.prompt_ids) - 1 : -1]
        losses.append(torch.nn.functional.cross_entropy(answers, torch.tensor(one.completion_ids), reduction="none"))
    return float(torch.cat(losses).mean())


def trained(base: Path, out: Path, taught: Sequence[Lesson], peft: Any = None, **course: Any) -> list[dict[str, float]]:
    """Train the tiny model on the CPU."""
    given = Course(**{"cpu": True, "learning_rate": 1e-2, "rows": 4, **course})
    return supervised(fresh_model(base), AutoTokenizer.from_pretrained(base), taught, out, given, peft)


@pytest.mark.parametrize("shape", [{"rows": 4}, {"rows": 2, "accumulate": 2}, {"rows": 1, "accumulate": 4}])
def test_the_loss_is_the_cross_entropy_of_the_answers_alone(
    folders: Path, tmp_path: Path, shape: Mapping[str, int]
) -> None:
    log = trained(folders / "m", tmp_path, TAUGHT, max_steps=1, **shape)
    assert log[0]["loss"] == pytest.approx(by_hand(fresh_model(folders / "m"), TAUGHT), abs=1e-5)


def test_the_order_is_drawn_from_the_seed(folders: Path, tmp_path: Path) -> None:
    def losses(seed: int) -> list[float]:
        return [entry["loss"] for entry in trained(folders / "m", tmp_path, TAUGHT, rows=1, seed=seed)[:-1]]

    first = losses(1)
    assert len(first) == len(TAUGHT), "one epoch"
    assert losses(1) == first
    assert any([losses(seed) != first for seed in (2, 3)])


def test_only_the_folder_is_written_and_nothing_is_said_on_stdout(
    folders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    trained(folders / "m", tmp_path / "out", TAUGHT, max_steps=2)
    assert not list((tmp_path / "here").iterdir())
    assert capsys.readouterr().out == ""
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {"config.json", "model.safetensors"}


def test_what_cannot_be_learned_is_refused(folders: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no lessons"):
        trained(folders / "m", tmp_path, [])
    with pytest.raises(UserError, match="match m, episode 1, turn 0: token 99999 is of another tokenizer"):
        trained(folders / "m", tmp_path, [lesson([5], [99999])])
    broken = fresh_model(folders / "m")
    broken.lm_head.weight.data.fill_(float("nan"))
    with pytest.raises(RunError, match="the loss of step 1 is nan"):
        supervised(broken, AutoTokenizer.from_pretrained(folders / "m"), TAUGHT, tmp_path, Course(cpu=True))


def test_an_adapter_is_trained_on_a_base_that_stays_as_it_was(folders: Path, tmp_path: Path) -> None:
    peft = LoraConfig(r=8, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM")
    log = trained(folders / "m", tmp_path, TAUGHT, peft, max_steps=60)
    base = by_hand(fresh_model(folders / "m"), TAUGHT)
    assert log[0]["loss"] == pytest.approx(base, abs=1e-5)
    assert log[-2]["loss"] < base / 10
    record = recorded("kuhn_poker", f"llm(model={folders / 'm'},dtype=float32,adapter={tmp_path})", "random")
    assert record.generations, "the agent takes it"


def test_a_pupil_that_has_learned_plays_the_match_as_the_one_it_imitates(weights: Weights, tmp_path: Path) -> None:
    """Freely, from its own likeliest tokens and its own memory of the match; short templates keep it quick."""
    (tmp_path / "texts").mkdir()
    for name, text in {"system": "$title", "turn": "$earlier\n\n$episode $sight", "direct": "?"}.items():
        (tmp_path / "texts" / f"{name}.txt").write_text(text, encoding="utf-8")
    manners = f"dtype=float32,temperature=0,memory=history,episodes=1,templates={tmp_path / 'texts'}"
    record = recorded("matrix_rps", "random", "random", episodes=4)
    taught = learned(weights, [record], first_of(record), pupil=f"llm(model={weights.name},{manners})").found
    assert len({one.action for one in taught}) > 1, "there is something to learn"
    trained(Path(weights.name), tmp_path / "out", taught, max_steps=20, learning_rate=1e-2)
    model = fresh_model(tmp_path / "out")
    for one in taught:
        with torch.no_grad():
            logits = model(torch.tensor([[*one.prompt_ids, *one.completion_ids]])).logits[0]
        assert logits[len(one.prompt_ids) - 1 : -1].argmax(-1).tolist() == list(one.completion_ids)
    again = recorded("matrix_rps", f"llm(model={tmp_path / 'out'},{manners})", "random", episodes=4)
    assert [row.actions for row in again.episodes] == [row.actions for row in record.episodes]
