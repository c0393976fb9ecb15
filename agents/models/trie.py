"""The tokens that may follow, so that an answer becomes one of a set of choices and nothing else."""

from collections.abc import Mapping, Sequence

from games.errors import UserError


class Trie:
    """Choices as paths of tokens. A choice that begins another one is told from it by the token that ends answers."""

    def __init__(self, choices: Mapping[str, Sequence[int]], end: int) -> None:
        """`choices` are texts with their tokens. Raises UserError where two of them have the same tokens."""
        self._end = end
        self._children: list[dict[int, int]] = [{}]
        self._choice: dict[int, str] = {}
        for text, ids in choices.items():
            node = 0
            for token in ids:
                if token not in self._children[node]:
                    self._children[node][token] = len(self._children)
                    self._children.append({})
                node = self._children[node][token]
            if node in self._choice:
                raise UserError(f"the model's tokenizer cannot tell {text!r} from {self._choice[node]!r}")
            self._choice[node] = text
        self.longest = max(len(ids) for ids in choices.values()) + 1
        """Tokens of the longest path, the one that ends it included."""

    def allowed(self, node: int) -> list[int]:
        """Tokens that may follow at a node; 0 is the beginning. Never empty but where `over` is true."""
        tokens = list(self._children[node])
        return [*tokens, self._end] if node in self._choice else tokens

    def step(self, node: int, token: int) -> int:
        """The node after an allowed token; the token that ends a choice stays where it is."""
        return self._children[node].get(token, node)

    def over(self, node: int, token: int) -> bool:
        """Whether the answer is complete, now that `token` led to `node`: it was ended, or nothing else may follow."""
        return (token == self._end and node in self._choice) or not self._children[node]

    def choice(self, node: int) -> str:
        """The choice that ends at a node."""
        return self._choice[node]
