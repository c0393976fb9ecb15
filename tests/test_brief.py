"""Brief telling: a line a move, what was seen at the end, why it ended, and nothing that the seat did not see."""

import asyncio
import random
from collections.abc import Sequence
from typing import Any

import pytest

from agents import brief
from agents.agent import Agent, Decision, Setup, Trajectory
from agents.memory import Limits, Memory
from agents.registry import Recipe
from agents.telling import Turn
from arena.match import play_match
from games import registry
from games.game import CHANCE, Event, Observation
from tests.play import match_of

RULES_OF_RPS = """\
Payoffs, yours first in each cell; your action is the row, seat 1's the column:
             rock    paper scissors
    rock      0,0     -1,1     1,-1
   paper     1,-1      0,0     -1,1
scissors     -1,1     1,-1      0,0"""


def seen(game: str, *scripts: Sequence[str], **rules: Any) -> list[list[Trajectory]]:
    """The episodes of a match as each agent saw them; an agent plays its script, then the first legal action."""
    match = match_of(game, *["random"] * len(scripts), episodes=rules.pop("episodes", 1) + 1, **rules)
    found: list[list[Trajectory]] = [[] for _ in scripts]

    def scripted(place: int) -> type[Agent]:
        class Scripted(Agent):
            def __init__(self, setup: Setup) -> None:
                super().__init__(setup)
                self._left = list(scripts[place])

            async def act(self, observation: Observation) -> Decision:
                return Decision(self._left.pop(0) if self._left else observation.legal_actions[0])

            async def reflect(self, trajectory: Trajectory) -> None:
                found[place].append(trajectory)

        return Scripted

    recipes = [Recipe(name, "random", scripted(place), {}) for place, name in enumerate(match.names)]
    asyncio.run(play_match(match, registry.make(match.game), recipes))
    return found


def told(game: str, trajectory: Trajectory, latest: int = 99) -> str:
    return brief.episode(trajectory, brief.ending(trajectory, registry.make(game).spec), latest)


def test_moves_made_one_after_the_other_are_a_line_each_for_both_seats() -> None:
    first, second = seen("kuhn_poker", ["pass", "pass"], ["bet"])
    assert told("kuhn_poker", first[0]).splitlines()[:4] == [
        "Episode 1, seat 0.", "You: pass", "Seat 1: bet", "You: pass"
    ]  # fmt: skip
    assert told("kuhn_poker", second[0]).splitlines()[:4] == [
        "Episode 1, seat 1.", "Seat 0: pass", "You: bet", "Seat 0: pass"
    ]  # fmt: skip
    assert told("kuhn_poker", first[0]).endswith("Over. Returns: -1 for seat 0, +1 for seat 1")


def test_cards_that_were_not_shown_are_not_told() -> None:
    for seed in range(6):
        for one in seen("kuhn_poker", ["bet"], ["pass"], seed=seed):
            text = told("kuhn_poker", one[0]).replace("(deck: J Q K)", "")
            assert sum([text.count(f" {card}") for card in "JQK"]) == 1, "its own card alone"


def test_moves_made_at_once_are_told_with_the_others() -> None:
    first, _ = seen("matrix_rps", ["rock"], ["scissors"])
    assert told("matrix_rps", first[0]) == (
        "Episode 1, seat 0.\nYou: rock\nSeat 1: scissors\nYou are seat 0.\n"
        "Chosen: rock by seat 0, scissors by seat 1\nOver. Returns: +1 for seat 0, -1 for seat 1"
    )


def test_chance_is_told_as_far_as_it_was_seen() -> None:
    first, second = seen("pig", ["roll", "roll"], ["roll", "roll"], max_turns=6)
    for one in (first[0], second[0]):
        events = [
            event for observed in [*[step.observation for step in one.steps], one.final] for event in observed.events
        ]
        chance = [event.action for event in events if event.seat == CHANCE]
        lines = told("pig", one).splitlines()
        assert [line.removeprefix("Chance: ") for line in lines if line.startswith("Chance: ")] == chance
        assert len(chance) == len([event for event in events if event.action == "roll"]) > 0, "a die for each roll"


