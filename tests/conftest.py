"""What every test gets: a cache folder of its own run, so that no test reads or leaves files of the person's."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def _own_cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("cache")
    before = os.environ.get("METARENA_CACHE")
    os.environ["METARENA_CACHE"] = str(folder)
    yield folder
    if before is None:
        del os.environ["METARENA_CACHE"]
    else:
        os.environ["METARENA_CACHE"] = before
