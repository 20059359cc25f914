"""Select the rows to keep, with the types and column names of the input."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.io.names import with_input_names

Mask = npt.NDArray[np.bool_]


def select_rows(batch: pa.RecordBatch, mask: Mask) -> pa.RecordBatch:
    """Return the rows where the mask is true, with the types and names of the input. mask: bool[rows]."""
    if not batch.num_columns:  # such a batch has rows, but no columns to select from
        return batch
    columns = [select_values(column, mask) for column in batch.columns]
    return with_input_names(pa.record_batch(columns, schema=batch.schema))


def select_values(column: pa.Array, mask: Mask) -> pa.Array:
    """Return the values where the mask is true, in the type of the column.

    Arrow cannot filter views and run-end encoded columns, alone or inside lists; then runs of rows are concatenated.

    >>> select_values(pa.array(["a", "b", "c"], pa.string_view()), np.array([True, False, True])).to_pylist()
    ['a', 'c']
    """
    try:
        bits = pa.py_buffer(np.packbits(mask, bitorder="little"))  # `pa.array` would import pandas
        return column.filter(pa.Array.from_buffers(pa.bool_(), len(mask), [None, bits]))
    except pa.ArrowNotImplementedError:
        edges = np.diff(mask.astype(np.int8), prepend=0, append=0)
        starts, ends = np.flatnonzero(edges == 1).tolist(), np.flatnonzero(edges == -1).tolist()
        runs = [column.slice(start, end - start) for start, end in zip(starts, ends, strict=True)]
        return pa.concat_arrays(runs or [column.slice(0, 0)])
