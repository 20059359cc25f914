"""Convert columns of any Arrow type for text, tokens or ids to the few types that the rest of the code uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.errors import ID_ADVICE, BadText, InputError
from lookalike.io.files import wide_encoding

OnBadText = Literal["error", "replace", "skip"]
ON_BAD_TEXT: tuple[OnBadText, ...] = ("error", "replace", "skip")
Where = Callable[[int], str]


def is_text(dtype: pa.DataType) -> bool:
    """Return whether a column of this type can be read as UTF-8; also True for the null type.

    >>> is_text(pa.dictionary(pa.int32(), pa.string())), is_text(pa.float64())
    (True, False)
    """
    if pa.types.is_dictionary(dtype):
        return is_text(dtype.value_type)
    t = pa.types
    return bool(
        t.is_string(dtype)
        or t.is_large_string(dtype)
        or t.is_string_view(dtype)
        or t.is_binary(dtype)
        or t.is_large_binary(dtype)
        or t.is_binary_view(dtype)
        or t.is_null(dtype)
    )


def kind_of_text(dtype: pa.DataType) -> Literal["text", "string tokens", "integer tokens"] | None:
    """Return whether a column of this type holds text, string tokens or integer tokens, or None.

    >>> kind_of_text(pa.list_(pa.int16())), kind_of_text(pa.struct([]))
    ('integer tokens', None)
    """
    if is_text(dtype):
        return "text"
    t = pa.types
    if (
        t.is_list(dtype)
        or t.is_large_list(dtype)
        or t.is_fixed_size_list(dtype)
        or t.is_list_view(dtype)
        or t.is_large_list_view(dtype)
    ):
        if t.is_integer(dtype.value_type):
            return "integer tokens"
        if is_text(dtype.value_type):
            return "string tokens"
    return None


def as_texts(column: pa.Array, *, on_bad_text: OnBadText, where: Where) -> tuple[pa.Array, int, int]:
    """Return (large_string, or large_list of large_string or int64, without nulls; null count; number of bad texts).

    >>> texts, nulls, bad = as_texts(pa.array([b"a", None, b"b\\xff"]), on_bad_text="replace", where=str)
    >>> texts.to_pylist(), nulls, bad
    (['a', '', 'b\ufffd'], 1, 1)
    """
    nulls = column.null_count
    if is_text(column.type):
        texts, bad = _valid(column, np.arange(len(column)), on_bad_text, where)
        return (pc.fill_null(texts, "") if nulls else texts), nulls, len(bad)
    lengths = _lengths(column)
    tokens = column.flatten()
    row_of_token = np.repeat(np.arange(len(column)), lengths)
    if tokens.null_count:
        first = int(np.flatnonzero(tokens.is_null().to_numpy(zero_copy_only=False))[0])
        raise InputError(f"{where(int(row_of_token[first]))}: a token is null; expected strings or integers.")
    if pa.types.is_integer(tokens.type):
        # Tokens are only compared, so wrapping uint64 loses nothing.
        return _lists(lengths, tokens.cast(pa.int64(), safe=False)), nulls, 0
    tokens, bad = _valid(tokens, row_of_token, on_bad_text, where)
    if on_bad_text == "skip" and bad:
        tokens = tokens.filter(pa.array(~np.isin(row_of_token, list(bad))))
        lengths[list(bad)] = 0
    return _lists(lengths, tokens), nulls, len(bad)


def as_ids(column: pa.Array, *, where: Where) -> pa.Array:
    """Return the ids as int64, uint64 or string, without nulls.

    >>> as_ids(pa.array([3, None], pa.uint8()), where="a.csv row {}".format)
    Traceback (most recent call last):
    lookalike.errors.InputError: a.csv row 1: the id is null. Use `id` to name another column, or `id='none'` ...
    """
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise InputError(f"{where(row)}: the id is null. {ID_ADVICE}")
    if pa.types.is_integer(column.type):
        return column if pa.types.is_uint64(column.type) else column.cast(pa.int64())
    try:
        return column.cast(pa.large_binary()).cast(pa.large_string()).cast(pa.string())
    except pa.ArrowInvalid:
        row, reason = next(_bad_rows(column.cast(pa.large_binary())))
        raise InputError(f"{where(row)}: the id is not valid UTF-8 ({reason}).") from None


def as_values(column: pa.Array, *, on_bad_text: OnBadText, where: Where) -> pa.Array:
    """Return a column of text as large_string with its nulls; with "skip" a value that is not UTF-8 becomes null.

    >>> as_values(pa.array([b"a", None, b"b\\xff"]), on_bad_text="skip", where=str).to_pylist()
    ['a', None, None]
    """
    values, bad = _valid(column, np.arange(len(column)), on_bad_text, where)
    if on_bad_text != "skip" or not bad:
        return values
    return pc.if_else(pa.array(np.isin(np.arange(len(column)), list(bad))), pa.scalar(None, values.type), values)


def repaired(column: pa.Array) -> pa.Array:
    """Replace bytes that are not UTF-8 by U+FFFD, in the column's own type; columns other than text are unchanged."""
    if not is_text(column.type) or pa.types.is_null(column.type):
        return column
    texts, bad = _valid(column, np.arange(len(column)), "replace", str)
    return texts.cast(column.type) if bad else column


