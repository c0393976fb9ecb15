"""What a tournament is told: one pydantic model for the command line's flags and a TOML file's keys."""

import os
import re
import tomllib
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agents.models.limits import ModelLimits
from arena.rules import MatchRules
from games.errors import UserError
from games.spec import near

_NEEDED = {
    "games": "no game is named; name one with --game GAME, or games = [...] in a file",
    "agents": "no agent is named; name some with --agent SPEC, or agents = [...] in a file",
}
_EXPECTED = {"tuple_type": "input should be a list, as in [...]"}


class TournamentConfig(ModelLimits, MatchRules):
    """A tournament. The fields of MatchRules and of ModelLimits are fields here too."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    games: tuple[str, ...] = Field(strict=False, min_length=1, description="Games to play, as game strings.")
    agents: tuple[str, ...] = Field(
        strict=False, min_length=1, description="Agents that take part, as SPEC or NAME=SPEC."
    )
    name: str | None = Field(
        None,
        min_length=1,
        max_length=100,
        description="Name of the tournament; without one each game is a tournament of its own, known by its contents.",
    )
    format: Literal["round_robin", "gauntlet"] = Field(
        "round_robin", description="Everyone meets everyone, or the first agent meets all others."
    )
    pairs: int = Field(
        10, ge=1, le=2**31 - 1, description="How often each pairing meets, each time in all seats on the same seed."
    )
    seed: int = Field(0, ge=0, lt=2**63, description="Seed that all matches derive from.")
    workers: int = Field(
        default_factory=lambda: os.cpu_count() or 1,
        ge=1,
        le=1024,
        description="Worker processes; as many as the machine has cores.",
    )
    hang_seconds: float = Field(
        60.0, gt=0, description="Longest time one decision may take before its process is ended and the match lost."
    )
    memory_mb: int = Field(2048, ge=256, description="Memory of a worker, in MiB, above which it is ended.")
    concurrent: int = Field(
        32, ge=1, le=4096, description="Matches with language agents that are played at the same time."
    )

    def rules(self) -> MatchRules:
        """The rules of each match."""
        return MatchRules(**{key: getattr(self, key) for key in MatchRules.model_fields})

    def model_limits(self) -> ModelLimits:
        """What the run may ask of its language models."""
        return ModelLimits(**{key: getattr(self, key) for key in ModelLimits.model_fields})


_M = TypeVar("_M", bound=BaseModel)


def rules_of(values: dict[str, Any]) -> MatchRules:
    """Make the rules of a match. Raises UserError with one line: the key, its value and what is expected."""
    return _made(MatchRules, values)


def limits_of(values: dict[str, Any]) -> ModelLimits:
    """Make the limits of a run's language models. Raises UserError as `rules_of` does."""
    return _made(ModelLimits, values)


def checked(values: dict[str, Any]) -> TournamentConfig:
    """Make the configuration of a tournament. Raises UserError as `rules_of` does."""
    return _made(TournamentConfig, values)


def _made(model: type[_M], values: dict[str, Any]) -> _M:
    try:
        return model(**values)
    except ValidationError as error:
        raise UserError(_first_fault(error)[1]) from None


def from_toml(path: Path, flags: dict[str, Any]) -> TournamentConfig:
    """Make a configuration from a TOML file and flags, which count more.

    Raises UserError for what is no TOML, no key, or no such value: file, line and key are named.
    """
    text, values = _read(path)
    for key in values:
        if key not in TournamentConfig.model_fields:
            place = f"{path}, line {line_of(text, key)}"
            raise UserError(f"{place}: no key {key!r}; {near(key, TournamentConfig.model_fields)}")
    try:
        return TournamentConfig(**{**values, **flags})
    except ValidationError as error:
        key, words = _first_fault(error)
        at_fault = f"{path}, line {line_of(text, key)}: " if key in values and key not in flags else ""
        raise UserError(at_fault + words) from None


def _read(path: Path) -> tuple[str, dict[str, Any]]:
    """The text of a TOML file and its keys."""
    try:
        text = path.read_text(encoding="utf-8")
        return text, tomllib.loads(text)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"cannot read {path}: it is not UTF-8 text ({error.reason})") from None
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path}: {error}") from None


def line_of(text: str, key: str) -> int:
    """The line (from 1) that sets a top-level key or opens a table of that name; 1 if it cannot be found."""
    found = re.search(rf"""^[ \t]*(\[+[ \t]*)?["']?{re.escape(key)}["']?[ \t]*[=.\]]""", text, re.MULTILINE)
    return text.count("\n", 0, found.start()) + 1 if found else 1


def _first_fault(error: ValidationError) -> tuple[str, str]:
    """The key that the first fault is about, and the fault in words."""
    fault = error.errors(include_url=False)[0]
    key = str(fault["loc"][0]) if fault["loc"] else ""
    if fault["type"] in ("missing", "too_short") and key in _NEEDED:
        return key, _NEEDED[key]
    place = ".".join(str(part) for part in fault["loc"])
    expected = _EXPECTED.get(fault["type"]) or fault["msg"][0].lower() + fault["msg"][1:]
    if key == "on_fault":
        expected = "choices: forfeit, fallback, retry(N)"
    return key, f"{place} = {fault['input']!r}: {expected}"
