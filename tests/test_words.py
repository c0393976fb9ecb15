"""What language agents say is shown to people as text, whatever it is, and what it took is counted."""

import json
import os
import random
import re
from pathlib import Path

import pytest

from agents.generation import Generation
from agents.models.reading import reader
from agents.models.source import Source
from arena.episode import EpisodeRecord
from arena.match import ReflectionRecord
from arena.referee import Note
from games import registry
from games.errors import UserError
from games.game import Termination
from tests.command_line import arena, arena_json, in_terminal
from tests.play import match_of
from tests.speaking_agents import SLY, install
from tui.cli.shown import Shown
from tui.cli.words import HEAD, TAIL, Bill, Said, bill, parted, print_said, shortened

GENERATION = Generation("m", "raw", completion_tokens=1234, seconds=1.25)


@pytest.mark.parametrize(
    ("raw", "thought", "said"),
    [
        ("I go. <action>a</action>", "", "I go. <action>a</action>"),
        ("<think>hm</think>a", "hm", "a"),
        ("hm</think>a", "hm", "a"),
        ("<think>one</think>two<think>three</think>a", "onetwothree", "a"),
        ("<think>never done", "never done", ""),
        ("a<think>and then", "and then", "a"),
        ("", "", ""),
    ],
)
def test_thoughts_are_told_apart_from_what_was_said(raw: str, thought: str, said: str) -> None:
    assert parted(raw) == (thought, said)


def test_long_texts_are_shown_by_beginning_and_end_and_say_what_is_missing() -> None:
    rng = random.Random(0)
    for _ in range(200):
        text = "".join(rng.choices("ab\n", weights=[8, 8, rng.choice([0, 1, 30])], k=rng.randrange(3_000)))
        shown = shortened(text)
        if shown == text:
            assert len(text) <= HEAD + TAIL
            assert text.count("\n") < 25
            continue
        head, _, rest = shown.partition("\n[")
        count, _, tail = rest.partition(" characters are left out here]\n")
        assert text.startswith(head)
        assert text.endswith(tail)
        assert len(text) == len(head) + len(tail) + int(count.replace(",", ""))
        assert shown.count("\n") <= 26


@pytest.mark.parametrize(
    ("fault", "raw", "generations", "why"),
    [
        ("illegal", "so <action>x9</action>", (GENERATION,), "a: illegal: 'x9' is not a legal action"),
        ("illegal", "<action>x</action>", (GENERATION._replace(notes={"read": "ambiguous"}),), "may mean several"),
        ("unparsable", "I resign", (GENERATION,), "a: unparsable: no action could be read"),
        ("too_slow", "took longer than 2 s", (), "a: too_slow: took longer than 2 s"),
        ("illegal", "resign", (), "a: illegal: resign"),
    ],
)
def test_a_fault_is_shown_with_its_reason(fault, raw, generations, why, capsys) -> None:  # type: ignore[no-untyped-def]
    print_said(Said("a", raw, fault, generations))
    assert why in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, "(1,234 tokens; 1.2 s)"),
        ({"finish_reason": "length"}, "cut off"),
        ({"constrained": True}, "held to the legal actions"),
        ({"notes": {"read": "index"}}, "read by the action's number"),
        ({"notes": {"dropped": 3}}, "3 oldest memories left out"),
        ({"notes": {"scores": {"a": -3.0, "b": -1.0, "c": -2.0, "d": -9.0}}}, "scored b -1.0, c -2.0, a -3.0, 1 more"),
        ({"notes": {"scores": [1], "read": {}, "dropped": "x"}}, "(1,234 tokens; 1.2 s)"),
        ({"notes": {"scores": {"a": "x", "b": 10**400}}}, "scored"),
    ],
)
def test_how_an_answer_came_about_is_said_in_a_word(changed, words, capsys) -> None:  # type: ignore[no-untyped-def]
    print_said(Said("a", "words", None, (GENERATION._replace(**changed),)))
    assert words in capsys.readouterr().out


def test_what_answers_took_is_summed_and_unknown_prices_stay_unknown() -> None:
    some = [GENERATION._replace(prompt_tokens=10, price=price) for price in (None, 0.5, 0.25)]
    assert bill(some) == Bill(3, 30, 3702, 3.75, 0.75)
    assert bill(some[:1]).price is None
    assert bill(some).line("a") == "a: 3 answers, 3,732 tokens (30 of prompts), 3.8 s, $0.75"
    assert bill(some[:1]).line("a") == "a: 1 answer, 1,244 tokens (10 of prompts), 1.2 s"