def _lists(lengths: npt.NDArray[np.int64], values: pa.Array) -> pa.Array:
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    offsets = pa.Array.from_buffers(pa.int64(), len(ends), [None, pa.py_buffer(ends)])
    return pa.LargeListArray.from_arrays(offsets, values)


def _valid(
    column: pa.Array, rows: npt.NDArray[np.int64], on_bad_text: OnBadText, where: Where
) -> tuple[pa.Array, set[int]]:
    """Return validated large_string (nulls stay), and the rows with bad text. rows[i]: the row of value i."""
    # Arrow's readers do not validate strings; a cast from binary does, at memory speed.
    raw = column.cast(pa.large_binary())
    try:
        return raw.cast(pa.large_string()), set()
    except pa.ArrowInvalid:
        pass
    values, bad = raw.to_pylist(), set()
    for index, reason in _bad_rows(raw):
        row = int(rows[index])
        if on_bad_text == "error":
            raise BadText(f"{where(row)}: text is not valid UTF-8 ({reason}). Use `on_bad_text='replace'` or 'skip'.")
        values[index] = values[index].decode("utf-8", "replace").encode() if on_bad_text == "replace" else b""
        bad.add(row)
    return pa.array(values, pa.large_binary()).cast(pa.large_string()), bad


def _bad_rows(raw: pa.Array) -> Iterator[tuple[int, str]]:
    """Yield (index, reason) of every value that is not UTF-8."""
    for index, value in enumerate(raw.to_pylist()):
        try:
            (value or b"").decode()
        except UnicodeDecodeError as error:
            reason = f"byte 0x{value[error.start]:02x} at position {error.start}"
            encoding = wide_encoding(value) if error.start == 0 else None
            yield index, f"{reason}: it is in {encoding}" if encoding else reason


def _lengths(lists: pa.Array) -> npt.NDArray[np.int64]:
    """Return the length of each list; 0 for null. (Without nulls, this avoids calls that would import pandas.)"""
    lengths = pc.list_value_length(lists)
    return np.array(pc.fill_null(lengths, 0) if lengths.null_count else np.from_dlpack(lengths), np.int64)


def string_array(values: Sequence[str | bytes | None], dtype: pa.DataType) -> pa.Array:
    """Return texts (bytes as they are) as an Arrow array of strings or bytes.

    `pa.array` does the same, but imports pandas if it is installed, which takes longer than a small run.

    >>> string_array(["a", None, b"bc"], pa.string()).to_pylist()
    ['a', None, 'bc']
    """
    parts = [b"" if value is None else value.encode() if isinstance(value, str) else value for value in values]
    ends = np.zeros(len(parts) + 1, np.int64 if dtype in (pa.large_string(), pa.large_binary()) else np.int32)
    np.cumsum([len(part) for part in parts], out=ends[1:])
    valid = np.packbits([value is not None for value in values], bitorder="little") if None in values else None
    buffers = [None if valid is None else pa.py_buffer(valid), pa.py_buffer(ends), pa.py_buffer(b"".join(parts))]
    return pa.Array.from_buffers(dtype, len(parts), buffers)
