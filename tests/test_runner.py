"""Many matches at once: each played exactly once, equal for any number of workers, whatever ends when."""

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Timer
from types import ModuleType

import psutil
import pytest

from arena.handle import Handle
from arena.match import Match
from arena.referee import OUTSIDE
from arena.runner import Limits, Progress, run_matches
from arena.worker import Job
from games.errors import RunError, UserError
from games.game import Termination
from tests.play import QUICK, Came, collected, match_of, play_here, rows_of, run_all

pytestmark = pytest.mark.usefixtures("troublemakers")

GAME = "tic_tac_toe"
ROOT = Path(__file__).parents[1]


def innocents(count: int, game: str = GAME, *agents: str, **rules: object) -> Iterator[Match]:
    for number in range(count):
        yield match_of(game, *(agents or ("random", "random")), key=f"{number:05}", seed=number, **rules)


def each_once(came: Came, count: int) -> bool:
    """Whether exactly these matches are there, each once, and were counted."""
    return came.ids() == {f"{number:05}": 1 for number in range(count)} and came.counted == count


# What comes out


def mixed() -> list[Match]:
    """Matches of many kinds, none of which depends on time."""
    kinds = [
        ("kuhn_poker", ("diary", "random"), {"episodes": 3, "seats": "rotate"}),
        ("leduc_poker", ("diary", "talker"), {"episodes": 2, "deals": "same"}),
        ("tic_tac_toe", ("answer(kind=illegal)", "random"), {"on_fault": "fallback"}),
        ("tic_tac_toe", ("random", "answer(kind=empty,bad=2)"), {"on_fault": "retry(1)", "episodes": 3}),
        ("tic_tac_toe", ("trouble(how=exception,at=reflect)", "diary"), {"episodes": 3}),
        ("kuhn_poker(players=3)", ("random", "diary", "first"), {"episodes": 3, "seats": "rotate"}),
        ("matrix_rps", ("random", "diary"), {"episodes": 5, "score_by": "last"}),
        ("goofspiel", ("random", "first"), {"stop_on_win": True, "episodes": 4}),
        ("catch", ("random",), {"episodes": 2, "max_turns": 4}),
    ]
    return [
        match_of(game, *agents, key=f"{kind} {seed}", seed=seed, **rules)
        for seed in range(12)
        for kind, (game, agents, rules) in enumerate(kinds)
    ]


def test_one_worker_two_workers_and_this_process_give_the_same_rows() -> None:
    matches = mixed()
    one = run_all(matches, QUICK._replace(workers=1))
    two = run_all(matches, QUICK._replace(workers=2))
    here: dict[str, list[str]] = {}
    for match in matches:
        for table, rows in rows_of(play_here(match)).items():
            here.setdefault(table, []).extend(map(repr, rows))
    assert one.comparable() == two.comparable() == {table: sorted(rows) for table, rows in here.items()}
    assert set(here) == {"matches", "episodes", "turns", "reflections"}


def test_no_matches_end_at_once_without_a_worker() -> None:
    before = psutil.Process().children(recursive=True)
    (report,) = run_matches([], QUICK)
    assert (report.finished, dict(report.tables), list(report.unfinished)) == (0, {}, [])
    assert psutil.Process().children(recursive=True) == before


def test_no_more_workers_start_than_there_are_matches() -> None:
    came = run_all(innocents(3), QUICK._replace(workers=50))
    assert each_once(came, 3)
    assert len({row["worker"] for row in came.rows["match_runs"]}) <= 3


@pytest.mark.parametrize(
    "limits", [{"workers": 0}, {"hang_seconds": 0}, {"memory_mb": -1}, {"hang_seconds": float("nan")}]
)
def test_limits_under_which_nothing_can_be_played_are_refused(limits: dict[str, float]) -> None:
    (name,) = limits
    with pytest.raises(UserError, match=f"^{name} = "):
        run_all(innocents(3), Limits(**limits))  # type: ignore[arg-type]


def test_runs_record_who_played_when() -> None:
    came = run_all(innocents(30))
    for row in came.rows["match_runs"]:
        assert (row["status"], row["attempt"], row["reason"]) == ("finished", 0, None)
        assert row["worker"] in (0, 1)
        assert row["seconds"] > 0
        assert row["started"].tzinfo is None


