"""How many bits, tables and bits per table: the cheapest that keep a promise of recall, from the law of the bits.

Each of m bits differs between two items with probability 1-p, where p depends on how near they are. Of the m bits
each of b tables takes r at random. Two items that differ in h bits share a bucket of one table with probability
C(m-h, r) / C(m, r), and are scored if h is at most `cut`. The number h is binomial, so all of it is known beforehand.
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
MAX_TABLES = 600  # tables
CHECK_SHARE = 0.1  # of the misses that the recall allows, what the check by all bits may cost
# Nanoseconds on one core, fitted to runs of benchmarks/vectors.py; only their ratios matter.
PER_HASHED, PER_KEY, PER_CHECK, PER_PRODUCT, PER_STEP, PER_SCORE = 0.03, 45.0, 1.0, 40.0, 0.18, 0.95
PER_TILED = 0.025


@dataclass(frozen=True, kw_only=True)
class SignPlan:
    """bands: tables; rows: bits of a table's key; bits: of a sketch; cut: bits in which a candidate may differ.

    agreement: the least probability that one bit agrees for a pair at the threshold. width: of the buckets of
    projections (0 for hyperplanes). shrink: the planes pass through the mean direction times this number.
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
        """The chance that pairs whose bits agree with these probabilities are found."""
        found: F64 = (
            differing(agreement, self.bits)[:, : self.cut + 1]
            @ meeting(self.bits, self.rows, self.bands)[: self.cut + 1]
        )
        return found

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"shape": f"{count(self.bands, 'tables')} of {self.rows} of {count(self.bits, 'bits')}"}


@dataclass(frozen=True)
class Sampled:
    """What a sample tells. width: of the buckets; shrink: see SignPlan; near: least bit agreement of a pair at the
    threshold; far, weights f64[j]: of pairs of any items, and their shares; pairs: of all items; items, numbers: how
    many, and in each row; matches: pairs within the threshold to be expected."""

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
    """f64[k, bits+1]: the binomial law of the bits that differ."""
    h = np.arange(bits + 1)
    ways = math.lgamma(bits + 1) - np.array([math.lgamma(i + 1) + math.lgamma(bits - i + 1) for i in h])
    p = np.clip(agreement, 1e-12, 1 - 1e-12)[:, None]
    law: F64 = np.exp(ways + h * np.log1p(-p) + (bits - h) * np.log(p))
    return law


def meeting(bits: int, rows: int, bands: int) -> F64:
    """f64[bits+1]: the chance to share a bucket of at least one table, by the number of bits that differ.

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
    """(the cheapest plan that promises the recall at the threshold, its seconds on one core).

    Where none does, the plan that promises most, at infinite cost.
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
    """The fewest tables that reach the recall, and what they reach; at most MOST."""

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
    """What the product of all pairs costs on one core."""
    return (pairs * numbers * PER_TILED + pairs * 0.6 + items * numbers + matches * numbers * PER_SCORE) / 1e9


def parity_agreement(ratio: F64) -> F64:
    """How likely the parity of the bucket agrees, where `ratio` is the distance over the width of the buckets: the
    projected difference is normal, the offset uniform; the triangle wave between them has this Fourier series.

    >>> parity_agreement(np.array([0.0, 0.5, 5.0])).round(3).tolist()
    [1.0, 0.618, 0.5]
    """
    ratio = np.asarray(ratio, np.float64)
    k = np.arange(1, 40, 2)[:, None]
    wave = np.exp(-0.5 * np.square(math.pi * k * ratio[None, :])) / np.square(k)
    agree: F64 = 0.5 + (4.0 / math.pi**2) * wave.sum(axis=0)
    # The series is slow near 0, where the projected difference is never as long as a bucket: 1 - E|difference|.
    return np.where(ratio < 0.12, 1.0 - ratio * math.sqrt(2.0 / math.pi), agree)
