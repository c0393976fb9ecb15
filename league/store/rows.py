"""The rows that questions to a store are answered in."""

from typing import NamedTuple

from agents.generation import Generation

OVERALL = "overall"
"""The pool of all games together."""


class MatchRow(NamedTuple):
    """A finished match; the lists run in parallel."""

    match_id: str
    tournament: str
    game: str
    round: int
    pair: int
    replica: int
    seed: int
    agents: list[str]
    mean_returns: list[float]
    places: list[int]
    """0 is best, ties share a place."""
    faults: list[int]
    episodes: int
    fingerprints: list[str]


class EpisodeRow(NamedTuple):
    """One play of the game; `turn_seats` and `actions` run in parallel, the other lists by seat."""

    match_id: str
    episode: int
    seed: int
    seats: list[str]
    turn_seats: list[int]
    actions: list[str]
    returns: list[float]
    success: list[bool]
    termination: str
    offender: int | None
    trajectory_hash: str


class TurnRow(NamedTuple):
    """A decision that carries more than its action."""

    episode: int
    turn: int
    seat: int
    attempt: int
    action: str | None
    raw: str | None
    fault: str | None
    extra: str | None
    """JSON."""


class ReflectionRow(NamedTuple):
    """What an agent told itself after an episode."""

    episode: int
    seat: int
    agent: str
    text: str


class GenerationRow(NamedTuple):
    """An answer of a language model, and what it was for."""

    episode: int
    turn: int | None
    """None for a reflection."""
    seat: int
    attempt: int
    phase: str
    """`play` or `reflect`."""
    number: int
    said: Generation


class MatchRecord(NamedTuple):
    """All that is kept of one match."""

    match: MatchRow
    episodes: list[EpisodeRow]
    turns: list[TurnRow]
    reflections: list[ReflectionRow]
    generations: list[GenerationRow]


class CrossRow(NamedTuple):
    """How an agent fared against another in one game, as `agent` sees it."""

    game: str
    agent: str
    opponent: str
    matches: int
    wins: int
    draws: int
    losses: int
    score: float
    """(wins + draws / 2) / matches."""
    episodes: int
    distinct: int
    """Different trajectories among those episodes: deterministic agents repeat themselves."""


class Tally(NamedTuple):
    """What an agent did in one game."""

    game: str
    agent: str
    matches: int
    wins: int
    """Sole best place."""
    draws: int
    """Best place, shared."""
    losses: int
    points: float
    """Sum over matches of the share of the others beaten, ties counting half."""
    faults: int
    answers: int
    """Turns that were played as it said, and faults."""
    void: int
    """Attempts that came to nothing; they are no matches."""


class EpisodeSolved(NamedTuple):
    """What an agent reached in the k-th episode of its matches of one task, of equal length and deals."""

    game: str
    agent: str
    deals: str
    """fresh or same."""
    planned: int
    """Episodes of a match."""
    episode: int
    """k, from 1."""
    matches: int
    """Matches in all, those that ended before the k-th episode included."""
    played: int
    """k-th episodes that were played."""
    solved: int
    """Of these, how many were solved."""
    passed: int
    """Matches in which one of the first k was."""
    total: float
    """Sum of the returns of k-th episodes."""
    turns: int
    """Sum of their turns."""


class Counts(NamedTuple):
    """How much there is to fit ratings on."""

    matches: int
    runs: int
    """Attempts, void ones included."""


class Standing(NamedTuple):
    """A line of the standings."""

    pool: str
    """A game, or `overall`."""
    rank: int
    """From 1 in each pool; equals share it."""
    agent: str
    mu: float
    sigma: float
    conservative: float
    """mu - 3 sigma: what is ranked by."""
    matches: int
    wins: int
    draws: int
    losses: int
    score: float
    faults: int
    void: int
    answers: int
    """How often it was heard: turns that were played as it said, and faults."""
    fault_rate: float | None
    """faults / answers; None where it was never heard."""
