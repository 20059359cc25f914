"""Compute exact overlaps of candidate pairs, grouped by anchor: a hash table per anchor, a scan per partner."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.bounds import required
from lookalike.kernels.hashing import mix
from lookalike.kernels.shingles import table_size

ZERO, ONE = np.uint64(0), np.uint64(1)


@jit
def fill(elements: Any, start: int, end: int, table: Any) -> None:  # elements u64[nnz], none 0; table u64[2**m], zeros
    """Insert the elements into the open-addressing table."""
    mask = np.uint64(len(table) - 1)
    part = elements[start:end]
    for e in range(len(part)):
        slot = part[e] & mask
        while table[slot] != ZERO:
            slot = (slot + ONE) & mask
        table[slot] = part[e]


@jit
def overlap_at_least(elements: Any, start: int, end: int, table: Any, need: int) -> int:
    """Count the elements[start:end] that are in the table; returns -1 as soon as `need` is out of reach."""
    mask = np.uint64(len(table) - 1)
    allowed = end - start - need
    misses = 0
    part = elements[start:end]
    for e in range(len(part)):
        x = part[e]
        slot = x & mask
        while table[slot] != ZERO and table[slot] != x:
            slot = (slot + ONE) & mask
        if table[slot] == ZERO:
            misses += 1
            if misses > allowed:
                return -1
    return end - start - misses


@jit
def overlaps(
    elements: Any,  # u64[nnz], none 0
    starts: Any,  # i64[n]
    sizes: Any,  # i64[n]
    anchors: Any,  # u32[a]
    ends: Any,  # i64[a]: partners[ends[i-1]:ends[i]] are the candidates of anchors[i]
    partners: Any,  # u32[p]
    measure: int,
    num: int,
    den: int,
    out: Any,  # i64[p], out: the overlap, or -1 if the pair is below the threshold
) -> None:
    """Compute the overlap of every candidate pair that reaches the threshold, exactly."""
    most = 0
    for x in anchors:
        most = max(most, sizes[x])
    whole = np.zeros(table_size(most), np.uint64)
    p = 0
    for a in range(len(anchors)):
        x = anchors[a]
        table = whole[: table_size(sizes[x])]
        fill(elements, starts[x], starts[x] + sizes[x], table)
        while p < ends[a]:
            y = partners[p]
            need = max(1, required(measure, sizes[x], sizes[y], num, den))
            if need > min(sizes[x], sizes[y]):
                out[p] = -1
            else:
                out[p] = overlap_at_least(elements, starts[y], starts[y] + sizes[y], table, need)
            p += 1
        table[:] = ZERO


@jit
def fingerprints(elements: Any, offsets: Any, out: Any) -> None:  # elements u64[nnz]; offsets i64[n+1]; out u64[n]
    """out[i] = sum of the mixed elements of set i: equal sets have equal fingerprints in any order of elements."""
    for i in range(len(out)):
        h = np.uint64(offsets[i + 1] - offsets[i])
        part = elements[offsets[i] : offsets[i + 1]]
        for e in range(len(part)):
            h += mix(part[e])
        out[i] = h
