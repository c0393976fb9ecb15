"""Games as PettingZoo environments: arena.to_pettingzoo."""

import random
import subprocess
import sys
import warnings

import numpy as np
import pytest

pytest.importorskip("pettingzoo")

from gymnasium.spaces import Discrete
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, seed_test

import arena
from games.errors import UserError
from games.registry import TABLE, TASKS, make, names
from games.spec import SpecError

SEQUENTIAL = [
    "tic_tac_toe",
    "connect_four",
    "kuhn_poker",
    "kuhn_poker(players=3)",
    "leduc_poker",
    "breakthrough",
    "hex",
    "othello",
    "liars_dice",
    "backgammon",
    "2048",
    "chess",
    "go(board_size=5)",
    "gin_rummy",
    "hanabi",
    "phantom_ttt",
    "negotiation",
    "catch",
    "pettingzoo(env=classic/connect_four_v3)",
    "pettingzoo(env=classic/leduc_holdem_v4)",
]
SIMULTANEOUS = [
    "matrix_rps",
    "matrix_pd",
    "repeated_game(num_repetitions=10,stage_game=matrix_rps())",
    "goofspiel",
    "goofspiel(players=3)",
    "blotto",
    "oshi_zumo",
    "laser_tag",
    "coop_box_pushing",
    "pettingzoo(env=classic/rps_v2)",
]
FREE = [name for name in SIMULTANEOUS if name.startswith(("matrix", "repeated", "blotto", "pettingzoo"))]
"""Games in which every action of the space is always legal, or is played by its place in the list."""
DICT_ONLY = (
    "Observation space for each agent probably should be gymnasium.spaces.box or gymnasium.spaces.discrete",
    "Observation is not a NumPy array",
)
"""PettingZoo's test says this of every dictionary of observation and mask, its own environments exempted by name."""


@pytest.mark.parametrize("name", SEQUENTIAL)
def test_the_api_test_passes_without_other_warnings(name, capsys):
    env = arena.to_pettingzoo(name)
    assert isinstance(env, AECEnv)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        api_test(env, num_cycles=60)
    assert "Passed API test" in capsys.readouterr().out
    assert {str(warning.message) for warning in caught} <= set(DICT_ONLY)


@pytest.mark.parametrize("name", SIMULTANEOUS)
def test_the_parallel_api_test_passes_without_warnings(name, capsys):
    env = arena.to_pettingzoo(name)
    assert isinstance(env, ParallelEnv)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel_api_test(env, num_cycles=60)
    assert "Passed Parallel API test" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in names() if name not in TABLE or name in TASKS])
def test_every_game_that_needs_no_other_package_passes(name):
    try:
        env = arena.to_pettingzoo(name)
    except (SpecError, LookupError):
        pytest.skip("needs parameters")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        (api_test if isinstance(env, AECEnv) else parallel_api_test)(env, num_cycles=20)
    empty = {"Observation numpy array is all zeros."} if name in ("hive", "oh_hell", "twixt") else set()
    assert {str(warning.message) for warning in caught} <= {*DICT_ONLY, *empty}


@pytest.mark.parametrize("name", SEQUENTIAL)
def test_the_seed_test_passes(name):
    seed_test(lambda: arena.to_pettingzoo(name), num_cycles=30)


@pytest.mark.parametrize("name", [name for name in FREE if "pettingzoo" not in name])
def test_the_parallel_seed_test_passes(name):
    parallel_seed_test(lambda: arena.to_pettingzoo(name), num_cycles=30)


@pytest.mark.parametrize("name", ["kuhn_poker(players=3)", "leduc_poker", "backgammon", "2048", "othello"])
def test_a_seed_plays_the_games_own_episode_of_that_seed(name):
    env = arena.to_pettingzoo(name)
    rng = random.Random(1)
    for seed in (0, 2**62 + 1):
        env.reset(seed=seed)
        state = make(name).new_episode(seed)
        paid = dict.fromkeys(env.possible_agents, 0.0)
        for agent in env.agent_iter(300):
            shown, reward, ended, _, info = env.last()
            paid[agent] += reward
            if ended:
                env.step(None)
                continue
            (seat,) = state.seats_to_act()
            assert agent == f"player_{seat}"
            assert tuple(info["legal_actions"].values()) == state.observe(seat).legal_actions
            assert list(info["legal_actions"]) == np.flatnonzero(shown["action_mask"]).tolist()
            assert env.observation_text(agent) == state.observe(seat).text
            number, action = rng.choice(list(info["legal_actions"].items()))
            env.step(number)
            state.apply({seat: action})
        if not env.agents:
            assert tuple(paid.values()) == pytest.approx(state.returns())


