"""Count in how many sets elements occur, and remove common elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit


@jit
def count(elements: Any, counts: Any) -> None:  # elements u64[nnz]; counts u32[2**m], zeros
    """counts[e mod len] += 1 for each element e: an upper bound of the number of sets that contain e."""
    mask = np.uint64(len(counts) - 1)
    for e in elements:
        counts[e & mask] += np.uint32(1)


@jit
def above(elements: Any, counts: Any, limit: int) -> Any:  # -> bool[nnz]
    """out[i] = True if the counter of elements[i] is above the limit."""
    mask = np.uint64(len(counts) - 1)
    out = np.empty(len(elements), np.bool_)
    for i in range(len(elements)):
        out[i] = counts[elements[i] & mask] > limit
    return out


@jit
def count_exactly(elements: Any, counts: Any, limit: int, wanted: Any, out: Any) -> None:
    """out[i] = the number of sets that contain wanted[i]. wanted u64[w], sorted; out i64[w], zeros."""
    mask = np.uint64(len(counts) - 1)
    for e in elements:
        if counts[e & mask] > limit:
            out[np.searchsorted(wanted, e)] += 1


@jit
def keep_others(elements: Any, offsets: Any, counts: Any, limit: int, gone: Any, out: Any, out_offsets: Any) -> int:
    """Copy the sets without the elements in `gone` (u64[g], sorted); returns the number of remaining elements."""
    mask = np.uint64(len(counts) - 1)
    at = 0
    for i in range(len(offsets) - 1):
        for j in range(offsets[i], offsets[i + 1]):
            e = elements[j]
            if counts[e & mask] > limit:
                g = np.searchsorted(gone, e)
                if g < len(gone) and gone[g] == e:
                    continue
            out[at] = e
            at += 1
        out_offsets[i + 1] = at
    return at
