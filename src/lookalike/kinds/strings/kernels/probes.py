"""Keys that a stored string has, and those that a query must look up to meet every string within its edits.

A string of length l is cut into one segment more than the most edits that a partner of it may have: one segment stays
whole. A query of length n finds it at a shift s from its own place with |s| + |n - l - s| edits at least. Strings too
short to be cut stand under a key of their length.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.edits import SIMILARITY_SHARE, allowed
from lookalike.kernels.hashing import mix
from lookalike.kinds.strings.kernels.keys import prefix_hashes, segment_key

WHOLE_STRING_SALT = np.uint64(0xC2B2AE3D27D4EB4F)


@jit
def edits_with(measure: int, num: int, den: int, one: int, other: int) -> int:
    """The most edits with which strings of these lengths match; -1 where they are too far apart in length."""
    most = allowed(measure, num, den, max(one, other), min(one, other))
    return most if abs(one - other) <= most else -1


@jit
def most_edits(measure: int, num: int, den: int, length: int) -> int:
    """The most edits that any partner of a string of this length may have."""
    most, other = 0, length
    while True:
        here = edits_with(measure, num, den, length, other)
        if here < 0:
            return most
        most = max(most, here)
        if measure < SIMILARITY_SHARE:
            return most
        other += 1


@jit
def least_length(measure: int, num: int, den: int, length: int) -> int:
    """The length of the shortest partner of a string of this length."""
    other = length
    while other > 1 and edits_with(measure, num, den, length, other - 1) >= 0:
        other -= 1
    return other


@jit
def whole_key(length: int) -> Any:
    """The key of all strings of this length that are not cut."""
    return mix(WHOLE_STRING_SALT + np.uint64(length))


@jit
def stored_keys(points: Any, ends: Any, measure: int, num: int, den: int, powers: Any, out: Any, offsets: Any) -> int:
    """The keys of each string; returns how many in all, also where there is no room for them.

    points u32[]; ends i64[n+1]; powers u64[> longest]; out u64[room]; offsets i64[n+1], out. None for empty strings.
    """
    heads = np.empty(len(powers) + 1, np.uint64)
    at = 0
    offsets[0] = 0
    for s in range(len(ends) - 1):
        text = points[ends[s] : ends[s + 1]]
        n = len(text)
        if n > 0:
            cuts = most_edits(measure, num, den, n) + 1
            if cuts > n:
                if at < len(out):
                    out[at] = whole_key(n)
                at += 1
            else:
                prefix_hashes(text, heads)
                for k in range(cuts):
                    if at < len(out):
                        out[at] = segment_key(heads, powers, k * n // cuts, (k + 1) * n // cuts, n, k)
                    at += 1
        offsets[s + 1] = at
    return at


@jit
def probe_counts(ends: Any, measure: int, num: int, den: int, limit: int, out: Any) -> None:
    """Count the keys that `probe_keys` would make for each query, without making them; above `limit` counting stops.

    ends i64[n+1]; out i64[n]: the exact count, or any number above the limit.
    """
    for s in range(len(ends) - 1):
        n = ends[s + 1] - ends[s]
        out[s] = 0
        if n == 0:
            continue
        length = least_length(measure, num, den, n)
        while out[s] <= limit:
            most = edits_with(measure, num, den, n, length)
            if most < 0:
                break
            cuts = most_edits(measure, num, den, length) + 1
            if cuts > length:
                out[s] += 1
            else:
                for k in range(cuts):
                    low, high = places(n, length, most, k * length // cuts, (k + 1) * length // cuts)
                    out[s] += max(0, high - low + 1)
                    if out[s] > limit:
                        break
            length += 1


@jit
def places(n: int, length: int, most: int, begin: int, end: int) -> Any:
    """Return (first, last) place in a query of length n where letters begin to end-1 of a match of `length` can be."""
    return max(0, begin - (most - (n - length)) // 2), min(n - (end - begin), begin + (most + (n - length)) // 2)


@jit
def probe_keys(points: Any, ends: Any, measure: int, num: int, den: int, powers: Any, out: Any, offsets: Any) -> int:
    """The keys that each query looks up; as `stored_keys`."""
    heads = np.empty(len(powers) + 1, np.uint64)
    at = 0
    offsets[0] = 0
    for s in range(len(ends) - 1):
        text = points[ends[s] : ends[s + 1]]
        n = len(text)
        if n > 0:
            prefix_hashes(text, heads)
            length = least_length(measure, num, den, n)
            while True:
                most = edits_with(measure, num, den, n, length)
                if most < 0:
                    break
                cuts = most_edits(measure, num, den, length) + 1
                if cuts > length:
                    if at < len(out):
                        out[at] = whole_key(length)
                    at += 1
                else:
                    for k in range(cuts):
                        begin, end = k * length // cuts, (k + 1) * length // cuts
                        low, high = places(n, length, most, begin, end)
                        for p in range(low, high + 1):
                            if at < len(out):
                                out[at] = segment_key(heads, powers, p, p + end - begin, length, k)
                            at += 1
                length += 1
        offsets[s + 1] = at
    return at
