"""cfr plays what its solver found, solves once, and says what it cannot solve."""

import asyncio
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents import cache, equilibrium
from agents.agent import Setup
from agents.equilibrium import Cfr, average_policy
from agents.registry import recipe
from agents.tree import HISTORIES
from agents.uniform import Uniform
from agents.values import expected_returns, exploitability
from games.game import Game, Observation
from games.registry import make
from games.spec import SpecError

KUHN = make("kuhn_poker")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache folder of its own, and nothing left in memory from other tests."""
    monkeypatch.setenv("METARENA_CACHE", str(tmp_path))
    average_policy.cache_clear()
    yield tmp_path
    average_policy.cache_clear()


@pytest.fixture
def solved(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the games that were solved, in order, and not read from the cache."""
    names: list[str] = []
    solve = equilibrium.solve

    def counted(game: equilibrium.SpielGame, iterations: int, algorithm: equilibrium.Algorithm) -> equilibrium.Policy:
        names.append(game.spec.name)
        return solve(game, iterations, algorithm)

    monkeypatch.setattr(equilibrium, "solve", counted)
    return names


def observed(game: Game, seed: int) -> Observation:
    state = game.new_episode(seed)
    return state.observe(state.seats_to_act()[0])


def test_a_thousand_iterations_are_close_to_the_equilibrium_of_kuhn() -> None:
    cfr = Cfr(Setup(KUHN, 0, 1))
    assert exploitability(KUHN, [cfr, cfr]) < 0.005
    assert expected_returns(KUHN, [cfr, cfr])[0] == pytest.approx(-1 / 18, abs=2e-3)


def test_cfr_earns_less_from_uniform_play_than_a_player_that_always_bets() -> None:
    cfr, uniform = Cfr(Setup(KUHN, 0, 1)), Uniform(Setup(KUHN, 0, 1))
    earned = (expected_returns(KUHN, [cfr, uniform])[0] + expected_returns(KUHN, [uniform, cfr])[1]) / 2
    assert 0.1111 <= earned <= 0.1667
    assert earned == pytest.approx(0.145, abs=1e-3)


@pytest.mark.parametrize("name", ["kuhn_poker", "liars_dice(dice_sides=3,numdice=1)"])
def test_cfr_plus_is_nearer_after_as_many_iterations(name: str) -> None:
    game = make(name)
    plain, plus = (Cfr(Setup(game, 0, 1), iterations=100, algorithm=algorithm) for algorithm in ("cfr", "cfr+"))
    assert 0 < exploitability(game, [plus, plus]) < exploitability(game, [plain, plain])


def test_cfr_draws_from_its_policy_with_its_own_seed() -> None:
    observation = next(seen for seed in range(20) if (seen := observed(KUHN, seed)).key == "0")
    stated = Cfr(Setup(KUHN, 0, 0)).probabilities(observation)
    drawn = Counter(asyncio.run(Cfr(Setup(KUHN, 0, seed)).act(observation)).action for seed in range(500))
    assert 0.1 < stated["bet"] < 0.35
    assert drawn["bet"] / 500 == pytest.approx(stated["bet"], abs=0.1)
    for seed in range(10):
        twice = [asyncio.run(Cfr(Setup(KUHN, 0, seed)).act(observation)) for _ in range(2)]
        assert twice[0] == twice[1]


def test_argmax_takes_the_likeliest_action() -> None:
    for seed in range(10):
        observation = observed(KUHN, seed)
        stated = Cfr(Setup(KUHN, 0, 0)).probabilities(observation)
        sharp = Cfr(Setup(KUHN, 0, seed), play="argmax")
        assert sharp.probabilities(observation)[max(stated, key=lambda action: stated[action])] == 1.0
        assert asyncio.run(sharp.act(observation)).action == max(stated, key=lambda action: stated[action])


def test_where_nothing_is_hidden_the_policy_is_found_too() -> None:
    game = make('nim(pile_sizes="1;2")')
    cfr = Cfr(Setup(game, 0, 1), iterations=300)
    assert expected_returns(game, [cfr, Uniform(Setup(game, 1, 1))])[0] > 0.95


def test_a_game_is_solved_once_a_process_and_once_a_machine(solved: list[str]) -> None:
    first = average_policy(KUHN, 20, "cfr")
    assert average_policy(KUHN, 20, "cfr") is first
    average_policy.cache_clear()
    assert average_policy(KUHN, 20, "cfr") == first
    assert solved == ["kuhn_poker"]


def test_other_parameters_and_games_have_tables_of_their_own(solved: list[str]) -> None:
    tables = [average_policy(KUHN, 20, "cfr"), average_policy(KUHN, 21, "cfr"), average_policy(KUHN, 20, "cfr+")]
    average_policy(make("kuhn_poker(players=3)"), 20, "cfr")
    assert len(solved) == 4
    assert len({str(table) for table in tables}) == 3


def test_prepare_keeps_the_table_on_disk(folder: Path, solved: list[str]) -> None:
    recipe("cfr(iterations=20)").prepare(KUHN)
    assert len(list(folder.iterdir())) == 1
    average_policy.cache_clear()
    Cfr(Setup(KUHN, 0, 1), iterations=20)
    assert solved == ["kuhn_poker"]


@pytest.mark.parametrize("keep", [0, 10, -1])
def test_a_damaged_table_is_solved_again(keep: int, folder: Path, solved: list[str]) -> None:
    whole = average_policy(KUHN, 20, "cfr")
    (file,) = folder.iterdir()
    file.write_bytes(file.read_bytes()[:keep])
    average_policy.cache_clear()
    assert average_policy(KUHN, 20, "cfr") == whole
    assert len(solved) == 2
    assert cache.load("cfr", "damaged") is None
    average_policy.cache_clear()
    assert average_policy(KUHN, 20, "cfr") == whole
    assert len(solved) == 2


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("tic_tac_toe", f"more than {HISTORIES:,} histories"),
        ("liars_dice", f"more than {HISTORIES:,} histories"),
        ("matrix_rps", "at the same time"),
        ("catch", "has one"),
        ("breakthrough", "does not tell its information states"),
        ("negotiation", "tells no probabilities"),
        ("pettingzoo(env=classic/tictactoe_v3)", "no game of OpenSpiel"),
    ],
)
def test_misfits_are_told(name: str, why: str) -> None:
    reason = recipe("cfr").misfit(make(name))
    assert reason is not None
    assert re.search(why, reason)


@pytest.mark.parametrize("name", ["kuhn_poker", "kuhn_poker(players=3)", "leduc_poker", "tiny_hanabi"])
def test_small_games_fit(name: str) -> None:
    assert recipe("cfr").misfit(make(name)) is None


@pytest.mark.parametrize("wrong", ["cfr(iterations=0)", "cfr(algorithm=dqn)", "cfr(play=best)"])
def test_wrong_parameters_are_refused(wrong: str) -> None:
    with pytest.raises(SpecError):
        recipe(wrong)
