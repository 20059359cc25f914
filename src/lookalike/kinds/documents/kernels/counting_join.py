"""Overlaps by counting: the inverted lists of an item's elements are scanned, and each smaller item is counted.

Items are numbered by size and inverted lists are concatenated, as in kernels.inverted_lists: the partners large enough
for an item have numbers of at least its reach. Counters are reset after each item, so they stay in the cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.bounds import required
from lookalike.kinds.documents.kernels.inverted_lists import FIRST_FLAG, ITEM_BITS

ONE = np.uint32(1)
SPARSE_RATIO = (
    4  # items within reach per triple above which counted items are recorded instead of scanning all counters
)


@jit
def add_lists(postings: Any, places: Any, least: Any, counts: Any) -> None:
    """counts[y] += 1 for every item y >= least that precedes one of the places in the same inverted list.

    postings u32[p]; places u32[l], positions of followers; least u32; counts u32[n].
    """
    for a in range(len(places)):
        q = np.int64(places[a])
        more = True
        while more:
            q -= 1
            word = postings[q]
            y = word & ITEM_BITS
            if y < least:
                break
            counts[y] += ONE
            more = word < FIRST_FLAG


@jit
def add_and_note(postings: Any, places: Any, least: Any, counts: Any, met: Any) -> int:
    """Count as `add_lists` does, write each counted item once to met (u32[> items]), and return their number."""
    m = 0
    for a in range(len(places)):
        q = np.int64(places[a])
        more = True
        while more:
            q -= 1
            word = postings[q]
            y = word & ITEM_BITS
            if y < least:
                break
            met[m] = y
            m += counts[y] == 0
            counts[y] += ONE
            more = word < FIRST_FLAG
    return m


@jit
def size_ends(sizes: Any, out: Any) -> None:  # sizes i64[n], ascending; out i64[n]
    """out[y] = the first item that is larger than y."""
    end = len(sizes)
    for y in range(len(sizes) - 1, -1, -1):
        if y + 1 < len(sizes) and sizes[y + 1] != sizes[y]:
            end = y + 1
        out[y] = end


@jit
def count_matches(
    x: int,  # first item to process
    stop: int,
    postings: Any,  # u32[p]
    places: Any,  # u32[followers], item by item
    ends: Any,  # i64[n]: end of the places of each item
    triples: Any,  # i64[n]
    reach: Any,  # u32[n]
    sides: Any,  # u8[n]
    sizes: Any,  # i64[n], ascending
    larger: Any,  # i64[n], from size_ends
    measure: int,
    num: int,
    den: int,
    counts: Any,  # u32[n], scratch: zeros before and after
    met: Any,  # u32[n+1], scratch
    needed: Any,  # u32[largest size + 1], scratch
    left: Any,  # u32[r], out
    right: Any,  # u32[r], out
    overlaps: Any,  # i64[r], out
) -> Any:  # (item reached, pairs written, pairs judged)
    """Write the pairs (x, y), y < x, that reach the threshold, with overlaps; stops before `left` can overflow."""
    kept = judged = 0
    size = -1
    while x < stop:
        low: Any = np.int64(reach[x])
        start = ends[x - 1] if x > 0 else 0
        if triples[x] == 0:
            x += 1
            continue
        if min(x - low, triples[x]) > len(left) - kept:
            break
        if sizes[x] != size:  # a lookup table, because division is slow
            size = sizes[x]
            y = low
            while y < x:
                needed[sizes[y]] = max(1, required(measure, size, sizes[y], num, den))
                y = larger[y]
            needed[size] = max(1, required(measure, size, size, num, den))
        side, first = sides[x], kept
        if triples[x] * SPARSE_RATIO < x - low:
            m = add_and_note(postings, places[start : ends[x]], reach[x], counts, met)
            judged += m
            for i in range(m):
                y = met[i]
                if counts[y] >= needed[sizes[y]] and side | sides[y] == 3:
                    right[kept] = y
                    overlaps[kept] = counts[y]
                    kept += 1
                counts[y] = 0
        else:
            add_lists(postings, places[start : ends[x]], reach[x], counts)
            judged += x - low
            run = low
            while run < x:
                end = min(x, larger[run])
                mine, need = counts[run:end], needed[sizes[run]]
                for y in range(len(mine)):
                    if mine[y] >= need and side | sides[run + y] == 3:
                        right[kept] = run + y
                        overlaps[kept] = mine[y]
                        kept += 1
                    mine[y] = 0
                run = end
        left[first:kept] = x
        x += 1
    return x, kept, judged
