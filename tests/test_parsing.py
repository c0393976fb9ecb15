"""Reading actions out of answers: which tag counts, what is taken for a legal action, and what never is."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.answers import MAX_REFLECTION, lesson
from agents.parsing import Read, Reading, read, spoken

CELLS = ("r0c0", "r0c1", "r1c1", "r2c2")
CARDS = ("pass", "bet")
CHESS = ("Nf3", "nf3", "Bb5+", "O-O", "O-O-O")
COLUMNS = ("0", "1", "3")
WORDY = ("go to desk 1", "go to desk 2", "look")

PARTS = [*"abr01c <>/\n", "<action>", "</action>", "<think>", "</think>", "r0c0", "\x1b[31m"]
TEXTS = st.lists(st.sampled_from(PARTS)).map("".join)


@pytest.mark.parametrize(
    ("answer", "legal", "action", "how"),
    [
        ("<action>r0c0</action>", CELLS, "r0c0", Read.EXACT),
        ("I take the corner.\n<action>\n r2c2 </action> Good luck!", CELLS, "r2c2", Read.EXACT),
        ("<action>BET</action>", CARDS, "bet", Read.LOOSE),
        ("<action>r 1 c 1</action>", CELLS, "r1c1", Read.LOOSE),
        ("<action>Go to  Desk 2</action>", WORDY, "go to desk 2", Read.LOOSE),
        ("<action>p</action>", CARDS, "pass", Read.PREFIX),
        ("<action>r0</action>", CELLS, "r0", Read.AMBIGUOUS),
        ("<action>2</action>", CARDS, "bet", Read.INDEX),
        ("<action>3</action>", CARDS, "3", Read.ILLEGAL),
        ("<action>2</action>", COLUMNS, "2", Read.ILLEGAL),
        ("<action>3</action>", COLUMNS, "3", Read.EXACT),
        ("<action>nf3</action>", CHESS, "nf3", Read.EXACT),
        ("<action>NF3</action>", CHESS, "NF3", Read.AMBIGUOUS),
        ("<action>O-O</action>", CHESS, "O-O", Read.EXACT),
        ("<action>fold</action>", CARDS, "fold", Read.ILLEGAL),
        ("<action></action>", CARDS, "", Read.UNPARSABLE),
        ("<action> \n </action>", CARDS, "", Read.UNPARSABLE),
        ("bet", CARDS, "", Read.UNPARSABLE),
        ("action: bet", CARDS, "", Read.UNPARSABLE),
        ("<ACTION>bet</ACTION>", CARDS, "", Read.UNPARSABLE),
        ("", CARDS, "", Read.UNPARSABLE),
        ("</action>bet<action>", CARDS, "", Read.UNPARSABLE),
        ("<action>bet", CARDS, "", Read.UNPARSABLE),
        ("<action>pass</action> or rather <action>bet</action>", CARDS, "bet", Read.EXACT),
        ("<action>pass</action> or rather <action>be", CARDS, "pass", Read.EXACT),
        ("<action>you <action>bet</action>", CARDS, "bet", Read.EXACT),
        ("<action>bet</action></action>", CARDS, "bet", Read.EXACT),
    ],
)
def test_an_action_is_read_by_the_first_reading_that_fits(
    answer: str, legal: tuple[str, ...], action: str, how: Read
) -> None:
    assert read(answer, legal) == Reading(action, how)


@pytest.mark.parametrize(
    ("answer", "action"),
    [
        ("<think>Perhaps <action>bet</action>? No.</think><action>pass</action>", "pass"),
        ("Perhaps <action>bet</action>? No.</think>\n<action>pass</action>", "pass"),
        ("<think>Perhaps <action>bet</action>", ""),
        ("<think>Perhaps <action>bet</action></think> I do not know.", ""),
        ("<think>a</think><action>bet</action><think>or <action>pass</action>?", "bet"),
        ("<think>a</think><action>bet</action><think>or <action>x</action></think><action>pass</action>", "pass"),
        ("<action>bet</action><think>no</think>", ""),
    ],
)
def test_what_stands_in_the_thinking_is_not_played(answer: str, action: str) -> None:
    assert read(answer, CARDS).action == action


@pytest.mark.parametrize(
    "look",
    [
        "\u04400c0",
        "r0\u04410",
        "r\u0660c\u0660",
        "\uff52\uff10\uff43\uff10",
        "r0\u200bc0",
        "r\u2070c\u2070",
        "r0c0\u202e",
        "r0c0\x00",
    ],
)
def test_look_alikes_of_legal_actions_are_illegal(look: str) -> None:
    assert read(f"<action>{look}</action>", CELLS) == Reading(look, Read.ILLEGAL)


@pytest.mark.parametrize(("look", "legal"), [("\N{KELVIN SIGN}", "k"), ("pa\N{LATIN SMALL LETTER LONG S}s", "pass")])
def test_only_a_to_z_are_taken_in_either_case(look: str, legal: str) -> None:
    assert read(f"<action>{look}</action>", (legal, "other")).how is Read.ILLEGAL


def test_other_text_is_taken_as_it_stands_where_it_is_accepted() -> None:
    assert read("<action> say hello </action>", CARDS, free=True) == Reading("say hello", Read.OPEN)
    assert read("<action>be</action>", CARDS, free=True) == Reading("be", Read.OPEN)
    assert read("<action>bet</action>", CARDS, free=True) == Reading("bet", Read.EXACT)


@settings(max_examples=300)
@given(before=TEXTS, after=st.text(st.characters(exclude_characters="<>")), action=st.sampled_from(CELLS))
def test_the_last_action_counts_whatever_was_said_before(before: str, after: str, action: str) -> None:
    answer = f"{before}</think><action>{action}</action>{after}"
    assert read(answer, CELLS) == Reading(action, Read.EXACT)


@settings(max_examples=500)
@given(TEXTS)
def test_any_text_comes_to_a_legal_action_or_to_its_own_words(answer: str) -> None:
    action, how = read(answer, CELLS)
    if how in (Read.EXACT, Read.LOOSE, Read.PREFIX, Read.INDEX):
        assert action in CELLS
    else:
        assert action not in CELLS
        assert action in spoken(answer)
        assert (action == "") is (how is Read.UNPARSABLE)


@pytest.mark.parametrize(
    "part",
    [
        "<action>",
        "</action>",
        "<think>",
        "</think>",
        "<think></think>",
        "<action></action>",
        "<action>r0",
        "<",
        " ",
        "r",
    ],
)
@pytest.mark.parametrize("around", ["{}", "<action>{}</action>", "<think>{}</think><action>r0c0</action>"])
def test_a_hundred_thousand_characters_are_read_in_one_pass(part: str, around: str) -> None:
    answer = around.format(part * (100_000 // len(part)))
    action, how = read(answer, CELLS)
    if around.startswith("<think>"):
        assert (action, how) == ("r0c0", Read.EXACT)
    else:
        assert action not in CELLS
        assert how in (Read.ILLEGAL, Read.UNPARSABLE, Read.AMBIGUOUS)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("<think>They bluff.</think>\n Call more.\n", "Call more."),
        ("They bluff.</think>Call more.", "Call more."),
        ("Call more.<think>Or not", "Call more."),
        ("<think>I never", ""),
        ("", ""),
        ("x" * 5_000, "x" * MAX_REFLECTION),
        ("<think>" + "x" * 5_000 + "</think>Fold.", "Fold."),
    ],
)
def test_a_lesson_is_what_was_said_after_the_thinking_cut(answer: str, text: str) -> None:
    assert lesson(answer) == text
