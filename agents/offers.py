"""The agents that other installed packages offer by entry points."""

from games import offers as _all
from games.offers import Offer

GROUP = "metarena.agents"


def offers() -> dict[str, list[Offer]]:
    """Name -> the offers of that name, sorted. The same class offered twice counts once."""
    return _all.offers(GROUP)


def refusal(name: str) -> str | None:
    """Why an offered name cannot be used, whatever is behind it: it is offered twice or cannot be read. Else None."""
    return _all.refusal(name, offers()[name], "an agent")
