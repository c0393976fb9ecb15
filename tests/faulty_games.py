"""Games as a foreign package may offer them, each unfit in another way; a test installs them."""

from games.game import Game
from games.registry import make
from games.spec import Spec, SpecError


def sound(spec: Spec) -> Game:
    """Tic-tac-toe under another name."""
    if spec.params:
        raise SpecError(f"game {spec.name!r} takes no parameters")
    return make("tic_tac_toe")


NO_LOADER = 7


class NoGame:
    """No game at all, made from a Spec."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec


def nothing() -> None:
    """Takes no Spec."""


def failing(spec: Spec) -> Game:
    raise ValueError("no\nidea")


def leaving(spec: Spec) -> Game:
    raise SystemExit(3)


class Unspecified(Game):
    """Has no GameSpec."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec  # type: ignore[assignment]

    def new_episode(self, seed: int):  # type: ignore[no-untyped-def]
        raise NotImplementedError


class Speechless(Unspecified):
    """Breaks when it is asked for its spec."""

    def __init__(self, spec: Spec) -> None:
        pass

    def __getattr__(self, name: str) -> object:
        raise RuntimeError("nothing to say")
