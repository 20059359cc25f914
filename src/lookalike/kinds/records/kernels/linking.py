"""Kernel of linking several tables: components in which a source has at most one record."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.graph import find


@jit
def constrained_components(left: Any, right: Any, order: Any, sources: Any, parent: Any, kept: Any) -> None:
    """Join the records of pairs, best pair first, unless both components have a record of the same limited source.

    left, right i64[p]; order i64[p]: the pairs, best first; sources u64[n]: one bit for the limited source of each
    record, 0 for none; changed: those of the component, at its root; parent i64[n] = 0..n-1, out: the root of each
    record; kept bool[p], out: whether the records of a pair are in one component.
    """
    for q in range(len(order)):
        p = order[q]
        a, b = find(parent, left[p]), find(parent, right[p])
        if a != b and sources[a] & sources[b] == np.uint64(0):
            low, high = min(a, b), max(a, b)
            parent[high] = low
            sources[low] |= sources[high]
    for i in range(len(parent)):
        parent[i] = find(parent, i)
    for p in range(len(left)):
        kept[p] = parent[left[p]] == parent[right[p]]
