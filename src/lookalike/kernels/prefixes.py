"""The exact join's candidates: sets that can reach the threshold share an element among their rarest few (PPJoin).

Every set is put in one global order, rare elements first. Two sets with overlap >= c share an element within the first
|A|-c+1 of A and |B|-c+1 of B. Sets are numbered by size, so an anchor looks only at sets before it: its own prefix is
long enough for any smaller partner, theirs need only hold against sets at least as large (Xiao et al. 2011).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.bounds import least_size, required

ONE = np.uint64(1)
HIGH = np.uint64(56)
# Elements with the same low 32 bits count as one here, in the order as in the postings (of which there are fewer than
# 2^32, so that both fit a word); were the two told apart in one place only, the positional filter could lose a pair.
IDENTITY = np.uint64((1 << 32) - 1)
FULL = np.uint8(255)


@jit
def count_elements(elements: Any, starts: Any, sizes: Any, counts: Any) -> None:
    """counts[e mod len] += 1 up to 255. elements u64[nnz]; starts, sizes i64[n]; counts u8[2**m]."""
    mask = np.uint64(len(counts) - 1)
    for i in range(len(starts)):
        for e in range(starts[i], starts[i] + sizes[i]):
            slot = elements[e] & mask
            counts[slot] += counts[slot] != FULL


@jit
def prefix_lengths(sizes: Any, measure: int, num: int, den: int, probe: Any, index: Any) -> None:
    """probe[i], index[i] = prefix of set i against sets at most, and at least, as large. sizes i64[n]; out i64[n]."""
    for i in range(len(sizes)):
        n = sizes[i]
        probe[i] = max(0, n - max(1, required(measure, n, least_size(measure, n, num, den), num, den)) + 1)
        index[i] = max(0, n - max(1, required(measure, n, n, num, den)) + 1)


@jit
def sort_smallest(values: Any, n: int, need: int) -> None:  # values u64[>= n], in place
    """Move the `need` smallest of values[:n] to the front, in order: quickselect, then Shell's sort."""
    low, high = 0, n - 1
    while low < high and 0 < need < n:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if need - 1 <= j:
            high = j
        elif need - 1 >= i:
            low = i
        else:
            break
    gap = 1
    while gap < need // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, need):
            value = values[i]
            j = i
            while j >= gap and values[j - gap] > value:
                values[j] = values[j - gap]
                j -= gap
            values[j] = value
        gap //= 3


@jit
def take_prefixes(
    elements: Any,  # u64[nnz]
    starts: Any,  # i64[n]
    sizes: Any,  # i64[n]
    probe: Any,  # i64[n]
    counts: Any,  # u8[2**m]
    keys: Any,  # u64[sum of probe], out
) -> None:
    """The probe[i] rarest elements of each set as their low 56 bits, in the global order (count, hash), set by set."""
    mask = np.uint64(len(counts) - 1)
    most = 0
    for i in range(len(sizes)):
        most = max(most, sizes[i])
    order = np.empty(most, np.uint64)
    at = 0
    for i in range(len(starts)):
        for j in range(sizes[i]):
            x = elements[starts[i] + j]
            order[j] = (np.uint64(counts[x & mask]) << HIGH) | (x & IDENTITY)
        sort_smallest(order, sizes[i], probe[i])
        for j in range(probe[i]):
            keys[at] = order[j] & IDENTITY
            at += 1


@jit
def pack_postings(keys: Any, bits: int, out: Any) -> None:  # keys u64[p] of 32 bits; bits up to 32; out u64[p]
    """out[i] = the key above the low `bits` bits, and i there."""
    for i in range(len(out)):
        out[i] = (keys[i] << np.uint64(bits)) | np.uint64(i)


@jit
def invert(packed: Any, bits: int, position: Any) -> None:  # packed u64[p], sorted; position u32[p], out
    """position[i] = where posting i stands in the sorted postings."""
    mask = (ONE << np.uint64(bits)) - ONE
    for q in range(len(packed)):
        position[packed[q] & mask] = q


@jit
def owners(ends: Any, out: Any) -> None:  # ends i64[n]; out u32[p]
    """out[i] = the set that posting i belongs to."""
    at = 0
    for i in range(len(ends)):
        while at < ends[i]:
            out[at] = i
            at += 1


@jit
def prefix_candidates(
    x: int,  # first anchor to work on; sets are numbered by size, smallest first
    stop: int,
    packed: Any,  # u64[p], sorted postings
    bits: int,
    position: Any,  # u32[p]
    owner: Any,  # u32[p]
    ends: Any,  # i64[n]: of the postings of each set, which stand in its order
    index: Any,  # i64[n]
    sizes: Any,  # i64[n], ascending
    sides: Any,  # u8[n]
    measure: int,
    num: int,
    den: int,
    shared: Any,  # i32[n], zeros; left so
    anchors: Any,  # u32[>= stop-x], out
    out_ends: Any,  # i64[>= stop-x], out
    partners: Any,  # u32[>= n], out
) -> Any:  # (anchor reached, anchors written, partners written)
    """Partners before each anchor that share a prefix element and pass the length and positional filters."""
    shift = np.uint64(bits)
    mask = (ONE << shift) - ONE
    a = 0
    p = 0
    while x < stop:
        if x > len(partners) - p:
            return x, a, p
        nx = sizes[x]
        shortest = least_size(measure, nx, num, den)
        first = p
        start = ends[x - 1] if x > 0 else 0
        for i in range(start, ends[x]):
            q = np.int64(position[i])
            word = packed[q] >> shift
            px = i - start
            q -= 1
            while q >= 0 and packed[q] >> shift == word:
                j = np.int64(packed[q] & mask)
                q -= 1
                y = np.int64(owner[j])
                ny = sizes[y]
                if ny < shortest:
                    break
                py = j - (ends[y - 1] if y > 0 else 0)
                if y == x or py >= index[y] or sides[x] | sides[y] != 3 or shared[y] < 0:
                    continue
                most = shared[y] + 1 + min(nx - px, ny - py) - 1
                if shared[y] == 0:
                    partners[p] = y
                    p += 1
                if most < required(measure, nx, ny, num, den):
                    shared[y] = -1
                else:
                    shared[y] += 1
        kept = first
        for j in range(first, p):
            y = np.int64(partners[j])
            if shared[y] > 0:
                partners[kept] = y
                kept += 1
            shared[y] = 0
        p = kept
        if p > first:
            anchors[a] = x
            out_ends[a] = p
            a += 1
        x += 1
    return x, a, p