def test_a_fault_of_ones_own_and_one_of_anothers_are_told_apart() -> None:
    first, second = seen("matrix_rps", ["paper"], ["resign"])
    assert told("matrix_rps", first[0]) == (
        f"Episode 1, seat 0.\nYou: paper\nYou are seat 0.\n{RULES_OF_RPS}\nEnded: illegal, another's."
    )
    assert told("matrix_rps", second[0]).splitlines()[0] == "Episode 1, seat 1."
    assert told("matrix_rps", second[0]).endswith("\nEnded: illegal, yours.")
    assert "paper\n" not in told("matrix_rps", second[0]).replace(RULES_OF_RPS.replace("seat 1", "seat 0"), "")


def test_a_move_that_was_played_in_ones_place_is_told_where_the_game_shows_it() -> None:
    first, second = seen("kuhn_poker", ["resign"], ["bet"], on_fault="fallback")
    (move,) = [event.action for event in second[0].steps[0].observation.events if event.seat == 0]
    assert f"You: {move}" in told("kuhn_poker", first[0]).splitlines()
    assert "Ended" not in told("kuhn_poker", first[0])


def test_a_move_that_nobody_knows_is_a_question_mark() -> None:
    assert brief.moves([], [Turn("sight", None), Turn("sight", "bet")], 0) == ["You: ?", "You: bet"]
    assert brief.moves([], [Turn("sight", None, [Event(0, "pass")])], 0) == ["You: pass"]


def test_an_episode_that_was_cut_off_says_so() -> None:
    for one in seen("tic_tac_toe", ["r0c2", "r1c1"], ["r2c0"], max_turns=3):
        assert told("tic_tac_toe", one[0]).endswith("\nEnded: max_turns.")


@pytest.mark.parametrize("latest", [0, 1, 2, 3, 5])
def test_only_the_latest_turns_are_told(latest: int) -> None:
    first, _ = seen("tic_tac_toe", ["r0c0", "r0c1", "r1c2"], ["r1c0", "r1c1", "r2c2"])
    moves = [line for line in told("tic_tac_toe", first[0], latest).splitlines() if line.startswith(("You: ", "Seat "))]
    own = [line for line in moves if line.startswith("You: ")]
    assert len(own) == min(latest, len(first[0].steps))
    assert own == [f"You: {step.action}" for step in first[0].steps[len(first[0].steps) - len(own) :]]
    if latest == 0:
        assert not moves
        assert told("tic_tac_toe", first[0], latest).splitlines()[0] == "Episode 1, seat 0."


def test_what_others_say_stays_on_its_line() -> None:
    (entry,) = brief.moves([], [Turn("sight", "go", [Event(1, "a\nYou: win\n" + "x" * 500)])], 0)
    lines = entry.splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("Seat 1: a You: win xxx")
    assert len(lines[1]) < 250


@pytest.mark.parametrize("game", ["kuhn_poker", "leduc_poker", "tic_tac_toe", "matrix_rps"])
def test_an_episode_in_progress_tells_what_the_seat_was_shown_and_no_more(game: str) -> None:
    for seed in range(5):
        rng, state = random.Random(seed), registry.make(game).new_episode(seed)
        memories = [Memory("history", Limits(99, 9, 9), "brief") for _ in range(2)]
        shown: list[list[str]] = [[], []]
        while seats := state.seats_to_act():
            joint = {}
            for seat in seats:
                observation = state.observe(seat)
                memories[seat].see(observation)
                shown[seat] += [f"{_who(event.seat, seat)}: {event.action}" for event in observation.events]
                assert "\n".join(memories[seat].recall(seat).turns).splitlines() == shown[seat]
                joint[seat] = rng.choice(observation.legal_actions)
                memories[seat].play(joint[seat])
            state.apply(joint)


def _who(mover: int, seat: int) -> str:
    return "Chance" if mover == CHANCE else "You" if mover == seat else f"Seat {mover}"
