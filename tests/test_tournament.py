"""Tournaments as a whole: what is played, going on after any kind of end, equal results for any number of workers."""

import itertools
import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.models.limits import ModelLimits
from games.errors import UserError
from games.seeding import derive
from league.config import checked, from_toml
from league.plan import plan, scheduled
from league.schedule import FORMATS, Gauntlet, RoundRobin
from league.store.store import Store
from league.tournament import Reached, run
from tests.command_line import ARENA, arena, arena_json, environment

GAMES = ("tic_tac_toe", "kuhn_poker")
AGENTS = ("random", "heuristic", "mcts(simulations=30)", "kuhn(style=aggressive)", "twin=random")


def words(pairs: int, *more: str) -> list[str]:
    games = [word for game in GAMES for word in ("--game", game)]
    agents = [word for agent in AGENTS for word in ("--agent", agent)]
    return ["tournament", *games, *agents, "--pairs", str(pairs), "--episodes", "2", "--seed", "1", *more]


def contents(folder: Path) -> tuple[object, ...]:
    """What must be equal byte for byte: matches and episodes after sorting, and the standings."""
    store = Store(folder / "arena.duckdb")
    rows = [store.query(f"SELECT * FROM {table} ORDER BY ALL").to_pylist() for table in ("matches", "episodes")]
    return (*rows, arena("standings", "--json", folder=folder).stdout)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("uninterrupted")
    arena(*words(60, "--workers", "1"), folder=folder)
    return folder


def test_two_workers_give_what_one_gives_byte_for_byte(uninterrupted: Path, tmp_path: Path) -> None:
    arena(*words(60, "--workers", "2"), folder=tmp_path)
    assert contents(tmp_path) == contents(uninterrupted)


