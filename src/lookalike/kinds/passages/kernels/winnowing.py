"""Winnowing: from each window of w consecutive k-shingles, select the one with the minimum hash, the last if tied.

Two documents that share w+k-1 tokens share a window, and select the same position in it, because the selection depends
only on the window (Schleimer, Wilkerson, Aiken 2003). Barred shingles are never selected; a window of only barred
shingles selects none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.hashing import TOKENS, mix

ZERO, ONE = np.uint64(0), np.uint64(1)
BARRED = np.uint64(0xFFFFFFFFFFFFFFFF)
FILTER_BITS = np.uint64(48)  # the filter has 2**16 entries, one for each value of the highest bits


@jit
def hashes(tokens: Any, k: int, out: Any) -> int:  # tokens u32[n]; out u64[>=n]
    """Hash each k-shingle, never to BARRED; returns the number of shingles, 0 for fewer than k tokens."""
    n = len(tokens)
    if n < k:
        return 0
    power = ONE
    h = ZERO
    for j in range(k - 1):
        power *= TOKENS
        h = h * TOKENS + np.uint64(tokens[j]) + ONE
    newest = tokens[k - 1 : n]
    for i in range(len(newest)):
        h = h * TOKENS + np.uint64(newest[i]) + ONE
        x = mix(h)
        out[i] = x if x != BARRED else ZERO
        h -= (np.uint64(tokens[i]) + ONE) * power
    return n - k + 1


@jit
def make_filter(barred: Any, out: Any) -> None:  # barred u64[b]; out bool[2**16], False
    """Mark the highest bits of the barred hashes, so that most shingles need no binary search."""
    for i in range(len(barred)):
        out[barred[i] >> FILTER_BITS] = True


@jit
def where_in(ordered: Any, x: Any) -> int:  # ordered u64[b], sorted; x u64
    """Return the position of x in a sorted array, or -1 (binary search)."""
    low, high = 0, len(ordered)
    while low < high:
        middle = (low + high) // 2
        if ordered[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low if low < len(ordered) and ordered[low] == x else -1


@jit
def bar(shingles: Any, k: int, barred: Any, marks: Any, covered: Any) -> None:
    """Set the shingles whose hash is in `barred` to BARRED, and mark every token in such a shingle as covered.

    shingles u64[s], in and out; barred u64[b], sorted; marks: its filter; covered bool[s+k-1], in and out.
    """
    for i in range(len(shingles)):
        x = shingles[i]
        if marks[x >> FILTER_BITS] and where_in(barred, x) >= 0:
            shingles[i] = BARRED
            covered[i : i + k] = True


@jit
def choose(shingles: Any, w: int, out: Any) -> int:  # shingles u64[s]; out u32[>=s]
    """Write the positions selected by any window, in order; returns their number. Fewer than w form one window."""
    count = len(shingles)
    n = 0
    best = -1
    for i in range(count):
        if best < 0 or best <= i - w:
            best = max(0, i - w + 1)
            for j in range(best + 1, i + 1):
                if shingles[j] <= shingles[best]:
                    best = j
        elif shingles[i] <= shingles[best]:
            best = i
        if (i >= w - 1 or i == count - 1) and shingles[best] != BARRED:
            if n == 0 or out[n - 1] != best:
                out[n] = best
                n += 1
    return n


@jit
def thin(shingles: Any, w: int, chosen: Any, n: int) -> int:  # shingles u64[s]; chosen u32[>=n], changed in place
    """Drop selected positions inside a repetitive stretch, and keep its first and last ones; returns the number kept.

    A position is dropped if the text from the previous to the next selected position is one piece of at most w tokens,
    repeated twice. Otherwise a list of a thousand zeros would share a million seeds with another.
    """
    kept = 0
    before = np.int64(-1)
    for t in range(n):
        here = np.int64(chosen[t])
        if (
            0 <= before
            and here - before <= w
            and t + 1 < n
            and repeats(shingles, before, here, np.int64(chosen[t + 1]))
        ):
            before = here
            continue
        chosen[kept] = here
        kept += 1
        before = here
    return kept


@jit
def repeats(shingles: Any, first: int, second: int, third: int) -> bool:
    """Return True if the shingles from `first` to `second` repeat from `second` to `third`."""
    if second - first != third - second or shingles[first] != shingles[second]:
        return False
    for j in range(second - first + 1):
        if shingles[first + j] != shingles[second + j]:
            return False
    return True


@jit
def winnow(
    tokens: Any,  # u32[total]
    offsets: Any,  # i64[n+1]
    k: int,
    w: int,
    barred: Any,  # u64[b], sorted: shingles that must not be chosen
    marks: Any,  # bool[2**16]: the filter of `barred`
    covered: Any,  # bool[total], False, out: tokens in a barred shingle; [0] if nothing is barred
    prints: Any,  # u64[total], out: hash of each fingerprint
    places: Any,  # u32[total], out: token of its document at which the fingerprint starts
    ends: Any,  # i64[n], out: end of the fingerprints of each document
) -> None:
    """Compute the fingerprints of every document."""
    most = 0
    for d in range(len(ends)):
        most = max(most, offsets[d + 1] - offsets[d])
    work = np.empty(most, np.uint64)
    plain = np.empty(most, np.uint64)
    chosen = np.empty(most, np.uint32)
    at = 0
    for d in range(len(ends)):
        first, last = offsets[d], offsets[d + 1]
        count = hashes(tokens[first:last], k, work)
        plain[:count] = work[:count]
        if len(barred):
            bar(work[:count], k, barred, marks, covered[first:last])
        n = thin(plain[:count], w, chosen, choose(work[:count], w, chosen))
        for j in range(n):
            prints[at + j] = work[chosen[j]]
            places[at + j] = chosen[j]
        at += n
        ends[d] = at


@jit
def count_shingles(tokens: Any, offsets: Any, k: int, once: bool, counts: Any, last: Any) -> None:
    """counts[h mod len] += 1 for each shingle h (with `once`, once per document): an upper bound of the true count.

    tokens u32[total]; offsets i64[n+1]; counts, last u32[2**m], zeros.
    """
    mask = np.uint64(len(counts) - 1)
    for d in range(len(offsets) - 1):
        work = np.empty(offsets[d + 1] - offsets[d], np.uint64)
        for i in range(hashes(tokens[offsets[d] : offsets[d + 1]], k, work)):
            slot = work[i] & mask
            if not once or last[slot] != d + 1:
                counts[slot] += np.uint32(1)
                last[slot] = d + 1


@jit
def common_shingles(tokens: Any, offsets: Any, k: int, counts: Any, limit: int, out: Any) -> int:
    """Write the shingles whose counter is above the limit, with repeats; returns their number.

    out u64[r]: if it is too small, only the returned number is useful. Other types as in `count_shingles`.
    """
    mask = np.uint64(len(counts) - 1)
    n = 0
    for d in range(len(offsets) - 1):
        work = np.empty(offsets[d + 1] - offsets[d], np.uint64)
        for i in range(hashes(tokens[offsets[d] : offsets[d + 1]], k, work)):
            if counts[work[i] & mask] > limit:
                if n < len(out):
                    out[n] = work[i]
                n += 1
    return n


@jit
def count_exactly(tokens: Any, offsets: Any, k: int, once: bool, wanted: Any, marks: Any, out: Any) -> None:
    """out[i] = the number of occurrences of wanted[i] (with `once`, the number of documents that contain it).

    wanted u64[u], sorted; marks: its filter; out i64[u], zeros.
    """
    last = np.zeros(len(wanted), np.int64)
    for d in range(len(offsets) - 1):
        work = np.empty(offsets[d + 1] - offsets[d], np.uint64)
        for i in range(hashes(tokens[offsets[d] : offsets[d + 1]], k, work)):
            if marks[work[i] >> FILTER_BITS]:
                place = where_in(wanted, work[i])
                if place >= 0 and (not once or last[place] != d + 1):
                    out[place] += 1
                    last[place] = d + 1
