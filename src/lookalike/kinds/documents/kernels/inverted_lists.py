"""Divide-Compute-Merge (Broder et al. 1997): (shingle, item) postings are sorted by shingle, any two items of a list
give a triple (item, item, 1), and sorting groups the triples of a pair: their number is its overlap.

Items are numbered by size, smallest first, so the partners that are large enough for an item have numbers of at least
its reach. A triple belongs to the larger item x; its partner y is below x, and the 1 is not stored. Inverted lists are
concatenated in one array of postings, u32: item numbers that ascend within a list, the first of a list marked with
FIRST_FLAG; the others are followers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.bounds import least_size, required
from lookalike.kernels.hashing import mix

FIRST_FLAG = np.uint32(1 << 31)
ITEM_BITS = np.uint32((1 << 31) - 1)
ONE, HALF = np.uint64(1), np.uint64(32)


@jit
def count_buckets(elements: Any, starts: Any, sizes: Any, shift: Any, counts: Any) -> None:
    """counts[b] += number of elements of these items in bucket b, given by the high bits of the mixed element.

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
    places: Any,  # i64[buckets], in and out: position of the next posting of each bucket
    shingles: Any,  # u64[r], out: mixed elements
    owners: Any,  # u32[r], out: their items
) -> None:
    """Write the postings of these items to their buckets, in the order of the items."""
    for i in range(len(starts)):
        for e in range(starts[i], starts[i] + sizes[i]):
            shingle = mix(elements[e])
            bucket = shingle >> shift
            shingles[places[bucket]] = shingle
            owners[places[bucket]] = first + i
            places[bucket] += 1


@jit
def pack(shingles: Any, known: int, bits: int, out: Any) -> None:  # shingles u64[r]; out u64[r]
    """out[i] = i in the low `bits` bits, and above it the shingle bits that fit, without the `known` high bits."""
    low = (ONE << np.uint64(bits)) - ONE
    for i in range(len(out)):
        out[i] = ((shingles[i] << np.uint64(known)) & ~low) | np.uint64(i)


