"""How groups grow while pairs are added one after the other, kept as a forest that remembers when each tree joined.

Trees are joined by size and paths in it are never shortened, so a path has at most log2(n) steps and the numbers of
the merges rise along it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.graph import find


@jit
def grow(left: Any, right: Any, parent: Any, when: Any, child: Any, edge: Any, order: Any) -> int:
    """Add the pairs one by one; merge k, made by the pair edge[k], hangs the root child[k] under parent[child[k]].

    left, right i64[p]; parent i64[n] = 0..n-1, out; when i64[n] = n, out: the merge that hung this root; child, edge
    i64[n], out; order i64[n], out: the items so that each group, at any time, stands in one run.
    """
    n, merges = len(parent), 0
    top = np.arange(n)  # a second forest, with paths made short, to find the roots
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
    """out[q] = the merge that brought left[q] and right[q] (two items) into one group, or n where none did.

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
    """Over the links between neighbours of one class, by merge: how many pairs of the class each merge makes.

    place i64[l]: the link is between this place and the next; merge i64[l], rising; class_size i64[l]: of the link's
    class; together i64[m] = 0, out: pairs made by merge k; weighted f64[m] = 0, out: the same, each divided by the
    size of its class.
    """
    n = 0
    for i in range(len(place)):
        n = max(n, place[i] + 2)
    start, end = np.arange(n), np.arange(n)  # of the run that ends, or starts, at a place
    for i in range(len(place)):
        p = place[i]
        first, final = start[p], end[p + 1]
        pairs = (p - first + 1) * (final - p)
        together[merge[i]] += pairs
        weighted[merge[i]] += pairs / class_size[i]
        end[first], start[final] = final, first


@jit
def purity(child: Any, parent: Any, together: Any, pairs: Any, groups: Any, out: Any) -> None:
    """After each merge: pairs i64[m], in all groups; groups i64[m], of two or more; out f64[m], see below.

    child i64[m], parent i64[n], of `grow`; together i64[m], of `products`. out: the sum over the groups of the squared
    counts of each class in the group, divided by the size of the group.
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
