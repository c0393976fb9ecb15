"""Matches that wait: many at a time on one event loop, beside the classical ones, which they leave as they are."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from agents.models.limits import BudgetError, ModelLimits
from agents.models.pool import Models
from agents.registry import recipe
from arena import dealer, runner
from arena import table as tables
from arena.match import Match
from arena.replay import replay
from arena.runner import Limits, Progress, run_matches
from arena.table import play_one
from games import registry
from games.errors import RunError, UserError
from games.game import Termination
from tests.play import QUICK, Came, collected, match_of, play_here, rows_of, run_all
from tests.tiny_model import tiny_folder

pytestmark = pytest.mark.usefixtures("waiting_agents", "troublemakers")

GAME = "tic_tac_toe"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny model."""
    pytest.importorskip("transformers")
    return tiny_folder(tmp_path_factory.mktemp("models") / "tiny")


def lines_of(came: Came, prefix: str) -> dict[str, list[str]]:
    """The rows, in which nothing depends on who played when, of the matches whose key begins so."""
    return {
        table: sorted(repr(row) for row in rows if row["match_id"].startswith(prefix))
        for table, rows in came.rows.items()
        if table != "match_runs"
    }


def classical(count: int) -> list[Match]:
    kinds = [("kuhn_poker", "diary"), (GAME, "mcts(simulations=20)"), ("matrix_rps", "diary")]
    return [
        match_of(game, agent, "random", key=f"c{number}-{game}", seed=number, episodes=2, seats="rotate")
        for number in range(count)
        for game, agent in kinds
    ]


def waiting(count: int, *agents: str, game: str = GAME, **rules: object) -> list[Match]:
    return [match_of(game, *(agents or ("awaiting", "random")), key=f"w{k:04}", seed=k, **rules) for k in range(count)]


def each_once(came: Came, matches: list[Match]) -> bool:
    return came.ids() == {match.match_id: 1 for match in matches} and came.counted == len(matches)


# What comes out


def test_classical_matches_come_out_the_same_beside_language_matches_as_alone() -> None:
    alone = run_all(classical(20))
    mixed = [
        match
        for pair in zip(classical(20), waiting(60, "awaiting(words=true)", "random"), strict=True)
        for match in pair
    ]
    beside = run_all(mixed)
    assert each_once(beside, mixed)
    of_classical = lines_of(beside, "c")
    assert of_classical == {**{table: [] for table in of_classical}, **lines_of(alone, "c")}
    assert lines_of(beside, "w")["turns"]


@pytest.mark.parametrize("concurrent", [1, 3, 40])
def test_a_language_match_gives_the_rows_that_it_gives_alone_however_many_are_played_at_a_time(concurrent: int) -> None:
    matches = waiting(12, "awaiting(words=true,passes=3)", "awaiting", episodes=3, seats="rotate")
    came = run_all(matches, QUICK._replace(concurrent=concurrent))
    here: dict[str, list[str]] = {}
    for match in matches:
        for table, rows in rows_of(play_here(match)).items():
            here.setdefault(table, []).extend(map(repr, rows))
    assert came.comparable() == {table: sorted(rows) for table, rows in here.items()}
    assert {"reflections", "turns", "episodes"} <= set(here)


def test_language_matches_replay_from_their_record() -> None:
    matches = waiting(6, "awaiting", "random", game="kuhn_poker", episodes=4)
    for row in run_all(matches).rows["episodes"]:
        *_, (turns, end) = replay(registry.make("kuhn_poker"), row["seed"], row["turn_seats"], row["actions"])
        assert turns == len(row["actions"])
        assert end.returns() == tuple(row["returns"])


def test_a_language_match_is_played_by_no_worker_and_starts_none() -> None:
    came = run_all(waiting(3))
    assert [(row["worker"], row["status"], row["attempt"]) for row in came.rows["match_runs"]] == [
        (None, "finished", 0)
    ] * 3


def test_both_seats_of_a_simultaneous_game_are_asked_before_either_answers() -> None:
    came = run_all([match_of("matrix_rps", "meeting", "meeting", key="m", episodes=3)])
    assert [row["termination"] for row in came.of("m", "episodes")] == ["finished"] * 3


def test_one_match_can_be_played_in_the_loop_that_runs() -> None:
    (match,) = waiting(1, "spending(tokens=3)", "mcts(simulations=5)")
    models = Models()
    result = asyncio.run(play_one(match, registry.make(GAME), [recipe(spec) for spec in match.specs], models))
    (record,) = result.episodes
    assert record.termination is Termination.FINISHED
    assert models.spending.tokens == 3 * record.turn_seats.count(0)


