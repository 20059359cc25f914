"""Convert between NumPy arrays and Arrow arrays without importing pandas."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def as_arrow(values: npt.NDArray[Any], missing: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Convert a NumPy array to an Arrow array without copying; it is null where `missing` is true.

    `pa.array` would do the same, but imports pandas.

    >>> as_arrow(np.array([1.5, 2.5]), np.array([False, True])).to_pylist()
    [1.5, None]
    """
    whole = np.ascontiguousarray(values)
    there = None if missing is None else _bits(~missing)
    if whole.dtype == np.bool_:
        return pa.Array.from_buffers(pa.bool_(), len(whole), [there, _bits(whole)])
    return pa.Array.from_buffers(pa.from_numpy_dtype(whole.dtype), len(whole), [there, pa.py_buffer(whole)])


def _bits(truths: npt.NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(truths, bitorder="little"))


def as_numpy(column: pa.Array | pa.ChunkedArray) -> npt.NDArray[Any]:
    """Convert a column of numbers or booleans without nulls to NumPy. (`to_numpy` would import pandas: half a second.)

    >>> as_numpy(pa.chunked_array([[True], [False, True]])).tolist()
    [True, False, True]
    """
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    parts = [_plain(chunk) for chunk in chunks]
    if len(parts) == 1:
        return parts[0]
    return np.concatenate([np.empty(0, column.type.to_pandas_dtype()), *parts])


def filled(column: pa.Array, value: float) -> pa.Array:
    """Replace nulls in a column of numbers by `value`. (`fill_null` with a Python value would import pandas.)

    >>> filled(pa.array([1, None]), 7).to_pylist()
    [1, 7]
    """
    if not column.null_count:
        return column
    return column.fill_null(as_arrow(np.array([value], column.type.to_pandas_dtype()))[0])


def _plain(array: pa.Array) -> npt.NDArray[Any]:
    data = array.buffers()[1]
    if not len(array):
        return np.empty(0, array.type.to_pandas_dtype())
    if pa.types.is_boolean(array.type):
        bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little", count=array.offset + len(array))
        return bits[array.offset :].astype(np.bool_)
    return np.frombuffer(data, array.type.to_pandas_dtype())[array.offset : array.offset + len(array)]
