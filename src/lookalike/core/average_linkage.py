"""Average linkage: merge the two most similar clusters until no two are similar enough on average."""

from __future__ import annotations

import heapq

import numpy as np

from lookalike.core.arrays import I64, Pairs


def average_linkage(pairs: Pairs, items: int, threshold: float) -> I64:
    """Return the cluster of each item, as the number of its first member.

    Two clusters are merged while the mean similarity of their members is at least `threshold`; pairs that are not
    listed count 0. Of equal means, the clusters that come first are merged first.

    >>> near = Pairs(np.array([0, 1, 2]), np.array([1, 2, 3]), np.array([0.9, 0.4, 0.8]))
    >>> average_linkage(near, 5, 0.3).tolist()
    [0, 0, 2, 2, 4]
    """
    sums: dict[int, dict[int, float]] = {}
    for left, right, similarity in zip(
        pairs.left.tolist(), pairs.right.tolist(), pairs.similarity.tolist(), strict=True
    ):
        sums.setdefault(left, {})[right] = similarity
        sums.setdefault(right, {})[left] = similarity
    size = dict.fromkeys(sums, 1)
    cluster = np.arange(items)
    heap = [(-near, a, b) for a, others in sums.items() for b, near in others.items() if a < b and near >= threshold]
    heapq.heapify(heap)
    while heap:
        near, a, b = heapq.heappop(heap)
        if a not in sums or b not in sums or sums[a].get(b, 0.0) / (size[a] * size[b]) != -near:
            continue  # one of both was merged since
        gone = sums.pop(b)
        del sums[a][b], gone[a]
        size[a] += size.pop(b)
        cluster[b] = a
        for other, total in gone.items():
            del sums[other][b]
            total += sums[a].get(other, 0.0)
            sums[a][other] = sums[other][a] = total
        for other, total in sums[a].items():
            mean = total / (size[a] * size[other])
            if mean >= threshold:
                heapq.heappush(heap, (-mean, min(a, other), max(a, other)))
    for item in range(items):  # a cluster is named by its first member, so parents come before
        cluster[item] = cluster[cluster[item]]
    return cluster
