"""Kernels of the merge tree: a union-find forest that records the merge by which each root was attached.

Pairs are added one by one. Trees are united by size and paths are never compressed, so a path has at most log2(n) steps
and the numbers of the merges increase along it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.graph import find


@jit
def grow(left: Any, right: Any, parent: Any, when: Any, child: Any, edge: Any, order: Any) -> int:
    """Add the pairs one by one; merge k, caused by pair edge[k], attaches the root child[k] to parent[child[k]].

    left, right i64[p]; parent i64[n] = 0..n-1, out; when i64[n] = n, out: the merge that attached this root; child,
    edge i64[n], out; order i64[n], out: the items in an order in which each group, after any merge, is contiguous.
    Returns the number of merges.
    """
    n, merges = len(parent), 0
    top = np.arange(n)  # a second forest, with compressed paths, to find the roots
    size, last, after = np.ones(n, np.int64), np.arange(n), np.full(n, -1, np.int64)
    for p in range(len(left)):
        a, b = find(top, left[p]), find(top, right[p])
        if a == b:
            continue
        if size[a] < size[b]:
            a, b = b, a
        top[b], parent[b], when[b] = a, a, merges
        size[a] += size[b]
        after[last[a]] = b
        last[a] = last[b]
        child[merges], edge[merges] = b, p
        merges += 1
    at = 0
    for root in range(n):
        item = root if parent[root] == root else -1
        while item >= 0:
            order[at] = item
            at += 1
            item = after[item]
    return merges


@jit
def joined(left: Any, right: Any, parent: Any, when: Any, out: Any) -> None:
    """out[q] = the merge that put left[q] and right[q] (two different items) into one group, or n if none did.

    left, right i64[q]; parent, when i64[n], of `grow`; out i64[q].
    """
    n = len(parent)
    for q in range(len(left)):
        a, b, merge = left[q], right[q], n
        while a != b:
            if when[b] < when[a]:
                a, b = b, a
            merge = when[a]
            if merge == n:  # two roots
                break
            a = parent[a]
        out[q] = merge


@jit
def largest(child: Any, parent: Any, out: Any) -> None:  # child i64[m], parent i64[n], of `grow`; out i64[m]
    """out[k] = the size of the largest group after merge k."""
    size = np.ones(len(parent), np.int64)
    most = 1
    for k in range(len(child)):
        b = child[k]
        size[parent[b]] += size[b]
        most = max(most, size[parent[b]])
        out[k] = most


@jit
def products(place: Any, merge: Any, class_size: Any, together: Any, weighted: Any) -> None:
    """Count the pairs of one class that each merge puts together, from the links between adjacent items of a class.

    place i64[l]: the link is between this position and the next; merge i64[l], ascending; class_size i64[l]: the size
    of the link's class; together i64[m] = 0, out: the number of pairs that merge k puts together; weighted f64[m] = 0,
    out: the same, with each pair divided by the size of its class.
    """
    n = 0
    for i in range(len(place)):
        n = max(n, place[i] + 2)
    start, end = np.arange(n), np.arange(n)  # start (end) of the run that ends (starts) at a position
    for i in range(len(place)):
        p = place[i]
        first, final = start[p], end[p + 1]
        pairs = (p - first + 1) * (final - p)
        together[merge[i]] += pairs
        weighted[merge[i]] += pairs / class_size[i]
        end[first], start[final] = final, first


@jit
def purity(child: Any, parent: Any, together: Any, pairs: Any, groups: Any, out: Any) -> None:
    """Compute statistics after each merge: the pairs within groups, the groups of two or more items, and the purity.

    child i64[m], parent i64[n], of `grow`; together i64[m], of `products`; pairs, groups i64[m], out; out f64[m]: the
    sum over the groups of the squared counts of each class in the group, divided by the size of the group.
    """
    size = np.ones(len(parent), np.int64)
    squares = np.ones(len(parent), np.int64)
    all_pairs, all_groups, total = 0, 0, float(len(parent))
    for k in range(len(child)):
        b = child[k]
        a = parent[b]
        all_pairs += size[a] * size[b]
        all_groups += (1 if size[a] == 1 else 0) - (0 if size[b] == 1 else 1)
        total -= squares[a] / size[a] + squares[b] / size[b]
        size[a] += size[b]
        squares[a] += squares[b] + 2 * together[k]
        total += squares[a] / size[a]
        pairs[k], groups[k], out[k] = all_pairs, all_groups, total
