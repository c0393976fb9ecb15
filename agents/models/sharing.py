"""What prompts and answers have in common: the tree of a prompt's answers, and the prompts that begin alike."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple, TypeAlias

Ids: TypeAlias = tuple[int, ...]
"""Token ids."""
Request: TypeAlias = tuple[Sequence[int], Sequence[Sequence[int]]]
"""A prompt and the answers to it, as token ids."""


class Tree(NamedTuple):
    """A prompt and some of its answers, in which what the answers begin with in common is there once.

    Node 0 is the last token of the prompt. The last token of an answer is no node, since nothing follows it.
    """

    request: int
    """Which request it belongs to."""
    prompt: Ids
    places: Ids
    """Where the answers stand among those of the request."""
    answers: tuple[Ids, ...]
    reads: tuple[Ids, ...]
    """For each token of each answer the node that it follows."""
    tokens: Ids
    """Token of each node but node 0."""
    parents: Ids
    """Node before each node but node 0; parents come first."""

    @property
    def sequence(self) -> Ids:
        """The prompt and the nodes after it."""
        return self.prompt + self.tokens

    @property
    def depths(self) -> list[int]:
        """How many tokens each node is after the prompt's last one."""
        depths = [0]
        for parent in self.parents:
            depths.append(depths[parent] + 1)
        return depths


def trees(requests: Sequence[Request], most: int, chains: bool = False) -> list[Tree]:
    """The requests as trees of at most `most` tokens behind a prompt, or those of one answer; `chains`: without a fork.

    Raises ValueError for a prompt without tokens: the first token of an answer to it would follow nothing.
    """
    made = []
    for number, (prompt, answers) in enumerate(requests):
        if not prompt:
            raise ValueError(f"the prompt of request {number} has no tokens")
        ids = [tuple(answer) for answer in answers]
        made += [_tree(number, tuple(prompt), ids, places) for places in _parts(ids, most, chains)]
    return made


def groups(some: Sequence[Tree], start: int, pays: int, longest: int) -> Iterator[tuple[list[Tree], int]]:
    """Sort trees into groups, each with the number of tokens that its prompts share and that are to be computed once.

    All share `start` tokens that are computed already; the group that comes last has just these and no more to share.
    Sharing saves tokens of all prompts but one, and has to save `pays` of them; more than `longest` tokens of a prompt
    are computed by themselves in any case. A prompt's last token is never shared: its logits are for its own answers.
    """
    alone: list[Tree] = []
    stack = [sorted(some, key=lambda tree: tree.prompt)] if some else []
    while stack:
        alike = stack.pop()
        # In sorted order, what the first and the last share is shared by all.
        shared = min(common(alike[0].prompt, alike[-1].prompt), len(alike[0].prompt) - 1)
        if (len(alike) - 1) * (shared - start) >= pays or shared - start > longest:
            yield alike, shared
            continue
        forks = [tree for tree in alike if len(tree.prompt) - 1 > shared]
        alone += [tree for tree in alike if len(tree.prompt) - 1 == shared]
        stack += [list(forked) for _, forked in groupby(forks, key=lambda tree: tree.prompt[shared])]
    if alone:
        yield alone, start


def common(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens two sequences share at their beginning."""
    for place, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return place
    return min(len(one), len(other))


def _parts(answers: Sequence[Ids], most: int, chains: bool) -> Iterator[Ids]:
    """Split the places of answers so that each part's tree is small; answers that begin alike stay together."""
    part: list[int] = []
    nodes, before = 0, Ids()
    for place in sorted(range(len(answers)), key=lambda place: answers[place][:-1]):
        body = answers[place][:-1]
        new = len(body) - common(before, body)
        forks = chains and len(body) - new < len(before)
        if part and (nodes + new > most or forks):
            yield tuple(part)
            part, nodes, new = [], 0, len(body)
        part.append(place)
        nodes, before = nodes + new, body
    if part:
        yield tuple(part)


def _tree(request: int, prompt: Ids, answers: Sequence[Ids], places: Ids) -> Tree:
    nodes: dict[tuple[int, int], int] = {}
    reads = []
    for place in places:
        path = [0]
        for token in answers[place][:-1]:
            path.append(nodes.setdefault((path[-1], token), len(nodes) + 1))
        reads.append(tuple(path[: len(answers[place])]))
    parents = tuple([parent for parent, _ in nodes])
    tokens = tuple([token for _, token in nodes])
    return Tree(request, prompt, places, tuple([answers[place] for place in places]), tuple(reads), tokens, parents)
