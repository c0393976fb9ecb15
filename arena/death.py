"""How a process ended that an agent was playing in, in words, and the result where the agent is to blame."""

from typing import NamedTuple

from arena.match import Match, MatchResult, Told, forfeit_rest
from arena.referee import Fault
from games import registry as games
from games.game import Termination


class Death(NamedTuple):
    """How a process ended."""

    how: Termination
    words: str


def death(how: Termination, code: int | None, hang_seconds: float, memory_mb: int) -> Death:
    """The end of a process, by what it was ended for or its exit code."""
    if how is Termination.HUNG:
        return Death(how, f"a process hung for {hang_seconds:g} s")
    if how is Termination.OUT_OF_MEMORY:
        return Death(how, f"a process took more than {memory_mb} MiB")
    if code is not None and code < 0:
        return Death(how, f"a process was ended by signal {-code}")
    return Death(how, f"a process exited ({code})")


def lost(match: Match, agent: int, told: Told, death: Death) -> MatchResult:
    """The result of a match in which an agent took its process down; `told` is how far it had come."""
    return forfeit_rest(match, games.make(match.game), told, agent, Fault(death.how, death.words))
