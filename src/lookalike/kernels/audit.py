"""Candidate partners of sampled sets among all sets: every set looks up its elements in an index of the sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.bounds import least_size
from lookalike.kernels.prefixes import IDENTITY

ZERO, ONE = np.uint64(0), np.uint64(1)
SIX, BIT_MASK = np.uint64(6), np.uint64(63)


@jit
def partner_sizes(sizes: Any, most: int, measure: int, num: int, den: int, shortest: Any, longest: Any) -> None:
    """Compute the range of sizes, up to `most`, of sets that can match each set. sizes i64[n]; out i64[n] both."""
    for i in range(len(sizes)):
        shortest[i] = least_size(measure, sizes[i], num, den)
        low, high = sizes[i], max(most, sizes[i])
        while low < high:  # the largest size whose smallest possible partner is not larger than this set
            middle = (low + high + 1) // 2
            if least_size(measure, middle, num, den) <= sizes[i]:
                low = middle
            else:
                high = middle - 1
        longest[i] = low


@jit
def fill_table(elements: Any, table: Any, slots: Any, bloom: Any) -> None:
    """Insert distinct keys (u64[m], none 0) into the open-addressing table (u64[2**b], zeros).

    slots i64[2**b], out: the number of the key. bloom u64[2**w], zeros: a filter with one bit per key, small enough for
    the cache, that rejects most other keys.
    """
    mask = np.uint64(len(table) - 1)
    words = np.uint64(len(bloom) - 1)
    for i in range(len(elements)):
        bloom[(elements[i] >> SIX) & words] |= ONE << (elements[i] & BIT_MASK)
        slot = elements[i] & mask
        while table[slot] != ZERO:
            slot = (slot + ONE) & mask
        table[slot] = elements[i]
        slots[slot] = i


@jit
def sample_candidates(
    elements: Any,  # u64[nnz], of all sets
    starts: Any,  # i64[n]
    sizes: Any,  # i64[n]
    x: int,  # first set to look up
    stop: int,
    table: Any,  # u64[2**b]
    slots: Any,  # i64[2**b]
    bloom: Any,  # u64[2**w]
    ends: Any,  # i64[m]: end of the postings of each indexed key
    postings: Any,  # u32[p]: sampled sets, numbered within the sample
    sample: Any,  # i64[s]: their numbers among all sets
    shortest: Any,  # i64[s]: sizes that a partner of each can have
    longest: Any,  # i64[s]
    sides: Any,  # u8[n]
    is_sampled: Any,  # bool[n]
    anchors: Any,  # u32[>= stop-x], out
    out_ends: Any,  # i64[>= stop-x], out
    partners: Any,  # u32[>= s], out
) -> Any:  # (set reached, anchors written, partners written)
    """Find the sampled sets that share an indexed element with each set; two sampled sets are written once."""
    mask = np.uint64(len(table) - 1)
    words = np.uint64(len(bloom) - 1)
    seen = np.full(len(sample), -1, np.int64)
    a = 0
    p = 0
    while x < stop:
        if len(partners) - p < len(sample):
            return x, a, p
        first = p
        part = elements[starts[x] : starts[x] + sizes[x]]
        for e in range(len(part)):
            element = (part[e] & IDENTITY) + ONE
            if (bloom[(element >> SIX) & words] >> (element & BIT_MASK)) & ONE == ZERO:
                continue
            slot = element & mask
            while table[slot] != ZERO and table[slot] != element:
                slot = (slot + ONE) & mask
            if table[slot] == ZERO:
                continue
            i = slots[slot]
            for q in range(ends[i - 1] if i > 0 else 0, ends[i]):
                s = postings[q]
                y = sample[s]
                if seen[s] == x or y == x or (is_sampled[x] and y > x) or sides[x] | sides[y] != 3:
                    continue
                if shortest[s] <= sizes[x] <= longest[s]:
                    seen[s] = x
                    partners[p] = y
                    p += 1
        if p > first:
            anchors[a] = x
            out_ends[a] = p
            a += 1
        x += 1
    return x, a, p
