"""What the adapter must know of a PettingZoo environment and cannot ask it: facts, and words for what a seat sees.

Facts come from the environments' code and were checked by play.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

from games.game import Information, Utility
from games.generators import EpisodeGenerators
from games.text.arrays import show

UNKNOWN_BOUND = 1e9
"""Stands for a return whose bounds nobody declared: finite, so that means and ranks stay numbers."""


class Facts(NamedTuple):
    """What the adapter must know of an environment and cannot ask it."""

    information: Information = Information.IMPERFECT
    utility: Utility = Utility.GENERAL_SUM
    min_utility: float = -UNKNOWN_BOUND
    max_utility: float = UNKNOWN_BOUND
    max_turns: int = 10_000
    """Decisions of all seats together; the adapter ends an episode there, so that the bound holds."""
    chance: bool = True
    terminal_rewards: bool = False


class ZooWords:
    """How one environment speaks. This base class serves any: arrays as numbers, actions by their number.

    `view` may use only what it is given. Action names must be unique among the numbers of one position.
    """

    hidden: ClassVar[Mapping[str, Any]] = {}
    """Arguments that make the environment cheaper and do not change the game."""
    ranges: ClassVar[Mapping[str, tuple[int, int]]] = {}
    """Numbers that an argument may be, where others are no game or never come back."""
    title = ""

    def __init__(self, params: Mapping[str, Any], agents: tuple[str, ...]) -> None:
        self.params = params
        self.agents = agents

    def facts(self) -> Facts:
        cycles = self.params.get("max_cycles")
        if isinstance(cycles, int) and cycles > 0:
            return Facts(max_turns=cycles * len(self.agents))
        return Facts()

    def rules(self) -> str:
        return "Actions are named by their number."

    def around(self, seed: int) -> AbstractContextManager[None]:
        """What every call of an episode's environment runs in: by default, generators of its own."""
        return EpisodeGenerators(seed)

    def view(self, sight: Any, agent: str) -> str:
        return show(sight)

    def aside(self, env: Any, agent: str, sight: Any) -> Any:
        """What an agent that is not to act is shown, arranged as `view` reads it."""
        return sight

    def action(self, env: Any, agent: str, number: int) -> str:
        return str(number)

    def board(self, env: Any) -> str | None:
        """Everything, for spectators, or None for all seats' views together."""
        return None


class CleanWords(ZooWords):
    """An environment that draws from no generator of the process (tests hold it to that)."""

    def around(self, seed: int) -> AbstractContextManager[None]:
        return nullcontext()


TABLE: dict[str, str] = {
    "classic/chess_v6": "games.text.zoo_boards:Chess",
    "classic/connect_four_v3": "games.text.zoo_boards:ConnectFour",
    "classic/go_v5": "games.text.zoo_boards:Go",
    "classic/hanabi_v5": "games.text.zoo_hands:Hanabi",
    "classic/leduc_holdem_v4": "games.text.zoo_hands:Leduc",
    "classic/rps_v2": "games.text.zoo_hands:RockPaperScissors",
    "classic/texas_holdem_no_limit_v6": "games.text.zoo_hands:NoLimitHoldem",
    "classic/texas_holdem_v4": "games.text.zoo_hands:LimitHoldem",
    "classic/tictactoe_v3": "games.text.zoo_boards:TicTacToe",
}
"""Environment -> "module:class" of its words; any other is served by ZooWords."""


def words_class(place: str) -> type[ZooWords]:
    """The words of an environment by its name `family/module_vN`."""
    module, _, name = TABLE.get(place, f"{__name__}:{ZooWords.__name__}").partition(":")
    found: type[ZooWords] = getattr(import_module(module), name)
    return found
