"""Numeric observations in plain text: compact, readable, bounded in length."""

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any

import numpy as np

MAX_NUMBERS = 4096
"""Larger arrays (images) are told by shape and range only."""
MAX_LETTERS = 8000


def show(value: Any) -> str:
    """Render numbers, arrays, and dictionaries and sequences of them, in at most MAX_LETTERS letters.

    Arrays of 0 and 1 with a channel axis last become one grid a channel, or one grid for two channels that never
    overlap. Deterministic: equal values give equal text.
    """
    text = "\n".join(_lines(value))
    if len(text) > MAX_LETTERS:
        return text[:MAX_LETTERS] + f"\n... cut, {len(text)} letters in all"
    return text


def frozen(value: Any) -> Any:
    """A copy that the environment cannot change any more; arrays are read-only."""
    if isinstance(value, np.ndarray):
        copy = value.copy()
        copy.flags.writeable = False
        return copy
    if isinstance(value, Mapping):
        return {key: frozen(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return tuple([frozen(item) for item in value])
    return value


def digest(*values: Any) -> str:
    """32 hexadecimal digits that identify values of the kind `show` takes, their types and shapes included."""
    state = blake2b(digest_size=16)
    for part in _parts(values):
        state.update(part)
    return state.hexdigest()


def _parts(value: Any) -> Iterator[bytes]:
    if isinstance(value, np.ndarray | np.generic):
        yield f"{value.dtype.str}{value.shape};".encode()
        yield value.tobytes()
    elif isinstance(value, Mapping):
        yield f"d{len(value)};".encode()
        for key in sorted(value, key=str):
            yield f"{key!r}:".encode()
            yield from _parts(value[key])
    elif isinstance(value, list | tuple):
        yield f"l{len(value)};".encode()
        for item in value:
            yield from _parts(item)
    else:
        yield f"{type(value).__name__}{value!r};".encode()


def _lines(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key in sorted(value, key=str):
            yield f"{key}:"
            yield from _lines(value[key])
    elif isinstance(value, list | tuple) and not _is_numbers(value):
        for item in value:
            yield from _lines(item)
    elif isinstance(value, str):
        yield value
    else:
        yield from _array(np.asarray(value))


def _is_numbers(value: list[Any] | tuple[Any, ...]) -> bool:
    return all([isinstance(item, bool | int | float | np.generic) for item in value])


def _array(array: np.ndarray) -> Iterator[str]:
    if array.ndim == 0:
        yield _number(array.item())
    elif array.size == 0:
        yield "(nothing)"
    elif array.size > MAX_NUMBERS or array.ndim > 3:
        yield _summary(array)
    elif array.ndim == 1:
        yield _vector(array)
    elif array.ndim == 2:
        yield from _grid(array)
    else:
        yield from _channels(array)


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(int(value) if isinstance(value, bool) else value)


def _summary(array: np.ndarray) -> str:
    shape = "x".join(map(str, array.shape))
    if not np.issubdtype(array.dtype, np.number):
        return f"array of {shape}"
    low, high = _number(array.min().item()), _number(array.max().item())
    return f"array of {shape} numbers from {low} to {high}, mean {array.mean():.6g}, digest {digest(array)[:12]}"


def _vector(array: np.ndarray) -> str:
    """A line of numbers; a long one that is mostly 0 names the places that are not."""
    places = np.flatnonzero(array)
    if array.size <= 16 or len(places) > array.size // 3:
        return " ".join(map(_number, array.tolist()))
    if _is_binary(array):
        told = " ".join(map(str, places.tolist()))
        return f"{array.size} numbers, 1 at places {told or 'none'}, else 0"
    told = " ".join([f"{place}:{_number(array[place].item())}" for place in places])
    return f"{array.size} numbers, place:value {told or 'none'}, else 0"


def _grid(array: np.ndarray) -> Iterator[str]:
    if _is_binary(array):
        for row in array:
            yield "".join(["1" if cell else "." for cell in row])
        return
    words = [[_number(cell) for cell in row] for row in array.tolist()]
    width = max([len(word) for row in words for word in row])
    for line in words:
        yield " ".join([word.rjust(width) for word in line])


def _channels(array: np.ndarray) -> Iterator[str]:
    count = array.shape[2]
    if count == 2 and _is_binary(array) and not (array[:, :, 0] * array[:, :, 1]).any():
        yield "1 = channel 0, 2 = channel 1, . = neither"
        for row in array[:, :, 0] + 2 * array[:, :, 1].astype(np.int8):
            yield "".join([".12"[int(cell)] for cell in row])
        return
    flat: dict[str, list[int]] = {}
    for channel in range(count):
        plane = array[:, :, channel]
        if (plane == plane[0, 0]).all():
            flat.setdefault(_number(plane[0, 0].item()), []).append(channel)
        else:
            yield f"channel {channel}:"
            yield from _grid(plane)
    for value, channels in flat.items():
        yield f"channels {_ranges(channels)}: all {value}"


def _is_binary(array: np.ndarray) -> bool:
    return array.dtype == np.bool_ or bool(((array == 0) | (array == 1)).all())


def _ranges(numbers: list[int]) -> str:
    """Rising numbers as ranges: 1, 2, 3, 7 is `1-3, 7`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join([str(first) if first == last else f"{first}-{last}" for first, last in runs])
