"""Numeric observations as text: games/text/arrays.py."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.text.arrays import MAX_LETTERS, digest, frozen, show

ARRAYS = st.builds(
    lambda kind, shape, seed: np.random.RandomState(seed).randint(0, 3, shape).astype(kind),
    st.sampled_from([np.int8, np.float32, np.bool_, np.uint8]),
    st.lists(st.integers(0, 9), min_size=0, max_size=4).map(tuple),
    st.integers(0, 99),
)


@settings(max_examples=150, deadline=None)
@given(ARRAYS)
def test_any_array_becomes_a_short_text_and_equal_ones_the_same(array):
    text = show(array)
    assert 0 < len(text) <= MAX_LETTERS + 60
    assert show(array.copy()) == text
    assert digest(array.copy()) == digest(array)


@settings(max_examples=150, deadline=None)
@given(ARRAYS, st.data())
def test_one_other_number_gives_another_digest(array, data):
    if array.size:
        changed = array.copy()
        place = data.draw(st.integers(0, array.size - 1))
        changed.flat[place] = not changed.flat[place]
        assert digest(changed) != digest(array)
    assert digest(array) != digest(array[None])
    assert digest(array, array) != digest(array)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.int8(3), "3"),
        (0.25, "0.25"),
        ("as it is", "as it is"),
        (np.array([1, 2.5]), "1 2.5"),
        (np.eye(3), "1..\n.1.\n..1"),
        (np.array([[10, 2], [-1, 0]]), "10  2\n-1  0"),
        (np.arange(40) == 7, "40 numbers, 1 at places 7, else 0"),
        (np.array([0.0] * 20 + [2.5]), "21 numbers, place:value 20:2.5, else 0"),
        (np.stack([np.eye(2), 1 - np.eye(2)], 2), "1 = channel 0, 2 = channel 1, . = neither\n12\n21"),
        (np.dstack([np.eye(2), *[np.zeros((2, 2))] * 3]), "channel 0:\n1.\n.1\nchannels 1-3: all 0"),
        ({"b": 1, "a": (2, 3)}, "a:\n2 3\nb:\n1"),
        (np.zeros((0, 3)), "(nothing)"),
    ],
)
def test_arrays_are_drawn_as_a_reader_expects(value, text):
    assert show(value) == text


def test_pictures_are_told_apart_without_being_drawn():
    picture = np.zeros((90, 90, 3), np.uint8)
    other = picture.copy()
    other[5, 5, 1] = 200
    assert show(picture) != show(other)
    assert show(other).startswith("array of 90x90x3 numbers from 0 to 200")


def test_a_frozen_copy_stays_when_the_original_changes():
    original = {"seen": np.zeros(3), "more": [np.ones(2), 5]}
    kept = frozen(original)
    before = digest(kept)
    original["seen"][0] = 9
    original["more"][0][1] = 9
    assert digest(kept) == before
    with pytest.raises(ValueError, match="read-only"):
        kept["more"][0][0] = 1
