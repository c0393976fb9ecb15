"""PettingZoo environments as games: what the adapter in games/pettingzoo.py must hold."""

import random
import subprocess
import sys
from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("pettingzoo")

from gymnasium.spaces import Discrete
from pettingzoo import AECEnv, ParallelEnv

from games.errors import UserError
from games.game import Dynamics, Information, SampleError, Utility
from games.registry import make
from games.seeding import derive
from games.spec import SpecError
from games.text.zoo import TABLE, UNKNOWN_BOUND
from games.zoo_game import Limits, PettingZooGame

CLASSIC = [f"pettingzoo(env={place})" for place in TABLE]
PERFECT = [name for name in CLASSIC if make(name).spec.information is Information.PERFECT]
VARIANTS = [
    "pettingzoo(board_size=5,env=classic/go_v5)",
    "pettingzoo(env=classic/rps_v2,max_cycles=3,num_actions=7)",
    "pettingzoo(env=classic/texas_holdem_v4,num_players=4)",
    "pettingzoo(env=classic/texas_holdem_no_limit_v6,num_players=3)",
    "pettingzoo(colors=3,env=classic/hanabi_v5,max_life_tokens=1,players=3)",
]
LONGEST = 80
"""Decisions after which a test stops looking at an episode (chess and go take hundreds)."""


def plays(game, seed, choices=0):
    """Play at random and yield the state before each decision, then the last one, each with what was played."""
    rng = random.Random(choices)
    state = game.new_episode(seed)
    for _ in range(LONGEST):
        seats = state.seats_to_act()
        actions = {seat: rng.choice(state.observe(seat).legal_actions) for seat in seats}
        yield state, actions
        if not seats:
            return
        state.apply(actions)


def record(game, seed, choices=0):
    """Everything that can be seen of an episode, as one list."""
    return [
        (
            [(seat, observation.text, observation.key, observation.legal_actions, list(observation.events))
             for seat in state.seats_to_act() for observation in [state.observe(seat)]],
            state.rewards(),
            state.returns(),
            state.board(),
        )
        for state, _ in plays(game, seed, choices)
    ]  # fmt: skip


@pytest.mark.parametrize("name", CLASSIC + VARIANTS)
def test_an_episode_keeps_the_promises_of_its_spec(name):
    game = make(name)
    spec = game.spec
    assert spec.name == name
    assert make(spec.name) is game
    for seed in range(4):
        total = np.zeros(spec.seats)
        decisions = 0
        for state, actions in plays(game, seed, seed):
            total += state.rewards() if decisions else 0
            assert state.returns() == pytest.approx(total)
            assert all(spec.min_utility <= value <= spec.max_utility for value in state.returns())
            if spec.terminal_rewards and actions:
                assert not any(state.returns())
            if spec.dynamics is Dynamics.SEQUENTIAL:
                assert len(actions) <= 1
            for seat in actions:
                legal = state.observe(seat).legal_actions
                assert len(set(legal)) == len(legal) > 0
                assert all(action and "\n" not in action for action in legal)
            decisions += len(actions)
        assert decisions <= spec.max_turns
        if spec.utility is Utility.ZERO_SUM:
            assert sum(state.returns()) == pytest.approx(0)
        if spec.utility is Utility.IDENTICAL:
            assert len(set(state.returns())) == 1


@pytest.mark.parametrize("name", CLASSIC + VARIANTS)
def test_game_seed_and_actions_make_the_same_episode_again(name):
    game = make(name)
    assert record(game, 2**62 + 5) == record(game, 2**62 + 5)


@pytest.mark.parametrize("name", CLASSIC)
def test_the_generators_of_the_process_are_left_alone(name):
    game = make(name)
    before = random.getstate(), np.random.get_state()[1].tolist(), np.random.get_state()[2]
    for _ in plays(game, 3):
        pass
    assert (random.getstate(), np.random.get_state()[1].tolist(), np.random.get_state()[2]) == before


def _paid(env, seed, numbers):
    """What the usual PettingZoo loop pays each agent for the given actions, by `last()`."""
    env.reset(seed=seed)
    returns = dict.fromkeys(env.possible_agents, 0.0)
    left = list(numbers)
    for agent in env.agent_iter():
        _, reward, ended, cut, _ = env.last()
        returns[agent] += reward
        env.step(None if ended or cut else left.pop(0))
    return tuple(returns.values())


