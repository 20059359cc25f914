"""JSON lines against the standard library's encoder, row by row."""

from __future__ import annotations

import datetime
import decimal
import json
import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.io.json_rows import json_document, json_lines, json_text

texts = st.lists(st.none() | st.text(), max_size=8)


@given(texts=texts, start=st.integers(0, 3))
@settings(max_examples=200, deadline=None)
def test_strings_are_written_as_the_standard_library_writes_them(texts: list[str | None], start: int) -> None:
    batch = pa.record_batch({'na"me': pa.array(texts, pa.string())}).slice(start)
    expected = [json.dumps({'na"me': text}, ensure_ascii=False) for text in texts[start:]]
    assert json_lines(batch).decode().split("\n") == [*expected, ""]


@pytest.mark.parametrize("code", [*range(0x22), 0x5C, 0x7F, 0x2028])
def test_every_special_character(code: int) -> None:
    text = f"a{chr(code)}\\{chr(code)}"
    assert json.loads(json_lines(pa.record_batch({"text": [text]}))) == {"text": text}


@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {
                "a": st.none() | st.lists(st.text()),
                "b": st.none() | st.integers(-(2**63), 2**63 - 1),
                "c": st.booleans(),
            }
        ),
        max_size=5,
    )
)
@settings(max_examples=100, deadline=None)
def test_rows_are_written_as_the_standard_library_writes_them(rows: list[dict[str, Any]]) -> None:
    schema = pa.schema([("a", pa.list_(pa.string())), ("b", pa.int64()), ("c", pa.bool_())])
    batch = pa.RecordBatch.from_pylist(rows, schema=schema)
    rows = [{name: row[name] for name in schema.names} for row in rows]
    assert json_lines(batch).decode().split("\n") == [*(json.dumps(row, ensure_ascii=False) for row in rows), ""]


UTC = datetime.UTC
DAY = datetime.datetime(2024, 2, 29, 12, 30, 15, 123456)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([DAY]), "2024-02-29T12:30:15.123456"),
        (pa.array([DAY]).cast(pa.timestamp("ns")), "2024-02-29T12:30:15.123456"),
        (pa.array([1], pa.timestamp("ns")), "1970-01-01T00:00:00.000000001"),
        (pa.array([-(10**9)], pa.timestamp("ns", "Europe/Berlin")), "1970-01-01T00:59:59+01:00"),
        (pa.array([-(2**32)], pa.timestamp("s", "Europe/Berlin")), "1833-11-24T18:25:12+00:53:28"),
        (pa.array([0], pa.timestamp("s", "-02:30")), "1969-12-31T21:30:00-02:30"),
        (pa.array([DAY.replace(tzinfo=UTC)]), "2024-02-29T12:30:15.123456+00:00"),
        (pa.array([DAY.date()]), "2024-02-29"),
        (pa.array([DAY.time()]).cast(pa.time64("ns")), "12:30:15.123456"),
        (pa.array([datetime.timedelta(seconds=1.5)]), "1.5"),
        (pa.array([-(2**63 - 1)], pa.duration("ns")), "-9223372036.854775807"),
        (pa.array([7], pa.duration("s")), "7"),
        (pa.array([[DAY]]).cast(pa.list_(pa.timestamp("ns"))), ["2024-02-29T12:30:15.123456"]),
        (pa.array([{"at": DAY, "of": {"x": [1, None]}}]), {"at": "2024-02-29T12:30:15.123456", "of": {"x": [1, None]}}),
        (pa.array([1.0]), 1.0),
        (pa.array([0.1], pa.float32()), 0.10000000149011612),
        (pa.array([True]), True),
        (pa.array([2**64 - 1], pa.uint64()), 2**64 - 1),
        (pa.array([decimal.Decimal("1.20")]), "1.20"),
        (pa.array(["a", "a"]).dictionary_encode(), "a"),
        (pa.array(["ä"], pa.string_view()), "ä"),
        (pa.array([b"\xc3\xa9"], pa.binary(2)), "é"),
        (
            pa.array([[("a", 1), ("b", None)]], pa.map_(pa.string(), pa.duration("ns"))),
            [["a", "0.000000001"], ["b", None]],
        ),
        (pa.array([{"d": DAY.date()}, None]), {"d": "2024-02-29"}),
        (pa.array([[DAY.date()]], pa.list_(pa.date32(), 1)), ["2024-02-29"]),
        (pa.array([pa.MonthDayNano((1, 2, 3))]), [1, 2, 3]),
        (pa.nulls(1), None),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_every_type(column: pa.Array, expected: Any) -> None:
    batch = pa.record_batch({"x": column})
    first = json_lines(batch).decode().splitlines()[0]
    assert json.loads(first, parse_constant=lambda name: pytest.fail(name)) == {"x": expected}
    assert type(json.loads(first)["x"]) is type(expected)


def test_rows_without_columns() -> None:
    assert json_lines(pa.RecordBatch.from_pylist([], schema=pa.schema([]))) == b""
    assert json_lines(pa.record_batch({"a": pa.array([], pa.string())})) == b""


def test_values_as_text() -> None:
    assert json_text(pa.array([{"a": "é"}, None])).to_pylist() == ['{"a": "é"}', None]


def test_a_document_takes_numbers_of_numpy() -> None:
    import numpy as np

    value = {"count": np.int64(3), "share": np.float64(0.5), "none": [math.nan], "name": "é"}
    assert json.loads(json_document(value)) == {"count": 3, "share": 0.5, "none": [None], "name": "é"}
    assert "é".encode() in json_document(value)
