"""What every language model answers to: messages in, a Generation or the scores of some answers out."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from agents.generation import Generation


class Message(NamedTuple):
    """One message of a chat. A last message of the assistant's is the beginning of the answer asked for."""

    role: Literal["system", "user", "assistant"]
    content: str


class Sampling(NamedTuple):
    """How an answer is drawn. The defaults draw from the model's own distribution, as training needs it."""

    temperature: float = 1.0
    """0 takes the most likely token each time."""
    top_p: float = 1.0
    top_k: int = 0
    """0 for all tokens."""
    max_tokens: int = 256
    stop: tuple[str, ...] = ()
    """Strings that end the answer; the one that did is kept at its end."""

    def told(self, seed: int) -> dict[str, Any]:
        """The settings and the seed, JSON-ready, as a Generation keeps them."""
        return {**self._asdict(), "stop": list(self.stop), "seed": seed}


class Score(NamedTuple):
    """How likely a model finds one answer."""

    ids: Sequence[int]
    """Tokens of the answer."""
    logprobs: Sequence[float]
    """Natural logarithm of each token's probability after the prompt and the tokens before it, at temperature 1."""

    @property
    def total(self) -> float:
        """Log-likelihood of the whole answer."""
        return sum(self.logprobs)


class Scores(NamedTuple):
    """The scores of some answers to one prompt, in their order."""

    answers: Sequence[Score]
    prompt_ids: Sequence[int]
    seconds: float
    price: float | None = None


class ContextOverflow(Exception):  # noqa: N818 - it is no failure: the agent asks again with less
    """A prompt and its answer do not fit into the model's context.

    `needed` and `limit` count tokens; `needed` is None where a server does not tell.
    """

    def __init__(self, needed: int | None, limit: int | None) -> None:
        super().__init__(
            f"the prompt and its answer take {needed or 'too many'} tokens, and {limit or 'fewer'} fit into the model"
        )
        self.needed = needed
        self.limit = limit


class Model(ABC):
    """A language model that many matches ask at once.

    A call waits for as long as the model or its server needs. Raises ProviderError where no answer can be had for a
    reason that is not the agent's (the match is then void), ContextOverflow before anything is computed.
    """

    name: str

    @abstractmethod
    async def generate(
        self, prompt: Sequence[Message], sampling: Sampling, seed: int, choices: Sequence[str] = ()
    ) -> Generation:
        """Answer a prompt. With `choices` the answer is one of them, and the generation is marked as constrained.

        The same prompt, settings and seed (63 bits) give the same answer, as far as the back end can promise it.
        """

    @abstractmethod
    async def score(self, prompt: Sequence[Message], choices: Sequence[str]) -> Scores:
        """Score each of some answers to a prompt. Raises UserError where the back end cannot tell likelihoods."""

    async def close(self) -> None:
        """Let go of what this run holds, such as connections."""
        return
