"""Pairs of random sets whose Jaccard similarity is exactly as requested."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from lookalike.core.arrays import Sets


def planted(similarity: Fraction, *, union: int, pairs: int, seed: int) -> Sets:
    """Sets 0 and 1 are a pair, 2 and 3, ...: of `union` random elements, this share is in both; no two pairs meet."""
    shared = similarity * union
    assert shared.denominator == 1, "the union must be a multiple of the denominator"
    elements = np.random.default_rng(seed).integers(1, 2**64, (pairs, union), np.uint64)
    cut = int(shared) + (union - int(shared)) // 2
    left, right = elements[:, :cut], np.concatenate([elements[:, : int(shared)], elements[:, cut:]], axis=1)
    sizes = np.tile([left.shape[1], right.shape[1]], pairs)
    return Sets(np.concatenate([left, right], axis=1).ravel(), np.concatenate([[0], np.cumsum(sizes)]))
