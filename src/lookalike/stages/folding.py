"""Hamming LSH by OR-folding: sparse 0/1 columns become dense enough to be told apart by a few of their rows.

A ladder of matrices, each with half the rows of the one before, pairs of rows OR-ed. In each matrix only columns of
medium density take part: a few rows, chosen at random, then split them well, and columns that agree in all the chosen
rows are candidates. A column takes part in two or three matrices; similar columns in the same ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from lookalike.data import I64, U64
from lookalike.errors import UsageError
from lookalike.kernels import bits, folding
from lookalike.stages.candidates import Items

LEAST_ROWS, MOST_BANDS = 8, 256
DENSITY = (0.2, 0.8)


@dataclass(frozen=True, kw_only=True)
class FoldingPlan:
    """How many rows make a key, and how many keys each matrix gives its columns."""

    threshold: float
    recall: float  # the wish
    bands: int
    rows: int

    def probability(self, similarity: float) -> float:
        """The probability that two sets of this Jaccard similarity and of one size, large, become candidates: the least
        over all sizes, for on these depends in which matrices they are of medium density, and how dense."""
        low, high = (-math.log1p(-share) for share in DENSITY)  # elements for each row
        loads = (low * 2 ** (i / 16) for i in range(16))
        return min(1.0 - math.prod(self._missed(load * 2**k, similarity) for k in range(8) if load * 2**k <= high)
                   for load in loads)  # fmt: skip

    def _missed(self, load: float, similarity: float) -> float:
        """Of one matrix with `load` elements of each set for each row. A row tells them apart where it holds no common
        element, and elements of one set only."""
        shared = load * 2 * similarity / (1 + similarity)
        alone = math.exp(-(load - shared))
        differ = math.exp(-shared) * 2 * alone * (1 - alone)
        return float((1.0 - (1.0 - differ) ** self.rows) ** self.bands)

    @property
    def recall_at_threshold(self) -> float:
        return self.probability(self.threshold)

    @property
    def shape(self) -> str:
        return f"folded matrices, {self.bands} keys of {self.rows} rows in each"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"shape": self.shape, "recall_at_threshold": self.recall_at_threshold}


def plan_folding(threshold: float, *, recall: float, rows: int = 16) -> FoldingPlan:
    """The fewest keys that find a pair of large sets at the threshold with probability `recall`, up to 256.

    >>> plan_folding(0.8, recall=0.99).bands
    6
    """
    if not 1 <= rows <= 32:
        raise UsageError(f"rows is {rows}; a key has 1 to 32 rows.")
    if not 0 < recall < 1:
        raise UsageError(f"recall is {recall}; expected a number above 0 and below 1.")
    plan = FoldingPlan(threshold=threshold, recall=recall, bands=1, rows=rows)
    while plan.recall_at_threshold < recall and plan.bands < MOST_BANDS:
        plan = replace(plan, bands=plan.bands + 1)
    return plan


@dataclass(frozen=True)
class Level:
    """One matrix: `rows` rows, and the items whose columns are of medium density. columns u64[m, words]."""

    rows: int
    items: I64
    columns: U64

    def keys(self, bands: int, width: int, seed: int) -> U64:
        """u64[m, bands]: the bits of each column in up to `width` rows (at most 32) chosen at random for each band."""
        draw = np.random.default_rng([seed, self.rows])
        out = np.empty((len(self.items), bands), np.uint64)
        key = np.empty(len(self.items), np.uint32)
        for band in range(bands):
            places = draw.choice(self.rows, min(width, self.rows, 32), replace=False).astype(np.uint64)
            bits.keys_of(self.columns, places, key)
            out[:, band] = key
        return out


def ladder(items: Items, seed: int, density: tuple[float, float] = DENSITY) -> Iterator[Level]:
    """The matrices from many rows to few. Each set is read once, at the first matrix in which it can be dense enough;
    from there on its column is folded, so that all matrices together cost about two readings.

    >>> sets = Items(np.arange(1, 11, dtype=np.uint64), np.array([0, 5]), np.array([5, 5]), np.array([3, 3], np.uint8))
    >>> [(level.rows, level.items.tolist()) for level in ladder(sets, seed=1)]
    [(32, []), (16, [0, 1]), (8, [0, 1])]
    """
    low, high = density
    # of s elements in r rows a share of 1 - exp(-s/r) is hit: one matrix more for those that do better than that
    first = np.floor(np.log2(np.maximum(items.sizes, 1) / -np.log1p(-low))).astype(np.int64) + 1
    rows = 1 << int(first.max(initial=0))
    held, columns = np.empty(0, np.int64), np.empty((0, max(1, rows // 64)), np.uint64)
    while rows >= LEAST_ROWS:
        new = np.flatnonzero((1 << np.maximum(first, 0) == rows) & (items.sizes > 0))
        fresh = np.zeros((len(new), max(1, rows // 64)), np.uint64)
        folding.columns(items.elements, items.starts, items.sizes, new, np.uint64(rows), np.uint64(seed), fresh)
        held, columns = np.concatenate([held, new]), np.concatenate([columns, fresh])
        count = np.empty(len(held), np.int64)
        folding.ones(columns, count)
        medium = (count >= low * rows) & (count <= high * rows)
        yield Level(rows, held[medium], columns[medium])
        open_still = count <= high * rows  # a column never gets thinner
        rows //= 2
        held, columns = held[open_still], columns[open_still]
        folded = np.empty((len(held), max(1, rows // 64)), np.uint64)
        folding.fold(columns, rows, folded)
        columns = folded
