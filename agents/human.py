"""A person at the terminal."""

import asyncio
import os
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress

from agents.agent import Agent, Decision, ProviderError, Reflection, Setup, Trajectory
from agents.parsing import meant, numbered
from games.game import CHANCE, Action, Event, GameSpec, Observation
from games.text.printable import safe


class Human(Agent):
    """Asks a person at the terminal.

    Shows the rules once, then before each move what has happened, what this seat sees and the legal actions. A line
    of input is taken as an action's name; else as one without regard to case and spaces; else as the beginning of
    one; else as the number in front of it: actions are numbered where none of the position is itself a number. What
    fits none of these, or several, is asked again. A line with `?` shows the rules and the legal actions.

    The dialogue goes to stdout, or to stderr where stdout is not a terminal and so carries data.
    """

    interactive = True

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._greeted = False

    async def act(self, observation: Observation) -> Decision:
        """Ask until the answer names one action. Raises ProviderError, so that the match is void, when input ends."""
        if not self._greeted:
            self._greeted = True
            _say(_greeting(self.setup.game.spec))
        _say("", *_told(observation), observation.text, _listed(observation.legal_actions))
        while True:
            _say(f"Your move, seat {observation.seat} (? for help): ", end="")
            line = await _next_line()
            if line.strip() == "?" and "?" not in observation.legal_actions:
                _say(self.setup.game.spec.rules, _listed(observation.legal_actions))
                continue
            found = matches(line, observation.legal_actions)
            if len(found) == 1:
                return Decision(found[0], raw=line)
            if not found and observation.open and observation.allows(line.strip()):
                return Decision(line.strip(), raw=line)
            _say(
                f"{line.strip()!r} could be {', '.join(found)}."
                if found
                else f"{line.strip()!r} is not a legal action."
            )

    async def reflect(self, trajectory: Trajectory) -> Reflection | None:
        """Say how the episode ended."""
        _say(
            f"Episode {trajectory.episode} is over ({trajectory.termination.value}); your return: {trajectory.total:g}."
        )
        return None


def matches(line: str, legal: Sequence[Action]) -> list[Action]:
    """The legal actions that a line of input may mean."""
    return meant(line, legal)[1]


def _listed(legal: Sequence[Action]) -> str:
    shown = [f"{place}) {action}" for place, action in enumerate(legal, start=1)] if numbered(legal) else legal
    return "Legal actions: " + "  ".join(shown)


def _greeting(spec: GameSpec) -> str:
    """The rules, after the title where they do not begin with it."""
    return spec.rules if spec.rules.casefold().startswith(spec.title.casefold()) else f"{spec.title}. {spec.rules}"


def _told(observation: Observation) -> list[str]:
    return [_sentence(event) for event in observation.events if event.seat != observation.seat]


def _sentence(event: Event) -> str:
    return f"Chance: {event.action}" if event.seat == CHANCE else f"Seat {event.seat} played {event.action}"


def _say(*lines: str, end: str = "\n") -> None:
    stream = sys.stdout if sys.stdout.isatty() else sys.stderr
    print(safe("\n".join(lines)), end=end, file=stream, flush=True)


async def _next_line() -> str:
    """Wait for the next line of input without holding up the event loop. Raises ProviderError at its end.

    The thread is a daemon that reads the descriptor itself: after Ctrl-C the process can end while it still waits.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[str] = loop.create_future()

    def settle(line: str) -> None:
        if not answer.cancelled():
            answer.set_result(line)

    def read() -> None:
        line = _read_line()
        with suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits for the line
            loop.call_soon_threadsafe(settle, line)

    threading.Thread(target=read, daemon=True).start()
    line = await answer
    if not line:
        raise ProviderError("the input ended before the match did")
    return line.rstrip("\r\n")


_unread = bytearray()
"""What was read from the process's one standard input beyond the line that was asked for."""


def _read_line() -> str:
    """Block for one line with its end; the empty string at the end of the input."""
    while b"\n" not in _unread:
        try:
            more = os.read(0, 4096)
        except OSError:  # no standard input, or its terminal is gone
            more = b""
        if not more:
            break
        _unread.extend(more)
    line, newline, rest = bytes(_unread).partition(b"\n")
    _unread[:] = rest
    return (line + newline).decode(errors="replace")