@pytest.mark.parametrize("kills", [4, pytest.param(20, marks=pytest.mark.slow)])
def test_a_run_killed_at_random_moments_ends_like_one_that_was_not(
    uninterrupted: Path, tmp_path: Path, kills: int
) -> None:
    rng = random.Random(kills)
    command = [ARENA, *words(60, "--workers", "2")]
    for _ in range(kills):
        process = subprocess.Popen(
            command, cwd=tmp_path, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(rng.uniform(0.2, 3.0))
        process.send_signal(signal.SIGKILL)
        process.wait()
    arena(*words(60, "--workers", "2"), folder=tmp_path)
    assert contents(tmp_path) == contents(uninterrupted)


def test_ctrl_c_keeps_what_is_finished_and_says_how_to_go_on(tmp_path: Path) -> None:
    long, total = [word.replace("simulations=30", "simulations=300") for word in words(400)], 18 * 400
    process = subprocess.Popen(
        [ARENA, *long],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while not _matches(tmp_path):
        time.sleep(0.05)
        assert process.poll() is None
    os.killpg(process.pid, signal.SIGINT)  # as the terminal does: the whole group
    _, said = process.communicate(timeout=30)
    kept = _matches(tmp_path)
    assert process.returncode == 130, said
    assert 0 < kept < total
    assert f"stopped: {kept} of {total} " in said
    assert "the same command goes on" in said
    assert "Traceback" not in said
    again = arena(*long, folder=tmp_path).stderr
    assert "nothing to play" not in again
    assert _matches(tmp_path) == total


def test_ctrl_c_ends_an_agents_preparation_which_is_told_when_it_takes_long(tmp_path: Path) -> None:
    agents = ("--agent", "random", "--agent", "cfr(iterations=100000)")
    process = subprocess.Popen(
        [ARENA, "tournament", "--game", "leduc_poker", *agents, "--pairs", "1"],
        cwd=tmp_path,
        env=environment() | {"METARENA_CACHE": str(tmp_path / "cache")},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if "prepares for leduc_poker" in line:
                break
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 130
        assert "Traceback" not in process.stderr.read()
    finally:
        process.kill()  # one that does not listen would prepare for hours


def test_a_second_run_of_a_finished_tournament_plays_nothing(uninterrupted: Path) -> None:
    before = contents(uninterrupted)
    runs = Store(uninterrupted / "arena.duckdb").query("SELECT count(*) AS n FROM match_runs").to_pylist()
    said = arena(*words(60), folder=uninterrupted).stderr
    assert "nothing to play" in said
    assert contents(uninterrupted) == before
    assert Store(uninterrupted / "arena.duckdb").query("SELECT count(*) AS n FROM match_runs").to_pylist() == runs


def test_more_pairs_and_agents_extend_a_tournament(tmp_path: Path) -> None:
    small = ["tournament", "--game", "kuhn_poker", "--agent", "random", "--agent", "b=random"]
    arena(*small, "--pairs", "2", folder=tmp_path)
    before = arena_json("matches", folder=tmp_path)
    arena(*small, "--agent", "c=random", "--pairs", "3", folder=tmp_path)
    after = {match["match_id"]: match for match in arena_json("matches", folder=tmp_path)}
    assert len(before) == 4
    assert len(after) == 3 * 2 * 3
    assert all(after[match["match_id"]] == match for match in before)


def test_two_tournaments_share_a_store(tmp_path: Path) -> None:
    pair = ["--agent", "random", "--agent", "b=random", "--pairs", "3"]
    arena("tournament", "--game", "kuhn_poker", *pair, folder=tmp_path)
    arena("tournament", "--game", "kuhn_poker", *pair, "--seed", "7", folder=tmp_path)
    arena("tournament", "--game", "tic_tac_toe", *pair, "--name", "friday", folder=tmp_path)
    rows = arena_json("standings", folder=tmp_path)
    played = {(row["pool"], row["agent"]): row["matches"] for row in rows}
    assert played == {
        (pool, agent): count
        for pool, count in (("overall", 18), ("kuhn_poker", 12), ("tic_tac_toe", 6))
        for agent in ("random", "b")
    }


def test_another_process_reads_and_writes_the_store_during_a_run(uninterrupted: Path, tmp_path: Path) -> None:
    process = subprocess.Popen([ARENA, *words(60)], cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True)
    while not _matches(tmp_path):
        time.sleep(0.05)
    while process.poll() is None:
        arena("standings", folder=tmp_path)
        arena("play", "connect_four", "random", "random", "--json", folder=tmp_path)
    assert process.returncode == 0, process.stderr
    store = Store(tmp_path / "arena.duckdb")
    theirs = store.query("SELECT * FROM matches WHERE NOT starts_with(tournament, 'play-') ORDER BY ALL").to_pylist()
    assert theirs == Store(uninterrupted / "arena.duckdb").query("SELECT * FROM matches ORDER BY ALL").to_pylist()
    assert store.query("SELECT count(*) AS n FROM matches WHERE game = 'connect_four'").to_pylist()[0]["n"] > 0


def test_who_cannot_play_a_game_is_left_out_of_it_with_the_reason(tmp_path: Path) -> None:
    said = arena(*words(1), folder=tmp_path).stderr
    assert "kuhn(style=aggressive) does not play tic_tac_toe: " in said
    assert "heuristic does not play kuhn_poker: " in said
    agents = {(row["pool"], row["agent"]) for row in arena_json("standings", folder=tmp_path)}
    assert ("kuhn_poker", "heuristic") not in agents
    assert ("tic_tac_toe", "kuhn(style=aggressive)") not in agents


def test_classical_agents_rank_as_they_should(tmp_path: Path) -> None:
    agents = ["random", "heuristic", "mcts(simulations=1000)", "minimax", "cfr(iterations=1000)"]
    flags = [word for agent in [*agents, "kuhn(style=aggressive)"] for word in ("--agent", agent)]
    arena(
        *("tournament", "--game", "tic_tac_toe", "--game", "kuhn_poker", *flags, "--pairs", "20", "--seed", "1"),
        folder=tmp_path,
    )
    ranks = {row["agent"]: row["rank"] for row in arena_json("standings", "--game", "tic_tac_toe", folder=tmp_path)}
    assert max(ranks["minimax"], ranks["mcts"]) < ranks["heuristic"] < ranks["random"]


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("seats", [1, 2, 3, 4])
@given(members=st.integers(4, 7), pairs=st.integers(1, 3))
def test_a_schedule_holds_every_pairing_once_in_all_its_seat_orders(
    kind: str, seats: int, members: int, pairs: int
) -> None:
    schedule = FORMATS[kind](seats, pairs)
    pairings = list(itertools.chain.from_iterable(iter(lambda: schedule.next_round(members), [])))
    assert len(pairings) == len(set(pairings)) == schedule.total(members)
    groups = {frozenset(pairing.members) for pairing in pairings}
    wanted = [frozenset(group) for group in itertools.combinations(range(members), seats)]
    assert groups == {group for group in wanted if kind == "round_robin" or 0 in group}
    for group in groups:
        for pair in range(pairs):
            orders = [p.members for p in pairings if frozenset(p.members) == group and p.pair == pair]
            first_seats = [order[0] for order in orders]
            assert len(orders) == (seats if seats > 3 else len(list(itertools.permutations(group))))
            assert {first_seats.count(member) for member in group} == {len(orders) // seats}


def test_matches_of_one_pair_share_their_seed_whoever_plays() -> None:
    planned = plan(checked({"games": ["tic_tac_toe"], "agents": ["random", "b=random", "heuristic"], "pairs": 3}))
    seeds = {match.pair: {m.seed for m in scheduled(planned) if m.pair == match.pair} for match in scheduled(planned)}
    assert seeds == {pair: {derive(0, "tic_tac_toe", pair)} for pair in range(3)}


def test_match_ids_are_all_different_and_do_not_change() -> None:
    values = {"games": ["tic_tac_toe", "kuhn_poker"], "agents": ["random", "b=random", "c=random"], "pairs": 5}
    ids = [match.match_id for match in scheduled(plan(checked(values)))]
    assert len(ids) == len(set(ids)) == 60
    assert ids == [match.match_id for match in scheduled(plan(checked(values)))]
    other = [match.match_id for match in scheduled(plan(checked({**values, "episodes": 2})))]
    assert not set(ids) & set(other)


LIMITS: dict[str, object] = {
    "budget_tokens": 5000,
    "budget_dollars": 1.5,
    "requests_per_minute": 60.0,
    "tokens_per_minute": 9000,
    "request_seconds": 7.5,
    "patience_seconds": 0.0,
}


def test_limits_of_language_models_are_flags_and_keys_and_change_no_id(tmp_path: Path) -> None:
    values = {"games": ["kuhn_poker"], "agents": ["random", "b=random"], "pairs": 1}
    config = checked({**values, **LIMITS, "concurrent": 3})
    assert config.model_limits() == ModelLimits(**LIMITS)  # type: ignore[arg-type]
    assert set(LIMITS) == set(ModelLimits.model_fields)
    assert config.rules() == checked(values).rules()
    assert [match.match_id for match in scheduled(plan(config))] == [
        match.match_id for match in scheduled(plan(checked(values)))
    ]
    file = tmp_path / "limits.toml"
    lines = ['games = ["kuhn_poker"]', 'agents = ["random", "b=random"]', "pairs = 1", "concurrent = 3"]
    file.write_text("\n".join([*lines, *[f"{key} = {value}" for key, value in LIMITS.items()]]))
    assert from_toml(file, {}) == config
    flags = [word for key, value in LIMITS.items() for word in (f"--{key.replace('_', '-')}", str(value))]
    arena("tournament", "limits.toml", *flags, "--concurrent", "4", folder=tmp_path)
    kept = Store(tmp_path / "arena.duckdb").query("SELECT config FROM tournaments").to_pylist()[0]["config"]
    assert {key: value for key, value in json.loads(kept).items() if key in LIMITS} == LIMITS
    assert json.loads(kept)["concurrent"] == 4


@pytest.mark.parametrize(
    ("flag", "value", "words"),
    [
        ("--budget-tokens", "0", "budget_tokens = 0: input should be greater than 0"),
        ("--budget-dollars", "nan", "budget_dollars = nan: input should be a finite number"),
        ("--patience-seconds", "-1", "patience_seconds = -1.0: input should be greater than or equal to 0"),
    ],
)
@pytest.mark.parametrize("command", ["play", "tournament"])
def test_a_wrong_limit_is_refused_in_one_line(command: str, flag: str, value: str, words: str, tmp_path: Path) -> None:
    agents = ["tic_tac_toe", "random", "random"]
    if command == "tournament":
        agents = ["--game", "tic_tac_toe", "--agent", "random", "--agent", "heuristic"]
    assert words in arena(command, *agents, f"{flag}={value}", folder=tmp_path, code=2).stderr


def test_a_plan_of_ten_million_matches_is_read_lazily() -> None:
    values = {"games": ["tic_tac_toe"], "agents": ["random", "b=random"], "pairs": 5_000_000}
    planned = plan(checked(values))
    assert planned.total == 10_000_000
    assert len(list(itertools.islice(scheduled(planned), 5))) == 5


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"agents": ["random", "random"]}, "agent random takes part twice"),
        ({"games": ["kuhn_poker", "kuhn_poker(players=2)"]}, "game kuhn_poker takes part twice"),
        ({"agents": ["random"]}, "kuhn_poker has 2 seats and 1 of the agents can play it"),
        ({"agents": ["random", "b=random", "heuristic"]}, "agent heuristic can play none of the games: "),
        ({"agents": ["random", "human"]}, "agent human needs a person"),
    ],
)
def test_what_cannot_be_played_is_refused_in_one_line(values: dict[str, object], words: str) -> None:
    config = checked({"games": ["kuhn_poker"], "agents": ["random", "b=random"], **values})
    with pytest.raises(UserError) as caught:
        plan(config)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_progress_counts_every_match_once(tmp_path: Path) -> None:
    config = checked({"games": ["kuhn_poker"], "agents": ["random", "b=random"], "pairs": 500, "workers": 1})
    seen: list[Reached] = []
    outcome = run(plan(config), Store(tmp_path / "a.duckdb"), lambda standing, _: seen.append(standing))
    assert seen[-1] == Reached(1000, 0, 1000)
    assert [standing.finished for standing in seen] == sorted(standing.finished for standing in seen)
    assert (outcome.finished, outcome.before, outcome.stopped, outcome.unfinished) == (1000, 0, False, [])


def test_gauntlet_and_round_robin_are_different_tournaments(tmp_path: Path) -> None:
    values = {"games": ["kuhn_poker"], "agents": ["random", "b=random", "c=random"], "pairs": 1}
    robin, gauntlet = plan(checked(values)), plan(checked({**values, "format": "gauntlet"}))
    assert robin.games[0].tournament != gauntlet.games[0].tournament
    assert (robin.total, gauntlet.total) == (RoundRobin(2, 1).total(3), Gauntlet(2, 1).total(3)) == (6, 4)


def _matches(folder: Path) -> int:
    """How many matches a store holds; 0 while there is none."""
    if not (folder / "arena.duckdb").exists():
        return 0
    return int(Store(folder / "arena.duckdb").query("SELECT count(*) AS n FROM matches").to_pylist()[0]["n"])
