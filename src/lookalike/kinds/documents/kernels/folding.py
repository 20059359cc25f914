"""Sets as columns of a 0/1 matrix, and folding to half as many rows by OR-ing pairs of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.hashing import mix

ONE, SIX, LOW_SIX = np.uint64(1), np.uint64(6), np.uint64(63)


@jit
def columns(elements: Any, starts: Any, sizes: Any, items: Any, rows: Any, seed: Any, out: Any) -> None:
    """Fill the columns of some sets: element e sets row mix(e ^ seed) mod rows.

    elements u64[nnz]; starts, sizes i64[n]; items i64[m]; rows u64, a power of two; seed u64; out u64[m, words], zeros.
    """
    mask = rows - ONE
    for i in range(len(items)):
        part = elements[starts[items[i]] : starts[items[i]] + sizes[items[i]]]
        for e in range(len(part)):
            row = mix(part[e] ^ seed) & mask
            out[i, row >> SIX] |= ONE << (row & LOW_SIX)


@jit
def fold(columns: Any, rows: int, out: Any) -> None:  # columns u64[m, words]; rows: after folding; out u64[m, words']
    """Row r of the new matrix = row r OR row r + rows of the old one; hashing makes the pairing random."""
    for i in range(len(columns)):
        if rows < 64:
            word = columns[i, 0]
            out[i, 0] = (word | word >> np.uint64(rows)) & ((ONE << np.uint64(rows)) - ONE)
        else:
            for w in range(out.shape[1]):
                out[i, w] = columns[i, w] | columns[i, w + out.shape[1]]
