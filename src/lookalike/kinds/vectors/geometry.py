"""Vectors made ready to be compared: directions of length 1, or positions about their centre."""

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
CENTRED = 1 << 12  # rows whose mean is taken as the centre
MAX_ROUNDED_LENGTH = 32767.0  # of a rounded row: products then fit 32 bits
ULP = 2.0**-23


@dataclass(frozen=True)
class VectorSpace:
    """The items of a run, with what every way of looking for pairs needs.

    lengths f64[c]; centre f32[d]: mean direction, or mean position; radius f64[c]: how far each item is from it.
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
        """True where positions are compared, not directions."""
        return self.job.measure == "distance"

    def radius_about(self, shrink: float, radius: F64) -> F64:
        """How far directions are from `shrink` times the centre, where they are `radius` from the centre itself."""
        square = float(np.square(self.centre, dtype=np.float64).sum())
        along = (1.0 + square - np.square(radius)) / 2.0  # the product of a direction with the centre
        distance: F64 = np.sqrt(np.maximum(0.0, 1.0 - 2.0 * shrink * along + shrink * shrink * square))
        return distance

    def block(self, low: int, high: int) -> F32:
        """Items `low` to before `high`, as directions, or as positions about the centre."""
        return self.take(np.arange(low, high))

    def take(self, items: I64) -> F32:
        """As `block`, of any items."""
        return _ready(self.rows, self.lengths, self.centre if self.is_flat else None, items)

    def tile_bars(self, items: I64 | slice) -> F32:
        """What a product in float32 must reach: the sum of the two items' bars. It may let too many through, never too
        few: the margin covers the rounding of every order of summation."""
        slack = (self.width + 16) * ULP
        if not self.is_flat:
            cosine = 1.0 - self.job.chord**2 / 2.0
            return np.full(len(self.radius[items]), (cosine - slack) / 2.0, np.float32)
        radius = self.radius[items]
        bars = (radius**2 - self.job.chord**2 / 2.0) / 2.0 - slack * (radius**2 / 2.0 + self.job.chord * radius + 1e-30)
        return np.nextafter(bars.astype(np.float32), np.float32(-np.inf))

    def rounded_scale(self) -> float:
        """By what an item is multiplied before it is rounded to integers of 16 bits."""
        longest = float(self.radius.max(initial=0.0)) if self.is_flat else 1.0
        return MAX_ROUNDED_LENGTH / longest if longest > 0 else 1.0

    def rounded_bars(self, rounded: I16, scale: float) -> I64:
        """As `tile_bars`, of twice the product of rounded rows. Each number is off by little more than a half."""
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
        """Exact scores, in float64, of the candidates that reach the threshold."""
        scores = np.empty(len(left), np.float64)
        kept = vectors.score_pairs(
            self.job.code, self.rows.values, self.rows.firsts, self.lengths, left, right, self.job.least, scores
        )
        return left[:kept], right[:kept], scores[:kept]


def make_space(rows: NumericRows, job: VectorJob, pool: Pool, centre: F32 | None = None) -> VectorSpace:
    """Find the centre (of a sample spread over all items, unless it is given) and how far each item is from it."""
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
    """The items, of so many, whose mean is the centre."""
    return np.arange(0, count, max(1, count // CENTRED))


def _lengths(rows: NumericRows, items: I64) -> F64:
    out = np.empty(len(items), np.float64)
    vectors.norms(rows.values, rows.firsts[items], out)
    return out


def _ready(rows: NumericRows, lengths: F64, centre: F32 | None, items: I64) -> F32:
    """Directions, or positions about a centre where there is one."""
    out = np.empty((len(items), rows.values.shape[1]), np.float32)
    if centre is None:
        vectors.directions(rows.values, rows.firsts[items], lengths[items], out)
    else:
        vectors.positions(rows.values, rows.firsts[items], centre, out)
    return out
