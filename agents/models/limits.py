"""What a run may ask of its language models, and what it has asked so far."""

from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from games.errors import RunError


class ModelLimits(BaseModel):
    """Limits of one run. Every field is a flag of the command line and a key of a TOML file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    budget_tokens: int | None = Field(
        None, gt=0, description="Tokens of prompts and answers after which the run stops."
    )
    budget_dollars: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="US dollars, at the prices that agents state, at which it stops."
    )
    requests_per_minute: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="Requests a minute to each server; more wait."
    )
    tokens_per_minute: int | None = Field(
        None, gt=0, description="Tokens of prompts and answers a minute to each server; more wait."
    )
    request_seconds: float = Field(
        120.0, gt=0, allow_inf_nan=False, description="Longest time one request to a server may take."
    )
    patience_seconds: float = Field(
        300.0,
        ge=0,
        allow_inf_nan=False,
        description="How long a request to a server that is down, busy or broken is tried again before its match is "
        "void.",
    )


class BudgetError(RunError):
    """The run's budget is spent: it stops, and what is finished is kept."""


class Spent(NamedTuple):
    """What a run has spent on its models at one moment."""

    requests: int = 0
    """Answers that came, not tries."""
    tokens: int = 0
    """Of prompts and answers."""
    dollars: float = 0.0
    """At the prices that agents state."""


class Spending:
    """What a run has spent on its models."""

    def __init__(self, limits: ModelLimits) -> None:
        self._limits = limits
        self.tokens = 0
        self.dollars = 0.0
        self.requests = 0

    def spent(self) -> Spent:
        """What it is now."""
        return Spent(self.requests, self.tokens, self.dollars)

    def add(self, tokens: int, price: float | None) -> None:
        """Book an answer."""
        self.requests += 1
        self.tokens += tokens
        self.dollars += price or 0.0

    def check(self) -> None:
        """Call before each request. Raises BudgetError once a budget is spent."""
        if (most := self._limits.budget_tokens) is not None and self.tokens >= most:
            raise BudgetError(f"budget_tokens = {most} is spent")
        if (limit := self._limits.budget_dollars) is not None and self.dollars >= limit:
            raise BudgetError(f"budget_dollars = {limit:g} is spent")
