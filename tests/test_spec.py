"""The grammar of game and agent strings."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from games.registry import make, names
from games.spec import MAX_DEPTH, MAX_LENGTH, Spec, SpecError, Value, near, parse, render, split, split_name

NAMES = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_\-.]{0,6}", fullmatch=True)
SIMPLE: st.SearchStrategy[Value] = st.one_of(
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.sampled_from(["true", "1", "1.5", "1e999", "a/b+c-d.e", "f(x=1)", "f(x = 1)", "[1]", "", " ", '"', "\\", "x()"]),
)
VALUES = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.builds(lambda name, params: str(Spec(name, params)), NAMES, st.dictionaries(NAMES, inner, max_size=3)),
    ),
    max_leaves=8,
)
SPECS = st.builds(Spec, NAMES, st.dictionaries(NAMES, VALUES, max_size=4))
NOTATION = st.text(alphabet="abf01=(),[]\"'\\ .-+eE\n", max_size=40)


@given(SPECS)
def test_the_canonical_form_reads_back_as_the_same_spec(spec: Spec) -> None:
    again = parse(str(spec))
    assert again == spec
    assert str(again) == str(spec)
    assert [type(again.params[key]) for key in spec.params] == [type(value) for value in spec.params.values()]


@given(NOTATION)
def test_what_can_be_read_has_one_canonical_form(text: str) -> None:
    try:
        spec = parse(text)
    except SpecError:
        return
    assert parse(str(spec)) == spec
    assert str(parse(str(spec))) == str(spec)


@given(st.text() | NOTATION)
@example("(" * 100_000)
@example("[" * (MAX_LENGTH - 10))
@example("f(x=" + "[" * 1000)
@example("f(x=1e999)")
@example("f(x=" + "9" * 5000 + ")")
@example("f(x=\ud800)")
@example('f(x="\u2028')
@example("\x00")
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    refusal = ""
    try:
        parse(text)
    except SpecError as error:
        refusal = str(error)
    assert len(refusal.splitlines()) <= 1
    assert len(refusal) < 400 + len(text)


@given(st.lists(SPECS, max_size=4))
def test_a_comma_list_splits_into_its_specs(specs: list[Spec]) -> None:
    assert [parse(part) for part in split(", ".join(map(str, specs)))] == specs


@given(st.text() | NOTATION)
def test_splitting_never_fails_and_loses_only_commas_and_spaces(text: str) -> None:
    parts = split(text)
    assert all(part and part == part.strip() for part in parts)
    kept = "".join(parts)
    assert sum(map(kept.count, "()[]=")) == sum(map(text.count, "()[]="))


@given(NAMES, SPECS)
def test_a_name_is_split_from_its_spec(name: str, spec: Spec) -> None:
    assert split_name(f"{name}={spec}") == (name, str(spec))
    assert split_name(str(spec)) == (None, str(spec))


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("tic_tac_toe", "tic_tac_toe"),
        (" tic_tac_toe ( ) ", "tic_tac_toe"),
        ("2048(max_tile=64)", "2048(max_tile=64)"),
        ("mcts( uct_c = 1.50, simulations=1000 )", "mcts(simulations=1000,uct_c=1.5)"),
        ("a(x=True,y=false)", "a(x=true,y=false)"),
        ("a(x=+5,y=1e3,z=.5)", "a(x=5,y=1000.0,z=0.5)"),
        ("misere(game=kuhn_poker( players = 3 ))", "misere(game=kuhn_poker(players=3))"),
        ("a(b=c(d=e(g=2,f=1)))", "a(b=c(d=e(f=1,g=2)))"),
        ("a(b='c(x=1)')", "a(b=c(x=1))"),
        ("a(b='c (x=1)')", 'a(b="c (x=1)")'),
        ("a(b='it\\'s')", 'a(b="it\'s")'),
        ("a(b='1')", 'a(b="1")'),
        ("a(b=true())", 'a(b="true")'),
        ("a(w=[1, 2.0 ,x,[y]])", "a(w=[1,2.0,x,[y]])"),
        ("pettingzoo(env=classic/connect_four_v3)", "pettingzoo(env=classic/connect_four_v3)"),
        ('start_at(history="4;0",game=tic_tac_toe)', "start_at(game=tic_tac_toe,history=4;0)"),
    ],
)
def test_canonical_forms(text: str, canonical: str) -> None:
    assert str(parse(text)) == canonical


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "expected a name at character 1"),
        ("(x=1)", "expected a name at character 1"),
        ("a b", "unexpected 'b' at character 3"),
        ("a(x=1", "expected ',' at character 6"),
        ("a(x=1))", "unexpected ')' at character 7"),
        ("a(x)", "expected '=' at character 4"),
        ("a(x=)", "expected a value at character 5"),
        ("a(x=1,)", "expected a parameter name at character 7"),
        ("a(x=1,x=2)", "parameter 'x' given twice at character 9"),
        ("a(x=1 2)", "expected ',' at character 7"),
        ("a(x=[1,2)", "expected ',' at character 9"),
        ("a(x='b)", "a quote is not closed at character 8"),
        ("a(=1)", "expected a parameter name at character 3"),
        ("a=b", "unexpected '=' at character 2"),
    ],
)
def test_a_wrong_string_is_refused_with_the_place(text: str, why: str) -> None:
    with pytest.raises(SpecError, match="cannot read") as caught:
        parse(text)
    assert str(caught.value) == f"cannot read {text!r}: {why}"


def nested(levels: int) -> str:
    return "f(x=" * levels + "1" + ")" * levels


def test_a_deep_spec_is_read_at_once_and_a_deeper_one_refused() -> None:
    assert str(parse(nested(MAX_DEPTH + 1))) == nested(MAX_DEPTH + 1)
    with pytest.raises(SpecError, match="nested deeper"):
        parse(nested(MAX_DEPTH + 2))


@pytest.mark.parametrize("levels", [1, MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1])
def test_a_quoted_spec_keeps_its_quotes_where_it_would_be_too_deep_without(levels: int) -> None:
    spec = parse(f"a(b=c(d='{nested(levels)}'))")
    assert parse(str(spec)) == spec


def test_an_overlong_string_is_refused() -> None:
    with pytest.raises(SpecError, match=f"longer than {MAX_LENGTH} characters"):
        parse("a" * (MAX_LENGTH + 1))


def test_split_keeps_what_brackets_and_quotes_hold_together() -> None:
    assert split('a(x=1,y=[2,3]), b ,,c(d=\'e,\\\\\'),f(g="h\\",i")') == [
        "a(x=1,y=[2,3])",
        "b",
        "c(d='e,\\\\')",
        'f(g="h\\",i")',
    ]


@given(VALUES)
def test_a_rendered_value_reads_back(value: Value) -> None:
    assert parse(f"a(x={render(value)})").params["x"] == value


def test_numbers_that_no_float_holds_stay_words() -> None:
    value = parse("a(x=1e999)").params["x"]
    assert value == "1e999"
    assert not isinstance(value, float) or math.isfinite(value)


AGENTS = ["always", "best_response", "biased", "cfr", "heuristic", "ismcts", "kuhn", "mcts", "minimax", "random"]
KEYS = ["episodes", "score_by", "games", "agents", "name", "pairs", "seed", "seats", "workers", "hang_seconds"]
MANY_NAMES = [f"choice{number}" for number in range(30)]


@pytest.mark.parametrize(
    ("word", "choices", "phrase"),
    [
        ("kuhn", ["kuhn_poker", "hex"], "did you mean kuhn_poker?"),
        ("KUHN_Poker", ["kuhn_poker", "hex"], "did you mean kuhn_poker?"),
        ("kuhn_poker", ["Kuhn_Poker", "hex"], "did you mean Kuhn_Poker?"),
        ("tic_tac_to", ["chess", "tic_tac_toe"], "did you mean tic_tac_toe?"),
        ("chess_v6", ["classic/chess_v6", "classic/go_v5"], "did you mean classic/chess_v6?"),
        ("MCTS", AGENTS, "did you mean mcts or ismcts?"),
        ("randm", AGENTS, "did you mean random?"),
        ("minmax", AGENTS, "did you mean minimax?"),
        ("simulation", ["rollouts", "simulations"], "did you mean simulations?"),
        ("pars", KEYS, "did you mean pairs?"),
        ("store", KEYS, "choices: " + ", ".join(KEYS)),
        ("x", ["aa", "bb"], "choices: aa, bb"),
        ("x", [], "it takes none"),
        ("x", MANY_NAMES, "choices: " + ", ".join(MANY_NAMES[:20]) + " and 10 more"),
    ],
)
def test_errors_name_the_choices(word: str, choices: list[str], phrase: str) -> None:
    assert near(word, choices) == phrase


def test_errors_say_what_lists_many_choices() -> None:
    assert near("x", MANY_NAMES, listed_by="arena games") == "`arena games` lists them"
    assert near("choise1", MANY_NAMES, listed_by="arena games").startswith("did you mean choice1")
    assert near("x", ["aa"], listed_by="arena games") == "choices: aa"


@pytest.mark.parametrize(
    ("word", "best"),
    [
        ("TIC_TAC_TOE", "tic_tac_toe"),
        ("tictactoe", "tic_tac_toe"),
        ("kuhn", "kuhn_poker"),
        ("kuhn_pocker", "kuhn_poker"),
        ("leduc", "leduc_poker"),
        ("rps", "matrix_rps"),
        ("connect4", "connect_four"),
        ("othelo", "othello"),
    ],
)
def test_what_is_meant_comes_first_among_the_near_games(word: str, best: str) -> None:
    assert near(word, names()).startswith(f"did you mean {best}")


@pytest.mark.parametrize("word", ["nosuch", "reversi", "zzz"])
def test_a_word_like_no_game_gets_no_odd_guess(word: str) -> None:
    with pytest.raises(SpecError, match=r"; `arena games` lists them$"):
        make(word)


@given(st.text(max_size=12), st.lists(st.text(max_size=12), max_size=30))
def test_a_choice_written_in_another_case_is_always_meant(word: str, choices: list[str]) -> None:
    assert word in near(word.upper(), [word, *choices]) or word.casefold() != word.upper().casefold()
