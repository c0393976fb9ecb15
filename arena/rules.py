"""The rules of a match: how many episodes, whose deals, which seats, and what a fault costs."""

import re
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

_RETRY = re.compile(r"retry\((\d{1,3})\)")


class MatchRules(BaseModel):
    """How a match is played. Every field is a flag of the command line and a key of a TOML file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    episodes: int = Field(1, ge=1, description="Episodes of a match: plays of the game between the same agents.")
    deals: Literal["fresh", "same"] = Field(
        "fresh", description="A new seed in each episode of a match, or the same one."
    )
    seats: Literal["fixed", "rotate"] = Field(
        "fixed", description="Whether agents keep their seats in a match or move on by one after each episode."
    )
    stop_on_win: bool = Field(False, description="End a match once the agent that was seated first has won an episode.")
    score_by: Literal["mean", "last"] = Field(
        "mean", description="Rank the agents of a match by their mean return, or by the last episode's."
    )
    seconds_per_action: float | None = Field(
        None,
        gt=0,
        allow_inf_nan=False,
        description="Longest time one decision may take; a later one is a fault (too_slow).",
    )
    max_turns: int | None = Field(
        None, ge=1, description="Decisions after which an episode ends with the returns so far (max_turns)."
    )
    on_fault: Annotated[str, StringConstraints(pattern=r"^(forfeit|fallback|retry\(\d{1,3}\))$")] = Field(
        "forfeit",
        description="What an illegal, unparsable or late decision costs: forfeit the episode, retry(N) times "
        "and then forfeit, or fallback to a random legal action.",
    )

    @property
    def retries(self) -> int:
        """How often a faulty decision may be made again."""
        found = _RETRY.fullmatch(self.on_fault)
        return int(found[1]) if found else 0
