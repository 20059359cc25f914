"""Expand pairs of classes of equal sets to pairs of their members, and sort pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit


@jit
def count_expanded(left: Any, right: Any, ends: Any, lefts: Any) -> int:
    """Count the pairs of members, within classes and across pairs of classes, in integer arithmetic.

    left, right u32[p]: classes; ends i64[c]: end of the members of each class; lefts i64[c]: number of members on the
    left side, or an array of length 0 if all items are on both sides.
    """
    cross = len(lefts) > 0
    total = 0
    for c in range(len(ends)):
        m = ends[c] - (ends[c - 1] if c > 0 else 0)
        total += lefts[c] * (m - lefts[c]) if cross else m * (m - 1) // 2
    for p in range(len(left)):
        a, b = left[p], right[p]
        ma = ends[a] - (ends[a - 1] if a > 0 else 0)
        mb = ends[b] - (ends[b - 1] if b > 0 else 0)
        total += lefts[a] * (mb - lefts[b]) + lefts[b] * (ma - lefts[a]) if cross else ma * mb
    return total


@jit
def cross(
    us: Any, vs: Any, similarity: float, at: int, out_left: Any, out_right: Any, out_similarity: Any
) -> int:  # us, vs i64
    """Write all pairs of `us` and `vs`, the lower item on the left; returns the next output position."""
    for u in us:
        for v in vs:
            out_left[at] = min(u, v)
            out_right[at] = max(u, v)
            out_similarity[at] = similarity
            at += 1
    return at


@jit
def expand(
    left: Any,  # i64[p], classes
    right: Any,  # i64[p]
    similarity: Any,  # f64[p]
    members: Any,  # i64[n'], items of class 0, then of class 1, ...; in each class those on the left side first
    ends: Any,  # i64[c]
    lefts: Any,  # i64[c]: number of members on the left side; of length 0 if all items are on both
    own: Any,  # f64[c]: similarity of two members of one class
    out_left: Any,  # i64[total], out
    out_right: Any,  # i64[total], out
    out_similarity: Any,  # f64[total], out
) -> int:
    """Write all pairs of members, within classes and across pairs of classes; returns their number."""
    at = 0
    for c in range(len(ends)):
        mine = members[ends[c - 1] if c > 0 else 0 : ends[c]]
        if len(lefts) > 0:
            half = lefts[c]
            at = cross(mine[:half], mine[half:], own[c], at, out_left, out_right, out_similarity)
        else:
            for u in range(len(mine)):
                at = cross(mine[u : u + 1], mine[u + 1 :], own[c], at, out_left, out_right, out_similarity)
    for p in range(len(left)):
        a, b, s = left[p], right[p], similarity[p]
        us = members[ends[a - 1] if a > 0 else 0 : ends[a]]
        vs = members[ends[b - 1] if b > 0 else 0 : ends[b]]
        if len(lefts) > 0:
            at = cross(us[: lefts[a]], vs[lefts[b] :], s, at, out_left, out_right, out_similarity)
            at = cross(vs[: lefts[b]], us[lefts[a] :], s, at, out_left, out_right, out_similarity)
        else:
            at = cross(us, vs, s, at, out_left, out_right, out_similarity)
    return at


@jit
def places(keys: Any, n: int) -> Any:  # keys i64[p], below n; -> i64[n+1]
    """Return the position of the first occurrence of each key in sorted order (counting sort)."""
    out = np.zeros(n + 1, np.int64)
    for i in range(len(keys)):
        out[keys[i] + 1] += 1
    for key in range(n):
        out[key + 1] += out[key]
    return out


@jit
def sort_pairs(left: Any, right: Any, similarity: Any, n: int, lefts: Any, scores: Any) -> None:
    """Sort pairs of items below n by (left, right) in place with a radix sort: by right, then by left.

    left, right i64[p]; similarity f64[p]; lefts u32[p], scores f64[p]: scratch.
    """
    at = places(right, n)
    for i in range(len(left)):
        to = at[right[i]]
        at[right[i]] += 1
        lefts[to], scores[to] = left[i], similarity[i]
    to_left = places(left, n)
    i = 0
    for key in range(n):
        while i < at[key]:  # at[key] is now the end of this key
            to = to_left[lefts[i]]
            to_left[lefts[i]] += 1
            right[to], similarity[to] = key, scores[i]
            i += 1
    i = 0
    for key in range(n):
        while i < to_left[key]:
            left[i] = key
            i += 1
