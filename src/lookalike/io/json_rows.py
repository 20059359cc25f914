"""Convert Arrow values to JSON text that reads back as the same values; what JSON cannot hold is refused."""

from __future__ import annotations

import datetime
import json
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.io.canonical import is_list
from lookalike.io.exact_text import NotWritable, exact_text, has_exact_text, text_scalar
from lookalike.io.texts import is_text


def json_lines(batch: pa.RecordBatch) -> bytes:
    """Return the rows as JSON Lines, one object per line.

    Dates, times, durations and decimals are strings with all their digits, maps are lists of [key, value]. Raises
    NotWritable for NaN and infinity, bytes that are not UTF-8, and dates outside the years 1 to 9999.

    >>> json_lines(pa.record_batch({"id": [1, None], "text": ["é", "b"]})).decode()
    '{"id": 1, "text": "é"}\\n{"id": null, "text": "b"}\\n'
    """
    if not batch.num_columns:
        return b"{}\n" * len(batch)
    parts: list[Any] = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            parts += [f"{', ' if parts else '{'}{_JSON.encode(name)}: ", _encoded(column)]
        except NotWritable as error:
            error.column = name
            raise
    parts.append("}\n")
    scalars = [text_scalar(part) if isinstance(part, str) else part for part in parts]
    lines = pc.binary_join_element_wise(*scalars, text_scalar(""), null_handling="replace", null_replacement="null")
    return _bytes_of(lines).tobytes()


def json_text(column: pa.Array) -> pa.Array:
    """Return each value as JSON text (large_string); null stays null. Raises NotWritable like `json_lines`.

    >>> json_text(pa.array([[1, 2], None])).to_pylist()
    ['[1, 2]', None]
    """
    texts: list[str | None] = []
    for value in _values(column):
        try:
            texts.append(None if value is None else _JSON.encode(value))
        except (ValueError, UnicodeError) as error:
            raise NotWritable(len(texts), _reason(error)) from error
    return pa.array(texts, pa.large_string())


def json_document(value: Any) -> bytes:
    """Return a value as indented JSON; NaN and infinity become null.

    >>> json_document({"recall": float("nan")})
    b'{\\n  "recall": null\\n}\\n'
    """
    text = json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, default=_plain, indent=2) + "\n"
    # A file name that is not UTF-8 holds lone surrogates, which JSON can write as \uDCxx.
    return text.encode("utf-8", "backslashreplace")


def _encoded(column: pa.Array) -> pa.Array:
    """Return the JSON text of each value as large_string. Strings and integers never become Python objects."""
    if pa.types.is_integer(column.type):
        return column.cast(pa.large_string())
    if has_exact_text(column.type):
        return _quoted(exact_text(column))
    if not is_text(column.type):
        return json_text(column)
    texts = _checked(column)
    raw = _bytes_of(texts)
    # The backslash comes first, since the other escapes add backslashes.
    for code in [0x5C, 0x22, *np.unique(raw[raw < 0x20]).tolist()]:
        if (raw == code).any():
            texts = pc.replace_substring(texts, pattern=chr(code), replacement=json.dumps(chr(code))[1:-1])
    return _quoted(texts)


def _quoted(texts: pa.Array) -> pa.Array:
    quote = text_scalar('"')
    return pc.binary_join_element_wise(quote, texts, quote, text_scalar(""))


def _checked(column: pa.Array) -> pa.Array:
    """Return the texts as valid large_string: Arrow's readers do not check strings, but a cast from binary does."""
    raw = column.cast(pa.large_binary())
    try:
        return raw.cast(pa.large_string())
    except pa.ArrowInvalid:
        for row, value in enumerate(raw.to_pylist()):
            try:
                (value or b"").decode()
            except UnicodeDecodeError as error:
                raise NotWritable(row, _reason(error)) from error
        raise


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"is not UTF-8 (byte 0x{error.object[error.start]:02x} at position {error.start})"
    if "Out of range float" in str(error):
        return "is or holds NaN or infinity, which JSON does not have"
    return f"has no form in JSON ({error})"


def _bytes_of(texts: pa.Array) -> npt.NDArray[np.uint8]:
    """Return the bytes of a large_string array, all texts concatenated."""
    if not len(texts):
        return np.empty(0, np.uint8)
    offsets = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
    data = texts.buffers()[2]
    return np.frombuffer(data or b"", np.uint8)[offsets[0] : offsets[-1]]


def _values(column: pa.Array) -> list[Any]:
    """Return Python values that the encoder accepts, with exact text for values that Python or JSON cannot hold."""
    column = _with_exact_text(column)
    try:
        values: list[Any] = column.to_pylist()
    except ValueError:  # texts that are not UTF-8, repeated names in a struct, nanoseconds in a union
        values = []
        for row, value in enumerate(column):
            try:
                values.append(value.as_py())
            except ValueError as error:
                raise NotWritable(row, _reason(error)) from error
    return values


def _with_exact_text(column: pa.Array) -> pa.Array:
    """Replace values by their `exact_text` if their type has one, at any depth of lists, maps and structs."""
    dtype = column.type
    t = pa.types
    if has_exact_text(dtype):
        return exact_text(column)
    if t.is_dictionary(dtype):
        return _with_exact_text(column.dictionary).take(column.indices)
    if not _holds_exact_text(dtype):
        return column
    mask = column.is_null() if column.null_count else None
    if t.is_struct(dtype):
        # Flattened fields are null where the struct is null.
        fields = [_with_exact_text(field) for field in column.flatten()]
        types = [dtype.field(place).with_type(field.type) for place, field in enumerate(fields)]
        return pa.StructArray.from_arrays(fields, fields=types, mask=mask)
    lists = column.cast(pa.list_(pa.struct([dtype.key_field, dtype.item_field]))) if t.is_map(dtype) else column
    entries, lengths = lists.flatten(), np.array(pc.fill_null(pc.list_value_length(lists), 0))
    try:
        entries = _with_exact_text(entries)
    except NotWritable as error:
        error.row = int(np.repeat(np.arange(len(column)), lengths)[error.row])
        raise
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    if t.is_map(dtype):
        keys, items = entries.field(0), entries.field(1)
        return pa.MapArray.from_arrays(pa.array(ends, pa.int32()), keys, items, mask=mask)
    return pa.LargeListArray.from_arrays(pa.array(ends, pa.int64()), entries, mask=mask)


def _holds_exact_text(dtype: pa.DataType) -> bool:
    if has_exact_text(dtype):
        return True
    if is_list(dtype) or pa.types.is_struct(dtype) or pa.types.is_map(dtype):
        return any(_holds_exact_text(dtype.field(place).type) for place in range(dtype.num_fields))
    return bool(pa.types.is_dictionary(dtype))


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
        return value.decode()
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    # NumPy scalars convert themselves to Python numbers.
    return value.item() if hasattr(value, "item") else str(value)


_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_plain)
