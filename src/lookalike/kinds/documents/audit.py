"""Recall audit of an approximate run, by exact search for the partners of a sample of items."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from lookalike.core.arrays import F64, Groups, Pairs
from lookalike.core.audit_sample import Partners, Sample, draw, found_partners
from lookalike.core.candidates import Items
from lookalike.core.measures import Bar
from lookalike.core.recall_audit import OVER_GROUPS, OVER_KEPT, Audit, audit_of, index_sample, jaccard_of, measure
from lookalike.core.trace import Trace
from lookalike.runtime.local.joins import ITEMS_PER_TASK, collect_blocks, score_block
from lookalike.runtime.local.pool import Pool


class Curve(Protocol):
    """A plan that gives the probability that a pair of a given similarity becomes a candidate."""

    def probability(self, similarity: float, /) -> float: ...


DEFAULT_SIZE = 2000  # default number of sampled items; the sample is smaller if items are long
FREE_ELEMENTS = 1 << 19  # elements that a sample of at most the default size may always have
ELEMENTS_SHARE = 100  # in a large run it may have 1/100 of all elements: more would cost over a tenth of the run


def audit(
    items: Items, found: Pairs, plan: Curve, bar: Bar, pool: Pool, trace: Trace, *, size: int, seed: int,
    verified: bool = True,
) -> Audit:  # fmt: skip
    """Measure recall over the pairs of about `size` sampled items, whose partners are searched exactly."""
    with trace.stage("audit"):
        size = affordable(size, len(items), int(items.sizes.sum()))
        sample = draw(found_partners(found, len(items)), size, seed)
        truth, chances = _true_pairs(items, sample, plan, bar, pool)
        return measure(truth, found, sample, chances, verified=verified)


def audit_groups(
    items: Items, groups: Groups, plan: Curve, bar: Bar, pool: Pool, trace: Trace, *, size: int, seed: int, stars: bool
) -> Audit:
    """Measure the recall of groups that were formed without a list of pairs.

    A true pair counts as found if both items are in one group; for stars, if at most one of them is a representative.
    """
    with trace.stage("audit"):
        size = affordable(size, len(items), int(items.sizes.sum()))
        kept = groups.representative
        sample = draw(Partners(np.bincount(kept, minlength=len(items))[kept] - 1, kept), size, seed)
        truth, chances = _true_pairs(items, sample, plan, bar, pool)
        left, right = kept[truth.left], kept[truth.right]
        hit = (left != truth.left) | (right != truth.right) if stars else left == right
        return audit_of(truth, hit, sample, chances, None, over=OVER_KEPT if stars else OVER_GROUPS)


def affordable(size: int, items: int, elements: int) -> int:
    """Return the sample size: `size`, or fewer if items are long and `size` is at most the default."""
    if size > DEFAULT_SIZE:
        return min(size, items)
    mean = max(1.0, elements / max(1, items))
    return min(size, items, max(1, int(max(FREE_ELEMENTS, elements / ELEMENTS_SHARE) / mean)))


def _true_pairs(items: Items, sample: Sample, plan: Curve, bar: Bar, pool: Pool) -> tuple[Pairs, F64]:
    """Find all true pairs with at least one sampled item, and the probability that the plan finds each."""
    index = index_sample(items, sample.items, bar, pool.rest)
    step = max(64, min(ITEMS_PER_TASK, len(items) // (16 * pool.threads)))
    blocks = [(at, min(at + step, len(items))) for at in range(0, len(items), step)]
    work = pool.map(lambda block: score_block(items, index.candidates(items, block), bar, 1 << 62), blocks)
    (left, right, similarity), _ = collect_blocks(work, 1 << 62)
    truth = Pairs(left.astype(np.int64), right.astype(np.int64), similarity)
    jaccard, place = np.unique(jaccard_of(truth, items, bar), return_inverse=True)
    return truth, np.array([plan.probability(s) for s in jaccard.tolist()])[place]
