"""counter_last and repeat_last go by a throw of the episode before; what can be earned against favourites is known."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise, product
from typing import cast

import pytest

from agents import registry
from agents.agent import Agent, Decision, Reflection, Setup, TabularPolicy, Trajectory
from agents.registry import recipe
from games.game import Action, Observation, Termination
from games.registry import make
from tests.play import match_of, play_here

RPS = make("matrix_rps")
THROWS = RPS.new_episode(0).observe(0).legal_actions
THREE_THROWS = "repeated_game(num_repetitions=3,stage_game=matrix_rps)"
FAVOURITES = [
    f"biased(weights={weights})"
    for often, else_ in ((1, 0), (28, 1), (13, 1))
    for weights in ([often, else_, else_], [else_, often, else_], [else_, else_, often])
]
"""A favourite with p = 1, 0.9 and 0.8, else one of all throws: p + (1-p)/3 to (1-p)/3 is 1:0, 28:1 and 13:1."""


def throws(
    *agents: str, game: str = "matrix_rps", seed: int = 7, episodes: int = 8, **rules: str
) -> list[list[Action]]:
    """What each agent, in the order given, throws in each episode of a real match."""
    records = play_here(match_of(game, *agents, seed=seed, episodes=episodes, **rules)).episodes
    return [
        [record.actions[record.turn_seats.index(record.order.index(agent))] for record in records] for agent in (0, 1)
    ]


def earned(own: Action, others: Action) -> float:
    state = RPS.new_episode(0)
    state.apply({0: own, 1: others})
    return state.returns()[0]


def beats(throw: Action) -> Action:
    return next(own for own in THROWS if earned(own, throw) > 0)


def policies() -> list[Mapping[Action, float]]:
    """What each of the favourites' agents plays, as they state it."""
    seen = RPS.new_episode(0).observe(1)
    made = [cast(TabularPolicy, recipe(spec).make(Setup(RPS, 1, 0))) for spec in FAVOURITES]
    return [policy.probabilities(seen) for policy in made]


def best_on_average(pool: Sequence[Mapping[Action, float]], before: int) -> float:
    """The most that can be earned after so many throws of one of a pool, each as likely: all histories summed up."""
    total = 0.0
    for history in product(THROWS, repeat=before):
        weights = [1 / len(pool)] * len(pool)
        for throw in history:
            weights = [weight * member[throw] for weight, member in zip(weights, pool, strict=True)]
        mixed = {
            throw: sum([weight * member[throw] for weight, member in zip(weights, pool, strict=True)])
            for throw in THROWS
        }
        total += max([sum([mixed[throw] * earned(own, throw) for throw in THROWS]) for own in THROWS])
    return total


def test_biased_is_the_opponent_with_a_favourite_and_else_one_of_all_throws() -> None:
    for member, p in zip(policies(), [1] * 3 + [0.9] * 3 + [0.8] * 3, strict=True):
        assert sorted(member.values()) == pytest.approx([(1 - p) / 3, (1 - p) / 3, p + (1 - p) / 3])


def test_what_can_be_earned_against_favourites_is_nothing_at_first_and_then_0817_and_0840() -> None:
    assert [best_on_average(policies(), before) for before in range(3)] == pytest.approx([0, 0.817, 0.840], abs=5e-4)


@pytest.mark.parametrize("rules", [{}, {"seats": "rotate"}])
@pytest.mark.parametrize("other", ["always(action=paper)", "repeat_last", "biased(weights=[1,2,3])"])
def test_counter_last_beats_the_last_throw_of_the_other(other: str, rules: dict[str, str]) -> None:
    for agents, own in ((("counter_last", other), 0), ((other, "counter_last"), 1)):
        both = throws(*agents, **rules)
        assert both[own][1:] == [beats(throw) for throw in both[1 - own][:-1]]


def test_first_throws_are_uniform() -> None:
    for agent in ("counter_last", "repeat_last"):
        firsts = Counter([throws(agent, "random", seed=seed, episodes=1)[0][0] for seed in range(600)])
        assert all([count == pytest.approx(200, abs=46) for count in firsts.values()])  # four standard errors
        assert set(firsts) == set(THROWS)


@pytest.mark.parametrize(
    ("game", "last", "best"),
    [
        ("matrix_pd", "cooperate", {"defect"}),
        ("matrix_pd", "defect", {"defect"}),
        ("matrix_sh", "stag", {"stag"}),
        ("matrix_sh", "hare", {"hare"}),
        ("matrix_cd", "dare", {"chicken"}),
        ("matrix_rpsw", "water", {"rock", "paper", "scissors", "water"}),
    ],
)
def test_what_counters_a_throw_is_told_by_the_payoffs_and_equals_are_drawn(
    game: str, last: str, best: set[Action]
) -> None:
    agents = ("counter_last", f"always(action={last})")
    assert {throws(*agents, game=game, seed=seed, episodes=2)[0][1] for seed in range(40)} == best


class Stumbling(Agent):
    """Throws rock, then what is not legal, then paper."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._episode = 0

    async def act(self, observation: Observation) -> Decision:
        return Decision(["rock", "well", "paper"][self._episode])

    async def reflect(self, trajectory: Trajectory) -> Reflection | None:
        self._episode += 1
        return None


def test_an_episode_that_a_fault_ended_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.TABLE, "stumbling", "tests.test_last_throw:Stumbling")
    records = play_here(match_of("matrix_rps", "counter_last", "stumbling", episodes=3)).episodes
    assert [record.termination for record in records] == [
        Termination.FINISHED, Termination.ILLEGAL, Termination.FINISHED,
    ]  # fmt: skip
    assert records[2].actions == [beats("rock"), "paper"]


def test_repeat_last_repeats_its_first_throw_for_ever() -> None:
    for seed in range(10):
        assert len(set(throws("repeat_last", "random", seed=seed, episodes=30)[0])) == 1


def test_repeat_last_stays_with_its_probability_and_else_draws_from_all() -> None:
    """stay = 0.7 of three throws: the same again with 0.8. Four standard errors of 3,000 pairs are 0.03."""
    own = throws("repeat_last(stay=0.7)", "random", episodes=3001)[0]
    same = sum([one == other for one, other in pairwise(own)])
    assert same / 3000 == pytest.approx(0.8, abs=0.03)
    assert set(own) == set(THROWS)


@pytest.mark.parametrize("agent", ["counter_last", "repeat_last"])
@pytest.mark.parametrize("name", ["kuhn_poker", "tic_tac_toe", "goofspiel", THREE_THROWS, "probe"])
def test_they_play_games_of_one_joint_throw_alone(agent: str, name: str) -> None:
    assert "choose once, at the same time" in (recipe(agent).misfit(make(name)) or "")
    assert recipe(agent).misfit(make("matrix_bos")) is None
