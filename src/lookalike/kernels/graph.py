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
def unite(left: Any, right: Any, parent: Any) -> None:  # left, right i64[p]; parent i64[n], a forest, out
    """Join the trees of the items of each pair; the root of a tree is its lowest item number."""
    for p in range(len(left)):
        a, b = find(parent, left[p]), find(parent, right[p])
        if a < b:
            parent[b] = a
        elif b < a:
            parent[a] = b


@jit
def flatten(parent: Any) -> None:  # parent i64[n], out
    """parent[i] = the lowest item number in the connected component of i."""
    for i in range(len(parent)):
        parent[i] = find(parent, i)


@jit
def components(left: Any, right: Any, parent: Any) -> None:  # left, right i64[p]; parent i64[n] = 0..n-1, out
    """parent[i] = the lowest item number in the connected component of i."""
    unite(left, right, parent)
    flatten(parent)


@jit
def stars(low: int, neighbours: Any, similarity: Any, ends: Any, kept: Any, score: Any) -> None:
    """Assign each item from `low` on, in order of preference, to the most similar kept neighbour before it.

    Items are numbered in order of preference. In a tie it is the neighbour that is earlier. An item without such a
    neighbour is kept.

    neighbours i64[p], similarity f64[p]: the earlier neighbours of each item; ends i64[m], for the items from `low` to
    `low` + m - 1; kept i64[n], out: the representative of i, known for the items before `low`; score f64[n], out:
    similarity to it (1 for itself).
    """
    for at in range(len(ends)):
        i = low + at
        best, most = i, -np.inf
        for q in range(ends[at - 1] if at > 0 else 0, ends[at]):
            j = neighbours[q]
            if kept[j] == j and (similarity[q] > most or (similarity[q] == most and j < best)):
                best, most = j, similarity[q]
        kept[i] = best
        score[i] = 1.0 if best == i else most


@jit
def cliques(low: int, neighbours: Any, similarity: Any, ends: Any, kept: Any, score: Any, members: Any) -> None:
    """Assign each item from `low` on, in order of preference, to a group all of whose members are its neighbours.

    If there are several, it joins the group whose least similar member is nearest (complete linkage), in a tie the
    earlier one; if there is none, it starts a new group. Arguments as in `stars`; kept: the first member of the group.
    members i64[2, n]: the size of each group, by its first member, and zeros.
    """
    size, shared = members[0], members[1]  # shared: number of members of a group that are neighbours of i
    least = np.empty(len(kept), np.float64)  # lowest similarity of i to these members
    for at in range(len(ends)):
        i = low + at
        start = ends[at - 1] if at > 0 else 0
        for q in range(start, ends[at]):
            group = kept[neighbours[q]]
            least[group] = similarity[q] if shared[group] == 0 else min(least[group], similarity[q])
            shared[group] += 1
        best, most = i, -np.inf
        for q in range(start, ends[at]):
            group = kept[neighbours[q]]
            if shared[group] == size[group]:
                if least[group] > most or (least[group] == most and group < best):
                    best, most = group, least[group]
        score[i] = 1.0
        for q in range(start, ends[at]):
            shared[kept[neighbours[q]]] = 0
            if neighbours[q] == best:
                score[i] = similarity[q]
        kept[i] = best
        size[best] += 1
