"""The person at the terminal: what is shown, how answers are read, how input ends."""

import signal
import subprocess
import sys

import pytest

from agents import human
from agents.human import matches

PLAY = """
import asyncio, sys
from agents.agent import Setup
from agents.registry import recipe
from agents.agent import ProviderError
from games.registry import make

async def play(name):
    game = make(name)
    agents = [recipe("human").make(Setup(game, seat, 1)) for seat in range(game.spec.seats)]
    state, played = game.new_episode(1), []
    while seats := state.seats_to_act():
        for seat in seats:
            played.append((await agents[seat].act(state.observe(seat))).action)
        state.apply(dict(zip(seats, played[-len(seats):])))
    print(played)

try:
    asyncio.run(play(sys.argv[1]))
except ProviderError as error:
    sys.exit(f"error: {error}")
"""


def play(game: str, typed: str) -> "subprocess.CompletedProcess[str]":
    """Two people at one terminal, their input piped in."""
    return subprocess.run(
        [sys.executable, "-c", PLAY, game], input=typed, capture_output=True, text=True, timeout=60, check=False
    )


LEGAL = ("e2 e4", "e2 e3", "Nf3", "O-O")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("e2 e4", ["e2 e4"]),
        ("  E2E4 ", ["e2 e4"]),
        ("n", ["Nf3"]),
        ("e2", ["e2 e4", "e2 e3"]),
        ("2", ["e2 e3"]),
        ("0", []),
        ("5", []),
        ("-1", []),
        ("", []),
        ("   ", []),
        ("castle", []),
        ("9" * 5000, []),
    ],
)
def test_a_line_is_read_as_name_then_loosely_then_as_a_beginning_then_as_a_number(line: str, found: list[str]) -> None:
    assert matches(line, LEGAL) == found


def test_exact_names_go_before_loose_ones() -> None:
    assert matches("a", ("A", "a", "ab")) == ["a"]
    assert matches("b", ("B", "bc")) == ["B"]
    assert matches("ab", ("A B", "a b")) == ["A B", "a b"]


def test_numbers_are_not_places_where_actions_are_numbers() -> None:
    assert matches("2", ("0", "1", "3")) == []
    assert matches("3", ("0", "1", "3")) == ["3"]


def test_people_play_a_game_to_its_end() -> None:
    done = play("kuhn_poker", "BET\np\n")
    assert done.stdout == "['bet', 'pass']\n"
    assert done.returncode == 0


def test_dialogue_goes_to_stderr_where_stdout_is_data() -> None:
    done = play("kuhn_poker", "1\n1\n")
    assert done.stdout == "['pass', 'pass']\n"
    assert "1) pass  2) bet" in done.stderr
    assert "Seat 0 played pass" in done.stderr


def test_wrong_input_is_asked_again_and_a_question_mark_shows_the_rules() -> None:
    done = play("kuhn_poker", "fold\n\n?\nbet\nbet\n")
    assert done.stdout == "['bet', 'bet']\n"
    assert "'fold' is not a legal action" in done.stderr
    assert done.stderr.count("Your move, seat 0") == 4
    assert done.stderr.count("1) pass  2) bet") == 3


def test_actions_that_are_numbers_are_not_numbered() -> None:
    done = play("connect_four", "3\n4\n" * 3 + "3\n")
    assert done.stdout == str(["3", "4"] * 3 + ["3"]) + "\n"
    assert "Legal actions: 0  1  2  3  4  5  6\n" in done.stderr


@pytest.mark.parametrize("game", ["kuhn_poker", "catch", "matrix_rps"])
def test_the_title_is_told_once(game: str) -> None:
    from games.registry import make

    spec = make(game).spec
    greeting = play(game, "").stderr.split("\n")[0]
    assert greeting == spec.rules.split("\n")[0]
    assert greeting.casefold().startswith(spec.title.casefold())


def test_control_characters_of_a_game_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    human._say("a\x1b[31mb", "c\u202ed")
    assert capsys.readouterr().err == "a\N{REPLACEMENT CHARACTER}[31mb\nc\N{REPLACEMENT CHARACTER}d\n"


def test_rules_are_shown_once_to_each_person() -> None:
    from games.registry import make

    rules = make("tic_tac_toe").spec.rules
    done = play("tic_tac_toe", "1\n1\n1\n1\n1\n1\n1\n1\n1\n")
    assert done.stderr.count(rules) == 2


def test_ambiguous_input_names_what_it_could_be() -> None:
    done = play("matrix_rps", "r\np\n")
    assert done.stdout == "['rock', 'paper']\n"
    done = play("tic_tac_toe", "r0\n")
    assert "could be r0c0, r0c1, r0c2" in done.stderr


@pytest.mark.parametrize("typed", ["", "bet\n", "be"])
def test_end_of_input_is_one_clear_line(typed: str) -> None:
    done = play("kuhn_poker", typed)
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith("error: the input ended before the match did")
    assert "Traceback" not in done.stderr


def test_an_interrupt_ends_the_process_while_it_waits_for_an_answer() -> None:
    command = [sys.executable, "-c", PLAY, "kuhn_poker"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0) as process:
        assert process.stderr is not None
        said = b""
        while b"Your move" not in said:
            said += process.stderr.read(1)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) != 0
        said = process.stderr.read()
    assert b"KeyboardInterrupt" in said
    assert b"Fatal" not in said


def test_what_a_task_accepts_beyond_its_list_is_played_and_all_else_asked_again() -> None:
    from games.registry import make

    name = "minesweeper(turns=2)"
    observation = make(name).new_episode(1).observe(0)
    is_open = next(
        cell for cell in ("(1,1)", "(3,3)", "(6,6)", "(1,6)", "(6,1)") if cell not in observation.legal_actions
    )
    done = play(name, f"foo\n(7,7)\n{is_open}\n\n{is_open}\n")
    assert done.stdout == f"{[is_open, is_open]}\n"
    assert "'foo' is not a legal action." in done.stderr
    assert "'(7,7)' is not a legal action." in done.stderr
