"""Kernel of exact blocking: all pairs of the records of each block."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit

HIGH_SHIFT = np.uint64(32)


@jit
def block_pairs(members: Any, ends: Any, split: int, out: Any) -> int:
    """Write every pair of records that share a block; return how many.

    members i64[m]: the records of each block, ascending; ends i64[b]: the end of each block in `members`; split: the
    number of records of the first table, to write only pairs between two tables, or -1; out u64[at least the number of
    pairs]: lower << 32 | higher.
    """
    count = 0
    start = 0
    for block in range(len(ends)):
        for i in range(start, ends[block]):
            for j in range(i + 1, ends[block]):
                if split < 0 or members[i] < split <= members[j]:
                    out[count] = np.uint64(members[i]) << HIGH_SHIFT | np.uint64(members[j])
                    count += 1
        start = ends[block]
    return count
