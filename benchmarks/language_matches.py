"""Matches of the embedded model at once: its tokens a second beside a bare `generate`, and what slow opponents cost.

    python -m benchmarks.language_matches THREADS

plays the same matches against opponents that answer at once, then with a quarter of these slow, and gives the prompts
of the first to bare `generate`. Prints a `Timed` as JSON.
"""

import json
import os
import sys
from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from agents.models import local, pool
from agents.models.source import Source
from agents.registry import recipe
from arena.match import Match
from arena.record import SCHEMAS
from arena.runner import Limits, run_matches
from benchmarks.cost import measured
from benchmarks.generating import bare
from benchmarks.instant import SLOW, SLOW_SECONDS
from benchmarks.table import Figure, Goal, Row
from games.errors import RunError
from league.config import rules_of

GAME, MATCHES = "tic_tac_toe", 32
TOKENS = 32
"""Most tokens of an answer."""
AGENT = f"llm(max_tokens={TOKENS})"
OPPONENT = "llm(backend=http,base_url=http://localhost:1/v1,model={})"
QUARTER = [f"{number}" for number in range(0, MATCHES, 4)]
"""Ids of the matches whose opponent is slow, where some are."""
AS_FAST = Goal(0.85, at_least=True, of_ratio=True)
UNHELD = Goal(0.9, at_least=True, of_ratio=True)


class Turn(NamedTuple):
    """Token ids of one turn."""

    prompt: list[int]
    answer: list[int]


class Played(NamedTuple):
    """What the model was asked in some matches."""

    turns: dict[str, list[Turn]]
    """By match, in order."""
    ended: dict[str, float]
    """By match: seconds from the start of the first."""


class Timed(NamedTuple):
    """What a run took."""

    tokens: int
    """Tokens of all answers."""
    ours: float
    """Seconds until all matches were over."""
    bare: float
    """Seconds of a bare generate, one batch for the first turns of all matches, one for the second, and so on."""
    alone: float
    """Answers a second of the matches whose opponent is never slow, until their last one ended."""
    beside: float
    """The same while the opponents of all others were slow."""


def rows(runs: int) -> list[Row]:
    """Measure once, in a process of its own: it takes minutes. Raises RunError without the packages and the model."""
    threads = os.cpu_count() or 1
    run = measured([sys.executable, "-m", "benchmarks.language_matches", str(threads)])
    timed = Timed(*json.loads(run.output))
    what = f"{MATCHES} matches of {GAME} at once, SmolLM2"
    return [
        Row(
            f"{what}, answers of up to {TOKENS} tokens, {threads} threads",
            Figure(timed.tokens / timed.ours, "tokens/s"),
            "bare generate, left-padded, the same batches, prompts and lengths",
            Figure(timed.tokens / timed.bare, "tokens/s"),
            AS_FAST,
        ),
        Row(
            f"{what}, the opponents of a quarter take {SLOW_SECONDS:g} s a move, the other matches",
            Figure(timed.beside, "turns/s"),
            "the same matches, no opponent slow",
            Figure(timed.alone, "turns/s"),
            UNHELD,
        ),
    ]


def main() -> None:
    """Measure and print."""
    threads = int(sys.argv[1])
    os.environ["OMP_NUM_THREADS"] = str(threads)
    pool._BACKENDS["http"] = "benchmarks.instant"
    local.check(Source())
    _play(2, ())  # what the first batches alone pay: reading the weights above all
    print(json.dumps(_timed(threads)))


def _timed(threads: int) -> Timed:
    even, uneven = _play(MATCHES, ()), _play(MATCHES, QUARTER)
    groups: dict[int, list[Turn]] = defaultdict(list)
    for turns in even.turns.values():
        for number, turn in enumerate(turns):
            groups[number].append(turn)
    seconds = 0.0
    for group in groups.values():
        seconds += bare(threads, [turn.prompt for turn in group], max([len(turn.answer) for turn in group]))
    tokens = sum([len(turn.answer) for group in groups.values() for turn in group])
    return Timed(tokens, max(even.ended.values()), seconds, _pace(even), _pace(uneven))


def _pace(played: Played) -> float:
    """Answers a second of the matches whose opponent is never slow."""
    ids = [match for match in played.turns if match not in QUARTER]
    return sum([len(played.turns[match]) for match in ids]) / max([played.ended[match] for match in ids])


def _play(count: int, slow: Collection[str]) -> Played:
    """Play so many matches at once. Raises RunError if one fails."""
    matches = [_match(number, SLOW if str(number) in slow else "instant") for number in range(count)]
    tables: dict[str, list[pa.Table]] = defaultdict(list)
    for report in run_matches(iter(matches), Limits(concurrent=MATCHES)):
        for name, table in report.tables.items():
            tables[name].append(table)
    turns: dict[str, list[Turn]] = defaultdict(list)
    for row in _rows(tables["generations"], "generations"):
        if row["seat"] == 0:
            turns[row["match_id"]].append(Turn(row["prompt_ids"], row["completion_ids"]))
    runs = _rows(tables["match_runs"], "match_runs")
    if len(turns) < count or any([row["status"] != "finished" for row in runs]):
        raise RunError(f"not every match was finished: {sorted({str(row['reason']) for row in runs})}")
    begun = min([row["started"] for row in runs])
    ended = {row["match_id"]: (row["started"] - begun).total_seconds() + row["seconds"] for row in runs}
    return Played(dict(turns), ended)


def _rows(tables: Sequence[pa.Table], name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pa.concat_tables(tables, promote_options="permissive").cast(SCHEMAS[name]).to_pylist()
    return rows


def _match(number: int, opponent: str) -> Match:
    specs = tuple([recipe(spec).spec for spec in (AGENT, OPPONENT.format(opponent))])
    rules = rules_of({"on_fault": "fallback"})
    return Match(str(number), "t", GAME, 0, 0, 0, number, ("llm", "opponent"), specs, ("", ""), rules)


if __name__ == "__main__":
    main()
