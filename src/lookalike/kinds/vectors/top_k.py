"""The nearest vectors of each vector: blocks of a matrix product, rescored in float64."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from lookalike.core.arrays import F32, F64, I64
from lookalike.core.trace import Trace
from lookalike.io.vectors import Vectors
from lookalike.kinds.vectors.geometry import ULP, VectorSpace, make_space
from lookalike.kinds.vectors.kernels.nearest import nearest_in_tile
from lookalike.kinds.vectors.spec import VectorJob
from lookalike.runtime.local.memory_limit import UNLIMITED, InputNeed, MemoryLimit
from lookalike.runtime.local.numeric_rows import NumericRows, read_rows
from lookalike.runtime.local.pool import Pool, usable_cores
from lookalike.runtime.nearest_result import NearestResult, NearestSpec, Ranking, nearest_result

PRODUCT_SIDE = 2048  # rows and columns of one matrix product
NEAREST_VECTORS_NEED = InputNeed("vectors", row=350, byte=1.5, text_byte=2)
VECTOR_SCORES = {"angle": "angle", "cosine": "cosine", "distance": "Euclidean distance"}


def nearest_of(
    sources: Sequence[Vectors], top: int, lowest: float, job: VectorJob, trace: Trace, options: dict[str, Any],
    memory: MemoryLimit = UNLIMITED,
) -> NearestResult:  # fmt: skip
    """Find the nearest vectors of those of the first source in the last one. lowest: the lowest score, or -inf."""
    with Pool(job.threads or usable_cores(), memory.look) as pool:
        nonzero = job.measure != "distance"
        rows = read_rows(sources, pool, trace, noun=job.noun, on_bad=job.on_bad, nonzero=nonzero)
        ranking = ranked(rows, top, lowest, job, pool, trace, memory)
    words = f"the {top:,} nearest by {VECTOR_SCORES[job.measure]}"
    if lowest > -np.inf:
        words += f", {job.scale.bound} {lowest * job.scale.sign:g}"
    return nearest_result(sources, rows.ids, ranking, NearestSpec(job.noun, job.scale, words, options), trace)


def ranked(
    rows: NumericRows, top: int, lowest: float, job: VectorJob, pool: Pool, trace: Trace,
    memory: MemoryLimit = UNLIMITED,
) -> Ranking:  # fmt: skip
    """Return the nearest items of each row of the first source, in row numbers of the last one; equal rows included."""
    good = np.sort(rows.classes.members)  # skipped rows belong to no class
    space = make_space(replace(rows, firsts=good), job, pool, None) if len(good) else None
    alone = rows.split < 0
    split = len(good) if alone else int(np.searchsorted(good, rows.split))
    begin = 0 if alone else split
    searched = len(good) - begin
    part = Ranking.empty(split, top, searched, itself=alone, limit=job.max_pairs, trace=trace, memory=memory)
    if space is not None and part.nearest.shape[1]:
        with trace.stage("match") as report:
            search = TileSearch.of(space, rows.classes.class_of(len(rows.values))[good], lowest, begin)
            for low in range(0, split, PRODUCT_SIDE):
                search.block(low, min(low + PRODUCT_SIDE, split), part, pool)
                report(min(low + PRODUCT_SIDE, split), split)
    places = good[begin:] - (0 if alone else rows.split)
    return part.spread(good[:split], len(rows.ids[0]), places)


@dataclass(frozen=True)
class TileSearch:
    """Items with the bounds of their float32 products. Items from `begin` on are searched.

    copies i64[items]: a number that equal items share.
    base, shift f64[items]: as in the kernel; they hold the errors of rounding, so that no neighbour is missed.
    """

    space: VectorSpace
    copies: I64
    lowest: float
    begin: int
    base: F64
    shift: F64
    slack: float

    @classmethod
    def of(cls, space: VectorSpace, copies: I64, lowest: float, begin: int) -> TileSearch:
        slack = (space.width + 16) * ULP
        if space.is_flat:
            square = np.square(space.radius)
            return cls(space, copies, lowest, begin, square * (0.5 - slack), square * (slack - 0.5), slack)
        nothing = np.zeros(len(space.radius))
        return cls(space, copies, lowest, begin, nothing, nothing, slack)

    def block(self, low: int, high: int, out: Ranking, pool: Pool) -> None:
        """Find the nearest items of the items from `low` to `high` - 1."""
        space = self.space
        ready = space.take(np.arange(low, high))
        cuts = np.linspace(low, high, pool.threads + 1).astype(np.int64)
        for first in range(self.begin, len(space.rows.firsts), PRODUCT_SIDE):
            stop = min(first + PRODUCT_SIDE, len(space.rows.firsts))
            tile = ready @ space.take(np.arange(first, stop)).T
            parts = [(a, b, tile[a - low : b - low]) for a, b in pairwise(cuts.tolist())]
            list(pool.map(partial(self._scan, first, stop, out), parts))

    def _scan(self, first: int, stop: int, out: Ranking, part: tuple[int, int, F32]) -> None:
        low, high, tile = part
        rows: I64 = self.space.rows.firsts
        nearest_in_tile(
            self.space.job.code, self.space.rows.values, self.space.lengths, rows, self.copies,
            tile, low, first, self.begin,
            self.base[low:high], self.shift[first:stop], self.slack, self.lowest,
            out.nearest[low:high], out.score[low:high], out.filled[low:high],
        )  # fmt: skip
