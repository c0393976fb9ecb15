"""Exact values of a small game: of policies, of best responses to them, and how far they are from equilibrium.

Policies are TabularPolicies; every value is a mean per episode over chance and the policies' own draws. All raise
NoTreeError for a game that is too large to lay out.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple, TypeAlias

from agents.agent import TabularPolicy
from agents.tree import TERMINAL, Infoset, NoTreeError, Tree, layout
from games.errors import UserError
from games.game import CHANCE, Game, sole_winner

_TIE = 1e-9
"""Actions whose values differ by less are equally good."""

Strategy: TypeAlias = Mapping[int, tuple[float, ...]]
"""Index of an information set -> probability of each of its actions."""


class Goal(Enum):
    """What a best response makes as large as it can."""

    RETURN = "return"
    WIN = "win"
    """The probability of the strictly highest return of all seats: a draw is worth as little as a loss."""


class Response(NamedTuple):
    """A best response of one seat."""

    value: float
    """Its return, or its probability to win, per episode."""
    choices: Mapping[str, tuple[int, ...]]
    """Key of an information set (see Tree.key) -> indices of the actions that are equally good there, the best."""


def expected_returns(game: Game, profile: Sequence[TabularPolicy]) -> tuple[float, ...]:
    """Expected return of each seat when the policies of a profile, one a seat, play each other."""
    tree = layout(game)
    reach = reaches(tree, {seat: strategy(tree, seat, policy) for seat, policy in enumerate(profile)})
    totals = [0.0] * game.spec.seats
    for node, returns in tree.returns.items():
        for seat, value in enumerate(returns):
            totals[seat] += reach[node] * value
    return tuple(totals)


def best_response(game: Game, seat: int, opponents: Sequence[TabularPolicy], goal: Goal = Goal.RETURN) -> Response:
    """The best response of a seat of a two-seat game to opponents in equal shares.

    One opponent is drawn before each episode; the seat is not told which, and remembers no earlier episode. It learns
    from what happens within the episode only.
    """
    tree = layout(game)
    if game.spec.seats != 2:
        raise UserError(f"a best response needs two seats; {game.spec.name} has {game.spec.seats}")
    others = [{1 - seat: strategy(tree, 1 - seat, opponent)} for opponent in opponents]
    return respond(tree, seat, others, goal)


def memoryless_ceiling(game: Game, seat: int, opponents: Sequence[TabularPolicy]) -> float:
    """The most that a seat can earn per episode against opponents in equal shares without memory of earlier ones."""
    return best_response(game, seat, opponents).value


def adaptive_ceiling(game: Game, seat: int, opponents: Sequence[TabularPolicy]) -> float:
    """The most that a seat could earn per episode if it knew which of the opponents, in equal shares, it meets."""
    return sum([best_response(game, seat, [opponent]).value for opponent in opponents]) / len(opponents)


def nash_conv(game: Game, profile: Sequence[TabularPolicy]) -> float:
    """What the seats could gain by best responses, each alone, added up: 0 exactly in a Nash equilibrium.

    As defined in Lanctot et al. (2017), "A unified game-theoretic approach to multiagent reinforcement learning".
    """
    tree = layout(game)
    strategies = {seat: strategy(tree, seat, policy) for seat, policy in enumerate(profile)}
    now = expected_returns(game, profile)
    gains = []
    for seat, value in enumerate(now):
        others = {other: plan for other, plan in strategies.items() if other != seat}
        gains.append(respond(tree, seat, [others], Goal.RETURN).value - value)
    return sum(gains)


def exploitability(game: Game, profile: Sequence[TabularPolicy]) -> float:
    """NashConv divided by the number of seats: what a best responder gains on average over the seats."""
    return nash_conv(game, profile) / game.spec.seats


def strategy(tree: Tree, seat: int, policy: TabularPolicy) -> Strategy:
    """What a policy does in every information set of a seat. Raises ValueError where it is no distribution."""
    return {index: _distribution(spot, policy) for index, spot in enumerate(tree.infosets) if spot.seat == seat}


def respond(tree: Tree, seat: int, others: Sequence[Mapping[int, Strategy]], goal: Goal) -> Response:
    """The best response of a seat to profiles of all other seats, in equal shares."""
    if not tree.merged:
        return _respond_to_reach(tree, seat, others, goal)
    if len(others) > 1:
        raise NoTreeError(f"{tree.game.spec.name} has too many histories for several opponents at once")
    return _respond_at_positions(tree, seat, others[0], goal)


def _respond_to_reach(tree: Tree, seat: int, others: Sequence[Mapping[int, Strategy]], goal: Goal) -> Response:
    """Backward over information sets, each node weighted by how likely the others and chance lead there.

    Perfect recall is what makes it exact: the nodes of one information set share the seat's own earlier decisions,
    so that sets can be decided in order of the number of those, most first.
    """
    by_profile = [reaches(tree, profile, free=seat) for profile in others]
    reach = [sum(column) / len(others) for column in zip(*by_profile, strict=True)]
    worth = [reach[node] * _utility(tree, node, seat, goal) for node in range(len(tree.player))]
    layers, sets = _by_own_decisions(tree, seat)
    choices: dict[str, tuple[int, ...]] = {}
    for nodes, infosets in zip(reversed(layers), reversed(sets), strict=True):
        chosen = {index: _best_actions(tree, tree.infosets[index], worth, reach) for index in infosets}
        choices.update({tree.infosets[index].key: best for index, best in chosen.items()})
        for node in reversed(nodes):
            if tree.player[node] == seat:
                worth[node] = worth[tree.children[node][chosen[tree.infoset[node]][0]]]
            elif tree.player[node] != TERMINAL:
                worth[node] = sum([worth[child] for child in tree.children[node]])
    return Response(worth[0], choices)


def _respond_at_positions(tree: Tree, seat: int, profile: Mapping[int, Strategy], goal: Goal) -> Response:
    """Backward over the positions of a game of perfect information."""
    value = [0.0] * len(tree.player)
    choices: dict[str, tuple[int, ...]] = {}
    for node in range(len(tree.player) - 1, -1, -1):
        after = [value[child] for child in tree.children[node]]
        if tree.player[node] == TERMINAL:
            value[node] = _utility(tree, node, seat, goal)
        elif tree.player[node] == seat:
            value[node] = max(after)
            choices[tree.infosets[tree.infoset[node]].key] = _ties(after)
        else:
            value[node] = sum([p * v for p, v in zip(_weights(tree, node, profile), after, strict=True)])
    return Response(value[0], choices)


def reaches(tree: Tree, profile: Mapping[int, Strategy], free: int | None = None) -> list[float]:
    """How likely chance and a profile lead to each node; the seat `free` counts as if it always came along."""
    reach = [0.0] * len(tree.player)
    reach[0] = 1.0
    for node, player in enumerate(tree.player):
        if player == TERMINAL or reach[node] == 0.0:
            continue
        children = tree.children[node]
        weights = (1.0,) * len(children) if player == free else _weights(tree, node, profile)
        for child, weight in zip(children, weights, strict=True):
            reach[child] += reach[node] * weight
    return reach


def _weights(tree: Tree, node: int, profile: Mapping[int, Strategy]) -> tuple[float, ...]:
    """Probability of each child of a node where chance or a seat of the profile moves."""
    player = tree.player[node]
    return tree.chance[node] if player == CHANCE else profile[player][tree.infoset[node]]


def _utility(tree: Tree, node: int, seat: int, goal: Goal) -> float:
    """What an end of the game is worth to a seat; 0 for nodes that are none."""
    returns = tree.returns.get(node)
    if returns is None:
        return 0.0
    if goal is Goal.RETURN:
        return returns[seat]
    return float(sole_winner(returns)[seat])


def _by_own_decisions(tree: Tree, seat: int) -> tuple[list[list[int]], list[list[int]]]:
    """Nodes, and information sets of a seat, grouped by how many decisions of that seat came before."""
    before = [0] * len(tree.player)
    for node, player in enumerate(tree.player):
        for child in tree.children[node]:
            before[child] = before[node] + (player == seat)
    layers: list[list[int]] = [[] for _ in range(max(before) + 1)]
    for node, count in enumerate(before):
        layers[count].append(node)
    sets: list[list[int]] = [[] for _ in layers]
    for index, infoset in enumerate(tree.infosets):
        if infoset.seat == seat:
            sets[before[infoset.nodes[0]]].append(index)
    return layers, sets


def _best_actions(tree: Tree, infoset: Infoset, worth: Sequence[float], reach: Sequence[float]) -> tuple[int, ...]:
    """Indices of the best actions of an information set; all of them where the others never lead there."""
    totals = [0.0] * len(infoset.actions)
    for node in infoset.nodes:
        for index, child in enumerate(tree.children[node]):
            totals[index] += worth[child]
    weight = sum([reach[node] for node in infoset.nodes]) or 1.0
    return _ties([total / weight for total in totals])


def _ties(values: Sequence[float]) -> tuple[int, ...]:
    best = max(values)
    return tuple([index for index, value in enumerate(values) if best - value <= _TIE])


def _distribution(infoset: Infoset, policy: TabularPolicy) -> tuple[float, ...]:
    given = policy.probabilities(infoset.observation)
    weights = tuple([float(given.get(action, 0.0)) for action in infoset.actions])
    if min(weights) < 0 or abs(sum(weights) - 1) > 1e-6:
        raise ValueError(f"a policy gives no distribution over {', '.join(infoset.actions)}: {dict(given)}")
    return weights
