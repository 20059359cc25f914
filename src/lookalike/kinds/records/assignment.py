"""One-to-one assignment: at most one partner for each record, with the highest sum of scores."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import U32
from lookalike.kinds.records.kernels import matching


def one_to_one(
    left: U32, right: U32, score: npt.NDArray[np.float32], eligible: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Return which of the eligible pairs (bool[p]) form the one-to-one assignment with the highest sum of scores.

    Exact. No record occurs in two of the pairs; pairs with a score of 0 are left out.

    >>> left, right = np.array([0, 0, 1], np.uint32), np.array([5, 6, 5], np.uint32)
    >>> one_to_one(left, right, np.array([0.9, 0.8, 0.7], np.float32), np.ones(3, np.bool_)).tolist()
    [False, True, True]
    """
    keep = np.zeros(len(left), np.bool_)
    edges = np.flatnonzero(eligible & (score > 0))
    if not len(edges):
        return keep
    edges = edges[np.lexsort((-score[edges], left[edges]))]
    _, counts = np.unique(left[edges], return_counts=True)
    rights, numbers = np.unique(right[edges], return_inverse=True)
    partner = np.full(len(counts), -1, np.int64)
    matching.best_assignment(
        numbers.astype(np.int64), score[edges].astype(np.float64), np.cumsum(counts), partner,
        np.full(len(rights), -1, np.int64), len(rights),
    )  # fmt: skip
    keep[edges[partner[partner >= 0]]] = True
    return keep
