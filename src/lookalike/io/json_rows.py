"""Arrow values as JSON text: any type goes in, only valid JSON comes out."""

from __future__ import annotations

import datetime
import json
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.io.texts import is_text, repaired


def json_lines(batch: pa.RecordBatch) -> bytes:
    """One object a line. Times are ISO 8601 (microseconds); NaN and infinity, which JSON does not have, are null.

    >>> json_lines(pa.record_batch({"id": [1, None], "text": ["é", "b"]})).decode()
    '{"id": 1, "text": "é"}\\n{"id": null, "text": "b"}\\n'
    """
    if not batch.num_columns:
        return b"{}\n" * len(batch)
    parts: list[Any] = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        parts += [f"{', ' if parts else '{'}{_encode(name)}: ", _encoded(column)]
    parts.append("}\n")
    scalars = [_scalar(part) if isinstance(part, str) else part for part in parts]
    lines = pc.binary_join_element_wise(*scalars, _scalar(""), null_handling="replace", null_replacement="null")
    return _bytes_of(lines).tobytes()


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
    text = json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, default=_plain, indent=2) + "\n"
    # A file name that is not UTF-8 holds lone surrogates, which JSON writes as \uDCxx, too.
    return text.encode("utf-8", "backslashreplace")


def _encoded(column: pa.Array) -> pa.Array:
    """The JSON text of each value as large_string. Strings and integers never become Python objects."""
    if pa.types.is_integer(column.type):
        return column.cast(pa.large_string())
    if not is_text(column.type):
        return json_text(column)
    texts = repaired(column).cast(pa.large_string())
    raw = _bytes_of(texts)
    # The backslash comes first: the other escapes bring new ones.
    for code in [0x5C, 0x22, *np.unique(raw[raw < 0x20]).tolist()]:
        if (raw == code).any():
            texts = pc.replace_substring(texts, pattern=chr(code), replacement=json.dumps(chr(code))[1:-1])
    quote = _scalar('"')
    return pc.binary_join_element_wise(quote, texts, quote, _scalar(""))


def _scalar(text: str) -> pa.Scalar:
    """As large_string. (`pa.scalar` would import pandas to ask about it.)"""
    data = text.encode("utf-8", "surrogatepass")
    ends = np.array([0, len(data)], np.int64)
    return pa.Array.from_buffers(pa.large_string(), 1, [None, pa.py_buffer(ends), pa.py_buffer(data)])[0]


def _bytes_of(texts: pa.Array) -> npt.NDArray[np.uint8]:
    """The bytes of a large_string array, all texts in one row."""
    if not len(texts):
        return np.empty(0, np.uint8)
    offsets = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
    data = texts.buffers()[2]
    return np.frombuffer(data or b"", np.uint8)[offsets[0] : offsets[-1]]


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
