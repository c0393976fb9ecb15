"""The games of TextArena for one player, where its package is installed."""

from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("textarena", reason="the extra textarena is not installed")

from games.errors import UserError
from games.registry import make
from games.tasks.engines.textarena_moves import MOVES
from games.testing import check_game
from tests.task_play import played, plays_a_tournament, same_again, task_of

SLOW = {"RushHour", "Sokoban"}
"""Games that take long to make a puzzle."""
DATA = {"Hangman"}
"""Games that need word lists of NLTK, which are downloaded."""
HERE = [name for name in MOVES if name not in DATA]


@pytest.mark.parametrize("name", [*HERE, "Crosswords", "LogicPuzzle"])
def test_a_game_keeps_the_promises_of_games(name: str) -> None:
    check_game(f"textarena(id={name}-v0)", decisions=60 if name in SLOW else 300, episodes=6 if name in SLOW else 20)


@pytest.mark.parametrize("name", HERE)
def test_every_listed_move_is_written_as_the_game_reads_it(name: str) -> None:
    """A move may be invalid where things stand; it is never one that the game cannot read."""
    state = task_of(f"textarena(id={name}-v0)").new_episode(0)
    for move in [*state.observe(0).legal_actions[:3], *state.observe(0).legal_actions[-3:]]:
        one = state.at(0)
        one.apply({0: move})
        told = one.observe(0).text.rpartition("You: ")[2].lower()
        assert not any(word in told for word in ("format", "please write", "did not respond")), told


@pytest.mark.parametrize("name", HERE)
def test_an_episode_replays_exactly_beside_another(name: str) -> None:
    task = task_of(f"textarena(id={name}-v0,turns=30)")
    assert all(same_again(task, seed) for seed in range(1 if name in SLOW else 4))


def test_an_episode_does_not_tell_of_the_one_before() -> None:
    task = task_of("textarena(id=GuessTheNumber-v0)")
    first = task.new_episode(1).observe(0).text
    played(task, 0)
    assert task.new_episode(1).observe(0).text == first


def test_the_best_play_of_a_game_is_a_success() -> None:
    state = played(task_of("textarena(id=TowerOfHanoi-v0)"), 0, "[A C] [A B] [C B] [A C] [B A] [B C] [A C]"
                   .replace("] [", "]|[").split("|"))  # fmt: skip
    assert (state.success(), state.returns()) == ((True,), (1.0,))


def test_halving_finds_a_number_and_the_game_tells_higher_and_lower() -> None:
    task = task_of("textarena(id=GuessTheNumber-v0)")
    for seed in range(20):
        state, low, high = task.new_episode(seed), 1, 20
        while state.seats_to_act():
            guess = (low + high) // 2
            state.apply({0: f"[{guess}]"})
            last = state.observe(0).text.lower().rpartition("you: ")[2]
            low, high = (guess + 1, high) if "higher" in last else (low, guess - 1)
        assert state.success() == (True,)


def test_a_second_invalid_move_in_a_row_ends_the_episode() -> None:
    state = task_of("textarena(id=TowerOfHanoi-v0)").new_episode(0)
    state.apply({0: "[B A]"})
    assert state.seats_to_act() == (0,)
    state.apply({0: "[B A]"})
    assert (state.seats_to_act(), state.success()) == ((), (False,))


def test_what_an_environment_prints_is_kept_from_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    task_of("textarena(id=RushHour-v0,first=3)")
    assert capfd.readouterr().out == ""


def test_games_of_words_say_where_their_word_lists_are_missing() -> None:
    said = ""
    try:
        make("textarena(id=Hangman-v0)")
    except UserError as error:
        said = str(error)
    assert not said or "needs word lists of NLTK, which could not be downloaded: python -m nltk.downloader" in said


def test_long_episodes_tell_the_latest_lines() -> None:
    state = task_of("textarena(id=2048-v0)").new_episode(0)
    lengths = []
    while state.seats_to_act() and len(state.log) < 120:
        state.apply({0: state.observe(0).legal_actions[len(state.log) % 4]})
        lengths.append(len(state.observe(0).text))
    assert max(later - former for former, later in pairwise(lengths[60:])) < 200
    assert "earlier lines are left out" in state.observe(0).text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("textarena(id=Wordel-v0)", "no environment 'Wordel-v0'; did you mean Wordle-v0"),
        ("textarena(id=TicTacToe-v0)", "TicTacToe-v0 cannot be made: AssertionError: .*has to be 2"),
        ("textarena(id=TwentyQuestions-v0)", "asks a language model on a server"),
        ("textarena(id=Klondike-v0)", "Klondike-v0 cannot be made: "),
        ("textarena(success=inf)", "'success' .* is inf"),
        ("textarena(ids=x)", "no parameter 'ids'; did you mean id"),
    ],
)
def test_what_cannot_be_played_is_one_line(text: str, words: str) -> None:
    with pytest.raises(UserError, match=words) as caught:
        make(text)
    assert "\n" not in str(caught.value)


def test_games_are_played_in_worker_processes_and_replay(tmp_path: Path) -> None:
    plays_a_tournament("textarena(id=LightsOut-v0)", tmp_path)
