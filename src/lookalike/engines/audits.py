"""An approximate run checks itself: the exact partners of a sample of its items."""

from __future__ import annotations

import numpy as np

from lookalike.data import Pairs
from lookalike.engines.joins import BLOCK, gather, score_block
from lookalike.engines.pool import Pool
from lookalike.engines.trace import Trace
from lookalike.measures import Bar
from lookalike.plan import Plan
from lookalike.stages.audit import Audit, index_sample, jaccard_of, measure
from lookalike.stages.candidates import Items


def audit(items: Items, found: Pairs, plan: Plan, bar: Bar, pool: Pool, trace: Trace, *, size: int, seed: int) -> Audit:
    """Recall over all pairs with at least one of `size` random items; exact for these, linear in the data."""
    with trace.stage("audit"):
        sample = np.sort(np.random.default_rng(seed).choice(len(items), min(size, len(items)), replace=False))
        index = index_sample(items, sample, bar)
        blocks = [(at, min(at + BLOCK, len(items))) for at in range(0, len(items), BLOCK)]
        work = pool.map(lambda block: score_block(items, index.candidates(items, block), bar), blocks)
        left, right, similarity = gather(work, Trace(), 1 << 62)
        truth = Pairs(left, right, similarity)
        chances = (plan.probability(s) for s in jaccard_of(truth, items, bar))
        return measure(truth, found, len(sample), chances)
