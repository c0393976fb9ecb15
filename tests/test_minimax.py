"""minimax plays perfectly where the whole game fits into a table, and refuses where it does not."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from open_spiel.python.algorithms.minimax import alpha_beta_search, expectiminimax

from agents import minimax
from agents.agent import Agent, Setup
from agents.minimax import Minimax, table
from agents.registry import recipe
from agents.tree import POSITIONS, Tree
from games.game import Game, State
from games.registry import make
from games.spiel import SpielGame

TIC_TAC_TOE = make("tic_tac_toe")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache folder of its own, and nothing left in memory from other tests."""
    monkeypatch.setenv("METARENA_CACHE", str(tmp_path))
    table.cache_clear()
    yield tmp_path
    table.cache_clear()


@pytest.fixture
def solved(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the games that were solved, in order, and not read from the cache."""
    names: list[str] = []
    solve = minimax.solve

    def counted(tree: Tree) -> minimax.Table:
        names.append(tree.game.spec.name)
        return solve(tree)

    monkeypatch.setattr(minimax, "solve", counted)
    return names


def play(game: Game, agents: Sequence[Agent], seed: int) -> State:
    state = game.new_episode(seed)
    while seats := state.seats_to_act():
        seat = seats[0]
        state.apply({seat: asyncio.run(agents[seat].act(state.observe(seat))).action})
    return state


def test_two_perfect_players_draw_at_tic_tac_toe_in_many_ways() -> None:
    boards = set()
    for seed in range(60):
        state = play(TIC_TAC_TOE, [Minimax(Setup(TIC_TAC_TOE, seat, 2 * seed + seat)) for seat in (0, 1)], seed)
        assert state.returns() == (0, 0)
        boards.add(state.board())
    assert len(boards) > 10


@pytest.mark.parametrize("seat", [0, 1])
def test_a_perfect_player_never_loses_to_random_play(seat: int) -> None:
    wins = 0
    for seed in range(150):
        agents: list[Agent] = [recipe("random").make(Setup(TIC_TAC_TOE, place, seed)) for place in (0, 1)]
        agents[seat] = Minimax(Setup(TIC_TAC_TOE, seat, seed))
        won = play(TIC_TAC_TOE, agents, seed).returns()[seat]
        assert won >= 0
        wins += won > 0
    assert wins > 75


@pytest.mark.parametrize(
    ("name", "value"),
    [("tic_tac_toe", 0), ("misere(game=tic_tac_toe())", 0), ("nim", -1), ('nim(pile_sizes="1;2")', 1)],
)
def test_known_games_have_the_value_that_is_known(name: str, value: float) -> None:
    game = make(name)
    players = [Minimax(Setup(game, seat, 1)) for seat in (0, 1)]
    assert play(game, players, 0).returns()[0] == value


@pytest.mark.parametrize(
    "name",
    [
        "breakthrough(columns=3,rows=4)",
        "clobber(columns=3,rows=3)",
        "go(board_size=2)",
        "hex(board_size=3)",
        'nim(pile_sizes="2;3")',
        "y(board_size=3)",
    ],
)
def test_values_equal_those_of_alpha_beta_search(name: str) -> None:
    game = make(name)
    assert isinstance(game, SpielGame)
    start = game.spiel.new_initial_state()
    assert table(game).value(start) == alpha_beta_search(game.spiel)[0]


def test_chance_is_averaged() -> None:
    game = make("pig(diceoutcomes=2,horizon=10,winscore=3)")
    assert isinstance(game, SpielGame)
    start = game.spiel.new_initial_state()
    value = expectiminimax(start, 30, None, maximizing_player_id=0)[0]
    assert 0.1 < value < 0.2
    assert table(game).value(start) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(("name", "merged"), [("tic_tac_toe", True), ("go(board_size=2)", False)])
def test_histories_share_a_value_only_where_the_board_tells_all(name: str, merged: bool) -> None:
    assert table(make(name)).merged is merged


def test_best_moves_are_drawn_evenly_from_the_seed() -> None:
    observation = TIC_TAC_TOE.new_episode(0).observe(0)
    chosen = [asyncio.run(Minimax(Setup(TIC_TAC_TOE, 0, seed)).act(observation)).action for seed in range(200)]
    assert set(chosen) == set(observation.legal_actions)
    assert chosen == [asyncio.run(Minimax(Setup(TIC_TAC_TOE, 0, seed)).act(observation)).action for seed in range(200)]
    assert set(Minimax(Setup(TIC_TAC_TOE, 0, 0)).probabilities(observation).values()) == {1 / 9}


def test_a_table_is_solved_once_and_read_back_the_same(folder: Path, solved: list[str]) -> None:
    whole = table(TIC_TAC_TOE)
    assert len(whole.values) == 5478
    table.cache_clear()
    assert table(TIC_TAC_TOE) == whole
    assert solved == ["tic_tac_toe"]
    assert [file.name.split("-")[0] for file in folder.iterdir()] == ["minimax"]


@pytest.mark.parametrize("place", [0, 20, -1])
def test_a_damaged_table_is_solved_again(place: int, folder: Path, solved: list[str]) -> None:
    whole = table(TIC_TAC_TOE)
    (file,) = folder.iterdir()
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)
    table.cache_clear()
    assert table(TIC_TAC_TOE) == whole
    assert len(solved) == 2


def test_what_is_too_large_is_refused_with_the_limit_and_the_refusal_kept(folder: Path) -> None:
    game = make("connect_four")
    reason = recipe("minimax").misfit(game)
    assert reason == f"minimax cannot solve it: connect_four has more than {POSITIONS:,} positions"
    kept = {file.name: file.stat().st_mtime_ns for file in folder.iterdir()}
    assert kept
    assert recipe("minimax").misfit(game) == reason
    assert {file.name: file.stat().st_mtime_ns for file in folder.iterdir()} == kept


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("kuhn_poker", "perfect information"),
        ("matrix_rps", "moves in turn"),
        ("catch", "two seats"),
        ("2048", "two seats"),
        ("pettingzoo(env=classic/tictactoe_v3)", "perfect information|no game of OpenSpiel"),
    ],
)
def test_misfits_are_told(name: str, why: str) -> None:
    reason = recipe("minimax").misfit(make(name))
    assert reason is not None
    assert any(part in reason for part in why.split("|"))
