"""Vectors prepared for comparison: directions of length 1, or positions relative to their centre."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import F32, F64, I64, U32
from lookalike.kernels import vectors
from lookalike.kinds.vectors.spec import VectorJob
from lookalike.runtime.local.numeric_rows import NumericRows
from lookalike.runtime.local.pool import Pool

I16 = npt.NDArray[np.int16]
VECTORS_PER_TASK = 1 << 12
CENTRED = 1 << 12  # approximate number of rows whose mean is the centre
MAX_ROUNDED_LENGTH = 32767.0  # length of a rounded row, at most: products then fit in 32 bits
ULP = 2.0**-23


@dataclass(frozen=True)
class VectorSpace:
    """The vectors of a run, with the statistics that both the exact and the approximate join use.

    lengths f64[c]; centre f32[d]: mean direction, or mean position; radius f64[c]: distance of each item from the
    centre.
    """

    rows: NumericRows
    job: VectorJob
    lengths: F64
    centre: F32
    radius: F64

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def width(self) -> int:
        return int(self.rows.values.shape[1])

    @property
    def is_flat(self) -> bool:
        """Return True if positions are compared (Euclidean distance), False for directions."""
        return self.job.measure == "distance"

    def radius_about(self, shrink: float, radius: F64) -> F64:
        """Return the distances of directions from `shrink` times the centre, given their distances from the centre."""
        square = float(np.square(self.centre, dtype=np.float64).sum())
        along = (1.0 + square - np.square(radius)) / 2.0  # dot product of a direction with the centre
        distance: F64 = np.sqrt(np.maximum(0.0, 1.0 - 2.0 * shrink * along + shrink * shrink * square))
        return distance

    def block(self, low: int, high: int) -> F32:
        """Return items [low, high) as directions, or as positions relative to the centre."""
        return self.take(np.arange(low, high))

    def take(self, items: I64) -> F32:
        """Return the given items as directions, or as positions relative to the centre."""
        return _ready(self.rows, self.lengths, self.centre if self.is_flat else None, items)

    def tile_bars(self, items: I64 | slice) -> F32:
        """Return one bound per item; the float32 product of a candidate pair must reach the sum of its two bounds.

        The filter has no false negatives: its margin covers the rounding error of any order of summation.
        """
        slack = (self.width + 16) * ULP
        if not self.is_flat:
            cosine = 1.0 - self.job.chord**2 / 2.0
            return np.full(len(self.radius[items]), (cosine - slack) / 2.0, np.float32)
        radius = self.radius[items]
        bars = (radius**2 - self.job.chord**2 / 2.0) / 2.0 - slack * (radius**2 / 2.0 + self.job.chord * radius + 1e-30)
        return np.nextafter(bars.astype(np.float32), np.float32(-np.inf))

    def rounded_scale(self) -> float:
        """Return the factor by which items are multiplied before they are rounded to 16-bit integers."""
        longest = float(self.radius.max(initial=0.0)) if self.is_flat else 1.0
        return MAX_ROUNDED_LENGTH / longest if longest > 0 else 1.0

    def rounded_bars(self, rounded: I16, scale: float) -> I64:
        """Return bounds as `tile_bars` does, for twice the product of rounded rows.

        The rounding error of each number is little more than 0.5.
        """
        off = 0.52 * math.sqrt(self.width)
        if not self.is_flat:
            cosine = 1.0 - self.job.chord**2 / 2.0
            need = math.floor(cosine * MAX_ROUNDED_LENGTH**2 - 2.0 * off * MAX_ROUNDED_LENGTH - off * off - 1.0)
            return np.full(len(rounded), need, np.int64)
        limit = (scale * self.job.chord + 2.0 * off) ** 2
        squares = np.empty(len(rounded), np.int64)
        vectors.squares(rounded, squares)
        return squares - math.ceil(limit / 2.0)

    def scored(self, left: U32, right: U32) -> tuple[U32, U32, F64]:
        """Score candidates in float64 and return those that reach the threshold, as (left, right, score)."""
        scores = np.empty(len(left), np.float64)
        kept = vectors.score_pairs(
            self.job.code, self.rows.values, self.rows.firsts, self.lengths, left, right, self.job.least, scores
        )
        return left[:kept], right[:kept], scores[:kept]


def make_space(rows: NumericRows, job: VectorJob, pool: Pool, centre: F32 | None = None) -> VectorSpace:
    """Compute the centre (from a sample spread over all items, unless given) and the distance of each item from it."""
    blocks = [np.arange(at, min(at + VECTORS_PER_TASK, len(rows))) for at in range(0, len(rows), VECTORS_PER_TASK)]
    lengths = np.concatenate([np.empty(0), *pool.map(lambda items: _lengths(rows, items), blocks)])
    flat = job.measure == "distance"
    nothing = np.zeros(rows.values.shape[1], np.float32)
    if centre is None:
        some = centred(len(rows))
        sample = _ready(rows, lengths, nothing if flat else None, some)
        centre = sample.mean(axis=0, dtype=np.float64).astype(np.float32) if len(some) else nothing

    def radius(items: I64) -> F64:
        out = np.empty(len(items), np.float64)
        ready = _ready(rows, lengths, centre if flat else None, items)
        vectors.radii(ready, nothing if flat else centre, out)
        return out

    return VectorSpace(rows, job, lengths, centre, np.concatenate([np.empty(0), *pool.map(radius, blocks)]))


def centred(count: int) -> I64:
    """Return the items, out of `count`, whose mean is the centre."""
    return np.arange(0, count, max(1, count // CENTRED))


def _lengths(rows: NumericRows, items: I64) -> F64:
    out = np.empty(len(items), np.float64)
    vectors.norms(rows.values, rows.firsts[items], out)
    return out


def _ready(rows: NumericRows, lengths: F64, centre: F32 | None, items: I64) -> F32:
    """Return directions, or positions relative to `centre` if it is not None."""
    out = np.empty((len(items), rows.values.shape[1]), np.float32)
    if centre is None:
        vectors.directions(rows.values, rows.firsts[items], lengths[items], out)
    else:
        vectors.positions(rows.values, rows.firsts[items], centre, out)
    return out
