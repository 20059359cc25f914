"""Find equal rows of a matrix, so that each distinct row is compared once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import F32, I64, U64
from lookalike.core.exact_duplicates import Classes, classes_of
from lookalike.kernels import vectors

ROWS_PER_TASK = 1 << 12


def row_prints(values: F32) -> U64:
    """Compute a fingerprint per row; equal rows have equal fingerprints."""
    out = np.empty(len(values), np.uint64)
    vectors.row_prints(values, out)
    return out


def collapse_rows(values: F32, prints: U64, preference: I64) -> Classes:
    """Group equal rows into classes. The result is exact: rows with equal fingerprints are compared.

    preference: item numbers, most preferred first; items that it does not contain are in no class.

    >>> rows = np.float32([[1, 2], [3, 4], [1, 2]])
    >>> collapse_rows(rows, row_prints(rows), np.arange(3)).members.tolist()
    [0, 2, 1]
    """
    order = preference[np.argsort(prints[preference], kind="stable")]
    new = np.ones(len(order), np.bool_)
    new[1:] = prints[order[1:]] != prints[order[:-1]]
    return classes_of(order, _confirmed(values, order, new))


def _confirmed(values: F32, order: I64, new: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Mark rows that differ from the row before them, despite equal fingerprints, as the start of a new class."""
    copies = np.flatnonzero(~new)
    for at in range(0, len(copies), ROWS_PER_TASK):
        some = copies[at : at + ROWS_PER_TASK]
        new[some] = (values[order[some]] != values[order[some - 1]]).any(axis=1)
    return new
