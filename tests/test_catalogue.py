"""`arena games` and `arena agents` as a person reads them, at any width of the terminal."""

import re
from pathlib import Path

import pytest

from agents.registry import TABLE
from games.registry import make
from tests.command_line import arena, arena_json, in_terminal


@pytest.mark.parametrize("game", ["kuhn_poker(players=3)", "tic_tac_toe", "nim"])
def test_a_game_is_told_as_facts_and_rules(game: str, tmp_path: Path) -> None:
    facts, _, rules = arena("games", game, folder=tmp_path).stdout.partition("\n\n")
    spec = make(game).spec
    told = dict(re.split(r":\s+", line, maxsplit=1) for line in facts.splitlines())
    assert rules == spec.rules + "\n"
    assert told["name"] == spec.name
    assert told["chance"] == ("yes" if spec.chance else "no")
    assert told["min_utility"] == f"{spec.min_utility:g}"
    assert set(told) | {"rules"} == set(arena_json("games", game, folder=tmp_path))
    assert not re.search(r"True|False|\.0\b", facts)


@pytest.mark.parametrize("columns", [40, 80, 120])
@pytest.mark.parametrize("words", [("games", "breakthrough"), ("agents", "cfr"), ("agents", "ismcts(simulations=5)")])
def test_text_is_folded_between_words_and_parameters_at_the_width_of_the_terminal(
    words: tuple[str, ...], columns: int, tmp_path: Path
) -> None:
    shown = in_terminal(*words, folder=tmp_path, columns=columns).replace("\r\n", "\n")
    whole = arena(*words, folder=tmp_path).stdout
    assert shown.replace(",", ", ").split() == whole.replace(",", ", ").split()
    assert all(len(line) <= columns or " " not in line for line in shown.splitlines())
    assert len(shown.splitlines()) > len(whole.splitlines())


def test_the_list_of_agents_is_readable_at_any_width(tmp_path: Path) -> None:
    for columns in (60, 80, 120):
        shown = in_terminal("agents", folder=tmp_path, columns=columns)
        assert all(re.search(rf"^ {name} ", shown, re.M) for name in TABLE)
        assert ("simulations=1000" in shown) == (columns == 120)


def test_an_agent_is_said_of_in_its_whole_first_sentence(tmp_path: Path) -> None:
    for row in arena_json("agents", folder=tmp_path):
        assert re.fullmatch(r"[A-Z0-9].*\.", row["about"])
    assert "as the iterations grow." in arena("agents", folder=tmp_path).stdout


def test_an_agent_with_parameters_is_shown_with_what_they_make_of_it(tmp_path: Path) -> None:
    for text in ("mcts(simulations=5)", "mine=mcts( simulations=5 )"):
        shown = arena("agents", text, folder=tmp_path).stdout
        assert shown.startswith("mcts(simulations=1000,uct_c=1.4,rollouts=1,solve=true)\n\nMonte Carlo")
        assert re.search(r"\nmcts\(simulations=5\)\nsimulations: +5\nuct_c: +1.4\n", shown)
        (row,) = arena_json("agents", text, folder=tmp_path)
        assert row["spec"] == "mcts(simulations=5)"
        assert row["values"] == {"simulations": 5, "uct_c": 1.4, "rollouts": 1, "solve": True}


@pytest.mark.parametrize("name", TABLE)
def test_every_agent_is_shown_by_its_bare_name(name: str, tmp_path: Path) -> None:
    assert arena("agents", name, folder=tmp_path).stdout.startswith(name)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mcts(simulation=5)", "did you mean simulations?"),
        ("mcts(simulations=0)", "simulations"),
        ("mcts(", "cannot read 'mcts('"),
        ("best_response(goal=win)", "needs the parameter 'to'"),
        ("\x1b=random", "a name is 1 to 100 characters"),
    ],
)
def test_an_agent_that_cannot_be_read_is_one_line(text: str, said: str, tmp_path: Path) -> None:
    done = arena("agents", text, folder=tmp_path, code=2)
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
