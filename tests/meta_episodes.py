"""Meta-episodes for tests: made from plain lists, and drawn by hypothesis."""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from training.meta_episodes import MetaEpisodes


class Play(NamedTuple):
    """One episode: its rewards, where they were earned, what was fined, and the anchor of the reflection on it."""

    rewards: Sequence[float]
    anchors: Sequence[str] = ()
    penalties: Sequence[float] = ()
    reflection: str | None = None


def ending(value: float, length: int, reflection: str | None = None, state: str = "s") -> Play:
    """An episode of some length with a reward at its last decision; decision t is made in the state `s{t}`."""
    return Play([0.0] * (length - 1) + [value], [f"{state}{turn}" for turn in range(length)], (), reflection)


def made(
    matches: Sequence[Sequence[Play]], groups: Sequence[Hashable] | None = None, episodes: int = 0
) -> MetaEpisodes:
    """The columns of some matches; `episodes` is how many were planned, those that are missing were left out."""
    rows: list[tuple[int, int, float, float, str, bool]] = []
    planned = episodes or max(len(match) for match in matches)
    returns = np.full((len(matches), planned), np.nan)
    for number, match in enumerate(matches):
        for place, play in enumerate(match):
            returns[number, place] = sum(play.rewards)
            for turn, reward in enumerate(play.rewards):
                anchor = play.anchors[turn] if play.anchors else f"{number}.{place}.{turn}"
                rows.append((number, place, reward, play.penalties[turn] if play.penalties else 0.0, anchor, False))
            if play.reflection is not None:
                rows.append((number, place, 0.0, 0.0, play.reflection, True))
    columns = list(zip(*rows, strict=True)) or [()] * 6
    return MetaEpisodes(
        np.array(columns[0], dtype=np.int64),
        np.array(columns[1], dtype=np.int64),
        np.array(columns[2], dtype=np.float64),
        np.array(columns[3], dtype=np.float64),
        [str(anchor) for anchor in columns[4]],
        np.array(columns[5], dtype=np.bool_),
        list(groups) if groups is not None else ["g"] * len(matches),
        returns,
    )


@st.composite
def drawn_matches(draw: st.DrawFn, episodes: int = 3) -> list[list[Play]]:
    """Two to six matches of equally many episodes, with dense rewards, penalties and some reflections."""
    numbers = st.sampled_from([-10.0, -2.5, -1.0, 0.0, 0.5, 1.0, 10.0])
    found = []
    for _ in range(draw(st.integers(2, 6))):
        match = []
        for place in range(episodes):
            length = draw(st.integers(1, 4))
            rewards = draw(st.lists(numbers, min_size=length, max_size=length))
            fines = draw(st.lists(st.sampled_from([0.0, 0.0, -0.5]), min_size=length, max_size=length))
            anchors = draw(st.lists(st.sampled_from("uvwx"), min_size=length, max_size=length))
            reflects = place < episodes - 1 and draw(st.booleans())
            match.append(Play(rewards, anchors, fines, f"r{place}" if reflects else None))
        found.append(match)
    return found
