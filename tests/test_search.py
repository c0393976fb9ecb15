"""Planners play well, see no more than their seat, and replay from their seed."""

import asyncio
import random
import re
from collections.abc import Sequence

import numpy as np
import pyspiel
import pytest

from agents.agent import Agent, Decision, Setup
from agents.registry import recipe
from agents.search import Ismcts, Mcts
from games.game import Action, Game, Observation, State
from games.registry import make
from games.seeding import derive
from games.spec import SpecError
from games.spiel import SpielGame, SpielState


def decide(agent: Agent, observation: Observation) -> Decision:
    return asyncio.run(agent.act(observation))


def play(game: Game, agents: Sequence[Agent], seed: int) -> State:
    """One episode to its end."""
    state = game.new_episode(seed)
    while seats := state.seats_to_act():
        state.apply({seat: decide(agents[seat], state.observe(seat)).action for seat in seats})
    return state


def seated(spec: str, game: Game, seed: int) -> list[Agent]:
    """One agent of a spec in each seat."""
    return [recipe(spec).make(Setup(game, seat, derive(seed, seat))) for seat in range(game.spec.seats)]


def test_mcts_draws_almost_always_against_itself_at_tic_tac_toe() -> None:
    game = make("tic_tac_toe")
    drawn = [play(game, seated("mcts(simulations=1000)", game, seed), seed).returns()[0] == 0 for seed in range(1000)]
    assert sum(drawn) >= 990


def test_mcts_plays_what_the_bare_search_plays() -> None:
    game = make("connect_four")
    assert isinstance(game, SpielGame)
    agents = [Mcts(Setup(game, seat, seat), simulations=50, rollouts=2, uct_c=2) for seat in (0, 1)]
    bots = [bare_bot(game, seat) for seat in (0, 1)]
    bare = game.spiel.new_initial_state()
    while not bare.is_terminal():
        bare.apply_action(bots[bare.current_player()].step(bare))
    ours = play(game, agents, 0)
    assert isinstance(ours, SpielState)
    assert ours.spiel.history() == bare.history()


def bare_bot(game: SpielGame, seed: int) -> "pyspiel.MCTSBot":
    both = derive(seed, "search")
    return pyspiel.MCTSBot(
        game.spiel, pyspiel.RandomRolloutEvaluator(2, both >> 32), 2.0, 50, 1000, True, both % 2**31, False
    )


@pytest.mark.parametrize("solve", ["true", "false"])
def test_mcts_takes_a_win_and_blocks_a_loss(solve: str) -> None:
    game = make("tic_tac_toe")
    for moves, answer in (([0, 3, 1, 4], 2), ([0, 4, 1], 2)):
        state = after(game, moves)
        seat = state.seats_to_act()[0]
        agent = recipe(f"mcts(simulations=300,solve={solve})").make(Setup(game, seat, 3))
        assert decide(agent, state.observe(seat)).action == list(state.legal(seat))[place(state, answer)]


def after(game: Game, moves: Sequence[int]) -> SpielState:
    """The position after some of OpenSpiel's action numbers."""
    state = game.new_episode(0)
    assert isinstance(state, SpielState)
    for move in moves:
        seat = state.seats_to_act()[0]
        state.apply({seat: list(state.legal(seat))[place(state, move)]})
    return state


def place(state: SpielState, number: int) -> int:
    return list(state.legal(state.seats_to_act()[0]).values()).index(number)


REPLAYED = [
    ("mcts(simulations=30)", "tic_tac_toe"),
    ("mcts(simulations=30,solve=false)", "pig(winscore=20)"),
    ("ismcts(simulations=30)", "kuhn_poker(players=3)"),
    ("ismcts(simulations=30,play=sample)", "leduc_poker"),
    ("ismcts(simulations=20)", "liars_dice"),
    ("ismcts(simulations=5)", "phantom_ttt"),
]


@pytest.mark.parametrize(("spec", "name"), REPLAYED)
def test_the_same_seed_plays_the_same_and_another_seed_does_not(spec: str, name: str) -> None:
    game = make(name)

    def matches(seed: int) -> list[list[Action]]:
        agents = [seated(spec, game, derive(seed, match)) for match in range(4)]
        return [moves(game, players, deal) for players in agents for deal in (1, 2)]

    assert matches(1) == matches(1)
    assert matches(1) != matches(2)


def moves(game: Game, agents: Sequence[Agent], seed: int) -> list[Action]:
    state = play(game, agents, seed)
    assert isinstance(state, SpielState)
    return [f"{entry.player} {entry.action}" for entry in state.spiel.full_history()]


@pytest.mark.parametrize(("spec", "name"), REPLAYED)
def test_no_generator_of_the_process_is_touched(spec: str, name: str) -> None:
    game = make(name)
    before = random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index, union-attr]
    play(game, seated(spec, game, 1), 1)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # type: ignore[index, union-attr]


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker", "liars_dice"])
def test_ismcts_does_not_know_what_is_hidden(name: str) -> None:
    """Positions that differ only in what is hidden get the same decision and leave the agent in the same state."""
    game = make(name)
    seen: dict[str, set[tuple[Action, Action]]] = {}
    for deal in range(60):
        state = game.new_episode(deal)
        seat = state.seats_to_act()[0]
        agent = Ismcts(Setup(game, seat, 7), simulations=20)
        observation = state.observe(seat)
        twice = decide(agent, observation).action, decide(agent, observation).action
        seen.setdefault(observation.key, set()).add(twice)
    assert len(seen) < 60
    assert {len(decisions) for decisions in seen.values()} == {1}


def test_ismcts_calls_with_the_king_and_folds_the_jack() -> None:
    game = make("kuhn_poker")
    for seed in range(12):
        state = game.new_episode(seed)
        state.apply({0: state.observe(0).legal_actions[1]})
        card = state.observe(1).key[0]
        agent = Ismcts(Setup(game, 1, seed), simulations=300)
        chosen = state.observe(1).legal_actions.index(decide(agent, state.observe(1)).action)
        assert chosen == {"0": 0, "2": 1}.get(card, chosen)


def test_ismcts_says_so_where_it_has_to_play_at_random() -> None:
    game = make("dou_dizhu")
    state = game.new_episode(1)
    seat = state.seats_to_act()[0]
    decision = decide(Ismcts(Setup(game, seat, 1)), state.observe(seat))
    assert decision.action in state.observe(seat).legal_actions
    assert decision.extra is not None
    assert "no state" in decision.extra["drawn at random"]


@pytest.mark.parametrize(
    ("spec", "name", "why"),
    [
        ("mcts", "kuhn_poker", "perfect information.*ismcts"),
        ("mcts", "matrix_rps", "at the same time"),
        ("mcts", "2048", "rewards at the end only"),
        ("mcts", "pettingzoo(env=classic/tictactoe_v3)", "is none"),
        ("ismcts", "tic_tac_toe", "hidden information.*mcts"),
        ("ismcts", "goofspiel", "at the same time"),
        ("ismcts", "dou_dizhu", "none of dou_dizhu can be drawn"),
        ("ismcts", "negotiation", "none of negotiation can be drawn"),
    ],
)
def test_misfits_are_told(spec: str, name: str, why: str) -> None:
    reason = recipe(spec).misfit(make(name))
    assert reason is not None
    assert "\n" not in reason
    assert re.search(why, reason)


@pytest.mark.parametrize("wrong", ["mcts(simulations=0)", "mcts(uct_c=-1)", "mcts(solve=1)", "ismcts(play=best)"])
def test_wrong_parameters_are_refused(wrong: str) -> None:
    with pytest.raises(SpecError):
        recipe(wrong)
