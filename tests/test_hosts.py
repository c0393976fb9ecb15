"""Agents that compute, in matches that wait: in processes of their own, ruled on as if they sat in this one."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

from agents.agent import Agent, Pace
from agents.registry import TABLE, agent_class
from arena import hosts
from arena.answer import Answer, packed, unpacked
from arena.match import Match
from arena.runner import Limits, run_matches
from games.errors import RunError
from tests.play import QUICK, Came, collected, match_of, play_here, rows_of, run_all
from tests.test_faults import EXCEPTIONS, lost_by
from tests.troublemakers import ANSWERS

pytestmark = pytest.mark.usefixtures("waiting_agents", "troublemakers")

GAME = "tic_tac_toe"
ROOT = Path(__file__).parents[1]
FAIR = QUICK._replace(hang_seconds=2.5)
"""Many hosts start at once on few cores: their first answers may take a while."""
LONG = QUICK._replace(hang_seconds=60)


def seated(agent: str, seat: int, opponent: str = "awaiting") -> tuple[str, str]:
    return (agent, opponent) if seat == 0 else (opponent, agent)


def innocents(count: int, *agents: str) -> list[Match]:
    return [match_of(GAME, *(agents or ("awaiting", "first")), key=f"i{k:03}", seed=k) for k in range(count)]


def hosts_of(pid: int) -> list[psutil.Process]:
    """The processes of a run, whose parent is the fork server of that process."""
    try:
        children = psutil.Process(pid).children()
        servers = [child for child in children if "forkserver" in " ".join(child.cmdline())]
        return [host for server in servers for host in server.children()]
    except psutil.NoSuchProcess:
        return []


def same_as_here(matches: Sequence[Match], limits: Limits = LONG) -> Came:
    """Play matches with hosts, and each in this process: the rows must be the same."""
    came = run_all(matches, limits)
    here: dict[str, list[str]] = {}
    for match in matches:
        for table, rows in rows_of(play_here(match)).items():
            here.setdefault(table, []).extend(map(repr, rows))
    assert came.comparable() == {table: sorted(rows) for table, rows in here.items()}
    assert not came.notices
    return came


# What is played where


def test_agents_of_ours_that_decide_within_milliseconds_are_played_in_the_event_loop() -> None:
    """A search, a table that is worked out in the first act, and a bot that swaps the process's generator are not."""
    brief = {name for name in TABLE if agent_class(name).pace is Pace.BRIEF}
    throwers = {"counter_last", "repeat_last"}
    assert brief == {"always", "biased", "cfr", "heuristic", "kuhn", "minimax", "priority", "random", *throwers}


def test_agents_compute_unless_they_say_otherwise() -> None:
    assert Agent.pace is Pace.COMPUTES


def test_brief_agents_of_other_packages_are_hosted_and_ours_are_not() -> None:
    assert not hosts_of(os.getpid())
    reports = run_matches(innocents(50, "awaiting", "heuristic"), QUICK)
    assert not [hosts_of(os.getpid()) for _ in reports if hosts_of(os.getpid())]
    reports = run_matches(innocents(50, "awaiting", "hasty"), QUICK)
    assert [hosts_of(os.getpid()) for _ in reports if hosts_of(os.getpid())]


# The same as in this process


@pytest.mark.parametrize(
    ("game", "agents"),
    [
        (GAME, ("awaiting", "mcts(simulations=50)")),
        (GAME, ("mcts(simulations=50)", "awaiting")),
        ("connect_four", ("awaiting", "mcts(simulations=20)")),
        ("kuhn_poker", ("awaiting", "ismcts(simulations=20)")),
        ("kuhn_poker", ("diary", "awaiting")),
        ("leduc_poker", ("awaiting(words=true)", "diary")),
        ("kuhn_poker(players=3)", ("diary", "awaiting", "diary")),
        ("matrix_rps", ("diary", "awaiting")),
        ("goofspiel", ("awaiting", "diary")),
        ("goofspiel", ("awaiting", "best_response(to=random)")),
        ("pig(players=2,winscore=15)", ("awaiting", "diary")),
    ],
)
def test_hosted_agents_play_and_reflect_as_they_do_in_this_process(game: str, agents: tuple[str, ...]) -> None:
    if "best_response" in agents[1]:
        game, agents = "kuhn_poker", ("awaiting", agents[1])
    rules = [{"seats": "rotate"}, {"deals": "same"}, {"max_turns": 3, "stop_on_win": True}]
    same_as_here(
        [
            match_of(game, *agents, key=f"{seed} {number}", seed=seed, episodes=3, **rule)
            for seed in range(2)
            for number, rule in enumerate(rules)
        ]
    )


