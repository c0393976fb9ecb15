"""Agents as a foreign package may offer them, each unfit in another way; the test of entry points installs them."""

from typing import TYPE_CHECKING, Any

from agents.agent import Agent, Decision, Setup
from games.game import Game, Observation

if TYPE_CHECKING:
    from nowhere import Unknown


class Sound(Agent):
    """Plays the first legal action; its reasons take
    more than one line. And more than one sentence.

    place: nothing, where it is not given.
    """

    def __init__(self, setup: Setup, *, place: int | None = None) -> None:
        super().__init__(setup)

    async def act(self, observation: Observation) -> Decision:
        return Decision(observation.legal_actions[0])


class NoAgent:
    """No agent at all."""


NO_CLASS = Sound(Setup(None, 0, 0))  # type: ignore[arg-type]


class Idle(Agent):
    """Never decides."""


class Bare(Sound):
    """A parameter without annotation."""

    def __init__(self, setup, *, place=1):  # type: ignore[no-untyped-def]
        super().__init__(setup)


class Placed(Sound):
    """A parameter that may be given by its place."""

    def __init__(self, setup: Setup, place: int = 1) -> None:
        super().__init__(setup)


class Open(Sound):
    """Parameters of any name."""

    def __init__(self, setup: Setup, **options: Any) -> None:
        super().__init__(setup)


class Unset(Sound):
    """Takes no setup."""

    def __init__(self) -> None:
        super().__init__(None)  # type: ignore[arg-type]


class Unresolved(Sound):
    """An annotation that does not exist at run time."""

    def __init__(self, setup: Setup, *, place: "Unknown" = 1) -> None:
        super().__init__(setup)


class Unchecked(Sound):
    """An annotation that cannot check values."""

    def __init__(self, setup: Setup, *, place: NoAgent = NoAgent()) -> None:  # noqa: B008 - the fault
        super().__init__(setup)


class Crashing(Sound):
    """Breaks when it is asked what it can play."""

    @classmethod
    def misfit(cls, game: Game, **params: Any) -> str | None:
        raise ValueError("no\nidea")

    @classmethod
    def prepare(cls, game: Game, **params: Any) -> None:
        raise SystemExit(3)

    @classmethod
    def follows(cls, **params: Any) -> Any:
        return 3


class Vague(Sound):
    """Answers no reason."""

    @classmethod
    def misfit(cls, game: Game, **params: Any) -> Any:
        return False


class Interrupted(Sound):
    """Is interrupted."""

    @classmethod
    def misfit(cls, game: Game, **params: Any) -> str | None:
        raise KeyboardInterrupt

    @classmethod
    def prepare(cls, game: Game, **params: Any) -> None:
        raise KeyboardInterrupt
