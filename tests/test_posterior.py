"""posterior works out whom of a pool it meets from what its seat saw, and plays the best answer to what is left."""

import asyncio
import copy
import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple, cast

import pytest

from agents import registry
from agents.agent import Agent, Decision, Reflection, Setup, Step, TabularPolicy, Trajectory
from agents.pool import Pool
from agents.posterior import Posterior
from agents.registry import recipe
from agents.values import adaptive_ceiling, best_response, memoryless_ceiling
from games.game import Action, Game, Observation, Termination
from games.registry import make
from games.seeding import derive
from games.spec import SpecError
from tests.play import match_of, play_here
from tests.test_last_throw import FAVOURITES

KUHN = make("kuhn_poker")
RPS = make("matrix_rps")
STYLES = [f"kuhn(style={style})" for style in ("conservative", "aggressive", "intermediate")]
FIRST = (0.056, 0.167, 0.216, 0.241, 0.255, 0.263)
SECOND = (0.167, 0.222, 0.247, 0.259, 0.266, 0.270)
"""Chips a hand against the three styles, worked out by hand."""


class Case(NamedTuple):
    """One way that chance and the other seat may go: how likely, the seed of both, and who plays it."""

    probability: float
    seed: int
    other: str


def spec_of(pool: Sequence[str]) -> str:
    return f"posterior(pool=[{','.join(pool)}])"


def deals() -> list[int]:
    """Seeds of the six deals of Kuhn poker, each as likely."""
    found: dict[str, int] = {}
    for seed in range(200):
        found.setdefault(KUHN.new_episode(seed).board(), seed)
    assert len(found) == 6
    return list(found.values())


def of_style(style: str) -> list[Case]:
    return [Case(1 / 6, seed, style) for seed in deals()]


def of_favourite(spec: str) -> list[Case]:
    other = cast(TabularPolicy, recipe(spec).make(Setup(RPS, 1, 0)))
    shares = other.probabilities(RPS.new_episode(0).observe(1))
    return [Case(share, 0, f"always(action={throw})") for throw, share in shares.items()]


async def episode(agent: Agent, game: Game, seat: int, case: Case) -> float:
    """Play one, let the agent look back on it, and return what it earned."""
    agents = {seat: agent, 1 - seat: recipe(case.other).make(Setup(game, 1 - seat, case.seed))}
    state = game.new_episode(case.seed)
    steps: list[Step] = []
    while seats := state.seats_to_act():
        seen = {mover: state.observe(mover) for mover in seats}
        joint = {mover: (await agents[mover].act(seen[mover])).action for mover in seats}
        state.apply(joint)
        if seat in seats:
            steps.append(Step(seen[seat], joint[seat]))
    total, final = state.returns()[seat], state.observe(seat)
    await agent.reflect(Trajectory(1, seat, steps, total, total > 0, Termination.FINISHED, False, final))
    return total


async def exact(game: Game, seat: int, pool: Mapping[str, Sequence[Case]], episodes: int) -> list[float]:
    """What the agent earns in each episode, over every member of the pool and every way that an episode may go.

    Agents with the same weights are one: what they play from then on is the same.
    """
    fresh = Posterior(Setup(game, seat, 1), pool=list(pool))
    earned = [0.0] * episodes
    for cases in pool.values():
        now: dict[object, tuple[float, Posterior]] = {None: (1 / len(pool), fresh)}
        for number in range(episodes):
            then: dict[object, tuple[float, Posterior]] = {}
            for share, agent in now.values():
                for case in cases:
                    after = copy.copy(agent)
                    total = await episode(after, game, seat, case)
                    earned[number] += share * case.probability * total
                    key = tuple([round(weight, 12) for weight in after.weights])
                    before = then.get(key, (0.0, after))[0]
                    then[key] = (before + share * case.probability, after)
            now = then
    return earned


@cache
def kuhn_exact(seat: int) -> list[float]:
    return asyncio.run(exact(KUHN, seat, {style: of_style(style) for style in STYLES}, 12))


