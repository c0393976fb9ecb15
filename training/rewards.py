"""What an episode and a decision are worth to a learner: outcome or return, and fines for form."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from games.game import Termination

FORM = {Termination.ILLEGAL.value, Termination.UNPARSABLE.value}
"""Faults that a fine is for."""


class Rewards(BaseModel):
    """How play becomes numbers to train on."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["outcome", "return"] = Field(
        "outcome", description="outcome: a win earns `win`, a loss -`win`, a draw 0; return: the game's own units."
    )
    win: float = Field(10.0, gt=0, allow_inf_nan=False, description="What a win is worth.")
    scale: float = Field(1.0, gt=0, allow_inf_nan=False, description="What a unit of the game is worth.")
    fault: float = Field(0.5, ge=0, allow_inf_nan=False, description="Fine for an illegal or unreadable answer.")
    length: float = Field(0.0, ge=0, allow_inf_nan=False, description="Fine for the longest answers.")
    longest: int = Field(3_072, ge=2, description="Tokens at which that fine is full; it begins at half of them.")

    def outcome(self, success: list[bool], seat: int, task: bool) -> float:
        """What the end of an episode is worth to a seat: a task that is not solved earns nothing."""
        if success[seat]:
            return self.win
        return -self.win if any(success) and not task else 0.0

    def fine(self, fault: str | None, tokens: int) -> float:
        """What a decision costs by its form, 0 or less."""
        return -(self.fault if fault in FORM else 0.0) - length_penalty(tokens, self.length, self.longest)


def length_penalty(tokens: int, most: float, longest: int) -> float:
    """most * clip((tokens - longest / 2) / (longest / 2), 0, 1)"""
    half = longest / 2
    return most * min(max((tokens - half) / half, 0.0), 1.0)
