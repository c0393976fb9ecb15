"""Whatever an agent does instead of playing costs that agent its match, and nobody else anything."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from agents.registry import recipe
from arena.match import VoidMatchError, play_match
from arena.referee import MAX_RAW
from arena.runner import Limits
from games import registry
from games.game import Termination
from tests.play import QUICK, Came, match_of, play_here, rows_of, run_all
from tests.troublemakers import ANSWERS

pytestmark = pytest.mark.usefixtures("troublemakers")

GAME = "tic_tac_toe"
INNOCENTS = [f"innocent {number}" for number in range(12)]

EXCEPTIONS = {
    "exception": "RuntimeError: two lines",
    "unspeakable": "UnspeakableError: its message cannot be read",
    "odd": "OddError: odd",
    "system_exit": "SystemExit: 4",
    "cancelled": "CancelledError",
    "timeout": "TimeoutError: mine",
    "group": "ExceptionGroup: several (1 sub-exception)",
}
"""What each exception is recorded as."""

WRONG = {
    "illegal": Termination.ILLEGAL,
    "long": Termination.ILLEGAL,
    "long_raw": Termination.ILLEGAL,
    "surrogate": Termination.ILLEGAL,
    "surrogate_raw": Termination.ILLEGAL,
    "raw_number": Termination.ILLEGAL,
    "number": Termination.ILLEGAL,
    "empty": Termination.UNPARSABLE,
    "no_action": Termination.UNPARSABLE,
    "none": Termination.CRASHED,
    "bare": Termination.CRASHED,
    "set_extra": Termination.CRASHED,
    "nan_extra": Termination.CRASHED,
    "deep_extra": Termination.CRASHED,
    "wrong_generations": Termination.CRASHED,
    "nan_generations": Termination.CRASHED,
    "illegal_wrong_generations": Termination.CRASHED,
}
"""The ruling on each answer that is no decision."""


def seated(agent: str, seat: int, opponent: str = "random") -> tuple[str, str]:
    return (agent, opponent) if seat == 0 else (opponent, agent)


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("how", EXCEPTIONS)
def test_an_exception_forfeits_the_match_of_whoever_raised_it(how: str, seat: int) -> None:
    result = play_here(match_of(GAME, *seated(f"trouble(how={how})", seat), episodes=3))
    assert [record.termination for record in result.episodes] == [Termination.CRASHED, *[Termination.FORFEITED] * 2]
    assert {record.offender for record in result.episodes} == {seat}
    assert result.mean_returns == ((-1.0, 1.0) if seat == 0 else (1.0, -1.0))
    assert result.places[seat] == 1
    assert result.faults[seat] == 1
    assert result.faults[1 - seat] == 0
    assert [note.raw for note in result.episodes[0].notes] == [EXCEPTIONS[how]]


def test_a_memory_error_is_told_apart_from_other_exceptions() -> None:
    result = play_here(match_of(GAME, "random", "trouble(how=memory_error)", episodes=2))
    assert [record.termination for record in result.episodes] == [Termination.OUT_OF_MEMORY, Termination.FORFEITED]
    assert result.places == (0, 1)


def test_ctrl_c_in_the_middle_of_an_act_is_a_persons_where_this_process_listens_to_it() -> None:
    with pytest.raises(KeyboardInterrupt):
        play_here(match_of(GAME, "trouble(how=interrupt)", "random"))


def test_an_interrupt_out_of_an_agent_is_its_own_fault_where_nobody_can_have_sent_it() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        result = play_here(match_of(GAME, "trouble(how=interrupt)", "random"))
    finally:
        signal.signal(signal.SIGINT, before)
    assert result.episodes[0].termination is Termination.CRASHED
    assert result.places == (1, 0)


@pytest.mark.parametrize("seat", [0, 1])
def test_an_exception_in_the_constructor_forfeits_every_episode(seat: int) -> None:
    agents = seated("trouble(how=exception,at=constructor)", seat)
    result = play_here(match_of(GAME, *agents, episodes=3, seats="rotate"))
    assert [record.termination for record in result.episodes] == [Termination.CRASHED, *[Termination.FORFEITED] * 2]
    assert [record.order[record.offender or 0] for record in result.episodes] == [seat] * 3
    assert result.places[seat] == 1
    assert sum(result.faults) == result.faults[seat] == 1


@pytest.mark.parametrize("seat", [0, 1])
def test_an_exception_in_reflect_forfeits_the_episodes_that_follow(seat: int) -> None:
    agents = seated("trouble(how=exception,at=reflect,episode=2)", seat)
    result = play_here(match_of(GAME, *agents, episodes=4, seats="rotate"))
    ends = [record.termination for record in result.episodes]
    assert ends == [Termination.FINISHED] * 2 + [Termination.CRASHED, Termination.FORFEITED]
    assert [record.order[record.offender or 0] for record in result.episodes[2:]] == [seat] * 2
    assert result.faults[seat] == 1
    assert [(told.episode, told.text) for told in result.reflections] == [(1, "episode 1")]


def test_a_reflection_of_another_type_is_a_crash() -> None:
    result = play_here(match_of(GAME, "noreflection", "random", episodes=2))
    assert [record.termination for record in result.episodes] == [Termination.FINISHED, Termination.CRASHED]
    assert result.episodes[1].offender == 0


def test_an_act_that_is_no_coroutine_is_a_crash_that_says_so() -> None:
    result = play_here(match_of(GAME, "unawaitable", "random"))
    assert result.episodes[0].termination is Termination.CRASHED
    assert "await" in (result.episodes[0].notes[0].raw or "")


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("kind", WRONG)
def test_an_answer_that_is_no_legal_decision_ends_the_episode_for_its_seat(kind: str, seat: int) -> None:
    result = play_here(match_of(GAME, *seated(f"answer(kind={kind})", seat)))
    (record,) = result.episodes
    assert (record.termination, record.offender) == (WRONG[kind], seat)
    assert result.places[seat] == 1
    assert result.faults[seat] == 1
    assert result.faults[1 - seat] == 0
    assert record.success == (seat == 1, seat == 0)
    (note,) = record.notes
    assert (note.seat, note.attempt, note.fault, note.action) == (seat, 0, WRONG[kind], None)
    assert note.raw
    assert len(note.raw) <= MAX_RAW


def test_every_wrong_answer_has_its_ruling() -> None:
    assert WRONG.keys() == ANSWERS.keys()


@pytest.mark.parametrize("kind", ["illegal", "empty"])
def test_an_illegal_answer_costs_only_its_episode(kind: str) -> None:
    result = play_here(match_of(GAME, "first", f"answer(kind={kind},bad=1)", episodes=3))
    assert [record.termination is WRONG[kind] for record in result.episodes] == [True, False, False]
    assert result.faults == (0, 1)


def test_what_was_said_is_kept_as_text_that_a_file_can_hold() -> None:
    rows = rows_of(play_here(match_of(GAME, "answer(kind=surrogate_raw)", "talker", on_fault="fallback")))
    assert {row["raw"] for row in rows["turns"]} == {"half ?", "I say ?"}
    assert {row["extra"] for row in rows["turns"] if row["seat"] == 1} == {'{"value": 0.5}'}
    assert rows["matches"][0]["faults"] == [len([row for row in rows["turns"] if row["fault"] == "illegal"]), 0]


def test_retries_are_counted_and_the_legal_answer_is_played() -> None:
    result = play_here(match_of(GAME, "answer(kind=illegal,bad=2)", "random", on_fault="retry(2)"))
    record = result.episodes[0]
    assert record.termination is Termination.FINISHED
    assert [(note.turn, note.attempt, note.fault) for note in record.notes] == [
        (0, 0, Termination.ILLEGAL), (0, 1, Termination.ILLEGAL), (0, 2, None)
    ]  # fmt: skip
    assert record.notes[2].action == record.actions[0]
    assert result.faults == (2, 0)


def test_one_fault_more_than_the_retries_forfeits_the_episode() -> None:
    result = play_here(match_of(GAME, "answer(kind=illegal,bad=3)", "random", on_fault="retry(2)", episodes=2))
    assert [record.termination for record in result.episodes] == [Termination.ILLEGAL, Termination.FINISHED]
    assert result.faults == (3, 0)


def test_a_crash_is_never_retried() -> None:
    result = play_here(match_of(GAME, "trouble(how=exception)", "random", on_fault="retry(9)"))
    assert result.episodes[0].termination is Termination.CRASHED
    assert result.faults == (1, 0)


def test_fallback_plays_a_legal_action_drawn_from_the_seed_and_counts_the_fault() -> None:
    match = match_of(GAME, "answer(kind=illegal)", "answer(kind=empty)", on_fault="fallback", episodes=4)
    result = play_here(match)
    assert {record.termination for record in result.episodes} == {Termination.FINISHED}
    turns = [sum(record.turn_seats.count(seat) for record in result.episodes) for seat in (0, 1)]
    assert result.faults == tuple(turns)
    assert result == play_here(match)
    others = [play_here(match._replace(seed=seed)).episodes[0].actions for seed in range(5)]
    assert len({tuple(actions) for actions in others}) > 1


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize(
    "slow", ["blocking(seconds=0.05)", "waiting", "waiting(seconds=0.06,stubborn=true)", "blocking(seconds=0.03)"]
)
def test_a_late_decision_is_a_fault_whether_it_blocks_or_waits(slow: str, seat: int) -> None:
    result = play_here(match_of(GAME, *seated(slow, seat), seconds_per_action=0.02, episodes=2))
    assert [record.termination for record in result.episodes] == [Termination.TOO_SLOW] * 2
    assert {record.offender for record in result.episodes} == {seat}
    assert result.faults[seat] == 2
    assert result.episodes[0].notes[0].raw == "took longer than 0.02 s"


def test_a_timeout_of_the_agents_own_is_a_crash_and_not_late() -> None:
    result = play_here(match_of(GAME, "trouble(how=timeout)", "random", seconds_per_action=5))
    assert result.episodes[0].termination is Termination.CRASHED


def test_a_quick_decision_has_time_also_when_an_earlier_one_was_late() -> None:
    agents = ("blocking(seconds=0.08)", "waiting(seconds=0.001)")
    result = play_here(match_of(GAME, *agents, seconds_per_action=0.04, on_fault="fallback"))
    record = result.episodes[0]
    assert record.termination is Termination.FINISHED
    assert result.faults == (record.turn_seats.count(0), 0)


def test_an_agent_that_cannot_be_served_makes_the_match_void_and_is_named() -> None:
    watch = [0.0] * 3
    with pytest.raises(VoidMatchError, match=r"trouble\(how=provider\)#1 could not be served: no quota"):
        play_here(match_of(GAME, "random", "trouble(how=provider)"), watch)
    assert watch[0] == 0, "nobody acts any more"


@pytest.mark.parametrize("deed", ["exception", "unspeakable", "system_exit", "memory_error", "surrogate"])
@pytest.mark.parametrize("at", ["new", "observe", "apply"])
def test_a_game_that_fails_is_no_agents_fault(deed: str, at: str) -> None:
    watch = [0.0] * 3
    with pytest.raises(VoidMatchError, match=rf"game plain\(.*trouble={deed}.*\) failed: \w+"):
        play_here(match_of(f"plain(trouble={deed},at={at})", "random", "random"), watch)
    assert watch[0] == 0


def test_what_a_listener_raises_is_not_taken_for_the_games_failure() -> None:
    class Closed:
        def note(self, note: object) -> None:
            raise AssertionError

        def turn(self, seat: int, action: str) -> None:
            raise BrokenPipeError("nobody reads")

        def episode(self, record: object) -> None:
            raise AssertionError

        def reflection(self, record: object) -> None:
            raise AssertionError

    match = match_of(GAME, "random", "random")
    with pytest.raises(BrokenPipeError, match="nobody reads"):
        asyncio.run(play_match(match, registry.make(GAME), [recipe("random")] * 2, None, Closed()))


# What only workers can survive


def run_with_innocents(*guilty: tuple[str, tuple[str, str]], limits: Limits = QUICK, **rules: object) -> Came:
    """Play some matches among matches of innocents and check what must hold whatever the former do."""
    matches = [match_of(GAME, "random", "random", key=key, seed=seed) for seed, key in enumerate(INNOCENTS)]
    for place, (key, agents) in enumerate(guilty):
        matches.insert(3 * place + 1, match_of(GAME, *agents, key=key, **rules))
    came = run_all(matches, limits)
    assert set(came.ids().values()) <= {1}
    assert came.counted == sum(came.ids().values())
    for key in INNOCENTS:
        (row,) = came.of(key)
        assert row["faults"] == [0, 0]
        assert [episode["termination"] for episode in came.of(key, "episodes")] == ["finished"]
        assert [run["status"] for run in came.of(key, "match_runs")] == ["finished"]
    return came


def lost_by(came: Came, key: str, seat: int, end: str) -> None:
    """Check that the agent in a seat lost a match of its own doing, in the first episode, and was tried twice."""
    (row,) = came.of(key)
    assert row["places"][seat] == 1
    assert row["places"][1 - seat] == 0
    assert row["mean_returns"] == ([-1.0, 1.0] if seat == 0 else [1.0, -1.0])
    assert row["faults"][seat] == 1
    assert row["faults"][1 - seat] == 0
    episodes = came.of(key, "episodes")
    assert [episode["termination"] for episode in episodes] == [end, *["forfeited"] * (len(episodes) - 1)]
    assert {episode["offender"] for episode in episodes} == {seat}


@pytest.mark.parametrize(
    ("how", "end"),
    [
        ("loop", "hung"),
        ("loop_in_c", "hung"),
        ("sleep", "hung"),
        ("exit", "crashed"),
        ("sigkill", "crashed"),
        ("segv", "crashed"),
        ("eat", "out_of_memory"),
    ],
)
def test_an_agent_that_takes_its_process_down_loses_that_match_in_either_seat(how: str, end: str) -> None:
    guilty = [(f"guilty {seat}", seated(f"trouble(how={how})", seat)) for seat in (0, 1)]
    limits = QUICK._replace(hang_seconds=30) if how == "eat" else QUICK
    came = run_with_innocents(*guilty, limits=limits, episodes=2)
    for seat in (0, 1):
        lost_by(came, f"guilty {seat}", seat, end)
        runs = came.of(f"guilty {seat}", "match_runs")
        assert [run["status"] for run in runs] == ["void", "finished"]
        assert f"trouble(how={how})#{seat} was acting" in runs[0]["reason"]
    assert not came.unfinished
    assert len(came.notices) == 4


@pytest.mark.parametrize("how", ["exception", "odd", "interrupt", "cancelled", "memory_error"])
def test_an_agent_that_raises_loses_without_taking_its_process_down(how: str) -> None:
    guilty = [(f"guilty {seat}", seated(f"trouble(how={how})", seat)) for seat in (0, 1)]
    came = run_with_innocents(*guilty)
    for seat in (0, 1):
        lost_by(came, f"guilty {seat}", seat, "out_of_memory" if how == "memory_error" else "crashed")
        assert [run["status"] for run in came.of(f"guilty {seat}", "match_runs")] == ["finished"]
    assert not came.notices


@pytest.mark.parametrize("how", ["sleep", "exit"])
def test_constructors_and_reflections_are_watched_like_acts(how: str) -> None:
    places = [("constructor", 0), ("constructor", 1), ("reflect", 0), ("reflect", 1)]
    guilty = [(f"{at} {seat}", seated(f"trouble(how={how},at={at})", seat)) for at, seat in places]
    came = run_with_innocents(*guilty, episodes=3, seats="rotate")
    end = "hung" if how == "sleep" else "crashed"
    for at, seat in places:
        (row,) = came.of(f"{at} {seat}")
        episodes = came.of(f"{at} {seat}", "episodes")
        played = ["finished"] if at == "reflect" else []
        forfeited = ["forfeited"] * (2 - len(played))
        assert [episode["termination"] for episode in episodes] == [*played, end, *forfeited]
        offenders = [episode["seats"][episode["offender"]] for episode in episodes[len(played) :]]
        assert set(offenders) == {row["agents"][seat]}
        assert row["faults"] == [int(seat == 0), int(seat == 1)]


def test_a_wait_that_never_ends_is_a_hang() -> None:
    came = run_with_innocents(("guilty", ("random", "waiting")))
    lost_by(came, "guilty", 1, "hung")


def test_turns_that_were_played_before_a_death_are_kept() -> None:
    came = run_with_innocents(("guilty", ("diary", "trouble(how=exit,episode=2)")), episodes=3)
    first, second, third = came.of("guilty", "episodes")
    assert [episode["termination"] for episode in (first, second, third)] == ["finished", "crashed", "forfeited"]
    assert second["turn_seats"] == [0]
    assert len(second["actions"]) == 1
    assert third["actions"] == []
    assert [told["episode"] for told in came.of("guilty", "reflections")] == [1, 1]


def test_when_both_seats_misbehave_the_one_that_is_met_first_loses() -> None:
    came = run_with_innocents(
        ("exits", ("trouble(how=exit)", "trouble(how=exit)")),
        ("hangs", ("trouble(how=sleep)", "trouble(how=exit)")),
        ("mixed", ("answer(kind=illegal)", "trouble(how=sleep)")),
    )
    lost_by(came, "exits", 0, "crashed")
    lost_by(came, "hangs", 0, "hung")
    lost_by(came, "mixed", 0, "illegal")


def test_a_match_is_finished_as_usual_when_a_death_does_not_come_again(tmp_path: Path) -> None:
    guilty = [(how, ("random", f"once(how={how},flag={tmp_path / how})")) for how in ("exit", "sleep", "sigkill")]
    came = run_with_innocents(*guilty)
    for how, _ in guilty:
        assert [run["status"] for run in came.of(how, "match_runs")] == ["void", "finished"]
        assert [run["attempt"] for run in came.of(how, "match_runs")] == [0, 1]
        assert [episode["termination"] for episode in came.of(how, "episodes")] == ["finished"]
        assert came.of(how)[0]["faults"] == [0, 0]
    assert not came.unfinished


def test_two_agents_that_die_in_turn_do_not_leave_the_match_unfinished(tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    came = run_with_innocents(("both", (f"once(how=exit,flag={flag})", "trouble(how=exit)")))
    assert [run["status"] for run in came.of("both", "match_runs")] == ["void", "void", "finished"]
    lost_by(came, "both", 1, "crashed")


def test_memory_is_booked_on_who_took_it_and_not_on_who_acts_for_long() -> None:
    """The hoarder is quick and the innocent slow, so that the limit is nearly always met in the innocent's act."""
    game = "plain(rounds=40)"
    guilty, innocent = "hoarder(mb=30)", "blocking(seconds=0.1)"
    second = match_of(game, innocent, guilty, key="second")
    first = match_of(game, guilty, innocent, key="first")
    came = run_all([second, first], QUICK._replace(hang_seconds=30))
    lost_by(came, "second", 1, "out_of_memory")
    lost_by(came, "first", 0, "out_of_memory")