@pytest.mark.parametrize("name", [name for name in CLASSIC if "rps" not in name and "chess" not in name])
def test_returns_are_what_the_usual_loop_pays(name):
    game = make(name.replace("go_v5", "go_v5,board_size=5"))
    for seed in range(5):
        numbers = []
        state = game.new_episode(seed)
        rng = random.Random(seed)
        while seats := state.seats_to_act():
            legal = state.legal(seats[0])
            action = rng.choice(list(legal))
            numbers.append(legal[action])
            state.apply({seats[0]: action})
        assert _paid(game.make_env(), derive("pettingzoo", seed) % 2**31, numbers) == pytest.approx(state.returns())


@pytest.mark.parametrize("name", [name for name in CLASSIC if make(name).spec.chance])
def test_seeds_deal_differently(name):
    game = make(name)
    assert len({game.new_episode(seed).board() for seed in range(10)}) > 3


@pytest.mark.parametrize("name", [name for name in CLASSIC if name not in PERFECT])
def test_text_and_actions_depend_on_what_the_seat_is_shown_only(name):
    game = make(name)
    seen = defaultdict(set)
    hidden = defaultdict(set)
    for seed in range(60):
        for state, actions in plays(game, seed, seed % 3):
            for seat in actions:
                observation = state.observe(seat)
                seen[observation.key].add((observation.text, observation.legal_actions))
                hidden[observation.key].add(state.board())
    assert all(len(told) == 1 for told in seen.values())
    if "leduc" in name:
        assert any(len(boards) > 1 for boards in hidden.values())


@pytest.mark.parametrize("name", CLASSIC)
def test_an_observation_read_late_tells_what_it_told_then(name):
    kept = []
    for state, actions in plays(make(name), 1):
        for seat in actions:
            at_once, late = state.observe(seat), state.observe(seat)
            told = (at_once.text, at_once.key, at_once.legal_actions, list(at_once.events))
            kept.append((late, told))
    assert len(kept) > 1
    for late, told in kept:
        assert (late.text, late.key, late.legal_actions, list(late.events)) == told


def test_events_are_all_moves_in_perfect_information_and_the_seats_own_elsewhere():
    four = make("pettingzoo(env=classic/connect_four_v3)").new_episode(0)
    for column in "3321":
        four.apply({four.seats_to_act()[0]: column})
    assert [(event.seat, event.action) for event in four.observe(0).events] == [(0, "2"), (1, "1")]
    throws = make("pettingzoo(env=classic/rps_v2)").new_episode(0)
    throws.apply({0: "rock", 1: "paper"})
    assert [(event.seat, event.action) for event in throws.observe(1).events] == [(1, "paper")]


@pytest.mark.parametrize("name", PERFECT)
def test_a_sampled_state_is_the_same_position_and_plays_on_apart(name):
    rng = random.Random(5)
    kept = None
    for number, (state, actions) in enumerate(plays(make(name), 7)):
        for seat in actions:
            observation = state.observe(seat)
            if number % 4 == 0:
                kept = (observation, observation.text, observation.key)
                twin = observation.sample_state(rng)
                assert twin.seats_to_act() == (seat,)
                assert (twin.observe(seat).text, twin.board()) == (observation.text, state.board())
                twin.apply({seat: rng.choice(observation.legal_actions)})
                assert state.observe(seat).key == observation.key
    observation, text, key = kept
    again = observation.sample_state(rng).observe(observation.seat)
    assert (again.text, again.key) == (text, key)


def test_a_state_of_hidden_information_is_not_sampled():
    state = make("pettingzoo(env=classic/leduc_holdem_v4)").new_episode(0)
    with pytest.raises(SampleError, match="leduc"):
        state.observe(state.seats_to_act()[0]).sample_state(random.Random(0))


@pytest.mark.parametrize("name", CLASSIC)
def test_an_illegal_or_missing_action_is_refused_and_changes_nothing(name):
    game = make(name)
    state = game.new_episode(0)
    seats = state.seats_to_act()
    before = [state.observe(seat).key for seat in seats], state.board()
    with pytest.raises(ValueError, match="no legal action"):
        state.apply(dict.fromkeys(seats, "no such move"))
    with pytest.raises(ValueError, match="missing"):
        state.apply({})
    assert ([state.observe(seat).key for seat in seats], state.board()) == before


