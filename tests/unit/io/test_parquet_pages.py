"""Sizes of Parquet pages from their headers, against what was written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookalike.errors import UsageError
from lookalike.io.columnar import ParquetFile
from lookalike.io.parquet_pages import Page, pages
from lookalike.io.reader import TARGET_BYTES, ReadLimit

TEXTS = [f"text {number} " * 50 for number in range(3_000)] + ["long " * 200_000]


def all_pages(path: Path) -> list[Page]:
    column = pq.read_metadata(path).row_group(0).column(0)
    with path.open("rb", buffering=0) as file:
        return list(pages(file, column))


@pytest.mark.parametrize(
    "options",
    [
        {"use_dictionary": False},
        {"use_dictionary": False, "compression": "zstd"},
        {"use_dictionary": False, "data_page_version": "2.0"},
        {"use_dictionary": False, "write_page_index": True},
    ],
    ids=str,
)
def test_all_values_are_in_the_pages(options: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": TEXTS}), path, data_page_size=1 << 16, **options)
    reported = all_pages(path)
    assert len(reported) >= 2
    assert sum(page.count for page in reported) == len(TEXTS)
    plain = sum(len(text) + 4 for text in TEXTS)  # PLAIN: a length of four bytes before each value
    assert plain <= sum(page.nbytes for page in reported) <= 1.01 * plain
    assert max(page.nbytes for page in reported) >= len(TEXTS[-1])


def test_a_dictionary_page_tells_its_entries(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["one", "three"] * 500}), path)
    assert all_pages(path)[0] == Page(3 + 5 + 2 * 4, 2, is_dictionary=True)


def test_a_damaged_header_ends_the_list(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": TEXTS}), path, use_dictionary=False)
    column = pq.read_metadata(path).row_group(0).column(0)
    for garbage in (b"\x00" * 64, b"\xff" * 64, b"\x1b" * 64):
        damaged = tmp_path / "b.parquet"
        damaged.write_bytes(path.read_bytes()[: column.data_page_offset] + garbage)
        with damaged.open("rb", buffering=0) as file:
            assert list(pages(file, column)) == []


def refuse(what: str, nbytes: int) -> Any:
    raise UsageError(f"{what}: {nbytes:,} bytes are too many.")


def test_a_long_page_is_refused_and_a_repeated_long_text_is_read_in_parts(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["long " * 100_000] * 100}), path)
    reader = ParquetFile(path, "a.parquet")
    reader.limit = ReadLimit(1_000_000, refuse)
    batches = list(reader.batches(reader.schema))
    assert sum(map(len, batches)) == 100
    assert max(batch.nbytes for batch in batches) <= 1.1 * TARGET_BYTES
    reader.limit = ReadLimit(400_000, refuse)
    with pytest.raises(UsageError, match=r"^a page of column 'text' of a\.parquet: 500,004 bytes are too many\.$"):
        next(reader.batches(reader.schema))
