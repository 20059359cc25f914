"""Keys of stored strings, and the keys that a query must look up to find every string within its edit threshold.

A string of length l is cut into one segment more than the maximum number of edits to any partner, so one segment is
unchanged. In a query of length n a segment shifted by s from its position implies at least |s| + |n - l - s| edits.
Strings too short to be cut are stored under a key of their length.
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
    """Return the maximum number of edits between matching strings of these lengths; -1 if the lengths cannot match."""
    most = allowed(measure, num, den, max(one, other), min(one, other))
    return most if abs(one - other) <= most else -1


@jit
def most_edits(measure: int, num: int, den: int, length: int) -> int:
    """Return the maximum number of edits to any partner of a string of this length."""
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
    """Return the length of the shortest partner of a string of this length."""
    other = length
    while other > 1 and edits_with(measure, num, den, length, other - 1) >= 0:
        other -= 1
    return other


@jit
def whole_key(length: int) -> Any:
    """Return the key of all strings of this length that are not cut."""
    return mix(WHOLE_STRING_SALT + np.uint64(length))


@jit
def stored_keys(points: Any, ends: Any, measure: int, num: int, den: int, powers: Any, out: Any, offsets: Any) -> int:
    """Write the keys of each string and return their total number, even if `out` cannot hold them.

    points u32[]; ends i64[n+1]; powers u64[> longest]; out u64[room]; offsets i64[n+1], out. Empty strings have no
    keys.
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
    """Count the keys that `probe_keys` would write for each query; counting stops above `limit`.

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
    """Return the (first, last) position in a query of length n at which letters [begin, end) of a match can occur.

    length: of the match; most: maximum number of edits.
    """
    return max(0, begin - (most - (n - length)) // 2), min(n - (end - begin), begin + (most + (n - length)) // 2)


@jit
def probe_keys(points: Any, ends: Any, measure: int, num: int, den: int, powers: Any, out: Any, offsets: Any) -> int:
    """Write the keys that each query looks up; arguments and result as in `stored_keys`."""
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
