"""Signatures by the row-order algorithm are those that sets give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.errors import ColumnNotFound, InputError, UsageError

entries = st.lists(st.tuples(st.text("abc", max_size=2), st.integers(0, 5)), max_size=30)


def by_sets(rows: list[tuple[Any, Any]], num_hashes: int) -> dict[Any, list[int]]:
    sets: dict[Any, list[str]] = {}
    for token, document in rows:
        sets.setdefault(document, []).append(token)
    made = la.MinHash.bulk(sets.values(), num_perm=num_hashes, scheme="minhash-1")
    return {document: one.digest().tolist() for document, one in zip(sets, made, strict=True)}


def table(rows: list[tuple[Any, Any]]) -> pa.Table:
    return pa.table(
        {"shingle": pa.array([s for s, _ in rows], pa.string()), "document": pa.array([d for _, d in rows], pa.int64())}
    )


@pytest.mark.promise(
    "docs/tutorial/textbook.md", "The signatures are the ones that `la.MinHash` gives for the set of each document"
)
@given(rows=entries, in_order=st.booleans())
@settings(max_examples=60, deadline=None)
def test_rows_give_the_signatures_of_the_sets(rows: list[tuple[str, int]], in_order: bool) -> None:
    rows = sorted(rows) if in_order else rows
    made = la.signatures(table(rows), num_hashes=8)
    assert {row["document"]: row["signature"] for row in made.to_pylist()} == by_sets(rows, 8)


def test_a_file_in_many_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lookalike.kinds.documents.signature_stream.FIRST_ROOM", 2)
    rows = sorted((f"s{i * 7 % 40}", i % 9) for i in range(400))
    pq.write_table(table(rows), tmp_path / "entries.parquet", row_group_size=17)
    pv.write_csv(table(rows), tmp_path / "entries.csv")
    expected = by_sets(rows, 16)
    made = la.signatures(tmp_path / "entries.parquet", num_hashes=16)
    assert {row["document"]: row["signature"] for row in made.to_pylist()} == expected
    as_text = la.signatures(tmp_path / "entries.csv", num_hashes=16)
    assert {int(row["document"]): row["signature"] for row in as_text.to_pylist()} == expected


def test_no_rows() -> None:
    assert la.signatures(table([])).num_rows == 0


def test_bad_input() -> None:
    with pytest.raises(ColumnNotFound, match="no column 'shingles'"):
        la.signatures(table([("a", 1)]), shingle="shingles")
    with pytest.raises(UsageError, match="shingle and document are both 'shingle'"):
        la.signatures(table([("a", 1)]), document="shingle")
    with pytest.raises(InputError, match="has no shingle in row 1"):
        la.signatures(pa.table({"shingle": ["a", None], "document": [1, 2]}))
    with pytest.raises(InputError, match="column 'document' in the table has no id in row 0"):
        la.signatures(pa.table({"shingle": ["a"], "document": pa.array([None], pa.int64())}))