def test_agents_with_a_model_meet_searches_and_each_other(tiny: Path) -> None:
    """A real model of random weights, in this process; all that was played is legal, replays, and has its tokens."""
    free, scored = f"llm(model={tiny},dtype=float32,max_tokens=8)", f"llm(model={tiny},dtype=float32,choice=scored)"
    rules = {"episodes": 2, "on_fault": "fallback"}
    matches = [
        match_of(game, *agents, key=f"{number} {seed}", seed=seed, **rules)
        for seed in range(4)
        for number, (game, agents) in enumerate(
            [
                (GAME, (free, "mcts(simulations=10)")),
                ("kuhn_poker", (scored, "ismcts(simulations=10)")),
                ("matrix_rps", (free, scored)),
            ]
        )
    ]
    came = run_all(matches, QUICK._replace(hang_seconds=60))
    assert each_once(came, matches)
    games = {row["match_id"]: row["game"] for row in came.rows["matches"]}
    for row in came.rows["episodes"]:
        *_, (_, end) = replay(registry.make(games[row["match_id"]]), row["seed"], row["turn_seats"], row["actions"])
        assert end.returns() == tuple(row["returns"])
    assert all(row["prompt_ids"] for row in came.rows["generations"])
    assert {row["faults"][0] for row in came.rows["matches"] if row["match_id"].startswith("1")} == {0}


def test_a_model_that_cannot_be_had_ends_the_run_with_its_words(tmp_path: Path) -> None:
    nowhere = match_of(GAME, f"llm(model={tmp_path / 'nowhere'})", "random", key="m")
    came, words = collected_until([*waiting(3), nowhere], QUICK._replace(concurrent=1), UserError)
    assert "there is no such folder" in words
    assert each_once(came, waiting(3))
    assert [(row["status"], row["reason"]) for row in came.of("m", "match_runs")] == [("void", words)]


# What goes in


@pytest.mark.parametrize("first", ["classical", "language"])
def test_neither_kind_waits_for_the_other_when_many_of_one_come_first(first: str, tmp_path: Path) -> None:
    """Those that come last are played although none of the many that come first can end before."""
    gate = tmp_path / "gate"
    held = f"gated(file={gate})" if first == "classical" else f"awaiting_gate(file={gate})"
    many = [match_of("catch", held, key=f"m{k:04}", seed=k) for k in range(40)]
    last = waiting(5) if first == "classical" else classical(2)
    news, seen = [], set()
    for report in run_matches([*many, *last], QUICK._replace(hang_seconds=60)):
        news.append(report)
        if "matches" in report.tables:
            seen |= set(report.tables["matches"].column("match_id").to_pylist())
        if seen >= {match.match_id for match in last} and not gate.exists():
            assert not [key for key in seen if key.startswith("m")]
            gate.touch()
    assert each_once(collected(news), [*many, *last])


def test_matches_are_read_only_as_fast_as_they_are_played(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "LANGUAGE_AHEAD", 30)
    drawn, finished, most = 0, 0, 0

    def source() -> Iterator[Match]:
        nonlocal drawn
        for match in waiting(300, "awaiting(passes=20)", "random"):
            drawn += 1
            yield match

    for report in run_matches(source(), QUICK._replace(concurrent=4)):
        finished += report.finished
        most = max(most, drawn - finished)
    assert finished == drawn == 300
    assert most < 150, "the 30 held, the 8 handed over, and what was finished since the last report"


@pytest.mark.parametrize("concurrent", [0, -3])
def test_no_table_at_all_is_refused(concurrent: int) -> None:
    with pytest.raises(UserError, match=rf"^concurrent = {concurrent}: "):
        run_all(waiting(1), Limits(concurrent=concurrent))


# Void attempts


def test_a_provider_that_is_down_makes_a_match_void_and_it_is_played_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dealer, "BACK_OFF_SECONDS", 0.02)
    down = match_of(GAME, f"unserved(times=2,count={tmp_path / 'count'})", "random", key="down")
    came = run_all([down, *waiting(3)])
    assert [(row["attempt"], row["status"]) for row in came.of("down", "match_runs")] == [
        (0, "void"), (1, "void"), (2, "finished")
    ]  # fmt: skip
    assert "could not be served: the server is down" in came.of("down", "match_runs")[0]["reason"]
    assert came.of("down")[0]["faults"] == [0, 0]
    assert each_once(came, [down, *waiting(3)])