@pytest.mark.parametrize("on_fault", ["forfeit", "retry(2)", "fallback"])
def test_every_kind_of_answer_is_ruled_on_and_recorded_as_in_this_process(on_fault: str) -> None:
    agents = [f"answer(kind={kind},bad={bad})" for kind in ANSWERS for bad in (1, 2, 9)]
    same_as_here(
        [
            match_of(GAME, *seated(agent, seat), key=f"{agent} {seat}", on_fault=on_fault, episodes=2)
            for agent in agents
            for seat in (0, 1)
        ]
    )


def test_what_an_agent_says_beside_its_action_is_recorded_as_in_this_process() -> None:
    agents = ["talker", "wordy", "unawaitable", "noreflection", "odd_generations", "insistent", "reading"]
    same_as_here(
        [match_of(GAME, *seated(agent, seat), key=f"{agent} {seat}", episodes=2) for agent in agents for seat in (0, 1)]
    )


@pytest.mark.parametrize("at", ["act", "constructor", "reflect"])
def test_exceptions_are_ruled_on_as_in_this_process(at: str) -> None:
    agents = [f"trouble(how={how},at={at})" for how in (*EXCEPTIONS, "memory_error")]
    same_as_here(
        [
            match_of(GAME, *seated(agent, seat), key=f"{agent} {seat}", episodes=3, seats="rotate")
            for agent in agents
            for seat in (0, 1)
        ]
    )


def test_an_interrupt_out_of_a_hosted_agent_is_its_own_fault() -> None:
    came = run_all([match_of(GAME, "awaiting", "trouble(how=interrupt)", key="m")])
    lost_by(came, "m", 1, "crashed")


def test_a_hosted_agent_that_cannot_be_served_makes_the_match_void(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.dealer.BACK_OFF_SECONDS", 0.01)
    came = run_all([match_of(GAME, "awaiting", "trouble(how=provider)", key="m")])
    ((match, reason),) = came.unfinished
    assert (match.match_id, "could not be served: no quota" in reason) == ("m", True)
    assert [row["status"] for row in came.of("m", "match_runs")] == ["void"] * 3


@pytest.mark.parametrize("slow", ["blocking(seconds=0.05)", "waiting", "waiting(seconds=0.06,stubborn=true)"])
def test_a_late_decision_is_a_fault_and_the_host_plays_on(slow: str) -> None:
    match = match_of(GAME, "awaiting", slow, key="m", seconds_per_action=0.02, on_fault="fallback", episodes=2)
    came = run_all([match], LONG)
    assert [row["termination"] for row in came.of("m", "episodes")] == ["finished"] * 2
    acts = sum(row["turn_seats"].count(1) for row in came.of("m", "episodes"))
    assert came.of("m")[0]["faults"] == [0, acts]
    assert {row["raw"] for row in came.of("m", "turns")} == {"took longer than 0.02 s"}


def test_time_that_a_host_spends_on_others_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """All share one host, and all acts together take longer than one may."""
    monkeypatch.setattr(hosts, "MIN_HOSTS", 1)
    monkeypatch.setattr(hosts, "HOSTS_A_WORKER", 0)
    agents = ("blocking(seconds=0.1)", "awaiting")
    came = run_all(
        [match_of("matrix_rps", *agents, key=f"{k}", seed=k, seconds_per_action=0.5) for k in range(12)], FAIR
    )
    assert {tuple(row["faults"]) for row in came.rows["matches"]} == {(0, 0)}
    assert not came.notices


# Who waits for whom


def test_a_slow_opponent_holds_up_nobody_else(tmp_path: Path) -> None:
    """A quarter of the matches cannot go on before all others are finished."""
    gate = tmp_path / "gate"
    slow = [match_of(GAME, "awaiting", f"gated(file={gate})", key=f"s{k}", seed=k) for k in range(8)]
    others = [match_of(GAME, "awaiting", "heuristic", key=f"o{k}", seed=k) for k in range(24)]
    matches = [match for four in zip(slow, *[iter(others)] * 3, strict=True) for match in four]
    news, finished = [], 0
    for report in run_matches(matches, LONG._replace(concurrent=32)):
        news.append(report)
        finished += report.finished
        if finished == 24:
            assert {key[0] for key in collected(news).ids()} == {"o"}
            gate.touch()
    assert finished == 32


def test_hosts_are_as_many_as_matches_need_and_no_more_than_they_may_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosts, "MIN_HOSTS", 3)
    monkeypatch.setattr(hosts, "HOSTS_A_WORKER", 1)
    most = 0
    for count, expected in ((2, 2), (12, 3)):
        most = 0
        for _ in run_matches(innocents(count, "awaiting", "blocking(seconds=0.1)"), LONG):
            most = max(most, len(hosts_of(os.getpid())))
        assert most == expected
        assert not hosts_of(os.getpid())


