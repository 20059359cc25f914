"""Hamming LSH by OR-folding: sparse 0/1 columns become dense enough to be distinguished by a few of their rows.

Each matrix of a sequence has half the rows of the previous one, because pairs of rows are OR-ed. Only columns of medium
density, estimated from the size of the set, take part in a matrix: a few random rows distinguish them well, and columns
that agree in all chosen rows are candidates. A column takes part in two or three matrices, and similar columns in the
same ones. Sets below LEAST_SIZE are joined exactly instead, because results from matrices with few rows vary too much.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from lookalike.core.arrays import I64, U64
from lookalike.core.candidates import Items
from lookalike.core.formatting import count
from lookalike.errors import UsageError
from lookalike.kernels import bits
from lookalike.kinds.documents.folding_recall import least_recall
from lookalike.kinds.documents.kernels import folding

LEAST_SIZE = 32  # smallest number of elements of a set that is folded
MOST_BANDS, GOOD_BANDS = 256, 64  # keys per matrix: the limit, and the limit if the plan chooses the rows
ROWS_PER_KEY = range(16, 3, -1)  # rows per key that the plan tries, if they are not given
DENSITY = (0.2, 0.8)
CURVE_SIMILARITIES = 256  # grid points on which the probability is computed


@dataclass(frozen=True, kw_only=True)
class FoldingPlan:
    """The number of rows per key, and the number of keys (bands) per column of a matrix."""

    threshold: float
    recall: float  # the requested one
    bands: int
    rows: int

    def probability(self, similarity: float) -> float:
        """Return a lower bound on the probability that two sets of this Jaccard similarity become candidates.

        It holds for all sizes from LEAST_SIZE up whose ratio the threshold allows.
        """
        step = math.floor(similarity * CURVE_SIMILARITIES) / CURVE_SIMILARITIES
        return _least(max(step, self.threshold) if similarity >= self.threshold else step, self)

    @property
    def density(self) -> tuple[float, float]:
        """The range of densities at which a column takes part, wide enough that any two sets at the threshold have at
        least one matrix in common."""
        low, high = DENSITY
        return min(low, -math.expm1(math.log1p(-high) * self.threshold / 2)), high

    @property
    def small(self) -> int:
        """The largest size of a set that can match a set below LEAST_SIZE; sets up to this size are joined exactly."""
        return math.floor((LEAST_SIZE - 1) / self.threshold + 1e-9)

    @property
    def recall_at_threshold(self) -> float:
        return self.probability(self.threshold)

    @property
    def shape(self) -> str:
        return f"folded matrices, {count(self.bands, 'keys')} of {count(self.rows, 'rows')} in each"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"shape": self.shape, "recall_at_threshold": self.recall_at_threshold}


@lru_cache(maxsize=1 << 14)
def _least(similarity: float, plan: FoldingPlan) -> float:
    low, high = (-math.log1p(-share) for share in plan.density)
    ratio = max(similarity, plan.threshold)
    return least_recall(similarity, ratio, LEAST_SIZE, (low, high), plan.rows, plan.bands)


def plan_folding(threshold: float, *, recall: float, rows: int | None = None) -> FoldingPlan:
    """Plan the smallest number of keys, up to 256, that finds a pair at the threshold with probability `recall`.

    Without `rows`, a key has as many rows as 64 keys allow, from 4 to 16.

    >>> plan_folding(0.8, recall=0.99).shape
    'folded matrices, 11 keys of 16 rows in each'
    """
    if rows is not None and not 1 <= rows <= 32:
        raise UsageError(f"rows is {rows}; a key has 1 to 32 rows.")
    if not 0 < recall < 1:
        raise UsageError(f"recall is {recall}; expected a number above 0 and below 1.")
    plan = FoldingPlan(threshold=threshold, recall=recall, bands=1, rows=rows or ROWS_PER_KEY[0])
    for width in ROWS_PER_KEY if rows is None else [rows]:
        plan = _fewest_bands(replace(plan, rows=width))
        if plan.bands <= GOOD_BANDS:
            break
    return plan


def _fewest_bands(plan: FoldingPlan) -> FoldingPlan:
    low, high = 1, MOST_BANDS
    while low < high:
        middle = (low + high) // 2
        if replace(plan, bands=middle).recall_at_threshold >= plan.recall:
            high = middle
        else:
            low = middle + 1
    return replace(plan, bands=low)


@dataclass(frozen=True)
class Level:
    """A folded matrix with `rows` rows, and the items whose columns have medium density. columns u64[m, words]."""

    rows: int
    items: I64
    columns: U64

    def fill_keys(self, width: int, seed: int, out: U64) -> None:
        """Fill out u64[m, bands] with the bits of each column in up to `width` random rows (at most 32) per band."""
        draw = np.random.default_rng([seed, self.rows])
        key = np.empty(len(self.items), np.uint32)
        for band in range(out.shape[1]):
            places = draw.choice(self.rows, min(width, self.rows, 32), replace=False).astype(np.uint64)
            bits.keys_of(self.columns, places, key)
            out[:, band] = key


def ladder(items: Items, seed: int, density: tuple[float, float] = DENSITY) -> Iterator[Level]:
    """Yield the matrices from many rows to few.

    Each set is read once, for the first matrix in which it takes part; after that its column is folded, so all matrices
    together cost about as much as reading the sets twice.

    >>> starts, sizes, sides = np.array([0, 40]), np.array([40, 40]), np.array([3, 3], np.uint8)
    >>> sets = Items(np.arange(1, 81, dtype=np.uint64), starts, sizes, sides)
    >>> [(level.rows, level.items.tolist()) for level in ladder(sets, seed=1)]
    [(128, [0, 1]), (64, [0, 1]), (32, [0, 1])]
    """
    low, high = (-math.log1p(-share) for share in density)  # s elements set a share 1 - exp(-s/r) of r rows
    folded = items.sizes >= LEAST_SIZE
    first = np.floor(np.log2(np.maximum(items.sizes, LEAST_SIZE) / low)).astype(np.int64)
    rows = 1 << int(first[folded].max(initial=0))
    members, columns = np.empty(0, np.int64), np.empty((0, max(1, rows // 64)), np.uint64)
    while rows * high >= LEAST_SIZE:
        new = np.flatnonzero((1 << first == rows) & folded)
        fresh = np.zeros((len(new), max(1, rows // 64)), np.uint64)
        folding.columns(items.elements, items.starts, items.sizes, new, np.uint64(rows), np.uint64(seed), fresh)
        members, columns = np.concatenate([members, new]), np.concatenate([columns, fresh])
        medium = items.sizes[members] <= high * rows
        members, columns = members[medium], columns[medium]
        yield Level(rows, members, columns)
        rows //= 2
        halved = np.empty((len(members), max(1, rows // 64)), np.uint64)
        folding.fold(columns, rows, halved)
        columns = halved
