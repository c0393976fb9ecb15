"""What a host says to the run it belongs to: plain data as JSON, since what an agent answers is not to be trusted."""

import json
from typing import Any, NamedTuple

from agents.agent import Decision, Reflection
from agents.generation import Generation
from arena.referee import Fault
from games.errors import in_words
from games.game import Termination


class Answer(NamedTuple):
    """What came of one request to a host. At most one of the last five is there."""

    weight: int = 0
    """Size of the host in bytes."""
    retries: int = 0
    """How often the agent wants to be asked again of its own accord."""
    reflects: bool = False
    """Whether it looks back on episodes."""
    decision: Decision | None = None
    """As the agent gave it, but plain."""
    reflection: Reflection | None = None
    fault: Fault | None = None
    unserved: str | None = None
    """Why the agent could not play, where that is not its fault."""
    broken: str | None = None
    """What failed that is no agent's, such as the game."""


def packed(answer: Answer) -> bytes:
    """An answer as it travels."""
    plain: dict[str, Any] = answer._asdict()
    if answer.decision is not None:
        action, raw, extra, generations = answer.decision
        plain["decision"] = (action, raw, extra, _plain(generations))
    if answer.reflection is not None:
        plain["reflection"] = (answer.reflection.text, _plain(answer.reflection.generations))
    if answer.fault is not None:
        plain["fault"] = (answer.fault.termination.value, *answer.fault[1:])
    return json.dumps(plain).encode()


def unpacked(words: bytes) -> Answer:
    """What was packed. Raises ValueError for anything else."""
    try:
        return _answer(json.loads(words))
    except (TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"no answer: {in_words(error)}") from error


def _answer(plain: Any) -> Answer:
    if (said := plain["decision"]) is not None:
        action, raw, extra, generations = said
        plain["decision"] = Decision(action, raw, extra, _generations(generations))
    if (told := plain["reflection"]) is not None:
        plain["reflection"] = Reflection(told[0], _generations(told[1]))
    if (fault := plain["fault"]) is not None:
        plain["fault"] = Fault(Termination(fault[0]), *fault[1:])
    return Answer(**plain)


def _plain(generations: Any) -> list[dict[str, Any]]:
    return [generation._asdict() for generation in generations]


def _generations(plain: list[dict[str, Any]]) -> tuple[Generation, ...]:
    return tuple([Generation(**fields) for fields in plain])