def test_both_seats_are_asked_at_once_also_where_one_is_hosted(tmp_path: Path) -> None:
    """Neither answers before the other has been asked, too."""
    files = f"mine={tmp_path / 'a'},other={tmp_path / 'b'}", f"mine={tmp_path / 'b'},other={tmp_path / 'a'}"
    for number, agents in enumerate((("handshake", "handshake_hosted"), ("handshake_hosted", "handshake"))):
        pair = [f"{agent}({file})" for agent, file in zip(agents, files, strict=True)]
        came = run_all([match_of("matrix_rps", *pair, key=f"{number}")], FAIR)
        assert [row["termination"] for row in came.of(f"{number}", "episodes")] == ["finished"]
        for name in "ab":
            (tmp_path / name).unlink()


# Who is to blame


def with_innocents(*guilty: tuple[str, tuple[str, str]], limits: Limits = FAIR, **rules: object) -> Came:
    """Play some matches among matches of innocents, which must come out as if they were alone."""
    matches = innocents(12)
    for place, (key, agents) in enumerate(guilty):
        matches.insert(3 * place + 1, match_of(GAME, *agents, key=key, **rules))
    came = run_all(matches, limits)
    assert set(came.ids().values()) == {1}
    assert came.counted == len(came.ids())
    for match in innocents(12):
        (row,) = came.of(match.match_id)
        assert row["faults"] == [0, 0]
        assert [episode["termination"] for episode in came.of(match.match_id, "episodes")] == ["finished"]
    return came


@pytest.mark.parametrize(
    ("how", "end"),
    [
        ("loop_in_c", "hung"),
        ("sleep", "hung"),
        ("exit", "crashed"),
        ("sigkill", "crashed"),
        ("segv", "crashed"),
        ("eat", "out_of_memory"),
    ],
)
def test_an_agent_that_takes_its_host_down_loses_that_match_in_either_seat(how: str, end: str) -> None:
    guilty = [(f"guilty {seat}", seated(f"trouble(how={how})", seat)) for seat in (0, 1)]
    limits = LONG if how == "eat" else FAIR
    came = with_innocents(*guilty, limits=limits, episodes=2)
    for seat in (0, 1):
        lost_by(came, f"guilty {seat}", seat, end)
        runs = came.of(f"guilty {seat}", "match_runs")
        assert [run["status"] for run in runs] == ["void", "finished"]
        assert f"trouble(how={how})#{seat} was acting" in runs[0]["reason"]
    assert not came.unfinished
    assert len(came.notices) == 4