# What goes in


def test_matches_are_read_only_as_fast_as_they_are_played() -> None:
    drawn, finished, most = 0, 0, 0

    def source() -> Iterator[Match]:
        nonlocal drawn
        for match in innocents(400, GAME, "blocking(seconds=0.002)", "random"):
            drawn += 1
            yield match

    for report in run_matches(source(), QUICK):
        finished += report.finished
        most = max(most, drawn - finished)
    assert finished == drawn == 400
    assert most < 300


def test_a_source_that_fails_ends_the_run_with_its_error_and_no_process_stays() -> None:
    def source() -> Iterator[Match]:
        yield from innocents(3)
        raise LookupError("no more")

    before = len(workers_of(os.getpid()))
    with pytest.raises(LookupError, match="no more"):
        run_all(source())
    assert len(workers_of(os.getpid())) == before


LONG = "x" * 15_000


def test_matches_with_long_specs_do_not_choke_the_pipes() -> None:
    """Far more is given ahead than a socket takes, every spec written out anew."""
    specs = [f"quiet(padding={number:05}{LONG})" for number in range(1500)]
    matches = [match_of("kuhn_poker", "random", spec, key=f"{k:05}", seed=k) for k, spec in enumerate(specs)]
    assert len(pickle.dumps(matches[:1024])) > 10 << 20
    assert each_once(run_all(matches), 1500)


def test_a_worker_that_hangs_with_much_ahead_holds_up_nobody() -> None:
    """The pipe to the hung worker is full, and it reads no more."""
    matches = [
        match_of("kuhn_poker", "random", f"quiet(padding={k:05}{LONG})", key=f"{k:05}", seed=k) for k in range(900)
    ]
    for place in (300, 600):
        matches[place] = match_of("kuhn_poker", "random", "trouble(how=loop_in_c)", key=f"{place:05}")
    came = run_all(matches)
    assert each_once(came, 900)
    assert {row["match_id"] for row in came.rows["matches"] if row["faults"] != [0, 0]} == {"00300", "00600"}


def test_long_episodes_and_long_records_pass_through() -> None:
    """Results of tens of thousands of turns, far more than a pipe takes."""
    game = "plain(rounds=2500)"
    came = run_all([match_of(game, "talker", "random", key=f"{k:05}", seed=k, episodes=2) for k in range(6)])
    assert each_once(came, 6)
    assert {len(row["actions"]) for row in came.rows["episodes"]} == {5000}
    assert len(came.rows["turns"]) == 6 * 2 * 2500


def test_a_long_episode_that_dies_alone_is_told_turn_by_turn() -> None:
    agents = ("random", "trouble(how=exit,episode=2)")
    came = run_all([match_of("plain(rounds=2500)", *agents, key="m", episodes=2)])
    # the agent reflects once, and dies in its first act after that
    assert [len(row["actions"]) for row in came.of("m", "episodes")] == [5000, 1]
    assert [row["termination"] for row in came.of("m", "episodes")] == ["finished", "crashed"]


def test_slow_matches_that_were_given_ahead_by_mistake_are_shared() -> None:
    """Quick matches make a worker look quick; the slow ones that follow must not all wait for it."""
    matches = [*innocents(600), *(match_of("catch", "blocking(seconds=0.012)", key=f"{600 + k:05}") for k in range(40))]
    came = run_all(matches)
    assert each_once(came, 640)
    slow = [row["worker"] for row in came.rows["match_runs"] if row["match_id"] >= "00600"]
    assert {0, 1} == set(slow)


# How it ends


def workers_of(pid: int) -> list[psutil.Process]:
    """The worker processes of a run, whose parent is the fork server of that process."""
    try:
        children = psutil.Process(pid).children()
        servers = [child for child in children if "forkserver" in " ".join(child.cmdline())]
        return [worker for server in servers for worker in server.children()]
    except psutil.NoSuchProcess:
        return []


def test_a_run_that_is_stopped_reports_all_that_was_finished_and_nothing_twice() -> None:
    stop = Event()
    timer = Timer(0.6, stop.set)
    timer.start()
    came = run_all(innocents(10**9), QUICK, stop)
    timer.join()
    assert came.counted == len(came.rows["matches"]) > 0
    assert set(came.ids().values()) == {1}
    assert {row["match_id"] for row in came.rows["episodes"]} == set(came.ids())
    assert not workers_of(os.getpid())


