"""Pairs of similar sets by OR-folding: level by level of the ladder, band by band."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from lookalike.data import U32, U64, Pairs
from lookalike.engines.audits import audit
from lookalike.engines.choice import Choice
from lookalike.engines.found import Found
from lookalike.engines.job import Job
from lookalike.engines.joins import BLOCK, Block, Scored, score_block, scored
from lookalike.engines.local import items_of
from lookalike.engines.memory import Keeper, memory_size
from lookalike.engines.pool import Pool, usable_cores
from lookalike.engines.prefixes import exact_pairs
from lookalike.engines.reading import read_features
from lookalike.engines.trace import Trace
from lookalike.engines.work import Space
from lookalike.io.collection import Collection
from lookalike.kernels.hashing import mix_all
from lookalike.stages.candidates import Band, Items
from lookalike.stages.duplicates import collapse
from lookalike.stages.folding import FoldingPlan, ladder
from lookalike.stages.matches import PairSet


def run(collection: Collection, job: Job, plan: FoldingPlan, trace: Trace) -> Found:
    """The pairs of one collection."""
    with Pool(job.threads or usable_cores()) as pool:
        space = Space(Keeper(memory_size(None)))
        features = read_features([collection], job.rule, pool, trace, space)
        with trace.stage("collapse"):
            classes = collapse(features.sets, features.prints)
            items = items_of(features, classes, -1)
        found = Found(
            features.ids, -1, classes, np.ones(len(items)), np.arange(len(classes)),
            Choice("folding", {}, "asked for"), plan=plan,
        )  # fmt: skip
        small = small_pairs(items, job, plan, pool, trace, space)
        with trace.stage("match"):
            folded = scored(_pieces(items, job, plan, pool), trace, job.max_pairs)
            pairs = distinct(small, folded)
        if not len(items) or not job.audit:
            return replace(found, pairs=pairs)
        checked = audit(items, pairs, plan, job.bar(), pool, trace, size=job.audit, seed=job.seed)
        return replace(found, pairs=pairs, audit=checked)


def small_pairs(items: Items, job: Job, plan: FoldingPlan, pool: Pool, trace: Trace, space: Space) -> Scored:
    """Every pair of sets that are too small to be folded, or similar in size to such sets."""
    small = np.flatnonzero((items.sizes > 0) & (items.sizes <= plan.small))
    left, right, similarity = exact_pairs(items.take(small), job.bar(), pool, trace, space, job.max_pairs)
    return small[left], small[right], similarity


def _pieces(items: Items, job: Job, plan: FoldingPlan, pool: Pool) -> Iterator[tuple[Block, int]]:
    for level in ladder(items, job.seed, plan.density):
        if len(level.items) < 2:
            continue
        part = items.take(level.items)
        keys = level.keys(plan.bands, plan.rows, job.seed)
        spread = np.empty_like(keys)
        mix_all(keys.ravel(), np.uint64(job.seed), spread.ravel())
        no_values = np.empty((len(part), 0), np.uint32)
        for number in range(plan.bands):
            work = partial(_score, Band.sort(spread, number), part, spread, no_values, job)
            for (left, right, score), looked in pool.map(work, Band(number, spread[:, number]).blocks(BLOCK)):
                numbers = level.items.astype(np.uint32)
                yield (numbers[left], numbers[right], score), looked


def _score(band: Band, part: Items, keys: U64, values: U32, job: Job, block: tuple[int, int]) -> tuple[Block, int]:
    return score_block(part, band.candidates(block, part, keys, values, 0, job.bar()), job.bar(), job.max_pairs)


def distinct(*parts: Scored) -> Pairs:
    """Each pair once, though several matrices may have found it."""
    once, _, _ = PairSet.of(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    return Pairs(once.left, once.right, once.similarity)
