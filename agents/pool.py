"""Several policies, one of which is in the other seat: what a seat's view tells of which, and the best answer to all.

Exact, for games of two seats whose every history is laid out.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from agents.agent import TabularPolicy, Trajectory
from agents.tree import NoTreeError, Tree, expand
from agents.values import Goal, Response, Strategy, reaches, respond, strategy
from games.game import Game, Termination
from games.spiel import SpielState


class Pool:
    """The policies as one seat meets them, each in the other seat."""

    def __init__(self, game: Game, seat: int, policies: Sequence[TabularPolicy]) -> None:
        self._tree, ends = histories(game)
        self._seat = seat
        self._strategies = [strategy(self._tree, 1 - seat, policy) for policy in policies]
        self._reaches = [reaches(self._tree, {1 - seat: policy}, free=seat) for policy in self._strategies]
        self._decisions = {spot.key: spot.nodes for spot in self._tree.infosets if spot.seat == seat}
        self._ends = ends[seat]

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


class Histories(NamedTuple):
    """Every history of a game, and what is seen of it at its ends."""

    tree: Tree
    ends: Mapping[int, Mapping[str, Sequence[int]]]
    """Seat -> key of what it sees at an end -> the terminal nodes at which it sees that."""


@lru_cache(maxsize=4)
def histories(game: Game) -> Histories:
    """Every history of a game.

    Raises NoTreeError where there are too many, the rules cannot be walked, or a seat's own past is not told.
    """
    over: list[tuple[int, Any]] = []
    tree = expand(game, at_end=lambda node, spiel: over.append((node, spiel)))
    if any([spot.key != tree.key(spot.observation) for spot in tree.infosets]):
        raise NoTreeError(f"the information states of {game.spec.name} leave out what a seat knew before")
    ends: dict[int, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for node, spiel in over:
        state = SpielState(tree.game, 0, spiel)
        for seat in range(game.spec.seats):
            ends[seat][tree.key(state.observe(seat))].append(node)
    return Histories(tree, ends)