@jit
def shared_lists(words: Any, bits: int, shingles: Any, owners: Any, out: Any) -> Any:  # -> (postings, longest list)
    """Write the concatenated inverted lists of the shingles that at least two items have.

    Exact: shingles whose packed bits agree are compared in full here.
    words u64[r], packed and sorted, overwritten; shingles u64[r]; owners u32[r], ascending per shingle; out u32[r].
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
                out[begin] |= FIRST_FLAG
        start = end
    return at, longest


@jit
def reaches(sizes: Any, measure: int, num: int, den: int, out: Any) -> None:  # sizes i64[n], ascending; out u32[n]
    """out[x] = the first (smallest) item that is large enough to match x."""
    y = 0
    for x in range(len(sizes)):
        least = least_size(measure, sizes[x], num, den)
        while y < len(sizes) and sizes[y] < least:
            y += 1
        out[x] = y


@jit
def count_triples(postings: Any, reach: Any, sides: Any, totals: Any) -> None:
    """totals[x] += number of triples of x: partners before it in its lists, within its reach. Linear in the postings.

    postings u32[p]; reach u32[n]; sides u8[n] (1 left, 2 right, 3 both; a pair counts if its sides OR to 3);
    totals i64[n].
    """
    seen = np.zeros(4, np.int64)  # items of each side in the window of the list that is within reach
    low = 0
    for q in range(len(postings)):
        x = postings[q] & ITEM_BITS
        if postings[q] & FIRST_FLAG:
            low = q
            seen[:] = 0
        while low < q and (postings[low] & ITEM_BITS) < reach[x]:
            seen[sides[postings[low] & ITEM_BITS]] -= 1
            low += 1
        side = sides[x]
        totals[x] += q - low - (seen[side] if side != 3 else 0)
        seen[side] += 1


@jit
def count_followers(postings: Any, counts: Any) -> None:  # postings u32[p]; counts i64[n]
    """counts[x] += number of lists in which x is not the first."""
    for q in range(len(postings)):
        if not postings[q] & FIRST_FLAG:
            counts[postings[q]] += 1


@jit
def place_followers(postings: Any, low: int, high: int, places: Any, out: Any) -> None:
    """Write the positions in `postings` of items `low` to high-1, except the first entries of lists, item by item.

    postings u32[p]; places i64[n], in and out: index in `out` of the next position of each item; out u32[followers].
    """
    for q in range(len(postings)):
        x = postings[q]  # a first entry, with its flag, is above any item
        if low <= x < high:
            out[places[x]] = q
            places[x] += 1


@jit
def emit(
    postings: Any,  # u32[p]
    places: Any,  # u32[followers], item by item
    at: int,  # first index of `places` to process
    stop: int,  # index of `places` to stop before
    q: Any,  # i64, continue before this posting in the list of the first place; -1: start at that place
    reach: Any,  # u32[n]
    sides: Any,  # u8[n]
    out: Any,  # u64[t]
) -> Any:  # (place reached, posting reached, triples written)
    """Write triples (x in the high half, y in the low half) until `out` is full, so a long list needs little memory."""
    t = 0
    while at < stop:
        x = postings[places[at]]
        q = np.int64(places[at]) if q < 0 else q
        high, least, side = np.uint64(x) << HALF, reach[x], sides[x]
        y = np.uint32(0)
        while not y & FIRST_FLAG:
            y = postings[q - 1]
            item = y & ITEM_BITS
            if item < least:
                break
            if side == 3 or sides[item] | side == 3:
                if t == len(out):
                    return at, q, t
                out[t] = high | np.uint64(item)
                t += 1
            q -= 1
        q = -1
        at += 1
    return at, q, t


@jit
def add_up(triples: Any, least: Any, overlaps: Any) -> Any:  # -> (pairs written, pairs in all)
    """Replace equal triples, in place, by one pair and their number, if that is at least least[x].

    triples u64[t], sorted; least u32[n]; overlaps u32[t], out.
    """
    kept = pairs = start = 0
    for t in range(1, len(triples) + 1):
        if t == len(triples) or triples[t] != triples[start]:
            pairs += 1
            if t - start >= least[triples[start] >> HALF]:
                triples[kept] = triples[start]
                overlaps[kept] = t - start
                kept += 1
            start = t
    return kept, pairs


@jit
def merge_counted(a: Any, counts_a: Any, b: Any, counts_b: Any, out: Any, counts: Any) -> int:
    """Merge two sorted runs of pairs; the counts of a pair in both are added. Returns the number of pairs.

    a, b, out u64; counts u32; out has room for both.
    """
    i = j = k = 0
    while i < len(a) or j < len(b):
        if j == len(b) or (i < len(a) and a[i] < b[j]):
            out[k], counts[k] = a[i], counts_a[i]
            i += 1
        else:
            out[k], counts[k] = b[j], counts_b[j]
            if i < len(a) and a[i] == b[j]:
                counts[k] += counts_a[i]
                i += 1
            j += 1
        k += 1
    return k


@jit
def least_overlaps(sizes: Any, reach: Any, measure: int, num: int, den: int, out: Any) -> None:
    """out[x] = the lowest overlap with which a smaller item can match x. sizes i64[n]; reach, out u32[n]."""
    for x in range(len(sizes)):
        smallest = sizes[min(x, np.int64(reach[x]))]
        out[x] = required(measure, sizes[x], smallest, num, den)


@jit
def keep_matches(pairs: Any, overlaps: Any, sizes: Any, measure: int, num: int, den: int) -> int:
    """Move the pairs that reach the threshold to the front; returns their number. pairs u64[p]; overlaps u32[p]."""
    kept = 0
    for i in range(len(pairs)):
        x, y = pairs[i] >> HALF, pairs[i] & np.uint64(0xFFFFFFFF)
        if overlaps[i] >= required(measure, sizes[x], sizes[y], num, den):
            pairs[kept], overlaps[kept] = pairs[i], overlaps[i]
            kept += 1
    return kept
