"""Several policies, one of which is in the other seat: what a seat's view tells of which, and the best answer to all.

Exact, for games of two seats whose every history is laid out.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from agents.agent import TabularPolicy, Trajectory
from agents.tree import HISTORIES, TERMINAL, NoTreeError, Tree, layout
from agents.values import Goal, Response, Strategy, respond, strategy
from games.game import CHANCE, Game, Termination
from games.spiel import SpielState


class Pool:
    """The policies as one seat meets them, each in the other seat."""

    def __init__(self, game: Game, seat: int, policies: Sequence[TabularPolicy]) -> None:
        self._tree = histories(game)
        self._seat = seat
        self._strategies = [strategy(self._tree, 1 - seat, policy) for policy in policies]
        self._reaches = [_reach(self._tree, seat, policy) for policy in self._strategies]
        self._decisions = {spot.key: spot.nodes for spot in self._tree.infosets if spot.seat == seat}
        self._ends = _ends_by_sight(self._tree, seat)

    def likelihoods(self, trajectory: Trajectory) -> list[float]:
        """How likely each policy makes what the seat saw of an episode, whatever it was that stayed hidden.

        The seat's own moves count as certain. An episode that did not come to its end counts up to the seat's last
        decision.
        """
        nodes = self._consistent(trajectory)
        return [sum([reach[node] for node in nodes]) for reach in self._reaches]

    def response(self, weights: Sequence[float]) -> Response:
        """The best response of the seat, in one episode, to policies with these weights, which need not sum to 1."""
        return respond(self._tree, self._seat, [{1 - self._seat: self._mixture(weights)}], Goal.RETURN)

    def _consistent(self, trajectory: Trajectory) -> Sequence[int]:
        """The nodes of which what the seat saw leaves open which was reached."""
        if trajectory.termination is Termination.FINISHED:
            return self._ends[self._tree.key(trajectory.final)]
        if trajectory.steps:
            return self._decisions[self._tree.key(trajectory.steps[-1].observation)]
        return [0]

    def _mixture(self, weights: Sequence[float]) -> Strategy:
        """One policy that plays like one of the pool drawn by weight before the episode (Kuhn's theorem, 1953).

        In an information set each counts by its weight and by how likely it comes there. One node stands for all:
        they share the player's own earlier moves, and what chance and the seat did is the same for every policy.
        """
        mixed: dict[int, tuple[float, ...]] = {}
        for index in self._strategies[0]:
            node = self._tree.infosets[index].nodes[0]
            masses = [weight * reach[node] for weight, reach in zip(weights, self._reaches, strict=True)]
            masses = masses if any(masses) else [1.0] * len(masses)
            columns = zip(*[policy[index] for policy in self._strategies], strict=True)
            mixed[index] = tuple(
                [sum([m * p for m, p in zip(masses, column, strict=True)]) / sum(masses) for column in columns]
            )
        return mixed


@lru_cache(maxsize=4)
def histories(game: Game) -> Tree:
    """Every history of a game.

    Raises NoTreeError where there are too many, the rules cannot be walked, or a seat's own past is not told.
    """
    tree = layout(game)
    if tree.merged:
        raise NoTreeError(f"{game.spec.name} has more than {HISTORIES:,} histories")
    if any([spot.key != tree.key(spot.observation) for spot in tree.infosets]):
        raise NoTreeError(f"the information states of {game.spec.name} leave out what a seat knew before")
    return tree


def _reach(tree: Tree, free: int, others: Strategy) -> list[float]:
    """How likely chance and the other seat's moves lead to each node; the moves of the seat `free` are certain."""
    reach = [0.0] * len(tree.player)
    reach[0] = 1.0
    for node, player in enumerate(tree.player):
        children = tree.children[node]
        weights: Sequence[float] = (1.0,) * len(children)
        if player == CHANCE:
            weights = tree.chance[node]
        elif player not in (free, TERMINAL):
            weights = others[tree.infoset[node]]
        for child, weight in zip(children, weights, strict=True):
            reach[child] = reach[node] * weight
    return reach


def _ends_by_sight(tree: Tree, seat: int) -> Mapping[str, Sequence[int]]:
    """The ends of a game in groups that a seat cannot tell apart, by the key of what it sees there."""
    ends: dict[str, list[int]] = defaultdict(list)
    for node, spiel in _walked_ends(tree):
        ends[tree.key(SpielState(tree.game, 0, spiel).observe(seat))].append(node)
    return dict(ends)


def _walked_ends(tree: Tree) -> Iterator[tuple[int, Any]]:
    """Every terminal node with its pyspiel state."""
    rest: list[tuple[int, Any, dict[int, int]]] = [(0, tree.game.spiel.new_initial_state(), {})]
    while rest:
        node, spiel, chosen = rest.pop()
        if tree.player[node] == TERMINAL:
            yield node, spiel
        for place, child in enumerate(tree.children[node]):
            rest.append((child, *_after(spiel, tree.player[node], chosen, place)))


def _after(spiel: Any, player: int, chosen: dict[int, int], place: int) -> tuple[Any, dict[int, int]]:
    """The state after a node's child of some place, and what is chosen so far where the move is simultaneous."""
    if player == CHANCE:
        return spiel.child(spiel.chance_outcomes()[place][0]), {}
    if not spiel.is_simultaneous_node():
        return spiel.child(spiel.legal_actions()[place]), {}
    chosen = {**chosen, player: spiel.legal_actions(player)[place]}
    if any([seat not in chosen and spiel.legal_actions(seat) for seat in range(spiel.num_players())]):
        return spiel, chosen
    after = spiel.clone()
    after.apply_actions([chosen.get(seat, 0) for seat in range(spiel.num_players())])
    return after, {}
