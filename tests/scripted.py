"""A language model that answers from a script and remembers what it was asked."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from agents.agent import ProviderError
from agents.generation import Generation
from agents.models.model import ContextOverflow, Message, Model, Sampling, Score, Scores
from agents.models.pool import Models
from agents.models.source import Source

Answers = Callable[[str], str]
"""From the last user message to an answer."""


class Asked(NamedTuple):
    """One request."""

    prompt: Sequence[Message]
    sampling: Sampling | None
    seed: int | None
    choices: Sequence[str]

    @property
    def text(self) -> str:
        """All messages in one text."""
        return "\n".join([message.content for message in self.prompt])


class Scripted(Model):
    """Answers in the order of a script, or by a function of the prompt; a stop string ends an answer.

    `room` is the number of characters of a prompt that fit; `likely` gives choices their log-likelihood.
    """

    name = "scripted"

    def __init__(
        self, answers: Iterable[str] | Answers, room: int = 1_000_000, likely: Mapping[str, float] | None = None
    ) -> None:
        self._by: Answers | None = answers if callable(answers) else None
        self._left = deque(() if callable(answers) else answers)
        self._room = room
        self._likely = likely or {}
        self.asked: list[Asked] = []

    async def generate(
        self, prompt: Sequence[Message], sampling: Sampling, seed: int, choices: Sequence[str] = ()
    ) -> Generation:
        asked = self._note(Asked(tuple(prompt), sampling, seed, tuple(choices)))
        if choices:
            raw = choices[seed % len(choices)]
        else:
            raw = self._by(asked.text) if self._by else self._next()
            ends = [raw.find(stop) + len(stop) for stop in sampling.stop if stop in raw]
            raw = raw[: min(ends)] if ends else raw
        return Generation(self.name, raw, [1, 2], [3], [-0.5], sampling=sampling.told(seed), constrained=bool(choices))

    async def score(self, prompt: Sequence[Message], choices: Sequence[str]) -> Scores:
        self._note(Asked(tuple(prompt), None, None, tuple(choices)))
        return Scores([Score([1, 2], [-1.0, self._likely.get(choice, -5.0)]) for choice in choices], [1, 2, 3], 0.1)

    def _next(self) -> str:
        if not self._left:
            raise ProviderError("the script is over")  # ends the match, whatever its rules are
        return self._left.popleft()

    def _note(self, asked: Asked) -> Asked:
        if len(asked.text) > self._room:
            raise ContextOverflow(len(asked.text), self._room)
        self.asked.append(asked)
        return asked


class Cast(Models):
    """Models of a run in which one model plays every part."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self._model = model

    async def get(self, source: Source) -> Model:
        return self._model
