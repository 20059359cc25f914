"""Candidates of the exact join by prefix filtering: sets that reach the threshold share a rare element (PPJoin).

The elements of every set are sorted in one global order, rare elements first. Two sets with overlap >= c share an
element within the first |A|-c+1 of A and |B|-c+1 of B. Sets are numbered by size, and an anchor is only compared with
sets before it: its probing prefix must be long enough for any smaller partner, while the indexing prefix of a partner
need only be long enough for sets that are at least as large (Xiao et al. 2011).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.bounds import least_size, required

ONE = np.uint64(1)
EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)  # differs from every shifted word of a posting
HALF = np.uint64(32)
# Elements with the same low 32 bits are treated as equal, both in the order and in the postings (there are fewer than
# 2^32 postings, so that both fit in a word). That can only add candidates, provided that the position of an element is
# that of its first occurrence.
IDENTITY = np.uint64((1 << 32) - 1)
FULL = np.uint16(0xFFFF)
NOWHERE = np.uint32(0xFFFFFFFF)


@jit
def count_elements(elements: Any, starts: Any, sizes: Any, counts: Any) -> None:
    """Count elements modulo the table size, up to 65535. elements u64[nnz]; starts, sizes i64[n]; counts u16[2**m]."""
    mask = np.uint64(len(counts) - 1)
    for i in range(len(starts)):
        for e in range(starts[i], starts[i] + sizes[i]):
            slot = elements[e] & mask
            counts[slot] += counts[slot] != FULL


@jit
def prefix_lengths(sizes: Any, measure: int, num: int, den: int, probe: Any, index: Any) -> None:
    """Compute prefix lengths of each set against sets at most (probe) and at least (index) as large. All i64[n]."""
    for i in range(len(sizes)):
        n = sizes[i]
        probe[i] = max(0, n - max(1, required(measure, n, least_size(measure, n, num, den), num, den)) + 1)
        index[i] = max(0, n - max(1, required(measure, n, n, num, den)) + 1)


@jit
def sort_smallest(values: Any, n: int, need: int) -> None:  # values u64[>= n], in place
    """Move the `need` smallest of values[:n] to the front, sorted (quickselect, then Shellsort)."""
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
def sort_spread(values: Any, n: int, limit: Any, starts: Any, out: Any) -> None:
    """out[:n] = values[:n] sorted by a bucket sort, for values uniformly distributed below `limit`.

    values u64[>= n]; limit u64; starts i64[> 2n]; out u64[>= n].
    """
    bits = 1
    while (1 << bits) < n:
        bits += 1
    shift = np.uint64(0)
    while (limit >> shift) >= (ONE << np.uint64(bits)):
        shift += ONE
    bins = 1 << bits
    starts[: bins + 1] = 0
    for i in range(n):
        starts[np.int64(values[i] >> shift) + 1] += 1
    for b in range(bins):
        starts[b + 1] += starts[b]
    for i in range(n):
        bucket = np.int64(values[i] >> shift)
        out[starts[bucket]] = values[i]
        starts[bucket] += 1
    for i in range(1, n):
        value = out[i]
        j = i
        while j > 0 and out[j - 1] > value:
            out[j] = out[j - 1]
            j -= 1
        out[j] = value


@jit
def take_prefixes(
    elements: Any,  # u64[nnz]
    starts: Any,  # i64[n]
    sizes: Any,  # i64[n]
    probe: Any,  # i64[n]
    levels: Any,  # u8[2**m]: frequency level of elements
    places: Any,  # i64[n]: start of the prefix of each set in `keys`
    keys: Any,  # u32[p], out
) -> None:
    """Write the low 32 bits of the probe[i] rarest elements of each set, in the global order (level, hash).

    If enough elements have level 0, only those with the lowest hashes are sorted: hashes are uniformly distributed, so
    a limit slightly above the expected one selects the prefix and a few more.
    """
    mask = np.uint64(len(levels) - 1)
    most = 0
    for i in range(len(sizes)):
        most = max(most, sizes[i])
    order = np.empty(most + 1, np.uint64)
    near = np.empty(most + 1, np.uint64)
    bins = np.empty(4 * most + 8, np.int64)
    for i in range(len(starts)):
        need = probe[i]
        out = keys[places[i] : places[i] + need]
        rare = 0
        part = elements[starts[i] : starts[i] + sizes[i]]
        for j in range(len(part)):
            x = part[j]
            level = levels[x & mask]
            order[j] = (np.uint64(level) << HALF) | (x & IDENTITY)
            rare += level == 0
        enough = need + 4 * math.sqrt(need) + 4
        limit = np.uint64(0)
        found = 0
        if enough < 0.9 * rare:
            limit = np.uint64(enough / rare * (1 << 32))
            for j in range(sizes[i]):
                near[found] = order[j]
                found += order[j] < limit
        if found >= need:
            sort_spread(near, found, limit, bins, order)
        else:
            sort_smallest(order, sizes[i], need)
        for j in range(need):
            out[j] = order[j] & IDENTITY


@jit
def pack_postings(keys: Any, bits: int, out: Any) -> None:  # keys u32[p]; out u64[p]
    """out[i] = keys[i] in the high bits, i in the low `bits` bits."""
    for i in range(len(out)):
        out[i] = (np.uint64(keys[i]) << np.uint64(bits)) | np.uint64(i)


@jit
def invert(packed: Any, bits: int, position: Any) -> None:  # packed u64[p], sorted; position u32[p], out
    """position[i] = position of posting i in the sorted postings, or NOWHERE if its element has only one posting."""
    shift = np.uint64(bits)
    mask = (ONE << shift) - ONE
    position[:] = NOWHERE
    for q in range(1, len(packed)):
        if packed[q] >> shift == packed[q - 1] >> shift:
            position[packed[q - 1] & mask] = q - 1
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
def largest_partner(measure: int, nx: int, most: int, num: int, den: int) -> int:
    """Return the largest size up to nx that requires an overlap of at most `most` with a set of nx elements."""
    low, high = 0, nx
    while low < high:
        middle = (low + high + 1) // 2
        if required(measure, nx, middle, num, den) <= most:
            low = middle
        else:
            high = middle - 1
    return low


@jit
def last_up_to(packed: Any, bits: int, owner: Any, sizes: Any, q: int, size: int) -> int:
    """Return the last posting at or before q, in its inverted list, of a set of at most `size` elements.

    Without one, it returns the position before the list. Lists are in the order of the sets, so that the sizes ascend
    (galloping search). packed u64[p]; owner u32[p]; sizes i64[n].
    """
    shift = np.uint64(bits)
    mask = (ONE << shift) - ONE
    word = packed[q] >> shift
    step = 1
    high = q + 1  # too large, or beyond q
    low = q
    while low >= 0 and packed[low] >> shift == word and sizes[owner[packed[low] & mask]] > size:
        high = low
        low -= step
        step *= 2
    low = max(low, -1)  # before the list, or small enough
    while high - low > 1:
        middle = (low + high) // 2
        if packed[middle] >> shift == word and sizes[owner[packed[middle] & mask]] > size:
            high = middle
        else:
            low = middle
    return low


@jit
def count_visits(
    packed: Any,  # u64[p], sorted postings
    bits: int,
    position: Any,  # u32[p]
    owner: Any,  # u32[p]
    ends: Any,  # i64[n]
    sizes: Any,  # i64[n], ascending
    measure: int,
    num: int,
    den: int,
) -> int:
    """Count the postings that `prefix_candidates` reads for all anchors (repeated elements of a set count again)."""
    shift = np.uint64(bits)
    total = 0
    for x in range(len(ends)):
        shortest = least_size(measure, sizes[x], num, den)
        start = ends[x - 1] if x > 0 else 0
        for i in range(start, ends[x]):
            q = np.int64(position[i]) - 1 if position[i] != NOWHERE else -1
            if q < 0 or packed[q] >> shift != packed[q + 1] >> shift:
                continue
            most = largest_partner(measure, sizes[x], sizes[x] - (i - start), num, den)
            total += last_up_to(packed, bits, owner, sizes, q, most)
            total -= last_up_to(packed, bits, owner, sizes, q, min(most, shortest - 1))
    return total


@jit
def prefix_candidates(
    x: int,  # first anchor to process; sets are numbered by size, smallest first
    stop: int,
    packed: Any,  # u64[p], sorted postings
    bits: int,
    position: Any,  # u32[p]
    owner: Any,  # u32[p]
    ends: Any,  # i64[n]: end of the postings of each set, which are in the order of its elements
    index: Any,  # i64[n]
    sizes: Any,  # i64[n], ascending
    sides: Any,  # u8[n]
    measure: int,
    num: int,
    den: int,
    until: int,  # partners are sets before this one
    met: Any,  # bool[n]: scratch, all False before and after
    anchors: Any,  # u32[>= stop-x], out
    out_ends: Any,  # i64[>= stop-x], out
    partners: Any,  # u32[>= n], out
) -> Any:  # (anchor reached, anchors written, partners written)
    """Find partners before each anchor that share a prefix element and pass the length and positional filters.

    Elements are sorted, so two sets share no element before positions px and py of their first common element: the
    overlap is at most min(nx - px, ny - py). A pair is decided at that element alone. Partners so large that nx - px
    elements are not enough are skipped together: frequent elements, with the longest lists, are at late positions.
    """
    shift = np.uint64(bits)
    mask = (ONE << shift) - ONE
    a = 0
    p = 0
    while x < stop:
        if 2 * x > len(partners) - p:
            return x, a, p
        nx = sizes[x]
        shortest = least_size(measure, nx, num, den)
        start = ends[x - 1] if x > 0 else 0
        first = p
        seen = len(partners)  # rejected partners are stored from the end of the array, to reset `met`
        word = EMPTY
        for i in range(start, ends[x]):
            if position[i] == NOWHERE:
                continue
            q = np.int64(position[i])
            if packed[q] >> shift == word:
                continue  # the same element again
            word = packed[q] >> shift
            px = i - start
            q -= 1
            if q >= 0 and packed[q] >> shift == word:
                largest = sizes[owner[packed[q] & mask]]
                if required(measure, nx, largest, num, den) > nx - px:
                    q = last_up_to(packed, bits, owner, sizes, q, largest_partner(measure, nx, nx - px, num, den))
            while q >= 0 and packed[q] >> shift == word:
                slot = np.int64(packed[q] & mask)
                y = np.int64(owner[slot])
                q -= 1
                if sizes[y] < shortest:
                    break
                if met[y] or y >= until or y == x or sides[x] | sides[y] != 3:
                    continue
                py = slot - (ends[y - 1] if y > 0 else 0)
                while py > 0 and q >= 0 and packed[q] == packed[q + 1] - ONE and packed[q] >> shift == word:
                    py -= 1  # the same element again, one position earlier
                    q -= 1
                if py >= index[y]:
                    continue
                met[y] = True
                if min(nx - px, sizes[y] - py) >= required(measure, nx, sizes[y], num, den):
                    partners[p] = y
                    p += 1
                else:
                    seen -= 1
                    partners[seen] = y
        for j in range(first, p):
            met[partners[j]] = False
        for j in range(seen, len(partners)):
            met[partners[j]] = False
        if p > first:
            anchors[a] = x
            out_ends[a] = p
            a += 1
        x += 1
    return x, a, p
