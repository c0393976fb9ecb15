"""The cache folder: what is read from it is whole, and what cannot be kept is no error."""

import multiprocessing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents import cache


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("METARENA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, Path.home() / ".cache" / "metarena"),
        ("linux", {"XDG_CACHE_HOME": "/somewhere"}, Path("/somewhere/metarena")),
        ("darwin", {}, Path.home() / "Library" / "Caches" / "metarena"),
        ("win32", {"LOCALAPPDATA": "/local"}, Path("/local/metarena")),
        ("linux", {"METARENA_CACHE": "/given"}, Path("/given")),
        ("win32", {"METARENA_CACHE": "/given", "LOCALAPPDATA": "/local"}, Path("/given")),
    ],
)
def test_folder_is_the_platforms_unless_one_is_given(
    platform: str, variables: dict[str, str], expected: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("METARENA_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.platform", platform)
    assert cache.folder() == expected


def test_what_was_stored_is_loaded_and_nothing_else() -> None:
    assert cache.load("table", "game", 1) is None
    assert cache.store(b"content", "table", "game", 1)
    assert cache.load("table", "game", 1) == b"content"
    assert cache.load("table", "game", "1") is None
    assert cache.load("other", "game", 1) is None


@given(st.binary(max_size=64), st.data())
def test_a_damaged_file_counts_as_absent(payload: bytes, data: st.DataObject) -> None:
    cache.store(payload, "table", "game")
    file = cache.path("table", "game")
    content = bytearray(file.read_bytes())
    if data.draw(st.booleans()):
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    else:
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    file.write_bytes(content)
    assert cache.load("table", "game") is None


def test_a_file_under_another_name_counts_as_absent() -> None:
    cache.store(b"content", "table", "chess")
    cache.path("table", "chess").rename(cache.path("table", "go"))
    assert cache.load("table", "go") is None


def test_a_folder_that_cannot_be_written_is_no_error(folder: Path) -> None:
    folder.write_text("a file where the folder should be")
    assert not cache.store(b"content", "table", "game")
    assert cache.load("table", "game") is None


def test_a_failed_write_leaves_nothing(folder: Path) -> None:
    cache.path("table", "game").mkdir(parents=True)
    assert not cache.store(b"content", "table", "game")
    assert [file.name for file in folder.iterdir()] == [cache.path("table", "game").name]


def _write_and_read(number: int) -> int:
    """Write one of two contents many times; how often what is read is neither."""
    torn = 0
    for _ in range(200):
        cache.store(bytes([number]) * 100_000, "table", "shared")
        torn += cache.load("table", "shared") not in (b"\x01" * 100_000, b"\x02" * 100_000)
    return torn


def test_two_processes_that_write_at_once_never_show_half_a_file(folder: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(_write_and_read, [1, 2]) == [0, 0]
    assert len(list(folder.iterdir())) == 1