def test_episodes_of_go_on_boards_of_two_sizes_can_be_played_in_turn():
    small, large = "pettingzoo(board_size=5,env=classic/go_v5)", "pettingzoo(board_size=9,env=classic/go_v5)"
    alone = [record(make(small), 1), record(make(large), 1)]
    mixed = [[], []]
    for states in zip(plays(make(small), 1), plays(make(large), 1), strict=False):
        for kept, (state, actions) in zip(mixed, states, strict=True):
            kept.append(
                (
                    [(seat, state.observe(seat).text, state.observe(seat).legal_actions) for seat in actions],
                    state.board(),
                )
            )
    for whole, kept in zip(alone, mixed, strict=True):
        assert len(kept) > 10
        for (observed, _, _, board), (seen, drawn) in zip(whole, kept, strict=False):
            assert ([(seat, text, legal) for seat, text, _, legal, _ in observed], board) == (seen, drawn)


@pytest.mark.parametrize("seed", range(4))
def test_a_chess_seat_reads_the_true_board_from_its_channels(seed):
    game = make("pettingzoo(env=classic/chess_v6)")
    for state, actions in plays(game, 0, seed):
        for seat in actions:
            lines = state.observe(seat).text.splitlines()
            assert [line[2:] for line in lines[2:10]] == state.board().splitlines()
            assert lines[1].startswith(("You play White", "You play Black")[seat])


def test_chess_tells_of_castling_and_of_taking_in_passing():
    state = make("pettingzoo(env=classic/chess_v6)").new_episode(0)
    for move in ["e2e4", "a7a6", "e4e5", "d7d5"]:
        state.apply({state.seats_to_act()[0]: move})
    white = state.observe(0)
    assert "The pawn on d5 has just moved two squares." in white.text
    assert "e5d6" in white.legal_actions
    state.apply({0: "e1e2"})
    black = state.observe(1)
    assert "Castling still possible: you kingside, you queenside." in black.text


def test_a_go_seat_reads_the_true_board_and_its_colour():
    for state, actions in plays(make("pettingzoo(board_size=5,env=classic/go_v5)"), 0, 1):
        for seat in actions:
            colour, board = state.observe(seat).text.splitlines()[1], state.observe(seat).text.splitlines()[2:]
            assert board == state.board().splitlines()
            assert colour == ("You play Black (X).", "You play White (O).")[seat]


def test_card_games_read_hands_and_bets_in_words():
    leduc = make("pettingzoo(env=classic/leduc_holdem_v4)")
    hands = set()
    for seed in range(12):
        state = leduc.new_episode(seed)
        seat = state.seats_to_act()[0]
        text = state.observe(seat).text
        hands.add(text.split("Your card: ")[1].split(".")[0])
        assert "Card on the table: none yet" in text
        assert "Your chips in the pot: 1. The other player's: 2." in text
        state.apply({seat: "raise"})
        assert "Your chips in the pot: 2. The other player's: 4." in state.observe(1 - seat).text
    assert hands == {"jack", "queen", "king"}


@pytest.mark.parametrize("name", ["leduc_holdem_v4", "texas_holdem_v4", "texas_holdem_no_limit_v6"])
def test_the_highest_stakes_of_poker_reach_the_declared_bound(name):
    game = make(f"pettingzoo(env=classic/{name})")
    extremes = set()
    for seed in range(30):
        state = game.new_episode(seed)
        while seats := state.seats_to_act():
            legal = state.observe(seats[0]).legal_actions
            wanted = [word for word in ("all_in", "raise", "call", "check_call", "check") if word in legal]
            state.apply({seats[0]: wanted[0]})
        extremes.update(state.returns())
    assert (min(extremes), max(extremes)) == (game.spec.min_utility, game.spec.max_utility)


def test_throws_are_made_at_once_and_named():
    game = make("pettingzoo(env=classic/rps_v2,max_cycles=2,num_actions=5)")
    assert game.spec.dynamics is Dynamics.SIMULTANEOUS
    state = game.new_episode(0)
    assert state.seats_to_act() == (0, 1)
    assert state.observe(0).legal_actions == ("rock", "paper", "scissors", "spock", "lizard")
    assert state.observe(0).text.endswith("none yet.")
    state.apply({0: "spock", 1: "rock"})
    assert state.rewards() == (1, -1)
    assert state.observe(0).text.endswith("last throw: rock.")
    state.apply({0: "spock", 1: "lizard"})
    assert state.rewards() == (-1, 1)
    assert state.seats_to_act() == ()
    assert state.success() == (False, False)