@pytest.mark.parametrize(
    ("game", "person", "at_once"),
    [
        ("tic_tac_toe", True, True),
        ("kuhn_poker", True, False),
        ("matrix_rps", True, False),
        ("kuhn_poker", False, True),
    ],
)
def test_no_words_are_shown_to_a_person_before_they_may_know_them(game, person, at_once, capsys) -> None:  # type: ignore[no-untyped-def]
    loaded = registry.make(game)
    shown = Shown(match_of(loaded.spec.name, "a", "b", episodes=2), loaded, person)
    note = Note(0, 1, 0, None, "my secret", None, None, (GENERATION,))
    shown.note(note)
    assert ("my secret" in capsys.readouterr().out) is at_once
    over = (Termination.CRASHED, 0, [note])
    shown.episode(EpisodeRecord(1, 1, (0, 1), [], [], (0.0, 0.0), (False, False), *over))
    assert ("my secret" in capsys.readouterr().out) is not at_once
    shown.reflection(ReflectionRecord(1, 1, 1, "my lesson"))
    assert ("my lesson" in capsys.readouterr().out) is at_once


@pytest.fixture(scope="module")
def spoken_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in whose store a match of an agent that speaks was played, beside what was shown of it."""
    folder = tmp_path_factory.mktemp("spoken")
    (packages := folder / "packages").mkdir()
    install(packages)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(packages), os.environ.get("PYTHONPATH", "")]))
        words = ("play", "tic_tac_toe", "speaker(price=0.001)", "minimax", "--episodes", "2", "--seed", "3")
        (folder / "shown").write_text(arena(*words, folder=folder).stdout)
        arena("play", "kuhn_poker", "speaker(known=messages,words=900)", "speaker", "--episodes", "2", folder=folder)
    return folder


def the_match(folder: Path, game: str) -> str:
    (match,) = arena_json("matches", "--game", game, folder=folder)
    return str(match["match_id"])


def test_play_shows_words_faults_reflections_and_cost_in_the_order_in_which_they_come(spoken_folder: Path) -> None:
    shown = (spoken_folder / "shown").read_text()
    name = "speaker(price=0.001)"
    expected = [
        "To move: x",
        f"{name} thinks:\n   hm hm hm hm hm\n{name} says (23 tokens; 0.5 s; read by how the action begins):",
        f"{name}: illegal: 'resign' is not a legal action\n{name} thinks:",
        f"{name}: r0c0\n",
        "To move: o",
        "episode 1: finished",
        f"{name} reflects:\n   I learned",
        "To move: x",
        "episode 2: finished",
        f"{name}: 9 answers, 9,207 tokens (9,000 of prompts), 4.5 s, $0.009",
        "minimax wins",
    ]
    places = [0]
    for words in expected:
        places.append(shown.index(words, places[-1]))
    assert shown.count("is not a legal action") == 2
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "[bold]" in shown


def test_replay_shows_the_same_words(spoken_folder: Path) -> None:
    replayed = arena("replay", the_match(spoken_folder, "tic_tac_toe"), folder=spoken_folder).stdout
    name = "speaker(price=0.001)"
    for words in ("thinks:\n   hm hm", "says (23 tokens;", ": illegal: 'resign' is not", "reflects:\n   I learned"):
        assert words in replayed
    assert f"1. {name}: r0c0" in replayed
    assert "is asked" not in replayed


def test_prompts_are_shown_where_they_are_kept_and_else_it_is_said_why_not(spoken_folder: Path) -> None:
    match = the_match(spoken_folder, "kuhn_poker")
    shown = arena("replay", match, "--prompts", folder=spoken_folder).stdout
    assert "is asked (1,000 tokens):\n   [user]\n   your move" in shown
    assert "(only its token ids are kept: " in shown
    assert "characters are left out here" in shown
    assert " ".join(["hm"] * 900) in arena("replay", match, "--full", folder=spoken_folder).stdout


def test_the_json_of_replay_is_that_of_matches_with_reflections_and_answers(spoken_folder: Path) -> None:
    for game in ("tic_tac_toe", "kuhn_poker"):
        (match,) = arena_json("matches", "--game", game, folder=spoken_folder)
        found = arena_json("replay", match["match_id"], folder=spoken_folder)
        assert {key: value for key, value in found.items() if key not in ("reflections", "generations")} == match
        place = ("episode", "turn", "seat", "attempt", "phase", "number")
        assert all(list(row) == [*place, *Generation._fields] for row in found["generations"])
        assert [row["phase"] for row in found["generations"]].count("reflect") == len(found["reflections"]) > 0
        assert found["generations"][0]["sampling"] == {"temperature": 1.0}
        assert SLY in found["reflections"][0]["text"]
        second = arena_json("replay", match["match_id"], "--episode", "2", folder=spoken_folder)
        assert {row["episode"] for row in second["generations"]} == {2}
        assert second["reflections"] == []


def test_standings_tell_which_part_of_the_answers_were_faults(spoken_folder: Path) -> None:
    rows = {row["agent"]: row for row in arena_json("standings", "--game", "tic_tac_toe", folder=spoken_folder)}
    speaker = rows["speaker(price=0.001)"]
    assert (speaker["faults"], speaker["answers"], speaker["fault_rate"]) == (2, 8, 0.25)
    assert rows["minimax"]["fault_rate"] == 0
    wide = in_terminal("standings", "--game", "tic_tac_toe", folder=spoken_folder, columns=120)
    assert "fault %" in wide
    assert "25.00" in wide
    assert "fault %" in in_terminal("standings", "--game", "tic_tac_toe", folder=spoken_folder, columns=80)


@pytest.mark.parametrize("budget", [None, 2_000])
def test_a_tournament_says_at_its_end_what_language_models_took(budget, tmp_path) -> None:  # type: ignore[no-untyped-def]
    install(tmp_path)
    words = ["tournament", "--game", "kuhn_poker", "--agent", "speaker(price=0.001)", "--agent", "random"]
    words += ["--pairs", "3"] + (["--budget-tokens", str(budget), "--concurrent", "1"] if budget else [])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(tmp_path))
        said = arena(*words, folder=tmp_path, code=1 if budget else 0).stderr
    found = re.search(r"language models: (\d+) answers, ([\d,]+) tokens, \$([\d.]+)\n", said)
    assert found, said
    answers = int(found[1])
    assert int(found[2].replace(",", "")) == 1023 * answers
    assert float(found[3]) == pytest.approx(0.001 * answers)
    assert (answers == 2) is (budget is not None)
    if budget:
        assert said.endswith("arena: budget_tokens = 2000 is spent\n")
        assert re.search(r"stopped: \d of 6 matches are kept in .*; with a larger budget the same command", said)


@pytest.mark.parametrize(("rule", "answers"), [("forfeit", 1), ("retry(1)", 2), ("fallback", None)])
def test_turns_that_a_rule_played_are_not_answers_of_the_agent(rule, answers, tmp_path) -> None:  # type: ignore[no-untyped-def]
    install(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(tmp_path))
        arena("play", "tic_tac_toe", "speaker(stubborn=true)", "minimax", "--on-fault", rule, folder=tmp_path)
    rows = {row["agent"]: row for row in arena_json("standings", "--game", "tic_tac_toe", folder=tmp_path)}
    turns = arena_json("matches", folder=tmp_path)[0]["episodes"][0]["turn_seats"].count(0)
    row = rows["speaker(stubborn=true)"]
    assert row["answers"] == row["faults"] == (turns if answers is None else answers) > 0
    assert row["fault_rate"] == 1


def test_tokens_of_a_model_that_is_not_here_are_not_read(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="its tokenizer is on a server"):
        reader(Source("x", base_url="http://localhost:1/v1"))
    with pytest.raises(UserError, match="there is no such folder"):
        reader(Source(str(tmp_path / "none")))


def test_tokens_are_read_as_the_models_own_tokenizer_reads_them(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    from tests.tiny_model import tiny_folder

    folder = tiny_folder(tmp_path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    text = "<|im_start|>user\nrock paper scissors, naïve?<|im_end|>\n"
    ids = tokenizer(text, add_special_tokens=False).input_ids
    assert reader(Source(str(folder)))(ids) == text
    (folder / "tokenizer.json").write_text(json.dumps({"version": "none"}))
    with pytest.raises(UserError, match="cannot be read"):
        reader(Source(str(folder)))
