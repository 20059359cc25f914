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
def emit(i: int, j: int, split: int, s: float, at: int, out_left: Any, out_right: Any, out_similarity: Any) -> int:
    """Write the pair in order; with a split, only if it has one item on each side. Returns the next place."""
    if i > j:
        i, j = j, i
    if split >= 0 and not (i < split <= j):
        return at
    out_left[at] = i
    out_right[at] = j
    out_similarity[at] = s
    return at + 1


@jit
def expand(
    left: Any,  # u32[p], classes
    right: Any,  # u32[p]
    similarity: Any,  # f64[p]
    members: Any,  # i64[n'], items of class 0, then of class 1, ...
    ends: Any,  # i64[c]
    split: int,  # items from this number on are on the right side; -1: all on both
    own: float,  # similarity of two members of one class is 1, or their size where the measure counts: see sizes
    sizes: Any,  # i64[c] sizes of the sets, or length 0 where `own` holds
    out_left: Any,  # i64[total], out
    out_right: Any,  # i64[total], out
    out_similarity: Any,  # f64[total], out
) -> int:
    """Write every pair of members; returns how many."""
    at = 0
    for c in range(len(ends)):
        start = ends[c - 1] if c > 0 else 0
        s = float(sizes[c]) if len(sizes) > 0 else own
        for u in range(start, ends[c]):
            for v in range(u + 1, ends[c]):
                at = emit(members[u], members[v], split, s, at, out_left, out_right, out_similarity)
    for p in range(len(left)):
        a, b = left[p], right[p]
        for u in range(ends[a - 1] if a > 0 else 0, ends[a]):
            for v in range(ends[b - 1] if b > 0 else 0, ends[b]):
                at = emit(members[u], members[v], split, similarity[p], at, out_left, out_right, out_similarity)
    return at