def in_an_act(tmp_path: Path) -> tuple[Iterator[Progress], list[Progress]]:
    """A run in the middle of its only match, in the middle of an act: its reports to come, and those that came."""
    flag = tmp_path / "begun"
    match = match_of("catch", f"blocking(seconds=0.1,flag={flag})", key="m")
    reports = run_matches([match], QUICK._replace(workers=1))
    came = [next(reports)]
    while not flag.exists():
        came.append(next(reports))
    return reports, came


def test_the_match_in_hand_is_finished_when_a_run_is_stopped(tmp_path: Path) -> None:
    stop, flag = Event(), tmp_path / "begun"
    agent = f"blocking(seconds=0.05,flag={flag})"
    matches = [match_of("catch", agent, key=f"{k}") for k in range(50)]
    came = []
    for report in run_matches(matches, QUICK._replace(workers=1), stop):
        came.append(report)
        if flag.exists():
            stop.set()
    assert 0 < collected(came).counted < 50
    assert set(collected(came).ids().values()) == {1}


def test_a_run_that_is_stopped_does_not_wait_for_an_agent_that_hangs() -> None:
    stop = Event()
    matches = [match_of(GAME, "trouble(how=loop_in_c)", "random", key="hangs"), *innocents(5)]
    reports = run_matches(matches, Limits(workers=2, hang_seconds=60), stop)
    came = []
    for report in reports:
        came.append(report)
        if sum(news.finished for news in came) == 5:
            stop.set()
    assert each_once(collected(came), 5)
    assert not workers_of(os.getpid())


def test_a_run_that_is_stopped_before_it_began_plays_nothing() -> None:
    stop = Event()
    stop.set()
    drawn = list(run_matches(iter(()), QUICK, stop))
    assert [report.finished for report in drawn] == [0]


def test_a_run_that_nobody_reads_any_more_leaves_no_process() -> None:
    reports = run_matches(innocents(10**9), QUICK)
    next(reports)
    assert workers_of(os.getpid())
    reports.close()  # type: ignore[attr-defined]
    assert not workers_of(os.getpid())


def test_a_reader_that_is_away_for_longer_than_the_hang_limit_costs_nobody_a_match() -> None:
    limits = QUICK._replace(hang_seconds=2.0)
    reports = run_matches(innocents(4000), limits)
    news = [next(reports)]
    time.sleep(4)
    news += reports
    came = collected(news)
    assert each_once(came, 4000)
    assert not came.notices


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_worker_that_somebody_kills_costs_no_match_and_blames_nobody(number: signal.Signals) -> None:
    killed, count, news = 0, 0, []

    def source() -> Iterator[Match]:
        nonlocal count
        for match in innocents(10**9):
            if killed >= 3 and count % 500 == 0:
                return
            count += 1
            yield match

    for report in run_matches(source(), QUICK):
        news.append(report)
        if killed < 3 and report.finished and (workers := workers_of(os.getpid())):
            workers[0].send_signal(number)
            killed += 1
    came = collected(news)
    assert each_once(came, count)
    assert {tuple(row["faults"]) for row in came.rows["matches"]} == {(0, 0)}
    assert not came.unfinished


def test_a_worker_killed_in_the_middle_of_an_act_leaves_a_void_attempt_and_the_match_is_played(tmp_path: Path) -> None:
    reports, news = in_an_act(tmp_path)
    (worker,) = workers_of(os.getpid())
    worker.kill()
    came = collected([*news, *reports])
    assert [row["status"] for row in came.of("m", "match_runs")] == ["void", "finished"]
    assert came.of("m")[0]["faults"] == [0]
    assert "signal 9" in came.of("m", "match_runs")[0]["reason"]


def test_a_stopped_worker_is_a_hung_one_and_its_matches_are_played_elsewhere() -> None:
    news = []
    for report in run_matches(innocents(2000), QUICK._replace(hang_seconds=0.5)):
        news.append(report)
        if len(news) == 1:
            workers_of(os.getpid())[0].suspend()
    came = collected(news)
    assert each_once(came, 2000)
    assert {tuple(row["faults"]) for row in came.rows["matches"]} == {(0, 0)}


