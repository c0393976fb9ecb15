"""The command line as a person meets it: what it prints, where, and what wrong input gets."""

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import unicodedata
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from games import registry
from tests.command_line import ARENA, arena, arena_json, environment, in_terminal
from tui.cli import arena as group
from tui.cli.output import safe
from tui.cli.tables import print_table

PAIR = ("--agent", "random", "--agent", "b=random")
LONG_NAMES = ("random", "kuhn(style=conservative)", "kuhn(style=aggressive)")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose store holds a small tournament."""
    folder = tmp_path_factory.mktemp("played")
    games = ("--game", "tic_tac_toe", "--game", "kuhn_poker", "--game", "matrix_rps")
    arena("tournament", *games, *PAIR, "--agent", "c=random", "--pairs", "3", "--episodes", "2", folder=folder)
    return folder


@pytest.fixture(scope="module")
def long_names(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose store holds a tournament of agents with long names; it is only read."""
    folder = tmp_path_factory.mktemp("long_names")
    flags = [word for name in LONG_NAMES for word in ("--agent", name)]
    arena("tournament", "--game", "kuhn_poker", *flags, "--pairs", "2", folder=folder)
    return folder


def test_help_starts_without_the_heavy_packages(tmp_path: Path) -> None:
    heavy = ["torch", "textual", "duckdb", "pyarrow", "pyspiel", "numpy", "trueskill", "rich", "pettingzoo"]
    program = (
        "import sys; sys.argv = ['arena', '--help']; import tui.cli\n"
        "try: tui.cli.main()\n"
        f"finally: print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")
    assert "tournament" in done.stdout


