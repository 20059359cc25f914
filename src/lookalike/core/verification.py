"""Candidates to scores: every pair is checked exactly, in integers."""

from __future__ import annotations

import numpy as np

from lookalike.core.arrays import F64, I64, U32
from lookalike.core.candidates import Candidates, Items
from lookalike.core.measures import Bar
from lookalike.kernels import bounds, buckets, verify


def verified(items: Items, candidates: Candidates, bar: Bar) -> tuple[U32, U32, F64]:
    """(anchor, partner, similarity) of the candidates at or above the bar; exact, no other pair comes back."""
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
    """(anchor, partner, estimated Jaccard similarity) of all candidates: the share of agreeing slots."""
    left = np.repeat(candidates.anchors, np.diff(candidates.ends, prepend=0))
    agree = np.empty(len(left), np.int64)
    buckets.agreements(values, left, candidates.partners, agree)
    return left, candidates.partners, agree / values.shape[1]
