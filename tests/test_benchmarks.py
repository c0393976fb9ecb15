"""The benchmarks must compare like with like, count what they say they count, and say what was not measured."""

import asyncio
import json
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import pytest

from agents.registry import recipe
from arena.match import Match, play_match
from arena.rules import MatchRules
from benchmarks.__main__ import PAGE, PARTS
from benchmarks.bare import play_mcts
from benchmarks.cost import ROOT
from benchmarks.million import BLOCK, _blocks
from benchmarks.page import BEGIN, END, section, write
from benchmarks.roshambo import OneOrder
from benchmarks.table import Figure, Goal, Row, rendered
from games import registry
from games.errors import UserError
from games.spiel import SpielGame


def run(code: str) -> subprocess.CompletedProcess[str]:
    """What a program does in a process of its own: one that measures waits for every child that it finds."""
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("goal", "ours", "theirs", "reached"),
    [
        (Goal(10, at_least=True), 10.0, None, True),
        (Goal(10, at_least=True), 9.9, None, False),
        (Goal(10, at_least=False), 10.0, None, True),
        (Goal(10, at_least=False), 10.1, None, False),
        (Goal(2, at_least=True, of_ratio=True), 20.0, 10.0, True),
        (Goal(2, at_least=True, of_ratio=True), 20.0, 11.0, False),
        (Goal(1.05, at_least=False, of_ratio=True), 10.4, 10.0, True),
        (Goal(1.05, at_least=False, of_ratio=True), 10.6, 10.0, False),
        (Goal(2, at_least=True, of_ratio=True), 20.0, None, None),
        (None, 20.0, 10.0, None),
    ],
)
def test_a_goal_is_reached_on_the_right_side_of_its_limit_and_unknown_without_the_other_side(
    goal: Goal | None, ours: float, theirs: float | None, reached: bool | None
) -> None:
    beside = None if theirs is None else Figure(theirs, "s")
    assert Row("it", Figure(ours, "s"), "other", beside, goal).reached is reached


def test_the_table_says_what_was_missed_and_what_was_not_measured() -> None:
    faster = Goal(2, at_least=True, of_ratio=True)
    lines = rendered(
        [
            Row("missed", Figure(15_432.1, "games/s"), "peer 1.0", Figure(15_000, "games/s"), faster),
            Row("absent", Figure(1.0, "s"), "peer (not installed)", None, faster),
        ]
    ).splitlines()
    assert lines[2] == "| missed | 15,432 games/s | peer 1.0 | 15,000 games/s | 1.03 x | at least 2 x | **no** |"
    assert lines[3] == "| absent | 1 s | peer (not installed) |  |  | at least 2 x | not measured |"


def test_a_command_is_charged_for_processes_that_outlive_it() -> None:
    burn = "import time\nwhile time.process_time() < 0.5: pass"
    leave = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {burn!r}])"
    done = run(
        "import json, sys; from benchmarks.cost import measured;"
        f"cost = measured([sys.executable, '-c', {leave!r}]); print(json.dumps([cost.cpu, cost.own_cpu]))"
    )
    cpu, own = json.loads(done.stdout)
    assert cpu - own >= 0.5


def test_a_command_that_fails_is_an_error_with_its_last_words() -> None:
    done = run(
        "import sys; from benchmarks.cost import measured; measured([sys.executable, '-c', 'raise SystemExit(\"no\")'])"
    )
    assert done.stderr.strip().splitlines()[-1].endswith("failed (1): no")


def test_an_unknown_part_is_one_line_with_the_choices() -> None:
    done = subprocess.run([sys.executable, "-m", "benchmarks", "plya"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [f"benchmarks: no part 'plya': there are {', '.join(PARTS)}"]


def test_a_part_of_the_page_is_renewed_and_the_rest_stays(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\n{END}\nafter\n")
    order = ["one", "two", "three"]
    for part in ("three", "one", "gone", "two", "one"):
        text = f"| {part} | {len(page.read_text())} |\n"
        write(page, {part: section(part, "what it is", text)}, [*order, "gone"])
    write(page, {"two": section("two", "what it is", "new")}, order)
    text = page.read_text()
    assert text.startswith(f"before\n{BEGIN}\n\n### one: what it is\n\n| one |")
    assert text.endswith(f"\n{END}\nafter\n")
    assert [line[4:] for line in text.splitlines() if line.startswith("###")] == [
        f"{part}: what it is" for part in order
    ]
    assert "### two: what it is\n\nnew\n\n### three: what it is\n\n| three |" in text


def test_a_page_without_a_place_for_the_tables_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("no place\n")
    with pytest.raises(UserError, match="no lines"):
        write(page, {"one": "new\n"}, ["one"])


def test_the_page_of_the_project_has_a_table_of_every_part() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.count(BEGIN) == text.count(END) == 1
    found = [line for line in text.split(BEGIN)[1].splitlines() if line.startswith("### ")]
    assert found == [f"### {part}: {what}" for part, (_, what) in PARTS.items()]


@pytest.mark.parametrize("game", ["tic_tac_toe", "connect_four"])
def test_the_bare_loop_of_mcts_plays_the_moves_of_our_agents(game: str) -> None:
    spec = "mcts(simulations=30)"
    made = registry.make(game)
    assert isinstance(made, SpielGame)
    seats = [recipe(spec), recipe(f"other={spec}")]
    names, prints = (spec, "other"), tuple(seat.fingerprint for seat in seats)
    for seed in (1, 2**62 + 5):
        match = Match("id", "t", game, 0, 0, 0, seed, names, (spec, spec), prints, MatchRules())
        ours = asyncio.run(play_match(match, made, seats)).episodes[0]
        _, ((*numbers,),) = play_mcts(game, 30, [(seed, 0)])
        state = made.new_episode(0)
        for action in ours.actions:
            seat = state.seats_to_act()[0]
            assert state.legal(seat)[action] == numbers.pop(0)
            state.apply({seat: action})
        assert not numbers


def test_one_order_of_seats_meets_every_pairing_once() -> None:
    schedule = OneOrder(2, 1)
    assert sorted(pairing.members for pairing in schedule.next_round(43)) == list(combinations(range(43), 2))
    assert OneOrder(2, 1).total(43) == 903


def test_the_blocks_of_the_large_store_share_no_match_and_no_pair() -> None:
    blocks = _blocks()
    first, second = next(blocks)["matches"], next(blocks)["matches"]
    ids = [*first["match_id"].to_pylist(), *second["match_id"].to_pylist()]
    assert len(set(ids)) == 2 * BLOCK
    assert not set(first["pair"].to_pylist()) & set(second["pair"].to_pylist())