@pytest.mark.parametrize("how", ["sleep", "exit"])
@pytest.mark.parametrize("at", ["constructor", "reflect"])
def test_constructors_and_reflections_are_watched_like_acts(how: str, at: str) -> None:
    guilty = [(f"guilty {seat}", seated(f"trouble(how={how},at={at})", seat)) for seat in (0, 1)]
    came = with_innocents(*guilty, episodes=3, seats="rotate")
    end = "hung" if how == "sleep" else "crashed"
    for seat in (0, 1):
        (row,) = came.of(f"guilty {seat}")
        episodes = came.of(f"guilty {seat}", "episodes")
        played = ["finished"] if at == "reflect" else []
        forfeited = ["forfeited"] * (2 - len(played))
        assert [episode["termination"] for episode in episodes] == [*played, end, *forfeited]
        assert {e["seats"][e["offender"]] for e in episodes[len(played) :]} == {row["agents"][seat]}
        assert row["faults"] == [int(seat == 0), int(seat == 1)]


def test_turns_that_were_played_before_a_death_are_kept() -> None:
    came = with_innocents(("guilty", ("awaiting(words=true)", "trouble(how=exit,episode=2)")), episodes=3)
    first, second, third = came.of("guilty", "episodes")
    assert [episode["termination"] for episode in (first, second, third)] == ["finished", "crashed", "forfeited"]
    assert second["turn_seats"] == [0]
    assert third["actions"] == []
    assert [told["episode"] for told in came.of("guilty", "reflections")] == [1, 1]


def test_a_match_is_finished_as_usual_when_a_death_does_not_come_again(tmp_path: Path) -> None:
    guilty = [(how, ("awaiting", f"once(how={how},flag={tmp_path / how})")) for how in ("exit", "sleep", "sigkill")]
    came = with_innocents(*guilty)
    for how, _ in guilty:
        assert [run["status"] for run in came.of(how, "match_runs")] == ["void", "finished"]
        assert [run["attempt"] for run in came.of(how, "match_runs")] == [0, 1]
        assert came.of(how)[0]["faults"] == [0, 0]


def test_two_hosted_agents_that_die_in_turn_do_not_leave_the_match_unfinished(tmp_path: Path) -> None:
    agents = ("trouble(how=exit,episode=2)", "awaiting", f"once(how=exit,flag={tmp_path / 'flag'})")
    came = run_all([match_of("kuhn_poker(players=3)", *agents, key="m", episodes=2)])
    assert [run["status"] for run in came.of("m", "match_runs")] == ["void", "void", "finished"]
    assert came.of("m")[0]["faults"] == [1, 0, 0]


def test_matches_that_shared_a_host_with_one_that_died_are_played_again_at_no_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One host dies under ten matches three times, as often as a match may fail."""
    monkeypatch.setattr(hosts, "MIN_HOSTS", 1)
    monkeypatch.setattr(hosts, "HOSTS_A_WORKER", 0)
    deadly = [match_of(GAME, "awaiting", "trouble(how=exit)", key=f"d{k}") for k in range(3)]
    shared = innocents(10, "awaiting(passes=50)", "blocking(seconds=0.02)")
    groups = zip(deadly, shared[::3], shared[1::3], shared[2::3], strict=False)
    came = run_all([match for group in groups for match in group], LONG)
    assert not came.unfinished
    for match in deadly:
        lost_by(came, match.match_id, 1, "crashed")
    voids = [row for row in came.rows["match_runs"] if row["status"] == "void" and row["match_id"].startswith("i")]
    assert all("shared with agents of other matches" in row["reason"] for row in voids)
    attempts = [(row["match_id"], row["attempt"]) for row in came.rows["match_runs"]]
    assert len(attempts) == len(set(attempts))


def test_memory_is_booked_on_who_took_it_where_a_host_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hoarder is quick and the innocent slow, so that the limit is nearly always met in the innocent's act."""
    monkeypatch.setattr(hosts, "MIN_HOSTS", 1)
    monkeypatch.setattr(hosts, "HOSTS_A_WORKER", 0)
    game = "plain(rounds=40)"
    innocent = match_of(game, "awaiting", "blocking(seconds=0.1)", key="innocent")
    guilty = match_of(game, "awaiting", "hoarder(mb=30)", key="guilty")
    came = run_all([innocent, guilty], QUICK._replace(hang_seconds=30))
    lost_by(came, "guilty", 1, "out_of_memory")
    assert came.of("innocent")[0]["faults"] == [0, 0]


