"""Divide-Compute-Merge (Broder et al. 1997): (shingle, item) postings are sorted by shingle, every two items of a list
make a triple (item, item, 1), and the triples of two items add up to their overlap.

Items are numbered by size, smallest first, so that the partners of an item that are large enough for it are those
from one number on, its reach. A triple belongs to the larger item x; its partner y is below x. Inverted lists lie
end to end in one array of postings, u32: item numbers that grow within a list, the first of a list marked FIRST.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.bounds import least_size, required
from lookalike.kernels.hashing import mix

FIRST = np.uint32(1 << 31)
ITEM = np.uint32((1 << 31) - 1)
ONE, HALF = np.uint64(1), np.uint64(32)


@jit
def count_buckets(elements: Any, starts: Any, sizes: Any, shift: Any, counts: Any) -> None:
    """counts[b] += elements of these items in bucket b: the high bits of the mixed element, evenly full for any hash.

    elements u64[nnz]; starts, sizes i64[n]; shift u64 below 64; counts i64[2**(64-shift)].
    """
    for i in range(len(starts)):
        for e in range(starts[i], starts[i] + sizes[i]):
            counts[mix(elements[e]) >> shift] += 1


@jit
def scatter(
    elements: Any,  # u64[nnz]
    starts: Any,  # i64[n]
    sizes: Any,  # i64[n]
    first: int,  # number of the first of these items
    shift: Any,  # u64
    places: Any,  # i64[buckets], in and out: where the next posting of each bucket goes
    shingles: Any,  # u64[r], out: mixed elements
    owners: Any,  # u32[r], out: their items
) -> None:
    """Write the postings of these items bucket by bucket, in the order of the items."""
    for i in range(len(starts)):
        for e in range(starts[i], starts[i] + sizes[i]):
            shingle = mix(elements[e])
            bucket = shingle >> shift
            shingles[places[bucket]] = shingle
            owners[places[bucket]] = first + i
            places[bucket] += 1


@jit
def pack(shingles: Any, known: int, bits: int, out: Any) -> None:  # shingles u64[r]; out u64[r]
    """out[i] = what fits of the shingle above i, without the `known` high bits that all of a bucket have in common."""
    low = (ONE << np.uint64(bits)) - ONE
    for i in range(len(out)):
        out[i] = ((shingles[i] << np.uint64(known)) & ~low) | np.uint64(i)


@jit
def shared_lists(words: Any, bits: int, shingles: Any, owners: Any, out: Any) -> Any:  # -> (postings, longest list)
    """The inverted lists of the shingles that at least two items have, end to end.

    Exact: shingles that agree in all that was packed of them are told apart here.
    words u64[r], packed and sorted, spoilt; shingles u64[r]; owners u32[r], growing for each shingle; out u32[r].
    """
    low = (ONE << np.uint64(bits)) - ONE
    at = longest = start = 0
    while start < len(words):
        end = start + 1
        while end < len(words) and words[end] ^ words[start] <= low:
            end += 1
        left = end - start if end - start > 1 else 0
        while left > 0:
            shingle = shingles[words[start] & low]
            begin, others = at, start
            for w in range(start, start + left):
                i = words[w] & low
                if shingles[i] == shingle:
                    out[at] = owners[i]
                    at += 1
                else:
                    words[others] = words[w]
                    others += 1
            left = others - start
            longest = max(longest, at - begin)
            if at - begin == 1:
                at = begin
            else:
                out[begin] |= FIRST
        start = end
    return at, longest


@jit
def reaches(sizes: Any, measure: int, num: int, den: int, out: Any) -> None:  # sizes i64[n], growing; out u32[n]
    """out[x] = the first item that is large enough to match x from below."""
    y = 0
    for x in range(len(sizes)):
        least = least_size(measure, sizes[x], num, den)
        while y < len(sizes) and sizes[y] < least:
            y += 1
        out[x] = y


@jit
def count_triples(postings: Any, reach: Any, sides: Any, totals: Any) -> None:
    """totals[x] += triples of x: the wanted partners within its reach before it in its lists. Linear in the postings.

    postings u32[p]; reach u32[n]; sides u8[n] (1 left, 2 right, 3 both; a wanted pair makes 3); totals i64[n].
    """
    seen = np.zeros(4, np.int64)  # items of each side in the window of the list that is within reach
    low = 0
    for q in range(len(postings)):
        x = postings[q] & ITEM
        if postings[q] & FIRST:
            low = q
            seen[:] = 0
        while low < q and (postings[low] & ITEM) < reach[x]:
            seen[sides[postings[low] & ITEM]] -= 1
            low += 1
        side = sides[x]
        totals[x] += q - low - (seen[side] if side != 3 else 0)
        seen[side] += 1


@jit
def count_followers(postings: Any, counts: Any) -> None:  # postings u32[p]; counts i64[n]
    """counts[x] += lists in which x is not the first."""
    for q in range(len(postings)):
        if not postings[q] & FIRST:
            counts[postings[q]] += 1


@jit
def place_followers(postings: Any, low: int, high: int, places: Any, out: Any) -> None:
    """Where the items from `low` to high-1 stand in lists, but for the firsts of lists, item by item.

    postings u32[p]; places i64[n], in and out: where the next of each item goes; out u32[followers].
    """
    for q in range(len(postings)):
        x = postings[q]  # a marked one is above any item
        if low <= x < high:
            out[places[x]] = q
            places[x] += 1


@jit
def add(y: int, count: Any, counts: Any, touched: Any, k: int) -> int:
    """Add to the counter of y; one that was zero is noted down in `touched`. Returns how many are noted."""
    touched[k] = y
    k += counts[y] == 0
    counts[y] += count
    return k


@jit
def settle(x: int, k: int, sizes: Any, measure: int, num: int, den: int, counts: Any, touched: Any,
           pairs: Any, overlaps: Any, at: int) -> int:  # fmt: skip
    """Write the pairs of x whose counter reaches the bar, in order, clear the counters, return where writing ended.

    counts u32[n]; touched u32[n], k of them used; pairs u64, x above y, and overlaps u32: out.
    """
    kept = 0
    for t in range(k):
        y = touched[t]
        if counts[y] >= required(measure, sizes[x], sizes[y], num, den):
            touched[kept] = y
            kept += 1
        else:
            counts[y] = 0
    partners = np.sort(touched[:kept])
    for y in partners:
        pairs[at] = (np.uint64(x) << HALF) | np.uint64(y)
        overlaps[at] = counts[y]
        counts[y] = 0
        at += 1
    return at


@jit
def match_lists(
    low: int,  # the larger items from here
    high: int,  # to before here
    postings: Any,  # u32[p]
    places: Any,  # u32[followers], item by item
    ends: Any,  # i64[n], in places
    reach: Any,  # u32[n]
    sides: Any,  # u8[n]
    sizes: Any,  # i64[n]
    measure: int,
    num: int,
    den: int,
    counts: Any,  # u32[n], zeros; left so
    touched: Any,  # u32[n+1], scratch
    pairs: Any,  # u64, out: room for all partners of each item
    overlaps: Any,  # u32, out
) -> Any:  # (pairs written, pairs counted)
    """The triples of some items, added up at once: a counter per partner stands for sorting the triples of an item."""
    at = seen = 0
    for x in range(low, high):
        k = 0
        least, side = reach[x], sides[x]
        for p in range(ends[x - 1] if x > 0 else 0, ends[x]):
            q = np.int64(places[p])
            y = np.uint32(0)
            while not y & FIRST:
                q -= 1
                y = postings[q]
                item = y & ITEM
                if item < least:
                    break
                if side == 3 or sides[item] | side == 3:
                    k = add(item, 1, counts, touched, k)
        seen += k
        at = settle(x, k, sizes, measure, num, den, counts, touched, pairs, overlaps, at)
    return at, seen


@jit
def match_counted(
    low: int,  # the larger items from here
    high: int,  # to before here
    counted: Any,  # u64[c], pairs of such items: several runs, each sorted
    weights: Any,  # u32[c], their counts
    cursors: Any,  # i64[runs], where each run begins; spoilt
    ends: Any,  # i64[runs]
    sizes: Any,  # i64[n]
    measure: int,
    num: int,
    den: int,
    counts: Any,  # u32[n], zeros; left so
    touched: Any,  # u32[n+1], scratch
    pairs: Any,  # u64[c], out
    overlaps: Any,  # u32[c], out
) -> Any:  # (pairs written, pairs counted)
    """Merge runs of counted pairs: the counts of a pair add up, and those that reach the bar are written."""
    at = seen = 0
    for x in range(low, high):
        k = 0
        for r in range(len(cursors)):
            c = cursors[r]
            while c < ends[r] and np.int64(counted[c] >> HALF) == x:
                k = add(np.int64(counted[c] & np.uint64(0xFFFFFFFF)), weights[c], counts, touched, k)
                c += 1
            cursors[r] = c
        seen += k
        at = settle(x, k, sizes, measure, num, den, counts, touched, pairs, overlaps, at)
    return at, seen