@pytest.mark.parametrize(("seat", "known"), [(0, FIRST), (1, SECOND)])
def test_kuhn_hands_against_the_three_styles_earn_what_is_known_by_hand(seat: int, known: tuple[float, ...]) -> None:
    earned = kuhn_exact(seat)
    assert earned[: len(known)] == pytest.approx(known, abs=6e-4)
    assert earned[-1] == pytest.approx(0.277, abs=1e-3)
    assert earned == sorted(earned)
    members = [cast(TabularPolicy, recipe(style).make(Setup(KUHN, 1 - seat, 0))) for style in STYLES]
    assert earned[0] == pytest.approx(memoryless_ceiling(KUHN, seat, members))
    assert earned[-1] < adaptive_ceiling(KUHN, seat, members) == pytest.approx(5 / 18)


def test_throws_against_favourites_earn_0_and_then_0817_and_0840() -> None:
    pool = {spec: of_favourite(spec) for spec in FAVOURITES}
    for seat in (0, 1):
        assert asyncio.run(exact(RPS, seat, pool, 3)) == pytest.approx([0, 0.817, 0.840], abs=5e-4)


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    return statistics.fmean(values), statistics.stdev(values) / math.sqrt(len(values))


@pytest.mark.parametrize("seat", [0, 1])
def test_20_000_real_hands_earn_what_the_exact_values_say(seat: int) -> None:
    """Matches of 12 hands, equally many against each style; intervals of four standard errors, of means by match."""
    by_match: list[list[float]] = []
    for number in range(1680):
        agents = [spec_of(STYLES), STYLES[number % 3]]
        match = match_of("kuhn_poker", *(agents if seat == 0 else agents[::-1]), seed=number // 3, episodes=12)
        by_match.append([record.returns[seat] for record in play_here(match).episodes])
    for hands in (slice(0, 1), slice(1, 4), slice(8, 12), slice(0, 12)):
        mean, error = mean_and_error([statistics.fmean(returns[hands]) for returns in by_match])
        print(f"seat {seat} hands {hands.start + 1}-{hands.stop}: {mean:.4f} +- {1.96 * error:.4f}")
        assert abs(mean - statistics.fmean(kuhn_exact(seat)[hands])) < 4 * error


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker", "goofspiel(num_cards=3)"])
def test_weights_count_like_so_many_agents(name: str, seat: int) -> None:
    """In games where agents move more than once, so that their earlier moves tell which of them it is."""
    game = make(name)
    specs = ["random", "biased(weights=[5,1])", "biased(weights=[1,5])"]
    members = [cast(TabularPolicy, recipe(spec).make(Setup(game, 1 - seat, 0))) for spec in specs]
    pool = Pool(game, seat, members)
    for weights in ((1, 1, 1), (3, 0, 1), (1, 2, 4)):
        listed = [member for member, weight in zip(members, weights, strict=True) for _ in range(weight)]
        expected = best_response(game, seat, listed)
        answer = pool.response([weight / sum(weights) for weight in weights])
        assert answer.value == pytest.approx(expected.value)
        assert answer.choices == expected.choices


def weights_after(pool: Sequence[str], other: str, game: Game, seat: int, seeds: Sequence[int]) -> list[float]:
    """The weights of a pool after some episodes against an agent."""

    async def played() -> tuple[float, ...]:
        agent = Posterior(Setup(game, seat, 1), pool=list(pool))
        for seed in seeds:
            await episode(agent, game, seat, Case(1.0, seed, other))
        return agent.weights

    return list(asyncio.run(played()))


def dealt(cards: str) -> int:
    """The seed of a deal of Kuhn poker: seat 0's card and then seat 1's, such as KJ."""
    seeds = {"".join(["JQK"[int(KUHN.new_episode(n).observe(0).key)], second_card(n)]): n for n in deals()}
    return seeds[cards]


def second_card(seed: int) -> str:
    state = KUHN.new_episode(seed)
    state.apply({0: "pass"})
    return "JQK"[int(state.observe(1).key[0])]


@pytest.mark.parametrize(
    ("cards", "other", "weights"),
    [
        # The king bets and sees a fold: conservative and intermediate fold jack and queen, aggressive the jack alone.
        ("KJ", STYLES[0], [2 / 5, 1 / 5, 2 / 5]),
        # The queen passes, the other bets, and after a fold its card stays hidden: aggressive bets the jack, too.
        ("QK", STYLES[0], [1 / 4, 2 / 4, 1 / 4]),
    ],
)
def test_what_stays_hidden_is_averaged_over(cards: str, other: str, weights: Sequence[float]) -> None:
    async def looked_back(actions: Sequence[Action]) -> tuple[float, ...]:
        agent = Posterior(Setup(KUHN, 0, 1), pool=STYLES)
        state = KUHN.new_episode(dealt(cards))
        for action in actions:
            state.apply({state.seats_to_act()[0]: action})
        await agent.reflect(Trajectory(1, 0, [], 0.0, False, Termination.FINISHED, False, state.observe(0)))
        return agent.weights

    actions = ["bet", "pass"] if cards[0] == "K" else ["pass", "bet", "pass"]
    assert asyncio.run(looked_back(actions)) == pytest.approx(weights)


def test_seats_may_rotate_and_what_is_learnt_in_one_counts_in_the_other() -> None:
    late: dict[int, list[float]] = defaultdict(list)
    for number in range(240):
        match = match_of("kuhn_poker", spec_of(STYLES), STYLES[number % 3], seed=number, episodes=12, seats="rotate")
        for record in play_here(match).episodes[6:]:
            late[record.order.index(0)].append(record.returns[record.order.index(0)])
    for seat, ceiling in ((0, 1 / 18), (1, 1 / 6)):
        mean, error = mean_and_error(late[seat])
        assert len(late[seat]) == 720
        assert abs(mean - 5 / 18) < 4 * error
        assert mean - ceiling > error


@pytest.mark.parametrize(
    ("game", "pool"),
    [
        ("leduc_poker", ["random", "cfr(iterations=20)", "always(action=call)"]),
        ("goofspiel(imp_info=true,num_cards=3,points_order=descending)", ["random", "biased(weights=[3,1])"]),
        ("kuhn_poker", ["random", "cfr(iterations=20)", *STYLES]),
        ("repeated_game(num_repetitions=3,stage_game=matrix_pd)", ["random", "biased(weights=[3,1])"]),
        ('nim(pile_sizes="1;2;3")', ["random", "biased(weights=[3,1])", "minimax"]),
    ],
)
def test_weights_are_as_often_right_as_they_say(game: str, pool: Sequence[str]) -> None:
    """The mean weight of the true agent is the mean of what the weights promise of it: the sum of their squares."""
    gaps: list[float] = []
    for number in range(60 * len(pool)):
        true, seeds = number % len(pool), [derive(number, place) for place in range(2)]
        weights = weights_after(pool, pool[true], make(game), number // len(pool) % 2, seeds)
        gaps.append(weights[true] - sum([weight**2 for weight in weights]))
    mean, error = mean_and_error(gaps)
    assert abs(mean) < 4 * error
    assert statistics.fmean([abs(gap) for gap in gaps]) > 0.01


class Scripted(Agent):
    """Throws by a list, and gives up where it says so."""

    def __init__(self, setup: Setup, *, throws: list[str]) -> None:
        super().__init__(setup)
        self._throws = list(throws)

    async def act(self, observation: Observation) -> Decision:
        return Decision(self._throws.pop(0))

    async def reflect(self, trajectory: Trajectory) -> Reflection | None:
        return None


def answers(pool: Sequence[str], throws: Sequence[str]) -> list[Action]:
    """What the agent throws against a list of throws, in the episodes that came to their end."""
    match = match_of("matrix_rps", spec_of(pool), f"scripted(throws=[{','.join(throws)}])", episodes=len(throws))
    return [record.actions[0] for record in play_here(match).episodes if record.offender is None]


@pytest.fixture
def _scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.TABLE, "scripted", "tests.test_posterior:Scripted")


@pytest.mark.usefixtures("_scripted")
def test_an_agent_that_was_excluded_comes_back_where_all_others_are() -> None:
    pool = ["always(action=rock)", "always(action=paper)"]
    assert answers(pool, ["rock", "rock", "paper", "paper", "paper"])[1:] == ["paper", "paper", "scissors", "scissors"]


@pytest.mark.usefixtures("_scripted")
def test_what_nobody_of_the_pool_could_have_done_and_what_a_fault_cut_off_changes_nothing() -> None:
    pool = ["always(action=rock)", "always(action=paper)"]
    assert answers(pool, ["rock", "scissors", "resign", "scissors", "rock"])[1:] == ["paper"] * 3


def test_an_episode_that_a_fault_ended_counts_up_to_the_last_decision() -> None:
    """The king faces a bet: conservative makes none then, aggressive any, intermediate one with the queen."""

    async def looked_back() -> tuple[float, ...]:
        agent = Posterior(Setup(KUHN, 1, 1), pool=STYLES)
        state = KUHN.new_episode(dealt("JK"))
        state.apply({0: "bet"})
        seen = state.observe(1)
        await agent.reflect(
            Trajectory(1, 1, [Step(seen, "bet")], -2.0, False, Termination.ILLEGAL, False, state.observe(1))
        )
        return agent.weights

    assert asyncio.run(looked_back()) == pytest.approx([0, 2 / 3, 1 / 3])


@pytest.mark.parametrize("other", ["cfr", "random", "always(action=bet)", "always(action=pass)"])
def test_it_plays_on_against_agents_outside_of_its_pool(other: str) -> None:
    for agents in ((spec_of(STYLES), other), (other, spec_of(STYLES))):
        records = play_here(match_of("kuhn_poker", *agents, episodes=50)).episodes
        assert [record.offender for record in records] == [None] * 50


@pytest.mark.parametrize(
    ("pool", "name", "why"),
    [
        (STYLES, "leduc_poker", "kuhn plays kuhn_poker with 2 seats, not leduc_poker"),
        (["random"], "kuhn_poker(players=3)", "posterior needs two seats, and kuhn_poker(players=3) has 3"),
        (["random"], "sokoban", "posterior needs two seats, and sokoban has 1"),
        (["random", "mcts"], "tic_tac_toe", "each of which states its probabilities, and mcts does not"),
        (["counter_last"], "matrix_rps", "states its probabilities, and counter_last does not"),
        (["random"], "tic_tac_toe", "posterior cannot be computed: tic_tac_toe has more than 100,000 histories"),
        (["random"], "dark_hex(board_size=2)", "dark_hex(board_size=2) leave out what a seat knew before"),
        (["random"], "liars_dice", "posterior cannot be computed: liars_dice has more than 100,000 histories"),
    ],
)
def test_misfits_are_told_in_one_line(pool: Sequence[str], name: str, why: str) -> None:
    reason = recipe(spec_of(pool)).misfit(make(name)) or ""
    assert why in reason
    assert "\n" not in reason


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("posterior", "needs the parameter 'pool'"),
        ("posterior(pool=[])", "'pool' .* at least 1 item"),
        ("posterior(pool=random)", "'pool' .* list"),
        ("posterior(pool=[nobody])", "no agent 'nobody'"),
        ("posterior(pool=[kuhn(style=bold)])", "'style' of agent 'kuhn' is bold"),
    ],
)
def test_a_wrong_pool_is_refused_in_one_line(wrong: str, words: str) -> None:
    with pytest.raises(SpecError, match=words) as caught:
        recipe(wrong)
    assert "\n" not in str(caught.value)


def test_the_pool_is_made_canonical_and_a_part_of_the_fingerprint() -> None:
    one = recipe('posterior(pool=["kuhn( style = aggressive )",cfr(iterations=1000)])')
    assert one.spec == "posterior(pool=[kuhn(style=aggressive),cfr])"
    assert one.fingerprint != recipe("posterior(pool=[cfr])").fingerprint
