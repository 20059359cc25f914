"""Arrays of numbers as Arrow arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def as_arrow(values: npt.NDArray[Any]) -> pa.Array:
    """The numbers as an Arrow array, without a copy. (`pa.array` would do, but it imports pandas to ask about it.)

    >>> as_arrow(np.array([1.5, 2.5])).to_pylist()
    [1.5, 2.5]
    """
    whole = np.ascontiguousarray(values)
    if whole.dtype == np.bool_:
        bits = np.packbits(whole, bitorder="little")
        return pa.Array.from_buffers(pa.bool_(), len(whole), [None, pa.py_buffer(bits)])
    return pa.Array.from_buffers(pa.from_numpy_dtype(whole.dtype), len(whole), [None, pa.py_buffer(whole)])
