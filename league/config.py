"""What a tournament is told: one pydantic model for the command line's flags and a TOML file's keys."""

import os
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field

from agents.models.limits import ModelLimits
from arena.rules import MatchRules
from league.toml import from_file, made

_NEEDED = {
    "games": "no game is named; name one with --game GAME, or games = [...] in a file",
    "agents": "no agent is named; name some with --agent SPEC, or agents = [...] in a file",
}


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


def rules_of(values: dict[str, Any]) -> MatchRules:
    """Make the rules of a match. Raises UserError with one line: the key, its value and what is expected."""
    return made(MatchRules, values)


def limits_of(values: dict[str, Any]) -> ModelLimits:
    """Make the limits of a run's language models. Raises UserError as `rules_of` does."""
    return made(ModelLimits, values)


def checked(values: dict[str, Any]) -> TournamentConfig:
    """Make the configuration of a tournament. Raises UserError as `rules_of` does."""
    return made(TournamentConfig, values, _NEEDED)


def from_toml(path: Path, flags: dict[str, Any]) -> TournamentConfig:
    """Make a configuration from a TOML file and flags, which count more.

    Raises UserError for what is no TOML, no key, or no such value: file, line and key are named.
    """
    return from_file(TournamentConfig, path, flags, _NEEDED)