def test_a_match_waits_for_its_next_attempt_without_a_place_at_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one place and a long wait the others are played meanwhile; each wait is twice the one before."""
    waits: list[float] = []
    monkeypatch.setattr(dealer, "BACK_OFF_SECONDS", 0.4)
    down = match_of(GAME, f"unserved(times=2,count={tmp_path / 'count'})", "random", key="down")
    order: list[str] = []
    for report in run_matches([down, *waiting(20)], QUICK._replace(concurrent=1)):
        if "match_runs" in report.tables:
            rows = sorted(report.tables["match_runs"].to_pylist(), key=lambda row: row["started"])
            order += [row["match_id"] for row in rows]
            waits += [row["started"].timestamp() for row in rows if row["match_id"] == "down"]
    assert order[0] == order[-1] == "down"
    assert order.count("down") == 3
    assert waits[1] - waits[0] >= 0.4
    assert waits[2] - waits[1] >= 0.8


def test_a_provider_that_stays_down_leaves_its_match_unfinished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dealer, "BACK_OFF_SECONDS", 0.01)
    came = run_all([match_of(GAME, "random", f"unserved(times=99,count={tmp_path / 'count'})", key="m"), *waiting(3)])
    assert [row["status"] for row in came.of("m", "match_runs")] == ["void"] * 3
    assert [(match.match_id, "the server is down" in reason) for match, reason in came.unfinished] == [("m", True)]
    assert came.counted == 3


@pytest.mark.parametrize("at", ["new", "apply", "make"])
def test_a_game_that_fails_is_named_and_the_others_go_on(at: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dealer, "BACK_OFF_SECONDS", 0.01)
    game = f"plain(at={at},trouble=exception)"
    (broken,) = waiting(1)
    came = run_all([broken._replace(game=game, match_id="broken"), *waiting(3)])
    ((match, reason),) = came.unfinished
    assert match.match_id == "broken"
    assert f"game {game}" in reason
    assert came.counted == 3


def test_an_agent_that_cancels_its_own_match_makes_it_void(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dealer, "BACK_OFF_SECONDS", 0.01)
    came = run_all([match_of(GAME, "cancelling", "random", key="m"), *waiting(40)])
    assert [match.match_id for match, _ in came.unfinished] == ["m"]
    assert came.counted == 40


# Rulings


def test_exceptions_and_late_answers_of_agents_that_await_are_their_faults() -> None:
    raises = match_of(GAME, "refusing", "random", key="raises", episodes=2)
    late = match_of(GAME, "random", "lingering(seconds=60)", key="late", seconds_per_action=0.05)
    came = run_all([raises, late])
    assert [row["termination"] for row in came.of("raises", "episodes")] == ["crashed", "forfeited"]
    assert [(row["termination"], row["offender"]) for row in came.of("late", "episodes")] == [("too_slow", 1)]


def test_waiting_is_no_hang() -> None:
    came = run_all([match_of("catch", "lingering(seconds=0.3)", key="m")], QUICK._replace(hang_seconds=0.1))
    assert [row["termination"] for row in came.of("m", "episodes")] == ["finished"]
    assert not came.notices


# How it ends


def collected_until(matches: list[Match], limits: Limits, error: type[Exception]) -> tuple[Came, str]:
    """What a run reports before it ends with an error, and the error's words."""
    news: list[Progress] = []
    with pytest.raises(error) as raised:
        news.extend(run_matches(matches, limits))
    return collected(news), str(raised.value)


def test_a_budget_that_is_spent_ends_the_run_with_all_that_was_finished(tmp_path: Path) -> None:
    limits = QUICK._replace(concurrent=2, model_limits=ModelLimits(budget_tokens=500))
    endless = match_of(GAME, f"endless(flag={tmp_path / 'flag'})", "random", key="endless")
    came, words = collected_until(
        [endless, *waiting(200, "spending(tokens=10)", "random"), *classical(5)], limits, BudgetError
    )
    assert words == "budget_tokens = 500 is spent"
    assert 0 < came.counted < 205
    assert came.counted == len(came.rows["matches"])
    assert not [row for row in came.rows["match_runs"] if row["status"] == "void"], "a stop voids nothing"
    more = QUICK._replace(model_limits=ModelLimits(budget_tokens=100_000))
    rest = [match for match in waiting(200, "spending(tokens=10)", "random") if match.match_id not in came.ids()]
    assert each_once(run_all(rest, more), rest)


def test_a_run_that_is_stopped_drops_what_waits_and_reports_what_is_finished(tmp_path: Path) -> None:
    stop, flag = Event(), tmp_path / "flag"
    news = []
    for report in run_matches([match_of(GAME, f"endless(flag={flag})", "random", key="m"), *waiting(5)], QUICK, stop):
        news.append(report)
        if flag.exists() and sum(told.finished for told in news) == 5:
            stop.set()
    came = collected(news)
    assert each_once(came, waiting(5))
    assert not came.of("m", "match_runs")


def test_an_agent_that_does_not_let_itself_be_cancelled_does_not_keep_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dealer, "STOP_SECONDS", 0.1)
    monkeypatch.setattr(tables, "STOP_SECONDS", 0.2)
    flag = tmp_path / "flag"
    reports = run_matches([match_of(GAME, f"endless(flag={flag},stubborn=true)", "random")], QUICK)
    while not flag.exists():
        next(reports)
    reports.close()  # type: ignore[attr-defined]


def test_an_agent_that_holds_up_the_event_loop_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "STILL_SECONDS", 0.6)
    monkeypatch.setattr(tables, "STOP_SECONDS", 0.2)
    with pytest.raises(RunError, match=r"the event loop has stood still for 0\.8 s"):
        run_all([match_of(GAME, "computing(seconds=4)", "random")])


def test_an_error_of_our_own_ends_the_run_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise LookupError("a mistake")

    monkeypatch.setattr(dealer, "play_match", broken)
    came, words = collected_until([*waiting(50), *classical(1)], QUICK, LookupError)
    assert words == "a mistake"
    assert came.counted <= 3


def test_a_source_that_fails_ends_the_run_with_its_error() -> None:
    def source() -> Iterator[Match]:
        yield from waiting(3)
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        run_all(source())
