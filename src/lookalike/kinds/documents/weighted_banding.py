"""Banded join of weighted sets: signatures of darts agree in a slot with the probability of the weighted Jaccard."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import F64, U32, U64, Pairs
from lookalike.core.audit_sample import draw, found_partners
from lookalike.core.candidates import Band, Items
from lookalike.core.measures import Bar
from lookalike.core.recall_audit import Audit, measure
from lookalike.core.trace import Trace
from lookalike.kernels import bounds, sketches
from lookalike.kinds.documents.kernels import darts, weighted
from lookalike.kinds.documents.spec import Job
from lookalike.kinds.documents.weighted_join import Rooms, weighted_pairs
from lookalike.kinds.documents.weights import WeighedElements, WeightedSets
from lookalike.planning.banding import Plan
from lookalike.runtime.local.joins import ITEMS_PER_TASK, Block, Scored, scored
from lookalike.runtime.local.pool import Pool

SETS_PER_SIGNATURE_TASK = 256
ANY_SIZE = Bar(bounds.OVERLAP, 1, 1)  # sizes do not limit the weight of sets


def dart_signatures(found: WeighedElements, length: int, seed: int, pool: Pool) -> U32:
    """Compute the signatures of all sets, u32[n, length]: two agree in a slot as often as their weighted Jaccard."""
    count, out = len(found.sizes), np.empty((len(found.sizes), length), np.uint32)
    ends = np.cumsum(found.sizes)
    # a power of two, so that collections with other weights share most pieces of the strips
    unit = float(2.0 ** np.floor(np.log2(found.weights.min(initial=np.inf)))) if len(found.weights) else 1.0

    def work(low: int) -> None:
        high = min(low + SETS_PER_SIGNATURE_TASK, count)
        darts.dart_signatures(
            found.places, found.counts, ends, low, high, found.vocabulary, found.weights, unit, np.uint64(seed),
            out[low:high],
        )  # fmt: skip

    for _ in pool.map(work, range(0, count, SETS_PER_SIGNATURE_TASK)):
        pass
    return out


def banded_pairs(
    found: WeighedElements, sets: WeightedSets, sides: npt.NDArray[np.uint8], plan: Plan, job: Job, pool: Pool,
    trace: Trace, limit: int,
) -> Scored:  # fmt: skip
    """Return every pair that shares a band and reaches the threshold, with its exact score."""
    with trace.stage("sketch"):
        values = dart_signatures(found, job.num_hashes, job.seed, pool)
        keys: U64 = np.empty((len(sets), plan.bands), np.uint64)
        sketches.band_keys(values, plan.rows, keys)
    ones = np.ones(len(sets), np.int64)
    items = Items(np.empty(0, np.uint64), ones, ones, sides)
    rooms = Rooms(pool.threads, lambda: np.zeros(sets.vocabulary))
    vectors = sets.measure, sets.numbers, sets.values, sets.offsets, sets.norms

    def pieces() -> Iterator[tuple[Block, int]]:
        for number in range(plan.bands):
            band = Band.sort(keys, number)
            band.count_sizes(trace.buckets)

            def work(block: tuple[int, int], band: Band = band) -> tuple[Block, int]:
                kept, proposed = [], 0
                for some in band.candidates(block, items, keys, values, plan.cut, ANY_SIZE):
                    score: F64 = np.empty(len(some.partners))
                    rooms.run(
                        lambda spread, some=some, score=score: weighted.score_candidates(
                            *vectors, some.anchors, some.ends, some.partners, spread, score
                        )
                    )
                    near = score >= job.threshold
                    anchors = np.repeat(some.anchors, np.diff(some.ends, prepend=0))
                    kept.append((anchors[near], some.partners[near], score[near]))
                    proposed += len(score)
                left, right, similarity = (np.concatenate(column) for column in zip(*kept, strict=True))
                return (left, right, similarity), proposed

            yield from pool.map(work, band.blocks(ITEMS_PER_TASK))

    with trace.stage("match"):
        return scored(pieces(), trace, limit)


def audited(
    sets: WeightedSets, sides: npt.NDArray[np.uint8], pairs: Pairs, plan: Plan, job: Job, pool: Pool, trace: Trace
) -> Audit | None:
    """Measure the recall over the pairs of about `job.audit` sampled sets, whose partners are searched exactly."""
    if not job.audit or not len(sets):
        return None
    with trace.stage("audit"):
        sample = draw(found_partners(pairs, len(sets)), min(job.audit, len(sets)), job.seed)
        truth = Pairs(*weighted_pairs(sets, sides, job.threshold, pool, Trace(), 1 << 62, of=sample.items))
        jaccard = truth.similarity
        if sets.measure == bounds.DICE:
            jaccard = jaccard / (2 - jaccard)
        return measure(truth, pairs, sample, [plan.probability(s) for s in jaccard.tolist()])
