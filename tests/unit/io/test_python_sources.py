"""Sources of Python libraries: rows, iterators, arrays of strings, lazy frames, relations, data sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lookalike as la
from lookalike.errors import UsageError

SOURCE_TEXTS = [
    "the quick brown fox jumps over the lazy dog",
    "The quick brown fox jumps over the lazy dog!",
    "something else",
]
SOURCE_ROWS = [{"id": name, "text": text} for name, text in zip("abc", SOURCE_TEXTS, strict=True)]


class DataSet:
    """What a Hugging Face Dataset offers, with a selection of its rows."""

    features: dict[str, str] = {}  # noqa: RUF012

    def with_format(self, form: str) -> DataSet:
        assert form == "arrow"
        return self

    def __getitem__(self, key: slice) -> pa.Table:
        return pa.Table.from_pylist(SOURCE_ROWS)[key]


class Streamed:
    """What a Hugging Face IterableDataset offers."""

    features: dict[str, str] = {}  # noqa: RUF012

    def with_format(self, form: str) -> Streamed:
        raise NotImplementedError

    def __iter__(self) -> Any:
        return iter(SOURCE_ROWS)


def lazy() -> Any:
    return pytest.importorskip("polars").DataFrame(SOURCE_ROWS).lazy()


def relation() -> Any:
    duckdb = pytest.importorskip("duckdb")
    table = pa.Table.from_pylist(SOURCE_ROWS)
    return duckdb.from_arrow(table)


@pytest.mark.parametrize(
    "source", [lambda: SOURCE_ROWS, lambda: iter(SOURCE_ROWS), lambda: (row for row in SOURCE_ROWS), lazy, relation, DataSet, Streamed]
)  # fmt: skip
def test_rows_with_ids(source: Any) -> None:
    assert la.pairs(source()).pairs.to_pylist() == [{"left": "a", "right": "b", "similarity": 1.0}]
    assert la.dedup(source()).kept["id"].to_pylist() == ["a", "c"]


@pytest.mark.parametrize(
    "source",
    [
        lambda: (text for text in SOURCE_TEXTS), lambda: np.array(SOURCE_TEXTS), lambda: np.array(SOURCE_TEXTS, object),
        lambda: np.array(SOURCE_TEXTS, np.dtypes.StringDType()),
    ],
)  # fmt: skip
def test_texts(source: Any) -> None:
    assert la.pairs(source()).pairs.to_pylist() == [{"left": 0, "right": 1, "similarity": 1.0}]
    assert la.strings.pairs(source(), max_edits=3).pairs.num_rows == 1


def test_records_from_dicts() -> None:
    rows = [
        {"name": "Ann Lee", "town": "York"},
        {"name": "Ann Lee", "town": "York"},
        {"name": "Bob Stone", "town": "Hull"},
    ]
    assert la.records.dedup(rows, audit=0).kept.num_rows == 2


def test_values_of_different_types() -> None:
    with pytest.raises(
        UsageError, match=r"^the values of 'text' in the rows are of several types; expected one type\.$"
    ):
        la.pairs([{"text": "a"}, {"text": [1]}])
