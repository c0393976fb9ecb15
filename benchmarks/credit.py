"""Credit for 100,000 decisions, from columns to advantages."""

import time
from statistics import median

import numpy as np

from benchmarks.table import Figure, Goal, Row
from training.credit import Credit, credit
from training.meta_episodes import MetaEpisodes

MATCHES, EPISODES, TURNS, GROUP = 6_667, 3, 5, 8
HOWS = {
    "the defaults": Credit(),
    "the published form": Credit(
        form="code", gamma_step=0.95, gamma_episode=0.6, score="episode", per="step", anchor="shared"
    ),
    "RLOO": Credit(estimator="rloo"),
}


def rows(runs: int) -> list[Row]:
    """Seconds of each way to give credit, in this process."""
    given, table = matches(), []
    for name, how in HOWS.items():
        seconds = []
        for _ in range(runs):
            begun = time.perf_counter()
            credit(given, how)
            seconds.append(time.perf_counter() - begun)
        what = f"credit for {len(given.match):,} decisions, {name}"
        table.append(Row(what, Figure(median(seconds), "s"), goal=Goal(1.0, at_least=False)))
    return table


def matches() -> MetaEpisodes:
    """Matches in groups, with positions that come again."""
    rng, count = np.random.default_rng(0), MATCHES * EPISODES * TURNS
    return MetaEpisodes(
        np.repeat(np.arange(MATCHES), EPISODES * TURNS),
        np.tile(np.repeat(np.arange(EPISODES), TURNS), MATCHES),
        np.zeros(count),
        np.zeros(count),
        [
            f"an information state, {number}, as long as those of small games"
            for number in rng.integers(0, 2_000, count)
        ],
        np.zeros(count, dtype=np.bool_),
        [("game", 0, "opponent", number // GROUP) for number in range(MATCHES)],
        rng.choice([-10.0, 0.0, 10.0], (MATCHES, EPISODES)),
    )
