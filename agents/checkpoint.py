"""A checkpoint of a training run as an agent."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

from agents.agent import Setup
from agents.answers import Choice
from agents.language import Language
from agents.memory import Kept
from agents.models import marked
from agents.models.source import Dtype
from agents.registry import recipe
from games.errors import UserError
from games.game import Game
from games.spec import Spec

TRAINED = "trained"
Memory: TypeAlias = Kept | Literal["trained"]
Answers: TypeAlias = Choice | Literal["trained"]


class Checkpoint(Language):
    """Plays as a training run had learned to, under the prompts it was trained with.

    path: the folder of the checkpoint. It says itself which base model its adapter needs and how it remembers and
    answers; memory (`none` for the arm without it), choice and temperature (-1 for its own) change that. dtype, of the
    weights.
    """

    apart = frozenset({"path"})

    def __init__(
        self,
        setup: Setup,
        *,
        path: str,
        memory: Memory = "trained",
        choice: Answers = "trained",
        temperature: float = -1.0,
        dtype: Dtype = "auto",
    ) -> None:
        given = {"path": path, "memory": memory, "choice": choice, "temperature": temperature, "dtype": dtype}
        super().__init__(setup, **_plain(given))

    @classmethod
    def misfit(cls, game: Game, **params: Any) -> str | None:
        """As `llm`: a checkpoint that cannot be read fits no game."""
        try:
            return super().misfit(game, **_plain(params))
        except UserError as error:
            return str(error)

    @classmethod
    def traits(cls, **params: Any) -> Sequence[str]:
        """Those of the `llm` that it is, with its parameters."""
        plain = _plain(params)
        said = {key: value for key, value in plain.items() if key not in ("model", "adapter", "templates")}
        return (*super().traits(**plain), repr(sorted(said.items())))

    @classmethod
    def prepare(cls, game: Game, **params: Any) -> None:
        super().prepare(game, **_plain(params))


def _plain(params: dict[str, Any]) -> dict[str, Any]:
    """All parameters of `llm` for a checkpoint. Raises UserError where it cannot be read."""
    place, mark = _read(params["path"], marked.stamp(params["path"]))
    changed = {key: params[key] for key in ("memory", "choice") if params[key] != TRAINED}
    if params["temperature"] != -1.0:
        changed["temperature"] = params["temperature"]
    spec = Spec("llm", {**marked.parameters(place, mark), **changed, "dtype": params["dtype"]})
    try:
        return dict(recipe(str(spec)).params)
    except UserError as error:
        raise UserError(f"checkpoint {params['path']}: {error}") from error


@lru_cache(maxsize=64)
def _read(path: str, stamp: int) -> tuple[Path, marked.Mark]:
    """A checkpoint, read once for many matches."""
    del stamp
    return marked.read(path)
