"""Classes of equal sets: pairs of representatives back to pairs of members."""

from __future__ import annotations

from typing import Any

from lookalike.kernels._jit import jit


@jit
def count_expanded(left: Any, right: Any, ends: Any, lefts: Any) -> int:
    """How many pairs of members the pairs of classes and the classes themselves stand for, as a float-free integer.

    left, right u32[p], classes; ends i64[c], of the members of each class; lefts i64[c], how many of them are on the
    left side, or an array of length 0 where all items are on both sides.
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
    """Write every pair of one of `us` and one of `vs`, the lower item on the left; returns the next place."""
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
    lefts: Any,  # i64[c]: how many members are on the left side; of length 0 where all items are on both
    own: Any,  # f64[c]: similarity of two members of one class
    out_left: Any,  # i64[total], out
    out_right: Any,  # i64[total], out
    out_similarity: Any,  # f64[total], out
) -> int:
    """Write every wanted pair of members; returns how many."""
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
