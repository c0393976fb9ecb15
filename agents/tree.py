"""The whole of a small game, laid out node by node, for exact computations."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import version
from random import Random
from typing import Any, NamedTuple

import pyspiel

from agents.cache import load, store
from games.errors import UserError
from games.game import CHANCE, Action, Dynamics, Game, Information, Observation
from games.spiel import SpielGame, SpielObservation, SpielState

TERMINAL = -2
"""The player of a node where the episode is over."""

HISTORIES = 100_000
"""Most histories of a game whose every history is laid out."""
POSITIONS = 100_000
"""Most positions of a game of perfect information whose every position is laid out."""

_THOROUGH = 1000
"""How many pairs of histories that show one board are compared before only some are."""
_SIMULTANEOUS = int(pyspiel.PlayerId.SIMULTANEOUS)
_EXPLICIT = (pyspiel.GameType.ChanceMode.DETERMINISTIC, pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC)


class NoTreeError(UserError):
    """A game that cannot be laid out: too large, or of a kind whose rules cannot be walked."""


class Infoset(NamedTuple):
    """Nodes that one seat cannot tell apart."""

    key: str
    observation: Observation
    """What the seat observes there; it tells the information state, not the events since the last decision."""
    nodes: list[int]

    @property
    def seat(self) -> int:
        return self.observation.seat

    @property
    def actions(self) -> tuple[Action, ...]:
        """The legal actions, in the order of the children of each of its nodes."""
        return self.observation.legal_actions


@dataclass(frozen=True)
class Tree:
    """A game laid out. Nodes are numbered so that a child comes after its parents; node 0 is the start."""

    game: SpielGame
    merged: bool
    """Whether a node is a position (several histories may lead to it), and not a history."""
    player: list[int] = field(default_factory=list)
    """For each node the seat that decides there, CHANCE, or TERMINAL."""
    children: list[tuple[int, ...]] = field(default_factory=list)
    chance: dict[int, tuple[float, ...]] = field(default_factory=dict)
    """Node of chance -> probability of each child."""
    returns: dict[int, tuple[float, ...]] = field(default_factory=dict)
    """Terminal node -> return of each seat."""
    infoset: list[int] = field(default_factory=list)
    """For each node the index of its information set, -1 where nobody decides."""
    infosets: list[Infoset] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)
    """In a game of perfect information the key of each node (see node_key) -> the node."""

    def key(self, observation: Observation) -> str:
        """The key of the information set that an observation belongs to."""
        if not self.game.perfect:
            return observation.key
        assert isinstance(observation, SpielObservation)
        return node_key(observation.sample_spiel(Random(0)), self.merged)


def node_key(spiel: Any, merged: bool) -> str:
    """What identifies a node of a game of perfect information: its position, where they are merged, or its history."""
    return position_key(spiel) if merged else str(spiel.history_str())


def position_key(spiel: Any) -> str:
    """Number of moves, player and board: histories that agree in them lead to one position.

    The number of moves keeps the graph of positions free of cycles and tells how near a limit on the moves is.
    """
    return f"{spiel.move_number()} {spiel.current_player()} {spiel.to_string()}"


def expand(game: Game, merged: bool = False, at_end: Callable[[int, Any], None] | None = None) -> Tree:
    """Lay out a game: every history, or every position of a game of perfect information.

    `at_end` is called for each terminal node with its pyspiel state, which the tree does not keep.

    At a simultaneous move the seats decide one after the other, none knowing what the others chose. Raises
    NoTreeError above HISTORIES or POSITIONS, and for a game whose rules cannot be walked; a refusal is kept on disk,
    since it may take seconds to find.
    """
    why = unwalkable(game)
    if why is not None:
        raise NoTreeError(why)
    assert isinstance(game, SpielGame)
    what = ("refused", game.spec.name, version("open-spiel"), int(merged), HISTORIES, POSITIONS)
    known = load(*what)
    if known is not None:
        raise NoTreeError(known.decode())
    try:
        return _Builder(Tree(game, merged), at_end).grow()
    except NoTreeError as error:
        store(str(error).encode(), *what)
        raise


@lru_cache(maxsize=4)
def layout(game: Game) -> Tree:
    """Every history where there are few enough, else every position. Raises NoTreeError where both are too many.

    What a policy does must then depend on the position alone, not on how it came about.
    """
    try:
        return expand(game)
    except NoTreeError:
        spec = game.spec
        perfect = spec.information is Information.PERFECT and spec.dynamics is Dynamics.SEQUENTIAL
        if not perfect or unwalkable(game):
            raise
    return expand(game, merged=True)


def unwalkable(game: Game) -> str | None:
    """Why the rules of a game cannot be walked from its start to every end, or None."""
    if not isinstance(game, SpielGame):
        return f"{game.spec.name} is no game of OpenSpiel, whose rules can be walked"
    kind = game.spiel.get_type()
    if kind.chance_mode not in _EXPLICIT:
        return f"{game.spec.name} draws its chance by itself and tells no probabilities"
    if not game.perfect and not kind.provides_information_state_string:
        return f"{game.spec.name} does not tell its information states"
    return None


@lru_cache(maxsize=64)
def count_histories(game: SpielGame, limit: int = HISTORIES) -> int:
    """Number of histories of a sequential game, those of chance and the ends included; counting stops above `limit`."""
    start = game.spiel.new_initial_state()
    rest = [(start, action) for action in start.legal_actions()]
    count = 1 + len(rest)
    while rest and count <= limit:
        parent, action = rest.pop()
        spot = parent.child(action)
        legal = spot.legal_actions()
        count += len(legal)
        rest.extend([(spot, action) for action in legal])
    return count


class _Builder:
    """Lays out one tree, breadth first."""

    def __init__(self, tree: Tree, at_end: Callable[[int, Any], None] | None) -> None:
        self.tree = tree
        self.at_end = at_end
        self.limit = POSITIONS if tree.merged else HISTORIES
        self.spots: list[tuple[Any, tuple[int, ...]] | None] = []
        """For each node not yet expanded: the state, and what the seats before chose in a simultaneous move."""
        self.known: dict[tuple[int, str], int] = {}
        """Seat and key of an information set -> its index."""
        self.merges = 0
        self.pairs: list[tuple[Any, Any]] = []
        """States of one position by two histories: the first _THOROUGH, then one in 16."""

    def grow(self) -> Tree:
        self.add(*_joint(self.tree.game.spiel.new_initial_state(), ()))
        place = 0
        while place < len(self.spots):
            spot = self.spots[place]
            assert spot is not None
            self.spots[place] = None
            self.expand(place, *spot)
            place += 1
        self.check_merged()
        return self.tree

    def add(self, spiel: Any, pending: tuple[int, ...]) -> int:
        """The number of a node, a new one unless its position is known."""
        place = len(self.spots)
        if self.tree.game.perfect:
            found = self.tree.places.setdefault(node_key(spiel, self.tree.merged), place)
            if self.tree.merged and found < place:
                self.remember_pair(spiel, found)
                return found
        if place >= self.limit:
            what = "positions" if self.tree.merged else "histories"
            raise NoTreeError(f"{self.tree.game.spec.name} has more than {self.limit:,} {what}")
        self.spots.append((spiel, pending))
        return place

    def remember_pair(self, spiel: Any, found: int) -> None:
        self.merges += 1
        if self.merges <= _THOROUGH or self.merges % 16 == 0:
            spot = self.spots[found]
            assert spot is not None, "a position comes after all that lead to it, since it counts the moves"
            self.pairs.append((spot[0], spiel))

    def check_merged(self) -> None:
        """Refuse a game where two histories show one board, but do not allow or are not worth the same.

        A ban on repetition, say, may show only some moves later, so that pairs are played on to the end.
        """
        rng = Random(0)
        if not all(_alike(one.clone(), other.clone(), rng) for one, other in self.pairs):
            raise NoTreeError(f"the board of {self.tree.game.spec.name} does not tell all that matters to its future")

    def expand(self, place: int, spiel: Any, pending: tuple[int, ...]) -> None:
        tree, player = self.tree, spiel.current_player()
        infoset, children = -1, []
        if spiel.is_terminal():
            player = TERMINAL
            tree.returns[place] = tuple(spiel.returns())
            if self.at_end is not None:
                self.at_end(place, spiel)
        elif player == CHANCE:
            outcomes, weights = zip(*spiel.chance_outcomes(), strict=True)
            tree.chance[place] = weights
            children = [self.add(*_joint(spiel.child(outcome), ())) for outcome in outcomes]
        elif player == _SIMULTANEOUS:
            player = len(pending)
            infoset = self.infoset(place, spiel, player)
            children = [self.add(*_joint(spiel, (*pending, action))) for action in spiel.legal_actions(player)]
        else:
            infoset = self.infoset(place, spiel, player)
            children = [self.add(*_joint(spiel.child(action), ())) for action in spiel.legal_actions()]
        tree.player.append(player)
        tree.infoset.append(infoset)
        tree.children.append(tuple(children))

    def infoset(self, place: int, spiel: Any, seat: int) -> int:
        tree, game = self.tree, self.tree.game
        key = node_key(spiel, tree.merged) if game.perfect else str(spiel.information_state_string(seat))
        index = self.known.setdefault((seat, key), len(tree.infosets))
        if index == len(tree.infosets):
            tree.infosets.append(Infoset(key, SpielState(game, 0, spiel).observe(seat), []))
        tree.infosets[index].nodes.append(place)
        return index


def _alike(one: Any, other: Any, rng: Random) -> bool:
    """Whether two states allow the same, and are worth the same, along one line of play to its end; it moves both."""
    while (legal := one.legal_actions()) == other.legal_actions():
        if not legal:
            return bool(one.returns() == other.returns())
        action = rng.choice(legal)
        one.apply_action(action)
        other.apply_action(action)
    return False


def _joint(spiel: Any, chosen: tuple[int, ...]) -> tuple[Any, tuple[int, ...]]:
    """The state and what was chosen so far in its simultaneous move; the state that follows once all have chosen.

    A seat that has no legal action in this move is passed over.
    """
    if not spiel.is_simultaneous_node():
        return spiel, ()
    while len(chosen) < spiel.num_players() and not spiel.legal_actions(len(chosen)):
        chosen = (*chosen, 0)
    if len(chosen) < spiel.num_players():
        return spiel, chosen
    after = spiel.clone()
    after.apply_actions(chosen)
    return _joint(after, ())
