"""An approximate run checks itself: the exact partners of a sample of its items."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from lookalike.data import Pairs
from lookalike.engines.joins import BLOCK, gather, score_block
from lookalike.engines.pool import Pool
from lookalike.engines.trace import Trace
from lookalike.measures import Bar
from lookalike.stages.audit import Audit, index_sample, jaccard_of, measure
from lookalike.stages.candidates import Items


class Curve(Protocol):
    """How likely a pair of some similarity becomes a candidate."""

    def probability(self, similarity: float, /) -> float: ...


FEW = 1 << 18  # elements that any sample may hold
LEAN = 100  # a larger sample holds at most one element in so many: more would cost more than a tenth of the run


def audit(
    items: Items, found: Pairs, plan: Curve, bar: Bar, pool: Pool, trace: Trace, *, size: int, seed: int
) -> Audit:
    """Recall over all pairs with at least one of up to `size` random items; exact for these, linear in the data."""
    with trace.stage("audit"):
        mean = max(1.0, float(items.sizes.mean()))
        enough = int(max(FEW, items.sizes.sum() / LEAN) / mean)
        sample = np.sort(np.random.default_rng(seed).choice(len(items), min(size, enough, len(items)), replace=False))
        index = index_sample(items, sample, bar)
        step = max(64, min(BLOCK, len(items) // (16 * pool.threads)))
        blocks = [(at, min(at + step, len(items))) for at in range(0, len(items), step)]
        work = pool.map(lambda block: score_block(items, index.candidates(items, block), bar, 1 << 62), blocks)
        (left, right, similarity), _ = gather(work, 1 << 62)
        truth = Pairs(left.astype(np.int64), right.astype(np.int64), similarity)
        chances = (plan.probability(s) for s in jaccard_of(truth, items, bar))
        return measure(truth, found, len(sample), chances)
