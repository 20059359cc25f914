"""Score candidate pairs of sets: exactly, with integer comparisons, or by their signatures."""

from __future__ import annotations

import numpy as np

from lookalike.core.arrays import F64, I64, U32
from lookalike.core.candidates import Candidates, Items
from lookalike.core.measures import Bar
from lookalike.kernels import bounds, buckets, verify


def verified(items: Items, candidates: Candidates, bar: Bar) -> tuple[U32, U32, F64]:
    """Return (anchor, partner, similarity) of exactly those candidates that reach the threshold."""
    overlap: I64 = np.empty(len(candidates), np.int64)
    verify.overlaps(
        items.elements, items.starts, items.sizes, candidates.anchors, candidates.ends, candidates.partners,
        bar.code, bar.num, bar.den, overlap,
    )  # fmt: skip
    keep = overlap >= 0
    counts = np.diff(candidates.ends, prepend=0)
    left = np.repeat(candidates.anchors, counts)[keep]
    right = candidates.partners[keep]
    similarity = np.empty(len(left), np.float64)
    bounds.scores(bar.code, overlap[keep], left, right, items.sizes, similarity)
    return left, right, similarity


def estimated(values: U32, candidates: Candidates) -> tuple[U32, U32, F64]:
    """Return (anchor, partner, Jaccard estimate) of all candidates; the estimate is the fraction of equal slots."""
    left = np.repeat(candidates.anchors, np.diff(candidates.ends, prepend=0))
    agree = np.empty(len(left), np.int64)
    buckets.agreements(values, left, candidates.partners, agree)
    return left, candidates.partners, agree / values.shape[1]
