"""Join of similar sets by OR-folding, one folded matrix and one key at a time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from lookalike.core.arrays import I64, Pairs
from lookalike.core.candidates import Band, Items
from lookalike.core.trace import DOUBLINGS, Trace
from lookalike.evaluation.matches import PairSet
from lookalike.kernels.hashing import mix_all
from lookalike.kinds.documents.folding import MOST_BANDS, FoldingPlan, Level, ladder, plan_folding
from lookalike.kinds.documents.prefix_join import exact_pairs
from lookalike.kinds.documents.spec import Job, no_promise
from lookalike.runtime.local.joins import ITEMS_PER_TASK, Block, Scored, check_count, collect_blocks, score_block
from lookalike.runtime.local.pool import Pool
from lookalike.runtime.local.work_folder import Arrays, Workspace


def folding_plan(job: Job, trace: Trace) -> FoldingPlan:
    """Plan the keys for a job; a recall that 256 keys cannot reach becomes a warning."""
    least = job.set_measure().least_jaccard
    if least is None:
        raise no_promise("folding", job)
    plan = plan_folding(least(job.threshold), recall=job.recall, rows=job.rows)
    if plan.recall_at_threshold < job.recall:
        trace.warnings.append(
            f"folding reaches a recall of {plan.recall_at_threshold:.3f} at the threshold with {MOST_BANDS} keys, not "
            f"{job.recall:g}. Ask for fewer rows in a key, or for method lsh."
        )
    return plan


def folded_pairs(
    items: Items, job: Job, plan: FoldingPlan, pool: Pool, trace: Trace, space: Workspace, limit: int
) -> Pairs:
    """Find the pairs that share a key in a matrix and reach the threshold; each is returned once."""
    pairs, _, _ = PairSet.of(*small_pairs(items, job, plan, pool, trace, space, limit))
    with trace.stage("match"):
        for level in ladder(items, job.seed, plan.density):
            if len(level.items) < 2:
                continue
            arrays, counts = space.part(
                f"folded-{level.rows}", partial(_joined, level, items, job, plan, pool, space, limit)
            )
            trace.add(**counts)
            trace.buckets += arrays["buckets"]
            both = (np.concatenate([getattr(pairs, name), arrays[name]]) for name in ("left", "right", "similarity"))
            pairs, _, _ = PairSet.of(*both)
            check_count(len(pairs), limit)
    return Pairs(pairs.left, pairs.right, pairs.similarity)


def small_pairs(
    items: Items, job: Job, plan: FoldingPlan, pool: Pool, trace: Trace, space: Workspace, limit: int
) -> Scored:
    """Find all pairs among sets that are too small to be folded or can match such sets, by the exact join."""
    small = np.flatnonzero((items.sizes > 0) & (items.sizes <= plan.small))
    left, right, similarity = exact_pairs(items.take(small), job.bar(), pool, trace, space, limit)
    return small[left], small[right], similarity


def _joined(
    level: Level, items: Items, job: Job, plan: FoldingPlan, pool: Pool, space: Workspace, limit: int
) -> tuple[Arrays, dict[str, int]]:
    """Return the pairs of one matrix and the number of its candidates."""
    sizes = np.zeros(DOUBLINGS, np.int64)
    (left, right, similarity), candidates = collect_blocks(
        _pieces(level, items, job, plan, pool, space, limit, sizes), limit
    )
    arrays = {"left": level.items[left], "right": level.items[right], "similarity": similarity, "buckets": sizes}
    return arrays, {"candidates": candidates}


def _pieces(
    level: Level, items: Items, job: Job, plan: FoldingPlan, pool: Pool, space: Workspace, limit: int, sizes: I64
) -> Iterator[tuple[Block, int]]:
    """Yield the scored pairs of one matrix by column number. sizes: histogram of bucket sizes, updated in place."""
    part, bar = items.take(level.items), job.bar()
    keys = space.array((len(part), plan.bands), np.uint64)
    level.fill_keys(plan.rows, job.seed, keys)
    mix_all(keys.ravel(), np.uint64(job.seed), keys.ravel())
    no_values = np.empty((len(part), 0), np.uint32)
    step = max(256, min(ITEMS_PER_TASK, len(part) // (4 * pool.threads)))
    for number in range(plan.bands):
        band = Band.sort(keys, number)
        band.count_sizes(sizes)

        def work(block: tuple[int, int], band: Band = band) -> tuple[Block, int]:
            return score_block(part, band.candidates(block, part, keys, no_values, 0, bar), bar, limit)

        yield from pool.map(work, band.blocks(step))