def test_providers_that_fail_make_void_attempts_and_then_an_unfinished_match(tmp_path: Path) -> None:
    came = run_with_innocents(
        ("never", ("random", "trouble(how=provider)")),
        ("later", ("random", f"once(how=provider,flag={tmp_path / 'flag'})")),
    )
    assert [run["status"] for run in came.of("never", "match_runs")] == ["void"] * 3
    assert [run["attempt"] for run in came.of("never", "match_runs")] == [0, 1, 2]
    assert [match.match_id for match, _ in came.unfinished] == ["never"]
    assert "could not be served: no quota" in came.unfinished[0][1]
    assert not came.of("never")
    assert [run["status"] for run in came.of("later", "match_runs")] == ["void", "finished"]
    assert came.of("later")[0]["faults"] == [0, 0]


@pytest.mark.parametrize("how", ["exit", "sleep", "exception"])
@pytest.mark.parametrize("at", ["new", "apply"])
def test_a_game_that_fails_outside_all_agents_is_named_and_the_run_goes_on(how: str, at: str) -> None:
    game = f"plain(at={at},trouble={how})"
    matches = [match_of(GAME, "random", "random", key=key, seed=seed) for seed, key in enumerate(INNOCENTS)]
    matches.insert(2, match_of(game, "random", "first", key="broken", episodes=2))
    came = run_all(matches)
    assert sorted(came.ids()) == sorted(INNOCENTS)
    assert [run["status"] for run in came.of("broken", "match_runs")] == ["void"] * 3
    ((match, reason),) = came.unfinished
    assert match.match_id == "broken"
    assert f"game {game}" in reason


