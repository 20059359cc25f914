"""Convert dates, times, durations and decimals to text that reads back as the same value."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

t = pa.types
TICKS_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}  # by unit
DAY = 86_400  # seconds
FIRST_DAY, LAST = -719_162 * DAY, 2_932_897 * DAY - 1  # of the years 1 to 9999, in seconds since 1970
BEYOND = "is outside the years 1 to 9999"


class NotWritable(Exception):
    """A value that a format cannot hold. row: its number in the batch; reason: why, as a predicate ("is NaN, ...")."""

    def __init__(self, row: int, reason: str, column: str = "") -> None:
        super().__init__(reason)
        self.row = row
        self.reason = reason
        self.column = column


def has_exact_text(dtype: pa.DataType) -> bool:
    """Return whether `exact_text` supports columns of this type."""
    return bool(
        t.is_timestamp(dtype) or t.is_date(dtype) or t.is_time(dtype) or t.is_duration(dtype) or t.is_decimal(dtype)
    )


def exact_text(column: pa.Array, *, separator: str = "T") -> pa.Array:
    """Return each value as text (large_string) with all its digits; null stays null.

    Dates and times are ISO 8601 with the offset of their zone, durations are seconds. separator: between date and time.
    Raises NotWritable for a date outside the years 1 to 9999, which most readers refuse.

    >>> exact_text(pa.array([1, None], pa.timestamp("ns"))).to_pylist()
    ['1970-01-01T00:00:00.000000001', None]
    """
    dtype = column.type
    if t.is_timestamp(dtype):
        return _timestamps(column, separator)
    if t.is_duration(dtype):
        seconds = [
            None if units is None else _seconds(units, dtype.unit) for units in column.cast(pa.int64()).to_pylist()
        ]
        return pa.array(seconds, pa.large_string())
    if t.is_date(dtype):
        _check_years(column.cast(pa.timestamp("ms") if t.is_date64(dtype) else pa.timestamp("s")))
    texts = column.cast(pa.large_string())
    return _without_zeros(texts) if t.is_time(dtype) else texts


def text_scalar(text: str) -> pa.Scalar:
    """Return the text as a large_string scalar. (`pa.scalar` would import pandas.)"""
    data = text.encode("utf-8", "surrogatepass")
    ends = np.array([0, len(data)], np.int64)
    return pa.Array.from_buffers(pa.large_string(), 1, [None, pa.py_buffer(ends), pa.py_buffer(data)])[0]


def _timestamps(column: pa.Array, separator: str) -> pa.Array:
    _check_years(column)
    local = column if column.type.tz is None else pc.local_timestamp(column)
    _check_years(local)
    texts = pc.replace_substring(_without_zeros(local.cast(pa.large_string())), " ", separator)
    return (
        texts
        if column.type.tz is None
        else pc.binary_join_element_wise(texts, _offsets(column, local), text_scalar(""))
    )


def _offsets(column: pa.Array, local: pa.Array) -> pa.Array:
    """Return the UTC offset of each time with a zone: +01:00, or +00:53:28 for historical zones."""
    apart = pc.subtract(local.cast(pa.int64()), column.cast(pa.int64()))
    seconds = pc.divide(apart, TICKS_PER_SECOND[column.type.unit]).dictionary_encode()
    texts = []
    for offset in seconds.dictionary.to_pylist():
        minutes, rest = divmod(abs(offset), 60)
        sign = "-" if offset < 0 else "+"
        texts.append(f"{sign}{minutes // 60:02}:{minutes % 60:02}" + (f":{rest:02}" if rest else ""))
    return pa.array(texts, pa.large_string()).take(seconds.indices)


def _check_years(times: pa.Array) -> None:
    units = TICKS_PER_SECOND[times.type.unit]
    values = times.cast(pa.int64())
    beyond = pc.or_(
        pc.less(values, max(FIRST_DAY * units, -(2**63))), pc.greater(values, min((LAST + 1) * units - 1, 2**63 - 1))
    )
    rows = np.flatnonzero(beyond.fill_null(False).to_numpy(zero_copy_only=False))
    if len(rows):
        raise NotWritable(int(rows[0]), BEYOND)


def _without_zeros(texts: pa.Array) -> pa.Array:
    """Remove trailing zeros of a fraction, and its point if no digits are left."""
    texts = pc.replace_substring_regex(texts, r"(\.[0-9]*[1-9])0+$", r"\1")
    return pc.replace_substring_regex(texts, r"\.0+$", "")


def _seconds(units: int, unit: str) -> str:
    whole, rest = divmod(abs(units), TICKS_PER_SECOND[unit])
    fraction = f".{rest:0{len(str(TICKS_PER_SECOND[unit])) - 1}}".rstrip("0") if rest else ""
    return f"{'-' if units < 0 else ''}{whole}{fraction}"
