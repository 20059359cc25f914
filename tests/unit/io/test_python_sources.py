"""Sources of Python libraries: rows, iterators, arrays of strings, lazy frames, relations, data sets."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import lookalike as la
from dedup_runs import row_of
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


DEDUPS_OF_ROWS: dict[str, Callable[[Any], Any]] = {
    "documents": lambda rows: la.dedup(rows, text="text", k=1),
    "strings": lambda rows: la.strings.dedup(rows, text="text", max_edits=0),
    "bits": lambda rows: la.bits.dedup(rows, column="code", max_bits=0),
    "vectors": lambda rows: la.vectors.dedup(rows, column="vector", max_distance=0.1, audit=0),
    "faces": lambda rows: la.faces.dedup(rows, column="vector", tolerance=0.01, threshold=1.0, audit=0),
    "baskets": lambda rows: la.baskets.dedup(rows, item="items", threshold=0.9),
    "records": lambda rows: la.records.dedup(rows, fields=["text"], threshold=0.9, audit=0),
    "scrub": lambda rows: la.scrub(rows, text="text", min_tokens=20),
}


@pytest.mark.promise("docs/how-to/data-frames.md", "are sources, too")
@pytest.mark.parametrize("kind", DEDUPS_OF_ROWS)
def test_every_kind_reads_every_source_of_rows(kind: str) -> None:
    rows = [{"id": place, **row_of(text, place)} for place, text in enumerate(["one two three", "four five", "six"])]
    frame = pl.DataFrame(rows)
    relation = duckdb.from_arrow(pa.Table.from_pylist(rows))
    for source in (rows, iter(rows), (row for row in rows), frame, frame.lazy(), relation, frame.to_pandas()):
        kept = DEDUPS_OF_ROWS[kind](source).kept
        given = [{name: row[name] for name in rows[0]} for row in kept.to_pylist()]
        assert json.dumps(given) == json.dumps(rows), type(source)