def test_a_task_left_behind_reaches_into_no_other_match() -> None:
    matches = [match_of(GAME, "littering", "first", key=f"{number}") for number in range(5)]
    later = [match_of(GAME, "waiting(seconds=0.001)", "first", key=f"later {number}") for number in range(5)]
    came = run_all([match for pair in zip(matches, later, strict=True) for match in pair], QUICK._replace(workers=1))
    assert len(came.ids()) == 10
    assert not came.notices
    assert {tuple(row["faults"]) for row in came.rows["matches"]} == {(0, 0)}


def test_a_fork_that_plays_on_is_not_heard_and_what_agents_print_is_not_data(
    tmp_path: Path, troublemakers: Path
) -> None:
    script = (
        "import sys\n"
        "from tests.play import match_of, run_all\n"
        "if __name__ == '__main__':\n"
        "    came = run_all(match_of('tic_tac_toe', 'forking', 'first', key=str(k)) for k in range(4))\n"
        "    print(sorted(came.ids().items()), came.notices)\n"
    )
    done = run_script(tmp_path, troublemakers, script)
    assert done.stdout == "[('0', 1), ('1', 1), ('2', 1), ('3', 1)] []\n"
    assert set(done.stderr.replace("<printed by an agent>", "")) == {"\n"}


def test_processes_that_an_agent_started_end_with_its_own(tmp_path: Path) -> None:
    file = tmp_path / "children"
    came = run_with_innocents(("guilty", ("random", f"nursing(file={file})")))
    lost_by(came, "guilty", 1, "crashed")
    children = [int(line) for line in file.read_text().split()]
    assert len(children) == 2
    deadline = time.monotonic() + 10
    while any(_alive(child) for child in children) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not [child for child in children if _alive(child)]


def _alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def run_script(folder: Path, packages: Path, script: str) -> "subprocess.CompletedProcess[str]":
    """Run a script with the troublemakers installed."""
    place = folder / "script.py"
    place.write_text(script)
    root = str(Path(__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": f"{packages}{os.pathsep}{root}"}
    return subprocess.run(
        [sys.executable, str(place)], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