@pytest.mark.parametrize("name", ["goofspiel", "oshi_zumo", "laser_tag", "pettingzoo(env=classic/rps_v2)"])
def test_simultaneous_rewards_and_masks_are_the_games_own(name):
    env = arena.to_pettingzoo(name)
    rng = random.Random(2)
    shown, infos = env.reset(seed=5)
    state = make(name).new_episode(5)
    total = np.zeros(len(env.possible_agents))
    while env.agents:
        actions, names = {}, {}
        for seat, agent in enumerate(env.agents):
            legal = infos[agent]["legal_actions"]
            assert list(legal) == np.flatnonzero(shown[agent]["action_mask"]).tolist()
            if seat in state.seats_to_act():
                actions[agent] = rng.choice(list(legal))
                names[seat] = legal[actions[agent]]
        state.apply(names)
        shown, rewards, ended, cut, infos = env.step(actions)
        total += list(rewards.values())
        assert set(ended.values()) == {not env.agents}
        assert not any(cut.values())
    assert state.seats_to_act() == ()
    assert tuple(total) == pytest.approx(state.returns())


def test_an_openspiel_action_keeps_its_number_wherever_it_is_legal():
    env = arena.to_pettingzoo("tic_tac_toe")
    env.reset(seed=0)
    first = env.infos["player_0"]["legal_actions"]
    env.step(4)
    second = env.infos["player_1"]["legal_actions"]
    assert len(first) == 9
    assert second == {number: first[number] for number in first if number != 4}
    assert env.infos["player_0"]["legal_actions"] == {}


def test_what_is_observed_is_the_seats_own_tensor():
    env = arena.to_pettingzoo("kuhn_poker")
    env.reset(seed=3)
    spiel = make("kuhn_poker").new_episode(3).spiel
    for seat, agent in enumerate(env.possible_agents):
        assert env.observe(agent)["observation"].tolist() == spiel.information_state_tensor(seat)
    assert env.observe("player_1")["action_mask"].tolist() == [0, 0]


def test_a_game_without_tensors_is_told_in_bytes_of_its_text():
    env = arena.to_pettingzoo("pettingzoo(env=classic/leduc_holdem_v4)")
    env.reset(seed=0)
    agent = env.agent_selection
    told = bytes(env.observe(agent)["observation"]).rstrip(b"\0").decode()
    assert told == env.observation_text(agent)
    assert "Your card" in told
    other = next(one for one in env.agents if one != agent)
    assert not env.observe(other)["observation"].any()
    env.step(1)
    assert bytes(env.observe(agent)["observation"]).rstrip(b"\0").decode() == told


def test_without_a_seed_the_next_episodes_follow_from_the_last_seed():
    def deals(env):
        env.reset(seed=11)
        found = []
        for _ in range(5):
            env.reset()
            found.append(env.observe("player_0")["observation"].tolist())
        return found

    first, again = deals(arena.to_pettingzoo("leduc_poker")), deals(arena.to_pettingzoo("leduc_poker"))
    assert first == again
    assert len({tuple(deal) for deal in first}) > 1


@pytest.mark.parametrize("action", [0, 9, -1, None])
def test_an_illegal_action_is_refused_by_name_and_changes_nothing(action):
    env = arena.to_pettingzoo("tic_tac_toe")
    env.reset(seed=0)
    env.step(0)
    before = env.observe("player_1")["observation"].tolist()
    with pytest.raises(ValueError, match="no legal action of player_1; legal: 1 "):
        env.step(action)
    assert env.agent_selection == "player_1"
    assert env.observe("player_1")["observation"].tolist() == before
    both = arena.to_pettingzoo("matrix_rps")
    both.reset(seed=0)
    with pytest.raises(ValueError, match="no legal action of player_1"):
        both.step({"player_0": 0})


def test_the_board_is_rendered_as_text_where_that_was_asked_for():
    env = arena.to_pettingzoo("tic_tac_toe", render_mode="ansi")
    with pytest.raises(RuntimeError, match="reset"):
        env.render()
    env.reset(seed=0)
    env.step(4)
    assert env.render() == env.table.state.board()
    quiet = arena.to_pettingzoo("matrix_rps")
    quiet.reset(seed=0)
    with pytest.warns(UserWarning, match="render_mode"):
        assert quiet.render() is None
    with pytest.raises(UserError, match="ansi"):
        arena.to_pettingzoo("tic_tac_toe", render_mode="human")


def test_a_game_may_be_given_as_itself_and_a_wrong_name_is_refused():
    env = arena.to_pettingzoo(make("kuhn_poker"))
    assert env.metadata["name"] == "kuhn_poker"
    assert env.action_space("player_1") == Discrete(2)
    with pytest.raises(SpecError, match="did you mean kuhn_poker"):
        arena.to_pettingzoo("kuhn_pokr")
    with pytest.raises(AttributeError, match="to_gym"):
        arena.to_gym  # noqa: B018


def test_importing_arena_brings_in_no_game_library():
    heavy = "('numpy', 'pyspiel', 'pettingzoo', 'gymnasium')"
    code = f"import sys, arena\nprint([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"
