"""Arrow values as JSON text: any type goes in, only valid JSON comes out."""

from __future__ import annotations

import datetime
import json
import math
from typing import Any

import pyarrow as pa


def json_lines(batch: pa.RecordBatch) -> bytes:
    """One object a line. Times are ISO 8601 (microseconds); NaN and infinity, which JSON does not have, are null.

    >>> json_lines(pa.record_batch({"id": [1, None], "text": ["é", "b"]})).decode()
    '{"id": 1, "text": "é"}\\n{"id": null, "text": "b"}\\n'
    """
    names = batch.schema.names
    columns = [_values(column) for column in batch.columns]
    lines = [_encode(dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True)]
    return "".join(line + "\n" for line in lines).encode()


def json_text(column: pa.Array) -> pa.Array:
    """Each value as JSON text (large_string); null stays null.

    >>> json_text(pa.array([[1, 2], None])).to_pylist()
    ['[1, 2]', None]
    """
    texts = [None if value is None else _encode(value) for value in _values(column)]
    return pa.array(texts, pa.large_string())


def json_document(value: Any) -> bytes:
    """One value on several lines, for people to read.

    >>> json_document({"recall": float("nan")})
    b'{\\n  "recall": null\\n}\\n'
    """
    return (json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, default=_plain, indent=2) + "\n").encode()


def _values(column: pa.Array) -> list[Any]:
    column = column.cast(_retyped(column.type, strings=pa.large_string()), safe=False)
    try:
        values: list[Any] = column.to_pylist()
    except UnicodeDecodeError:
        values = column.cast(_retyped(column.type, strings=pa.large_binary())).to_pylist()
    return values


def _retyped(dtype: pa.DataType, *, strings: pa.DataType) -> pa.DataType:
    """The type without what Python values cannot hold: nanoseconds, and (with binary for `strings`) bad UTF-8."""
    t = pa.types
    if t.is_timestamp(dtype) and dtype.unit == "ns":
        return pa.timestamp("us", dtype.tz)
    if t.is_duration(dtype) and dtype.unit == "ns":
        return pa.duration("us")
    if t.is_time64(dtype):
        return pa.time64("us")
    if t.is_dictionary(dtype):
        return _retyped(dtype.value_type, strings=strings)
    if t.is_string(dtype) or t.is_large_string(dtype) or t.is_string_view(dtype):
        return strings
    if t.is_struct(dtype):
        return pa.struct([field.with_type(_retyped(field.type, strings=strings)) for field in dtype])
    if t.is_list(dtype) or t.is_large_list(dtype) or t.is_fixed_size_list(dtype):
        return pa.large_list(dtype.value_field.with_type(_retyped(dtype.value_type, strings=strings)))
    return dtype


def _encode(value: Any) -> str:
    try:
        return _JSON.encode(value)
    except ValueError:
        return _JSON.encode(_finite(value))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    # Numbers of NumPy know how to become numbers of Python.
    return value.item() if hasattr(value, "item") else str(value)


_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_plain)