def test_a_worker_is_not_found_hung_by_a_parent_that_was_away() -> None:
    """Nor by a machine that slept: a watch that stood still between two looks may have moved in no time."""
    handle = Handle(0)
    try:
        handle.give([Job(match_of("kuhn_poker", "random", "trouble(how=loop_in_c)"))])
        while handle._read().acting == OUTSIDE:
            time.sleep(0.01)
        found = []
        for _ in range(8):
            time.sleep(0.3)
            found.append(handle.trouble(0.2, 400 << 20))
    finally:
        handle.kill()
        handle.end()
    assert found[:4] == [None] * 4
    assert found[-1] is Termination.HUNG


def test_a_worker_stopped_in_the_middle_of_a_message_holds_up_nobody() -> None:
    """The results of one match are more than a socket takes, so that they wait half sent while nobody reads."""
    agents = (f"talker(raw={'y' * 4000})", "random")
    matches = [match_of("plain(rounds=250)", *agents, key=f"{k:05}", seed=k) for k in range(60)]
    news = []
    for report in run_matches(matches, QUICK):
        news.append(report)
        if len(news) == 1:
            time.sleep(1)
            workers = workers_of(os.getpid())
            assert workers
            for worker in workers:
                worker.suspend()
    assert each_once(collected(news), 60)


def test_when_the_fork_server_dies_the_run_goes_on_with_a_new_one() -> None:
    news = []
    for report in run_matches(innocents(2000), QUICK):
        news.append(report)
        if len(news) == 1:
            workers_of(os.getpid())[0].parent().kill()  # type: ignore[union-attr]
    assert each_once(collected(news), 2000)


SCRIPT = """
import sys
from arena.runner import Limits, Progress, run_matches
from tests.play import match_of

if __name__ == "__main__":
    agents, count = sys.argv[1].split(), int(sys.argv[2])
    matches = (match_of("tic_tac_toe", *agents, key=str(k), seed=k) for k in range(count))
    for report in run_matches(matches, Limits(workers=2, hang_seconds=300)):
        print(report.finished, flush=True)
"""


def script(folder: Path, packages: Path, *words: str) -> "subprocess.Popen[str]":
    """Start a process of its own that plays matches; it prints a line for every report."""
    place = folder / "script.py"
    place.write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": f"{packages}{os.pathsep}{ROOT}"}
    return subprocess.Popen(
        [sys.executable, str(place), *words],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.parametrize("agent", ["random", "trouble(how=loop_in_c)", "waiting"])
def test_workers_end_when_their_parent_is_killed_whatever_they_do(
    agent: str, tmp_path: Path, troublemakers: Path
) -> None:
    process = script(tmp_path, troublemakers, f"{agent} random", "100000000")
    assert process.stdout is not None
    process.stdout.readline()
    workers = workers_of(process.pid)
    assert len(workers) == 2
    family = [*workers, *psutil.Process(process.pid).children()]
    time.sleep(0.2)
    process.kill()
    process.wait()
    _, alive = psutil.wait_procs(family, timeout=10)
    assert not alive
    assert process.stderr is not None
    assert process.stderr.read() == ""


def test_a_run_says_nothing_on_stderr_that_is_not_meant_to_be_there(tmp_path: Path, troublemakers: Path) -> None:
    process = script(tmp_path, troublemakers, "trouble(how=exit) first", "2")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert sum(map(int, out.split())) == 2


def test_ctrl_c_reaches_the_parent_alone(tmp_path: Path, troublemakers: Path) -> None:
    """A terminal sends it to the whole group, also while everything is still starting."""
    for wait in (0.3, 1.5):
        process = script(tmp_path, troublemakers, "random random", "100000000")
        time.sleep(wait)
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert err.count("Traceback") <= 1
        assert err.strip().splitlines()[-1:] in ([], ["KeyboardInterrupt"])


def test_workers_that_cannot_start_end_the_run_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """What they are to do lies in a module that this process has and they cannot import."""
    gone = ModuleType("gone")
    exec("def serve(*given): ...", gone.__dict__)
    monkeypatch.setitem(sys.modules, "gone", gone)
    monkeypatch.setattr("arena.handle.serve", gone.serve)
    with pytest.raises(RunError, match="worker processes end before they play anything"):
        run_all(innocents(5))
