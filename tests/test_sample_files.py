"""Samples in files: what is written reads back, columns are documented, nothing is written over."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from games.errors import UserError
from tests.test_samples import NAME, RECORDS
from training.export import COLUMNS, export
from training.samples import Sample, gather

FOUND = gather(RECORDS, NAME).samples
ODD = FOUND[0]._replace(logprobs=None, sampling={"seed": 2**62, "temperature": 1.0}, anchor="\u00e9\n")
SAMPLES = [*FOUND, ODD]


def plain(sample: Sample) -> dict[str, object]:
    """A sample as JSON would hold it."""
    found: dict[str, object] = json.loads(json.dumps(sample._asdict()))
    return found | {"sampling": json.dumps(dict(sample.sampling), sort_keys=True)}


def test_every_field_of_a_sample_is_a_column_in_its_order() -> None:
    assert tuple(COLUMNS) == Sample._fields


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_what_is_written_reads_back(tmp_path: Path, form: str) -> None:
    file = export(SAMPLES, tmp_path / f"samples.{form}")
    if form == "parquet":
        table = pq.read_table(file)
        rows = table.to_pylist()
        assert table.schema.field("anchor").metadata[b"about"] == b"key of the information state"
    else:
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert rows == [plain(sample) for sample in SAMPLES]


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_no_samples_are_an_empty_file_of_the_form(tmp_path: Path, form: str) -> None:
    file = export([], tmp_path / f"none.{form}")
    if form == "parquet":
        assert pq.read_table(file).num_rows == 0
        assert pq.read_table(file).column_names == list(COLUMNS)
    else:
        assert file.read_bytes() == b""


def test_files_are_never_written_over_and_other_forms_are_refused(tmp_path: Path) -> None:
    export(SAMPLES[:1], tmp_path / "a.jsonl")
    before = (tmp_path / "a.jsonl").read_bytes()
    with pytest.raises(UserError, match=r"a\.jsonl' is there already"):
        export(SAMPLES, tmp_path / "a.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == before
    with pytest.raises(UserError, match="samples are written as parquet or jsonl"):
        export(SAMPLES, tmp_path / "a.csv")
    with pytest.raises(UserError, match="cannot be written: No such file or directory"):
        export(SAMPLES, tmp_path / "nowhere" / "a.parquet")


def test_the_docs_name_every_column() -> None:
    page = (Path(__file__).parent.parent / "docs" / "training.md").read_text(encoding="utf-8")
    for name, (_, about) in COLUMNS.items():
        assert f"| `{name}` | {about} |" in page
