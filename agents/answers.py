"""Asking a language model for an action: freely, held to the legal ones, or by how likely it finds each."""

import json
import math
import random
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from agents.generation import Generation
from agents.models.model import Message, Model, Sampling, Scores
from agents.parsing import CLOSE, OPEN, THINK, THOUGHT, Read, Reading, read, spoken
from games.game import Action
from games.seeding import derive

Style: TypeAlias = Literal["direct", "react"]
Choice: TypeAlias = Literal["free", "constrained", "scored"]

MAX_REFLECTION = 2_000
"""Characters of a reflection that are kept, as MAGE and LaMer keep them."""


class Question(NamedTuple):
    """What is asked for at one decision."""

    legal: Sequence[Action]
    free: bool
    """Whether text other than a legal action is accepted too."""
    style: Style
    choice: Choice
    sampling: Sampling
    seed: int


class Answer(NamedTuple):
    """What a model answered and how it was read."""

    raw: str
    reading: Reading


async def ask(model: Model, prompt: Sequence[Message], question: Question, said: list[Generation]) -> Answer:
    """Ask for an action; each generation is added to `said` as it comes. Raises what the model raises."""
    if question.choice == "free":
        said.append(await model.generate(prompt, question.sampling, question.seed))
        raw = said[-1].raw
        return Answer(raw, read(raw, question.legal, free=question.free))
    begun, seed = "", question.seed
    if question.style == "react":
        begun, seed = await _thought(model, prompt, question, said), derive(seed, "move")
        prompt = [*prompt, Message("assistant", begun)]
    moves = {f"{OPEN}{action}{CLOSE}": action for action in question.legal}
    if question.choice == "scored":
        said.append(_drawn(model, prompt, await model.score(prompt, list(moves)), moves, question.sampling, seed))
    else:
        # No token is shorter than a byte; a server's model may think first.
        room = max([question.sampling.max_tokens, *[len(text.encode()) for text in moves]])
        said.append(await model.generate(prompt, question.sampling._replace(max_tokens=room), seed, list(moves)))
    text = said[-1].raw
    exact = moves.get(text.strip())
    return Answer(begun + text, read(text, question.legal) if exact is None else Reading(exact, Read.EXACT))


async def _thought(model: Model, prompt: Sequence[Message], question: Question, said: list[Generation]) -> str:
    """What a model thinks before it acts: the beginning of its answer, ready to be continued by an action."""
    said.append(await model.generate(prompt, question.sampling._replace(stop=(OPEN,)), question.seed))
    thought = said[-1].raw.partition(OPEN)[0].rstrip()
    if THINK in thought and THINK in thought[max(thought.rfind(THOUGHT), 0) :]:
        thought += f"\n{THOUGHT}"
    return f"{thought}\n" if thought else ""


def _drawn(
    model: Model, prompt: Sequence[Message], scores: Scores, moves: dict[str, Action], sampling: Sampling, seed: int
) -> Generation:
    """Draw one of the answers by the softmax of log-likelihood / temperature; at temperature 0 take the likeliest."""
    totals = [score.total for score in scores.answers]
    best = max(totals)
    if sampling.temperature == 0:
        place = totals.index(best)
    else:
        weights = [math.exp((total - best) / sampling.temperature) for total in totals]
        place = random.Random(seed).choices(range(len(totals)), weights)[0]
    score = scores.answers[place]
    told = {action: round(total, 4) for action, total in zip(moves.values(), totals, strict=True)}
    return Generation(
        model.name,
        list(moves)[place],
        prompt_ids=scores.prompt_ids,
        completion_ids=score.ids,
        logprobs=score.logprobs,
        sampling={"temperature": sampling.temperature, "seed": seed, "scored": True},
        constrained=True,
        prompt_tokens=len(scores.prompt_ids),
        completion_tokens=len(score.ids),
        seconds=scores.seconds,
        price=scores.price,
        prompt=None if scores.prompt_ids else json.dumps([message._asdict() for message in prompt]),
        notes={"scores": told},
    )


def lesson(answer: str) -> str:
    """What a reflection comes to: what was said after all thinking, cut."""
    return spoken(answer).strip()[:MAX_REFLECTION].rstrip()
