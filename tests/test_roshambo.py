"""The roshambo bots: a match is a function of its seed, whatever else the process plays."""

import asyncio
import ctypes
import os
import random
import subprocess
import sys
from hashlib import blake2b
from pathlib import Path

import pytest

from agents.agent import Agent, Setup
from agents.clib_random import CRandomStream, process_stream_watched
from agents.registry import recipe
from agents.roshambo import BOTS, Roshambo
from games.game import Game, State
from games.registry import make

GAME = "repeated_game(num_repetitions=1000,stage_game=matrix_rps)"
FIXED = {"copybot", "debruijn81", "freqbot2", "multibot", "pibot", "rockbot", "rotatebot", "textbot"}
"""Bots that play the same against the same throws whatever their seed."""


def throws(first: str, second: str, seed: int, episodes: int = 1, limit: int = 1000) -> str:
    """A match between two agents, as a digest of all throws; `limit` cuts its episodes short."""
    game = make(GAME)
    agents = [recipe(spec).make(Setup(game, seat, seed + seat, episodes)) for seat, spec in enumerate((first, second))]
    played = [episode(game, agents, limit) for _ in range(episodes)]
    return blake2b(repr(played).encode(), digest_size=8).hexdigest()


def episode(game: Game, agents: list[Agent], limit: int = 1000) -> list[list[str]]:
    return asyncio.run(_episode(game.new_episode(0), agents, limit))


async def _episode(state: State, agents: list[Agent], limit: int) -> list[list[str]]:
    played = []
    while (seats := state.seats_to_act()) and len(played) < limit:
        actions = [(await agents[seat].act(state.observe(seat))).action for seat in seats]
        state.apply(dict(enumerate(actions)))
        played.append(actions)
    return played


def bot(name: str) -> str:
    return f"roshambo(bot={name})"


def against_random(seed: int, order: list[str]) -> dict[str, str]:
    """Each bot's match against random throws, played in an order, then by name."""
    played = {name: throws(bot(name), "random", seed) for name in order}
    return {name: played[name] for name in sorted(played)}


def test_there_are_43_bots() -> None:
    assert len(BOTS) == 43
    assert "greenberg" in BOTS


def test_every_bot_replays_in_another_order_and_in_a_fresh_process() -> None:
    backwards = against_random(5, sorted(BOTS, reverse=True))
    code = "from tests import test_roshambo as t; print(t.against_random(5, sorted(t.BOTS)))"
    fresh = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[1],
        env={**os.environ, "MALLOC_PERTURB_": "165"},  # glibc fills memory with rubbish: nothing unset may be read
        capture_output=True,
        text=True,
        check=True,
    )
    assert fresh.stdout.strip() == str(backwards)


def test_seed_matters_for_the_bots_that_draw_and_for_no_other() -> None:
    game = make(GAME)

    def played(name: str, seed: int) -> list[list[str]]:
        agents = [recipe(bot(name)).make(Setup(game, 0, seed)), recipe("random").make(Setup(game, 1, 1))]
        return episode(game, agents, limit=300)

    assert {name for name in BOTS if played(name, 1) == played(name, 2)} == FIXED


@pytest.mark.parametrize(("first", "second"), random.Random(1).sample([(a, b) for a in BOTS for b in BOTS], 12))
def test_pairings_do_not_depend_on_what_was_played_before(first: str, second: str) -> None:
    once = throws(bot(first), bot(second), 3)
    throws(bot("greenberg"), bot(second), 4, limit=17)
    throws(bot(first), bot("iocainebot"), 5, limit=400)
    assert throws(bot(first), bot(second), 3) == once


def test_a_bot_starts_afresh_in_each_episode() -> None:
    game = make(GAME)
    agents = [recipe(bot(name)).make(Setup(game, seat, 1, 3)) for seat, name in enumerate(("copybot", "pibot"))]
    first = episode(game, agents)
    episode(game, agents, limit=10)
    assert episode(game, agents) == first


def test_matches_side_by_side_do_not_mix() -> None:
    game = make(GAME)
    alone = [throws(bot("iocainebot"), bot("randbot"), seed) for seed in (1, 2)]
    pairs = [
        [recipe(bot(name)).make(Setup(game, seat, seed + seat)) for seat, name in enumerate(("iocainebot", "randbot"))]
        for seed in (1, 2)
    ]

    async def both() -> list[str]:
        states = [game.new_episode(0), game.new_episode(0)]
        played: list[list[list[str]]] = [[], []]
        while states[0].seats_to_act():
            for state, agents, kept in zip(states, pairs, played, strict=True):
                kept.append([(await agents[seat].act(state.observe(seat))).action for seat in (0, 1)])
                state.apply(dict(enumerate(kept[-1])))
        return [blake2b(repr([kept]).encode(), digest_size=8).hexdigest() for kept in played]

    assert asyncio.run(both()) == alone


def test_asked_twice_about_one_position_a_bot_answers_the_same_and_counts_it_once() -> None:
    game = make(GAME)

    async def play(times: int) -> list[str]:
        agent = recipe(bot("greenberg")).make(Setup(game, 0, 1))
        state, rng, played = game.new_episode(0), random.Random(2), []
        while state.seats_to_act():
            seen = state.observe(0)
            answers = {(await agent.act(seen)).action for _ in range(times)}
            assert len(answers) == 1
            played.extend(answers)
            state.apply({0: played[-1], 1: rng.choice(seen.legal_actions)})
        return played

    assert asyncio.run(play(3)) == asyncio.run(play(1))


def test_copybot_beats_the_last_throw_and_rockbot_throws_rocks_in_either_seat() -> None:
    game = make(GAME)
    for seat in (0, 1):
        names = ["copybot", "rockbot"] if seat == 0 else ["rockbot", "copybot"]
        played = episode(game, [recipe(bot(name)).make(Setup(game, place, 1)) for place, name in enumerate(names)])
        assert all(joint[1 - seat] == "rock" for joint in played)
        assert all(joint[seat] == "paper" for joint in played[1:])


def test_the_process_generator_is_left_where_it_was() -> None:
    with process_stream_watched() as drawn:
        throws(bot("randbot"), bot("r226bot"), 1, limit=50)
        assert not drawn()


def test_a_stream_draws_what_srandom_gives_and_the_watch_notices_draws() -> None:
    clib = ctypes.CDLL(None)
    clib.random.restype = ctypes.c_long
    stream = CRandomStream(42)
    mine = [stream.call(clib.random) for _ in range(100)]
    clib.srandom(42)
    with process_stream_watched() as drawn:
        assert [clib.random() for _ in range(100)] == mine
        assert drawn()


def test_roshambo_declares_that_it_draws_from_the_process() -> None:
    assert Roshambo.draws_from_process