def test_a_host_that_somebody_kills_costs_no_match_and_blames_nobody() -> None:
    news, killed = [], 0
    matches = innocents(60, "awaiting", "blocking(seconds=0.02)")
    for report in run_matches(matches, LONG._replace(concurrent=8)):
        news.append(report)
        if killed < 2 and report.finished and (alive := hosts_of(os.getpid())):
            alive[0].kill()
            killed += 1
    came = collected(news)
    assert killed == 2
    assert came.ids() == {match.match_id: 1 for match in matches}
    assert {tuple(row["faults"]) for row in came.rows["matches"]} == {(0, 0)}


def test_a_task_left_behind_reaches_into_no_other_match() -> None:
    matches = [match_of(GAME, "littering", "awaiting", key=f"{number}") for number in range(5)]
    later = [match_of(GAME, "waiting(seconds=0.001)", "awaiting", key=f"later {number}") for number in range(5)]
    pairs = zip(matches, later, strict=True)
    came = run_all([match for pair in pairs for match in pair], LONG._replace(concurrent=1))
    assert len(came.ids()) == 10
    assert not came.notices


def test_an_agent_that_writes_to_its_hosts_parent_is_not_believed() -> None:
    came = run_all([match_of(GAME, "awaiting", "forging", key="m"), *innocents(3)])
    assert came.of("m")[0]["faults"] == [0, 1]
    assert [row["termination"] for row in came.of("m", "episodes")] == ["crashed"]


@pytest.mark.parametrize(
    "words", [b"", b"{}", b"[]", b"null", b'{"decision": 3}', b"[" * 100_000, packed(Answer(retries=1))[:-1], b"\xff"]
)
def test_what_is_no_answer_is_a_value_error(words: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        unpacked(words)


def test_a_game_that_fails_in_a_host_is_no_agents_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.dealer.BACK_OFF_SECONDS", 0.01)
    came = run_all([match_of("plain(trouble=in_host)", "awaiting", "first", key="m")])
    ((_, reason),) = came.unfinished
    assert "game plain(trouble=in_host) failed: RuntimeError: in a host" in reason


# How it ends


def test_hosts_that_cannot_start_end_the_run_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts, "serve", os._exit)
    with pytest.raises(RunError, match="host processes end before they are ready"):
        run_all(innocents(5))
    assert not hosts_of(os.getpid())


SCRIPT = """
import sys
from arena.runner import Limits, run_matches
from tests.play import match_of

if __name__ == "__main__":
    matches = (match_of("tic_tac_toe", *sys.argv[1].split(), key=str(k), seed=k) for k in range(10**9))
    for report in run_matches(matches, Limits(workers=2, hang_seconds=300)):
        print(report.finished, flush=True)
"""


@pytest.mark.parametrize("agent", ["first", "trouble(how=loop_in_c)", "waiting"])
def test_hosts_end_when_their_parent_is_killed_whatever_they_do(
    agent: str, tmp_path: Path, troublemakers: Path, waiting_agents: Path
) -> None:
    place = tmp_path / "script.py"
    place.write_text(SCRIPT)
    paths = os.pathsep.join(map(str, (troublemakers, waiting_agents, ROOT)))
    process = subprocess.Popen(
        [sys.executable, str(place), f"awaiting {agent}"],
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    deadline = time.monotonic() + 30
    while not (family := hosts_of(process.pid)) and time.monotonic() < deadline:
        time.sleep(0.05)
    family += psutil.Process(process.pid).children()
    process.send_signal(signal.SIGKILL)
    process.wait()
    _, alive = psutil.wait_procs(family, timeout=10)
    assert not alive
    assert process.stderr is not None
    assert process.stderr.read() == ""