WRONG = {
    "pettingzoo": "needs the parameter 'env'",
    "pettingzoo(env=classic/connect_four_v2)": "did you mean classic/connect_four_v3",
    "pettingzoo(env=classic/conect_four_v3)": "did you mean classic/connect_four_v3",
    "pettingzoo(env=classic.connect_four_v3)": "not of the form",
    "pettingzoo(env=../os/path_v1)": "not of the form",
    "pettingzoo(env=classic/chess/chess_v6)": "not of the form",
    "pettingzoo(env=Classic/chess_v6)": "not of the form",
    "pettingzoo(env=3)": "not of the form",
    "pettingzoo(env='classic/chess_v6\\n')": "not of the form",
    "pettingzoo(env=wsgiref/simple_server_v1)": "no environment 'wsgiref/simple_server_v1'",
    "pettingzoo(env=mpe/simple_v3)": "moved into its own package",
    "pettingzoo(env=classic/go_v5,boardsize=9)": "did you mean board_size",
    "pettingzoo(env=classic/go_v5,board_size=big)": "takes int, not big",
    "pettingzoo(env=classic/go_v5,board_size=true)": "takes int, not true",
    "pettingzoo(env=classic/go_v5,render_mode=human)": "about drawing",
    "pettingzoo(env=classic/rps_v2,num_actions=4)": "odd number",
    "pettingzoo(env=classic/hanabi_v5,colors=9)": "out of bounds",
    "pettingzoo(env=classic/hanabi_v5,random_start_player=true)": "does not work",
    "pettingzoo(env=classic/chess_v6,max_turns=0)": "whole number from 1",
    "pettingzoo(env=classic/chess_v6,min_utility=low)": "takes a number",
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_string_gets_one_line_that_says_why(name):
    with pytest.raises(SpecError) as caught:
        make(name)
    assert WRONG[name] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_nothing_outside_pettingzoo_is_imported_for_a_game_string():
    code = (
        "import sys, importlib, games.pettingzoo as adapter\n"
        "from games.errors import UserError\nfrom games.registry import make\n"
        "asked = []\nadapter.import_module = lambda name: asked.append(name) or importlib.import_module(name)\n"
        "for place in ('json/tool_v1', 'os/path_v1', 'pip/main_v2', 'test/support_v1', 'classic/tictactoe_v3'):\n"
        "    try:\n        make(f'pettingzoo(env={place})')\n    except UserError:\n        pass\n"
        "assert len(asked) > 5\n"
        "assert all(name == 'pettingzoo' or name.startswith('pettingzoo.') for name in asked), asked\n"
        "assert 'json.tool' not in sys.modules and 'pip' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)


def test_without_the_extra_the_error_names_it():
    code = (
        "import sys\nsys.modules['pettingzoo'] = None\nimport arena\n"
        "from games.errors import UserError\nfrom games.registry import make\n"
        "for use in (lambda: make('pettingzoo(env=classic/chess_v6)'), lambda: arena.to_pettingzoo('kuhn_poker')):\n"
        "    try:\n        use()\n"
        "    except UserError as error:\n        print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == 'pettingzoo is not installed: pip install "metarena[pettingzoo]"\n' * 2


def test_defaults_are_left_out_of_the_name_and_our_limits_kept():
    assert make("pettingzoo(komi=7.5,env=classic/go_v5,board_size=19)").spec.name == "pettingzoo(env=classic/go_v5)"
    short = make("pettingzoo(env=classic/chess_v6,max_turns=6)")
    assert short.spec.name == "pettingzoo(env=classic/chess_v6,max_turns=6)"
    states = [state for state, _ in plays(short, 0)]
    assert len(states) == 7
    assert states[-1].seats_to_act() == ()
    assert states[-1].returns() == (0, 0)
    with pytest.raises(ValueError, match="over"):
        states[-1].apply({0: "e2e4"})


class Leaving(AECEnv):
    """Three agents draw from the generators of the whole process; each leaves at its own time, one by truncation."""

    metadata = {"name": "leaving_v0"}  # noqa: RUF012

    def __init__(self):
        super().__init__()
        self.possible_agents = ["a_0", "a_1", "a_2"]
        self.spaces = {agent: Discrete(3, start=5) for agent in self.possible_agents}

    def action_space(self, agent):
        return self.spaces[agent]

    def observe(self, agent):
        return self.shown

    def reset(self, seed=None, options=None):
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: {"action_mask": np.array([1, 0, 1])} for agent in self.agents}
        self.agent_selection = "a_0"
        self.moves = dict.fromkeys(self.agents, 0)
        self.shown = np.zeros(2)

    def step(self, action):
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        assert action in (5, 7)
        after = self.agents[(self.agents.index(agent) + 1) % len(self.agents)]
        self._cumulative_rewards[agent] = 0
        self.rewards = {one: round(random.random() + np.random.random(), 3) for one in self.agents}
        self.shown[:] = random.random(), np.random.random()
        self.moves[agent] += 1
        self.terminations[agent] = self.moves[agent] == {"a_0": 4, "a_1": 1, "a_2": 9}[agent]
        self.truncations[agent] = agent == "a_2" and self.moves[agent] == 3
        self._accumulate_rewards()
        self.agent_selection = after
        self._deads_step_first()


def test_agents_may_die_one_by_one_and_draw_from_the_process():
    game = PettingZooGame(Leaving, "leaving")
    assert game.spec.max_utility == UNKNOWN_BOUND
    before = random.getstate(), np.random.get_state()[1].tolist()
    first, other = record(game, 1), record(game, 2)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before
    assert record(game, 1) == first != other
    movers = [seat for observed, *_ in first for seat, *_ in observed]
    assert movers == [0, 1, 2, 0, 2, 0, 2, 0]
    assert {legal for observed, *_ in first for _, _, _, legal, _ in observed} == {("5", "7")}
    last = first[-1][2]
    assert last[0] > last[1] > 0
    assert sum(np.array([rewards for _, rewards, *_ in first[1:]])) == pytest.approx(last)


def test_what_was_shown_is_a_copy_that_the_environment_cannot_change():
    states = plays(PettingZooGame(Leaving, "leaving"), 1)
    state, _ = next(states)
    shown = state.observe(0).shown
    next(states)
    assert shown.tolist() == [0, 0]
    with pytest.raises(ValueError, match="read-only"):
        shown[0] = 1


def test_two_episodes_in_play_at_once_do_not_touch_each_other():
    game = PettingZooGame(Leaving, "leaving")
    alone = [[state.returns() for state, _ in plays(game, seed)] for seed in (1, 2)]
    mixed = [[], []]
    for pair in zip(plays(game, 1), plays(game, 2), strict=True):
        for kept, (state, _) in zip(mixed, pair, strict=True):
            kept.append(state.returns())
    assert mixed == alone


class Waiting(ParallelEnv):
    """Three agents; in odd rounds the mask of one allows nothing, and one leaves early."""

    metadata = {"name": "waiting_v0"}  # noqa: RUF012

    def __init__(self):
        self.possible_agents = ["b_0", "b_1", "b_2"]
        self.spaces = {agent: Discrete(2) for agent in self.possible_agents}

    def action_space(self, agent):
        return self.spaces[agent]

    def _observations(self):
        idle = "b_1" if self.round % 2 else ""
        return {
            agent: {"observation": self.round, "action_mask": np.full(2, agent != idle, np.int8)}
            for agent in self.agents
        }

    def reset(self, seed=None, options=None):
        self.agents = list(self.possible_agents)
        self.round = 0
        return self._observations(), {agent: {} for agent in self.agents}

    def step(self, actions):
        assert set(actions) == set(self.agents)
        self.round += 1
        shown = self._observations()
        rewards = {agent: float(actions[agent]) for agent in self.agents}
        ended = {agent: self.round >= (2 if agent == "b_2" else 4) for agent in self.agents}
        cut = dict.fromkeys(self.agents, False)
        infos = {agent: {} for agent in self.agents}
        self.agents = [agent for agent in self.agents if not ended[agent]]
        return shown, rewards, ended, cut, infos


def test_parallel_agents_may_wait_and_leave():
    game = PettingZooGame(Waiting, "waiting", limits=Limits(max_utility=4.0))
    assert game.spec.dynamics is Dynamics.SIMULTANEOUS
    state = game.new_episode(0)
    acted = []
    while seats := state.seats_to_act():
        acted.append(seats)
        state.apply(dict.fromkeys(seats, "1"))
    assert acted == [(0, 1, 2), (0, 2), (0, 1), (0,)]
    assert state.returns() == (4, 2, 2)
    late = game.new_episode(0)
    kept = []
    for before, after in pairwise(acted):
        kept.append((late.observe(0), late.observe(0).text))
        late.apply(dict.fromkeys(before, "0"))
        assert late.seats_to_act() == after
    assert [observation.text for observation, _ in kept] == [text for _, text in kept]


def test_an_environment_with_other_actions_is_refused():
    with pytest.raises(UserError, match=r"discrete|Box2D"):
        make("pettingzoo(env=sisl/multiwalker_v9)")
