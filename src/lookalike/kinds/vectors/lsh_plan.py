"""Choose the cheapest number of sketch bits, hash tables and bits per key that reaches a required recall.

Each of m bits differs between two items with probability 1-p, where p depends on their distance. Each of b tables takes
r of the m bits at random as its key. Two items that differ in h bits share a bucket of one table with probability
C(m-h, r) / C(m, r), and are scored if h is at most `cut`. The number h is binomial, so the recall can be computed
before the run.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from lookalike.core.arrays import F64
from lookalike.core.formatting import count

SKETCH_BITS = (128, 256, 512)
BITS_PER_KEY = range(3, 29)
MAX_TABLES = 600  # hash tables
CHECK_SHARE = 0.1  # share of the misses allowed by the recall that may be caused by the limit `cut` on differing bits
# Nanoseconds on one core, fitted to runs of benchmarks/vectors.py; only their ratios matter.
PER_HASHED, PER_KEY, PER_CHECK, PER_PRODUCT, PER_STEP, PER_SCORE = 0.03, 45.0, 1.0, 40.0, 0.18, 0.95
PER_TILED = 0.025


@dataclass(frozen=True, kw_only=True)
class SignPlan:
    """A plan for hash tables of sign bits.

    bands: number of tables; rows: bits in the key of a table; bits: length of a sketch; cut: maximum number of bits in
    which a candidate may differ; agreement: lowest probability that one bit agrees for a pair at the threshold; width:
    of the buckets of projections (0 for hyperplanes); shrink: the hyperplanes pass through the mean direction
    multiplied by this number.
    """

    threshold: float
    recall: float
    bits: int
    rows: int
    bands: int
    cut: int
    width: float
    agreement: float
    recall_at_threshold: float
    shrink: float = 0.0

    def probability(self, agreement: F64) -> F64:
        """Return the probability that pairs are found, given the probability that one bit agrees."""
        found: F64 = (
            differing(agreement, self.bits)[:, : self.cut + 1]
            @ meeting(self.bits, self.rows, self.bands)[: self.cut + 1]
        )
        return found

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"shape": f"{count(self.bands, 'tables')} of {self.rows} of {count(self.bits, 'bits')}"}


@dataclass(frozen=True)
class Sampled:
    """What the planner needs to know about the data, estimated from a sample.

    width: of the buckets; shrink: see SignPlan; near: lowest bit agreement of a pair at the threshold; far, weights
    f64[j]: bit agreement of random pairs, and the share of pairs with it; pairs: number of all pairs; items: number of
    items; numbers: length of a vector; matches: expected number of pairs within the threshold.
    """

    width: float
    shrink: float
    near: float
    far: F64
    weights: F64
    pairs: float
    items: int
    numbers: int
    matches: float


def differing(agreement: F64, bits: int) -> F64:
    """Return the binomial distribution of the number of differing bits as f64[k, bits+1]."""
    h = np.arange(bits + 1)
    ways = math.lgamma(bits + 1) - np.array([math.lgamma(i + 1) + math.lgamma(bits - i + 1) for i in h])
    p = np.clip(agreement, 1e-12, 1 - 1e-12)[:, None]
    law: F64 = np.exp(ways + h * np.log1p(-p) + (bits - h) * np.log(p))
    return law


def meeting(bits: int, rows: int, bands: int) -> F64:
    """Return the probability of sharing a bucket in at least one table, by the number of differing bits: f64[bits+1].

    >>> meeting(4, 2, 1).round(3).tolist()
    [1.0, 0.5, 0.167, 0.0, 0.0]
    """
    h = np.arange(bits - rows + 1)
    one = np.zeros(bits + 1)
    one[: len(h)] = np.cumprod(np.concatenate([[1.0], 1.0 - rows / (bits - h[:-1])]))
    with np.errstate(divide="ignore"):
        met: F64 = -np.expm1(bands * np.log1p(-one))
    return met


def plan_signs(samples: list[Sampled], threshold: float, recall: float) -> tuple[SignPlan, float]:
    """Return the cheapest plan that reaches the recall at the threshold, and its cost in seconds on one core.

    If no plan reaches the recall, return the plan with the highest recall, at infinite cost.
    """
    best: tuple[float, float, SignPlan] | None = None
    for sample in samples:
        for bits in SKETCH_BITS:
            near = differing(np.array([sample.near]), bits)[0]
            far = sample.weights @ differing(sample.far, bits)
            cut = int(np.searchsorted(np.cumsum(near), 1.0 - CHECK_SHARE * (1.0 - recall)))
            cut = min(cut, bits)
            for rows in BITS_PER_KEY:
                bands, reached = _bands(near[: cut + 1], bits, rows, recall)
                cost = _cost(sample, far, bits, rows, bands, cut)
                made = SignPlan(
                    threshold=threshold, recall=recall, bits=bits, rows=rows, bands=bands, cut=cut,
                    width=sample.width, agreement=sample.near, recall_at_threshold=reached, shrink=sample.shrink,
                )  # fmt: skip
                missing = max(0.0, recall - reached)
                if best is None or (missing, cost) < best[:2]:
                    best = (missing, cost, made)
    assert best is not None
    return best[2], math.inf if best[0] > 0 else best[1] / 1e9


def _bands(near: F64, bits: int, rows: int, recall: float) -> tuple[int, float]:
    """Return the smallest number of tables that reaches the recall (at most MAX_TABLES), and the recall they reach."""

    def reached(bands: int) -> float:
        return float(near @ meeting(bits, rows, bands)[: len(near)])

    low, high = 1, MAX_TABLES
    if reached(high) < recall:
        return high, reached(high)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) >= recall else (middle + 1, high)
    return low, reached(low)


def _cost(sample: Sampled, far: F64, bits: int, rows: int, bands: int, cut: int) -> float:
    one, all_of_them = meeting(bits, rows, 1), meeting(bits, rows, bands)
    checks = sample.pairs * bands * float(far @ one)
    products = sample.pairs * float(far[: cut + 1] @ all_of_them[: cut + 1])
    return (
        sample.items * sample.numbers * bits * PER_HASHED
        + sample.items * bands * PER_KEY
        + checks * PER_CHECK * bits / 64
        + products * (PER_PRODUCT + sample.numbers * PER_STEP)
        + sample.matches * sample.numbers * PER_SCORE
    )


def exact_seconds(items: int, pairs: float, numbers: int, matches: float) -> float:
    """Estimate the seconds on one core for comparing all pairs by matrix products."""
    return (pairs * numbers * PER_TILED + pairs * 0.6 + items * numbers + matches * numbers * PER_SCORE) / 1e9


def parity_agreement(ratio: F64) -> F64:
    """Return the probability that the bucket parity of two items agrees; `ratio` is their distance / bucket width.

    The projected difference is normal and the offset uniform; the triangle wave that results has this Fourier series.

    >>> parity_agreement(np.array([0.0, 0.5, 5.0])).round(3).tolist()
    [1.0, 0.618, 0.5]
    """
    ratio = np.asarray(ratio, np.float64)
    k = np.arange(1, 40, 2)[:, None]
    wave = np.exp(-0.5 * np.square(math.pi * k * ratio[None, :])) / np.square(k)
    agree: F64 = 0.5 + (4.0 / math.pi**2) * wave.sum(axis=0)
    # The series converges slowly near 0, where the projected difference is practically never as long as a bucket; there
    # the probability is 1 - E|difference|.
    return np.where(ratio < 0.12, 1.0 - ratio * math.sqrt(2.0 / math.pi), agree)