@pytest.mark.parametrize("command", sorted(group.commands))
def test_every_command_has_help_and_stands_in_the_readme(command: str, tmp_path: Path) -> None:
    text = arena(command, "--help", folder=tmp_path).stdout
    assert text.startswith(f"Usage: arena {command}")
    readme = Path(__file__).parents[1].joinpath("README.md").read_text()
    assert f"arena {command}" in readme


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("tournament", "--game", "tic_tac_to", *PAIR), "no game 'tic_tac_to'; did you mean tic_tac_toe"),
        (("tournament", "--game", "kuhn_poker(player=3)", *PAIR), "no parameter 'player'; did you mean players?"),
        (("tournament", "--game", "kuhn_poker(players=99)", *PAIR), "players"),
        (("tournament", "--game", "kuhn_poker(", *PAIR), "cannot read 'kuhn_poker('"),
        (("tournament", "--game", "kuhn_poker", "--agent", "randm"), "no agent 'randm'; did you mean random?"),
        (("tournament", "--game", "kuhn_poker", "--agent", "mcts(simulation=5)"), "did you mean simulations?"),
        (("tournament", "--game", "kuhn_poker", "--agent", "mcts(simulations=-5)"), "simulations"),
        (("tournament", "--game", "kuhn_poker", *PAIR, "--agent", "random"), "agent random takes part twice"),
        (("tournament", "--game", "kuhn_poker", *PAIR, "--pairs", "-1"), "pairs = -1"),
        (("tournament", "--game", "kuhn_poker", *PAIR, "--episodes", "0"), "episodes = 0"),
        (("tournament", "--game", "kuhn_poker", *PAIR, "--workers", "0"), "workers = 0"),
        (("tournament", "--game", "kuhn_poker", *PAIR, "--on-fault", "weep"), "choices: forfeit, fallback, retry(N)"),
        (("tournament", "--game", "kuhn_poker", *PAIR, "--foo"), "--foo"),
        (("tournament", "--game", "kuhn_poker", "--agent", "random"), "2 seats and 1 of the agents"),
        (("tournament", *PAIR), "no game is named"),
        (("tournament", "--game", "kuhn_poker"), "no agent is named"),
        (("tournament", "--game", "kuhn_poker", *PAIR, "--agent", "heuristic"), "can play none of the games"),
        (("tournament", "none.toml"), "cannot read none.toml"),
        (("play", "kuhn_poker", "random"), "2 seats"),
        (("play", "kuhn_poker", "random", "heuristic"), "cannot play kuhn_poker"),
        (("replay", "zzzz"), "no match zzzz"),
        (("replay", ""), "ambiguous"),
        (("standings", "--game", "chess"), "no match of 'chess'"),
        (("matches", "--limit", "0"), "--limit"),
        (("standings", "--store", "nowhere.duckdb"), "nowhere.duckdb does not exist"),
        (("crosstable", "--store", "nowhere.duckdb"), "nowhere.duckdb does not exist"),
        (("refit", "--store", "nowhere.duckdb"), "nowhere.duckdb does not exist"),
        (("games", "tic_tac"), "no game 'tic_tac'"),
        (("agents", "minmax"), "did you mean minimax?"),
        (("dance",), "dance"),
    ],
)
def test_wrong_input_gets_one_line_and_exit_2(words: tuple[str, ...], said: str, played: Path) -> None:
    done = arena(*words, folder=played, code=2)
    assert done.stdout == ""
    assert done.stderr.startswith("arena: ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('games = ["kuhn_poker"]\n\npars = 3\n', "bad.toml, line 3: no key 'pars'; did you mean pairs?"),
        ('games = ["kuhn_poker"]\n[rules]\nepisodes = 2\n', "bad.toml, line 2: no key 'rules'"),
        ('pairs = -3\ngames = ["kuhn_poker"]\nagents = ["random", "b=random"]\n', "bad.toml, line 1: pairs = -3"),
        ('games = "kuhn_poker"\nagents = ["random"]\n', "bad.toml, line 1: games = 'kuhn_poker'"),
        ("games = [\n", "bad.toml: "),
        ("games = ['\xff']\n", "not UTF-8"),
    ],
)
def test_a_file_at_fault_is_named_with_line_and_key(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_bytes(text.encode("latin-1"))
    done = arena("tournament", "bad.toml", folder=tmp_path, code=2)
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_flags_count_more_than_the_file_and_give_the_same_matches(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text('games = ["kuhn_poker"]\nagents = ["random", "b=random"]\npairs = 9\nseed = 3\n')
    arena("tournament", "t.toml", "--pairs", "2", "--store", "a.duckdb", folder=tmp_path)
    arena(*("tournament", "--game", "kuhn_poker", *PAIR), "--pairs", "2", "--seed", "3", folder=tmp_path)
    by_file = arena_json("matches", "--store", "a.duckdb", folder=tmp_path)
    assert len(by_file) == 4
    assert by_file == arena_json("matches", folder=tmp_path)


def test_a_store_that_is_none_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "text.duckdb").write_text("not a database")
    duckdb.connect(str(tmp_path / "foreign.duckdb")).execute("CREATE TABLE t (x INTEGER)").close()
    with duckdb.connect(str(tmp_path / "newer.duckdb")) as connection:
        arena("tournament", "--game", "kuhn_poker", *PAIR, "--store", "newer2.duckdb", folder=tmp_path)
        del connection
    with duckdb.connect(str(tmp_path / "newer2.duckdb")) as connection:
        connection.execute("UPDATE meta SET version = 999")
    for name in ("text.duckdb", "foreign.duckdb", "newer2.duckdb"):
        before = (tmp_path / name).read_bytes()
        for words in (("tournament", "--game", "kuhn_poker", *PAIR), ("standings",)):
            done = arena(*words, "--store", name, folder=tmp_path, code=2)
            assert name in done.stderr
            assert "Traceback" not in done.stderr
        assert (tmp_path / name).read_bytes() == before


def test_a_full_disk_is_said_in_one_line_and_loses_nothing_that_was_there(played: Path, tmp_path: Path) -> None:
    shutil.copy(played / "arena.duckdb", tmp_path)
    size = (tmp_path / "arena.duckdb").stat().st_size

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 4096, size + 4096))

    before = arena_json("matches", folder=tmp_path)
    done = subprocess.run(
        [ARENA, "tournament", "--game", "kuhn_poker", *PAIR, "--pairs", "5000", "--seed", "9"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        preexec_fn=small_files,
    )
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    kept = {match["match_id"]: match for match in arena_json("matches", "--limit", "100000", folder=tmp_path)}
    assert all(kept[match["match_id"]] == match for match in before)


def test_play_shows_the_match_and_records_it(tmp_path: Path) -> None:
    done = arena("play", "tic_tac_toe", "random", "heuristic", "--seed", "5", folder=tmp_path)
    assert "heuristic wins" in done.stdout
    (match,) = arena_json("matches", folder=tmp_path)
    again = arena_json("play", "tic_tac_toe", "random", "heuristic", "--seed", "5", folder=tmp_path)
    assert again["episodes"] == match["episodes"]
    assert set(again) == {"match_id", "game", "agents", "seed", "episodes", "mean_returns"}
    assert arena("play", "tic_tac_toe", "random", "random", folder=tmp_path).stdout.count("random#2") > 2


def test_a_person_plays_at_the_terminal(tmp_path: Path) -> None:
    done = subprocess.run(
        [ARENA, "play", "tic_tac_toe", "human", "priority(list=3)", "--json"],
        cwd=tmp_path,
        env=environment(),
        input="nonsense\nr1c1\nR0C0\nr2c2\n",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["mean_returns"] == [1.0, -1.0]
    assert "nonsense" in done.stderr


def test_input_that_ends_makes_the_match_void_and_records_nothing(tmp_path: Path) -> None:
    done = arena("play", "tic_tac_toe", "human", "random", folder=tmp_path, code=1)
    assert "not recorded" in done.stderr
    assert "human could not be served: the input ended before the match did" in done.stderr
    assert "Traceback" not in done.stderr
    assert arena_json("matches", folder=tmp_path) == []


def test_a_persons_cards_are_not_shown_to_the_other_seat(tmp_path: Path) -> None:
    done = subprocess.run(
        [ARENA, "play", "kuhn_poker", "human", "kuhn(style=aggressive)", "--seed", "1"],
        cwd=tmp_path,
        env=environment(),
        input="bet\nbet\n",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "Your move" in done.stderr
    assert "seat 1 has" not in done.stderr
    assert done.stdout.count("seat 1 has") == 1, "only the board at the end shows all cards"


@pytest.mark.parametrize("game", ["tic_tac_toe", "kuhn_poker", "matrix_rps"])
def test_replay_steps_through_every_board_of_a_match(game: str, played: Path) -> None:
    match = arena_json("matches", "--game", game, "--limit", "1", folder=played)[0]
    text = arena("replay", match["match_id"][:12], folder=played).stdout
    assert text.count("\nepisode ") == 2
    for episode in match["episodes"]:
        for number, (seat, action) in enumerate(zip(episode["turn_seats"], episode["actions"], strict=True), start=1):
            assert f"{number}. {episode['seats'][seat]}: {action}\n" in text
    one = arena_json("replay", match["match_id"], "--episode", "2", folder=played)
    assert one["episodes"] == match["episodes"][1:]
    assert "no episode 3" in arena("replay", match["match_id"], "--episode", "3", folder=played, code=2).stderr


def test_standings_crosstable_and_matches_agree(played: Path) -> None:
    standings = arena_json("standings", "--game", "kuhn_poker", folder=played)
    table = arena_json("crosstable", "--game", "kuhn_poker", folder=played)
    matches = arena_json("matches", "--game", "kuhn_poker", folder=played)
    keys = "pool rank agent mu sigma conservative matches wins draws losses score faults void answers".split()
    keys += ["fault_rate", "task"]
    for row in standings:
        assert list(row) == keys
        mine = [cell for cell in table if cell["agent"] == row["agent"]]
        assert sum(cell["wins"] for cell in mine) == row["wins"]
        assert sum(cell["matches"] for cell in mine) == row["matches"]
        assert sum(row["agent"] in match["agents"] for match in matches) == row["matches"]
    assert sorted(row["rank"] for row in standings) == [1, 2, 3]


def test_tables_are_printed_for_people(played: Path) -> None:
    assert "rating" in arena("standings", folder=played).stdout
    assert "distinct/episodes" in arena("crosstable", folder=played).stdout
    assert "mean returns" in arena("matches", folder=played).stdout


@pytest.mark.parametrize("columns", [200, 120, 80, 60, 40])
@pytest.mark.parametrize("command", ["standings", "crosstable", "matches", "doctor"])
def test_names_and_numbers_stay_whole_on_a_terminal_of_any_width(command: str, columns: int, long_names: Path) -> None:
    shown = in_terminal(command, folder=long_names, columns=columns)
    if command == "doctor":
        assert re.search(r"duckdb +ok", shown)
        return
    assert all(name in shown for name in LONG_NAMES)
    if command == "standings":
        for row in arena_json("standings", "--game", "kuhn_poker", folder=long_names):
            line = next(line for line in shown.splitlines() if f" {row['agent']} " in line)
            assert f"{row['conservative']:.2f}" in line
            assert f"{row['wins']}-{row['draws']}-{row['losses']}" in line
        assert ("too narrow for sigma" in shown) == (columns <= 80)
    if command == "matches":
        (match, *_) = arena_json("matches", "--limit", "1", folder=long_names)
        assert match["match_id"][:12] in shown


def test_no_matches_is_said_and_no_error(tmp_path: Path) -> None:
    arena("tournament", "--game", "kuhn_poker", *PAIR, "--pairs", "1", folder=tmp_path)
    with duckdb.connect(str(tmp_path / "arena.duckdb")) as connection:
        for table in ("matches", "match_runs", "episodes"):
            connection.execute(f"DELETE FROM {table}")
    for command in ("standings", "crosstable", "matches"):
        assert "no matches in arena.duckdb yet" in arena(command, folder=tmp_path).stderr
        assert arena_json(command, folder=tmp_path) == []


def test_an_agent_is_found_by_its_name_or_its_spec(tmp_path: Path) -> None:
    arena("play", "tic_tac_toe", "random", "mcts(simulations=1000)", "--seed", "1", folder=tmp_path)
    for name in ("mcts", "mcts(simulations=1000)", "mcts( simulations = 1000 )"):
        assert len(arena_json("matches", "--agent", name, folder=tmp_path)) == 1
    assert "no match of agent 'nobody'" in arena("matches", "--agent", "nobody", folder=tmp_path, code=2).stderr


def test_a_name_that_is_taken_is_refused_before_a_match_is_played(tmp_path: Path) -> None:
    arena("play", "kuhn_poker", "x=random", "random", folder=tmp_path)
    done = arena("play", "kuhn_poker", "x=kuhn(style=aggressive)", "random", folder=tmp_path, code=2)
    assert done.stdout == ""
    assert "agent x is random in store" in done.stderr


def test_refit_gives_the_same_standings(played: Path) -> None:
    before = arena("standings", "--json", folder=played).stdout
    arena("refit", folder=played)
    assert arena("standings", "--json", folder=played).stdout == before


def test_doctor_finds_this_installation_sound(played: Path) -> None:
    findings = arena_json("doctor", folder=played)
    assert {finding["state"] for finding in findings} <= {"ok", "warning"}
    assert any("18 matches" in finding["what"] or "54 matches" in finding["what"] for finding in findings)


def test_doctor_warns_of_a_foreign_package_of_our_name(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "__init__.py").touch()
    program = "import sys; sys.argv = ['arena', 'doctor', '--json']; import tui.cli; tui.cli.main()"
    env = environment() | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert "the package `agents` found first is another's" in done.stdout + done.stderr


def test_games_and_agents_list_what_there_is(tmp_path: Path) -> None:
    assert arena("games", folder=tmp_path).stdout.split() == registry.names()
    assert "pass" in arena("games", "kuhn_poker", folder=tmp_path).stdout
    assert arena_json("games", "kuhn_poker(players=3)", folder=tmp_path)["seats"] == 3
    rows = arena_json("agents", folder=tmp_path)
    assert {"random", "mcts", "minimax"} <= {row["agent"] for row in rows}
    assert all(row["about"] for row in rows)
    assert "uct_c" in arena("agents", "mcts", folder=tmp_path).stdout


@pytest.mark.parametrize("name", ["\x1b]0;title\x07", "\x9b31m", "left\u202eright", "two\nlines", "", "x" * 101])
def test_a_name_that_does_not_print_is_refused(name: str, tmp_path: Path) -> None:
    words = ("tournament", "--game", "kuhn_poker", "--agent", f"{name}=random", "--agent", "random")
    said = arena(*words, folder=tmp_path, code=2).stderr
    assert "a name is 1 to 100 characters" in said
    assert said.rstrip("\n").isprintable()


@given(text=st.text())
def test_nothing_that_is_printed_can_steer_the_terminal(text: str) -> None:
    shown = safe(text)
    assert len(shown) == len(text)
    assert all(char.isprintable() or char in "\n\t" or unicodedata.category(char)[0] == "Z" for char in shown)


def test_text_is_not_read_as_markup(capsys: pytest.CaptureFixture[str]) -> None:
    print_table("[red]title", ["[b]column"], [["[bold]cell[/bold] :smile: \x1b[31m"]])
    text = capsys.readouterr().out
    assert "[red]title" in text
    assert "[b]column" in text
    assert "[bold]cell[/bold] :smile: \N{REPLACEMENT CHARACTER}[31m" in text


def test_output_cut_short_by_its_reader_makes_no_noise(played: Path) -> None:
    done = subprocess.run(
        f"{ARENA} games | head -n 1",
        shell=True,
        cwd=played,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 1


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX here")
def test_a_read_only_folder_is_refused_for_writing_and_fine_for_reading(played: Path, tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    shutil.copy(played / "arena.duckdb", tmp_path)
    (tmp_path / "arena.duckdb").chmod(0o444)
    tmp_path.chmod(0o555)
    arena("standings", folder=tmp_path)
    assert "arena.duckdb" in arena("tournament", "--game", "kuhn_poker", *PAIR, folder=tmp_path, code=2).stderr
