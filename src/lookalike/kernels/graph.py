"""Group pairs into components with union-find, or greedily into stars and cliques in order of preference."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit


@jit
def find(parent: Any, i: int) -> int:  # parent i64[n]
    """Return the root of i, with path halving."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@jit
def components(left: Any, right: Any, parent: Any) -> None:  # left, right i64[p]; parent i64[n] = 0..n-1, out
    """parent[i] = the lowest item number in the connected component of i."""
    for p in range(len(left)):
        a, b = find(parent, left[p]), find(parent, right[p])
        if a < b:
            parent[b] = a
        elif b < a:
            parent[a] = b
    for i in range(len(parent)):
        parent[i] = find(parent, i)


@jit
def stars(neighbours: Any, similarity: Any, ends: Any, order: Any, kept: Any, score: Any) -> None:
    """Assign each item, in order of preference, to the most similar kept neighbour before it in the order.

    In a tie it is the neighbour that is earlier in the order. An item without such a neighbour is kept.

    neighbours i64[2p], similarity f64[2p]: both directions; ends i64[n]; order i64[n], a permutation;
    kept i64[n], out: the representative of i; score f64[n], out: similarity to it (1 for itself).
    """
    rank = np.empty(len(order), np.int64)
    for r in range(len(order)):
        rank[order[r]] = r
    for r in range(len(order)):
        i = order[r]
        best, most = i, -np.inf
        for q in range(ends[i - 1] if i > 0 else 0, ends[i]):
            j = neighbours[q]
            if rank[j] < r and kept[j] == j:
                if similarity[q] > most or (similarity[q] == most and rank[j] < rank[best]):
                    best, most = j, similarity[q]
        kept[i] = best
        score[i] = 1.0 if best == i else most


@jit
def cliques(neighbours: Any, similarity: Any, ends: Any, order: Any, kept: Any, score: Any) -> None:
    """Assign each item, in order of preference, to a group all of whose members are its neighbours.

    If there are several, it joins the group whose least similar member is nearest (complete linkage), in a tie the
    earlier one; if there is none, it starts a new group. Arguments as in `stars`; kept: the first member of the group.
    """
    n = len(order)
    rank = np.empty(n, np.int64)
    for r in range(n):
        rank[order[r]] = r
    size = np.zeros(n, np.int64)  # size of each group, by its first member
    shared = np.zeros(n, np.int64)  # number of members of a group that are neighbours of i
    least = np.empty(n, np.float64)  # lowest similarity of i to these members
    for r in range(n):
        i = order[r]
        start = ends[i - 1] if i > 0 else 0
        for q in range(start, ends[i]):
            if rank[neighbours[q]] < r:
                group = kept[neighbours[q]]
                least[group] = similarity[q] if shared[group] == 0 else min(least[group], similarity[q])
                shared[group] += 1
        best, most = i, -np.inf
        for q in range(start, ends[i]):
            if rank[neighbours[q]] < r:
                group = kept[neighbours[q]]
                if shared[group] == size[group]:
                    if least[group] > most or (least[group] == most and rank[group] < rank[best]):
                        best, most = group, least[group]
        score[i] = 1.0
        for q in range(start, ends[i]):
            if rank[neighbours[q]] < r:
                shared[kept[neighbours[q]]] = 0
                if neighbours[q] == best:
                    score[i] = similarity[q]
        kept[i] = best
        size[best] += 1
