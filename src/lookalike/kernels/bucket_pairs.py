"""Candidate pairs from rows sorted by key: items in the same run of equal keys may match."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.bounds import required
from lookalike.kernels.prefixes import sort_smallest

LEVEL_SHIFT = np.uint64(56)
# Elements with the same low bits are treated as equal, both in the order and in the keys.
IDENTITY_BITS = np.uint64((1 << 56) - 1)


@jit
def allowed(measure: int, na: int, nb: int, num: int, den: int) -> bool:
    """Return whether sets of these sizes can reach the threshold; always true for measure -1 (unknown sizes)."""
    return measure < 0 or max(1, required(measure, na, nb, num, den)) <= min(na, nb)


@jit
def passes_positional_filter(measure: int, nx: int, px: int, ny: int, py: int, num: int, den: int) -> bool:
    """Apply the positional filter to a pair with a common element at positions px and py of the sorted sets.

    Sets whose first common element is at px and py share at most min(nx - px, ny - py) elements. A match may fail the
    filter at a later common element, but never at the first.
    """
    return px < 0 or py < 0 or min(nx - px, ny - py) >= max(1, required(measure, nx, ny, num, den))


@jit
def pairs_of_runs(
    keys: Any,  # i64[n], equal keys adjacent
    items: Any,  # i64[n]
    sides: Any,  # u8[n]: 1 left, 2 right, 3 both; a pair is wanted if the bitwise or is 3
    parts: Any,  # u8[n]: 0, or 1 and 2: pairs are wanted between part 1 and part 2 only
    sizes: Any,  # i32[n]
    places: Any,  # i32[n]: position of the element in the item's set, or -1
    measure: int,  # -1: sizes are unknown
    num: int,
    den: int,
    at: int,  # first row to process
    left: Any,  # i64[>= longest run], out
    right: Any,  # i64[same], out
) -> Any:  # (row reached, pairs written)
    """Pair each row from `at` on with the earlier rows of its run, the lower item on the left; stops when full."""
    p = 0
    while at < len(keys):
        before = at
        while before > 0 and keys[before - 1] == keys[at]:
            before -= 1
        if at - before > len(left) - p:
            return at, p
        for b in range(before, at):
            if sides[at] | sides[b] != 3 or items[at] == items[b] or (parts[at] != 0 and parts[at] == parts[b]):
                continue
            if not allowed(measure, sizes[at], sizes[b], num, den):
                continue
            if not passes_positional_filter(measure, sizes[at], places[at], sizes[b], places[b], num, den):
                continue
            left[p] = min(items[at], items[b])
            right[p] = max(items[at], items[b])
            p += 1
        at += 1
    return at, p


@jit
def rarest(
    elements: Any,  # u64[nnz]
    starts: Any,  # i64[n]
    sizes: Any,  # i64[n]
    lengths: Any,  # i64[n]: length of each prefix
    levels: Any,  # u8[2**m]: frequency level of elements
    out: Any,  # u64[sum of lengths]
) -> None:
    """Write the lengths[i] rarest elements of each set, as sorted words (level, low 56 bits) of the global order."""
    mask = np.uint64(len(levels) - 1)
    most = 0
    for i in range(len(sizes)):
        most = max(most, sizes[i])
    order = np.empty(most + 1, np.uint64)
    at = 0
    for i in range(len(starts)):
        part = elements[starts[i] : starts[i] + sizes[i]]
        for j in range(len(part)):
            order[j] = (np.uint64(levels[part[j] & mask]) << LEVEL_SHIFT) | (part[j] & IDENTITY_BITS)
        sort_smallest(order, sizes[i], lengths[i])
        for j in range(lengths[i]):
            out[at] = order[j]
            at += 1
