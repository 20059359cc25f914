"""Recall audit of an approximate run, by exact search for the partners of a sample of items."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from lookalike.core.arrays import F64, Groups, Pairs
from lookalike.core.audit_sample import Partners, Sample, draw, found_partners
from lookalike.core.candidates import Items
from lookalike.core.measures import Bar
from lookalike.core.recall_audit import (
    OVER_GROUPS,
    OVER_KEPT,
    Audit,
    SampleIndex,
    audit_of,
    index_sample,
    jaccard_of,
    measure,
)
from lookalike.core.trace import Trace
from lookalike.kinds.documents.spec import Job
from lookalike.runtime.local.joins import ITEMS_PER_TASK, collect_blocks, score_block
from lookalike.runtime.local.pool import Pool


class Curve(Protocol):
    """A plan that gives the probability that a pair of a given similarity becomes a candidate."""

    def probability(self, similarity: float, /) -> float: ...


DEFAULT_SIZE = 2000  # default number of sampled items; the sample is smaller if items are long
FREE_ELEMENTS = 1 << 19  # elements that a sample of at most the default size may always have
FREE_CANDIDATES = 1 << 19  # pairs with a sampled item that any audit may verify; a large run may as many pairs as it
CANDIDATES_SHARE = 2  # verified itself times this: verification is a small part of a run
PROBE_BLOCK = 1 << 4  # items in a row whose candidates are counted beforehand, to predict the work;
PROBES = 1 << 11  # this many items in all
FEWEST_SAMPLED = 100  # minimum size to which a sample is reduced because of its candidates
ELEMENTS_SHARE = 100  # in a large run it may have 1/100 of all elements: more would cost over a tenth of the run


def audit(items: Items, found: Pairs, plan: Curve, job: Job, pool: Pool, trace: Trace) -> Audit:
    """Measure recall over the pairs of about `job.audit` sampled items, whose partners are searched exactly."""
    bar = job.bar()
    with trace.stage("audit"):
        sample, index = _sampled(items, found_partners(found, len(items)), job, pool, trace)
        truth, chances = _true_pairs(items, index, plan, bar, pool)
        return measure(truth, found, sample, chances, verified=job.verify)


def audit_groups(
    items: Items, groups: Groups, plan: Curve, job: Job, pool: Pool, trace: Trace, *, stars: bool
) -> Audit:
    """Measure the recall of groups that were formed without a list of pairs.

    A true pair counts as found if both items are in one group; for stars, if at most one of them is a representative.
    """
    with trace.stage("audit"):
        kept = groups.representative
        partners = Partners(np.bincount(kept, minlength=len(items))[kept] - 1, kept)
        sample, index = _sampled(items, partners, job, pool, trace)
        truth, chances = _true_pairs(items, index, plan, job.bar(), pool)
        left, right = kept[truth.left], kept[truth.right]
        hit = (left != truth.left) | (right != truth.right) if stars else left == right
        return audit_of(truth, hit, sample, chances, None, over=OVER_KEPT if stars else OVER_GROUPS)


def affordable(size: int, items: int, elements: int) -> int:
    """Return the sample size: `size`, or fewer if items are long and `size` is at most the default."""
    if size > DEFAULT_SIZE:
        return min(size, items)
    mean = max(1.0, elements / max(1, items))
    return min(size, items, max(1, int(max(FREE_ELEMENTS, elements / ELEMENTS_SHARE) / mean)))


def _sampled(items: Items, partners: Partners, job: Job, pool: Pool, trace: Trace) -> tuple[Sample, SampleIndex]:
    """Draw a sample and index it; draw a smaller one if too many pairs would have to be verified.

    Where common elements make most items candidates of one another, an exact search costs more than the run itself.
    """
    size, seed, bar = job.audit, job.seed, job.bar()
    sample = draw(partners, affordable(size, len(items), int(items.sizes.sum())), seed)
    index = index_sample(items, sample.items, bar, pool.rest)
    most = max(FREE_CANDIDATES, CANDIDATES_SHARE * int(trace.counts.get("candidates", 0)))
    work = _expected_candidates(items, index)
    if work <= most or size > DEFAULT_SIZE:
        return sample, index
    sample = draw(partners, min(len(sample), max(FEWEST_SAMPLED, int(len(sample) * most / work))), seed)
    return sample, index_sample(items, sample.items, bar, pool.rest)


def _expected_candidates(items: Items, index: SampleIndex) -> float:
    """Estimate the number of candidates of the sample, from blocks of items spread over the collection."""
    step = max(1, len(items) * PROBE_BLOCK // PROBES)
    blocks = [(at, min(at + PROBE_BLOCK, len(items))) for at in range(0, len(items), step)]
    counts = [len(each.partners) for block in blocks for each in index.candidates(items, block)]
    return sum(counts) * len(items) / max(1, sum(stop - at for at, stop in blocks))


def _true_pairs(items: Items, index: SampleIndex, plan: Curve, bar: Bar, pool: Pool) -> tuple[Pairs, F64]:
    """Find all true pairs with at least one sampled item, and the probability that the plan finds each."""
    step = max(64, min(ITEMS_PER_TASK, len(items) // (16 * pool.threads)))
    blocks = [(at, min(at + step, len(items))) for at in range(0, len(items), step)]
    work = pool.map(lambda block: score_block(items, index.candidates(items, block), bar, 1 << 62), blocks)
    (left, right, similarity), _ = collect_blocks(work, 1 << 62)
    truth = Pairs(left.astype(np.int64), right.astype(np.int64), similarity)
    jaccard, place = np.unique(jaccard_of(truth, items, bar), return_inverse=True)
    return truth, np.array([plan.probability(s) for s in jaccard.tolist()])[place]
