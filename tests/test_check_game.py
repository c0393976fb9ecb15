"""The check of games itself: it passes an honest game and catches each broken one."""

import random
import re

import numpy as np
import pytest

from games.spec import SpecError
from games.testing import GameCheckError, check_game
from tests.tiny_games import BROKEN, Coins


@pytest.mark.parametrize("seed", range(10))
def test_an_honest_game_passes(seed: int) -> None:
    check_game(Coins(), seed=seed)


def test_a_game_may_be_named_by_its_string() -> None:
    check_game("tic_tac_toe", episodes=2)
    with pytest.raises(SpecError, match="no game 'tic_tac_to'"):
        check_game("tic_tac_to")


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_game_is_caught(name: str) -> None:
    game, why = BROKEN[name]
    with pytest.raises(GameCheckError) as caught:
        check_game(game)
    message = str(caught.value)
    assert re.search(why, message), message
    assert message.startswith(f"{game.spec.name}: ")
    assert len(message.splitlines()) == 1


@pytest.mark.parametrize("name", [name for name in BROKEN if "sample" in name or "leak" in name])
@pytest.mark.parametrize("seed", range(1, 6))
def test_leaks_and_wrong_samples_are_caught_on_any_seed(name: str, seed: int) -> None:
    with pytest.raises(GameCheckError):
        check_game(BROKEN[name][0], seed=seed)


def test_the_check_draws_from_no_generator_of_the_process() -> None:
    before = random.getstate(), np.random.get_state()[1].tobytes()
    check_game(Coins())
    assert before == (random.getstate(), np.random.get_state()[1].tobytes())
