"""Exact k nearest labelled sets of each query set, from inverted lists."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit


@jit
def nearest_sets(
    elements: Any,  # i64[q]: known elements of the queries, as numbers of inverted lists, ascending in each query
    offsets: Any,  # i64[m+1]: offsets of the queries in `elements`
    lengths: Any,  # f64[m]: length of each query: its size, or its norm if `cosine`
    ends: Any,  # i64[v]: end of each inverted list
    postings: Any,  # i64[p]: concatenated inverted lists: the labelled sets that contain an element
    weights: Any,  # f64[v]: contribution of a shared element
    others: Any,  # f64[n]: the lengths of the labelled sets
    copies: Any,  # i64[n]: a number for each labelled set, the same for equal sets
    excluded: Any,  # i64[m]: labelled sets with this number in `copies` are skipped; -1 for none
    cosine: bool,  # overlap / (a * b) if True, otherwise overlap / (a + b - overlap)
    nearest: Any,  # i64[m, k], out: labelled sets, most similar first, ties by position; -1 for none
    similarity: Any,  # f64[m, k], out: 0 for none
) -> None:
    """Find the k labelled sets most similar to each query, among those that share an element with it."""
    k = nearest.shape[1]
    overlap = np.zeros(len(others), np.float64)
    touched = np.empty(len(others), np.int64)
    nearest[:] = -1
    similarity[:] = 0.0
    for i in range(len(lengths)):
        count = 0
        for e in elements[offsets[i] : offsets[i + 1]]:
            for p in range(ends[e - 1] if e > 0 else 0, ends[e]):
                other = postings[p]
                if copies[other] == excluded[i]:
                    continue
                if overlap[other] == 0.0:
                    touched[count] = other
                    count += 1
                overlap[other] += weights[e]
        for t in range(count):
            other = touched[t]
            both = overlap[other]
            overlap[other] = 0.0
            score = both / (lengths[i] * others[other]) if cosine else both / (lengths[i] + others[other] - both)
            place = k
            while place > 0:
                before = nearest[i, place - 1]
                if before >= 0 and (
                    similarity[i, place - 1] > score or (similarity[i, place - 1] == score and before < other)
                ):
                    break
                place -= 1
            if place < k:
                for slot in range(k - 1, place, -1):
                    nearest[i, slot] = nearest[i, slot - 1]
                    similarity[i, slot] = similarity[i, slot - 1]
                nearest[i, place] = other
                similarity[i, place] = score
