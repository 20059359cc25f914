"""Estimate the number of pairs that a run missed, from a stratified sample of its items, with a 95 % interval.

The run and the data are fixed; only the sample is random. Each missed pair is divided between its two ends
(`Sample.divide`), and y is the sum of an item's shares. The sum of y over all items is the number of missed pairs,
and a stratified sample estimates it without bias. The estimate is a weighted sum of rare events, whose sampling
distribution is close to a gamma distribution with the mean and the variance of the estimate. The upper limit adds one
sampled item with many missed partners, as Fay and Feuer (1997) do for standardised rates, so that it is above 0 even
if the sample misses nothing. Strata of which most items miss partners, and strata drawn completely, are no rare
events: the limits of the two kinds of strata are computed separately and added as independent errors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from lookalike.core.arrays import F64
from lookalike.core.audit_sample import Sample

TAIL = 0.025
Z = NormalDist().inv_cdf(1 - TAIL)
UNSEEN = 0.5  # assumed missed partners per found partner of an item outside the sample, for the upper limit
FEWEST_DEGREES = 3.0  # lower bound of the degrees of freedom of a variance


@dataclass(frozen=True)
class Total:
    """An estimated number of pairs, with the limits of its 95 % interval."""

    value: float
    low: float
    high: float


def total_missed(sample: Sample, missed: F64, residual: F64 | None = None) -> Total:
    """Estimate the sum of `missed` over all items.

    missed f64[n]: y of each sampled item. residual f64[n]: for a ratio estimate, y minus the ratio times the
    denominator; where its variance exceeds that of y, the difference is added.
    """
    drawn, used = np.maximum(sample.drawn, 1), sample.drawn > 0
    weight = sample.sizes / drawn
    rest = np.where(used, 1.0 - sample.drawn / np.maximum(sample.sizes, 1), 0.0)  # fraction that was not sampled
    sums = np.bincount(sample.stratum, missed, minlength=len(sample.sizes))
    most = np.zeros(len(sample.sizes))
    np.maximum.at(most, sample.stratum, missed)
    mean = sums / drawn
    # If most items of a stratum miss about the same number, the items that miss fewer are the rare events.
    dense = mean > most / 2
    unseen = np.maximum(np.where(dense, most - mean, most), 0.5 * np.maximum(1.0, UNSEEN * sample.partners))
    factor = rest * weight * weight * drawn
    variances = _variances(sample, missed, unseen) * factor
    value = float((weight * sums).sum())
    if not rest.any():
        return Total(value, value, value)
    widen, incomplete = _widen(variances, sample), rest > 0
    sparse, dense = incomplete & ~dense, incomplete & dense
    # If the drawn fraction f shows nothing of an event, the event may still occur log(TAIL) / log(1 - f) times.
    often = np.where(incomplete, -1 / np.log(np.clip(rest, 1e-300, 1 - 1e-12)), 0.0) * np.maximum(most, 0.5)
    event = rest * weight * unseen
    found = [float((weight * sums)[part].sum()) for part in (sparse, dense)]
    lacking = float((weight * (drawn * most - sums))[dense].sum())
    spread = [widen * float(variances[part].sum()) for part in (sparse, dense)]
    above = [
        _gamma_high(found[0], spread[0], float(np.maximum(event, often)[sparse].max(initial=0))) - found[0],
        _gamma_high(found[1], spread[1], float(event[dense].max(initial=0))) - found[1],
    ]
    below = [
        found[0] - _gamma_low(found[0], spread[0]),
        _gamma_high(lacking, spread[1], float((rest * weight * most)[dense].max(initial=0))) - lacking,
    ]
    if residual is not None:  # the denominator of the ratio adds its own error
        ratio = float((_variances(sample, residual, unseen) * factor).sum())
        error = Z * math.sqrt(widen * max(0.0, ratio - float(variances.sum())))
        above, below = [*above, error], [*below, error]
    return Total(value, max(0.0, value - math.hypot(*below)), value + math.hypot(*above))


def _variances(sample: Sample, values: F64, unseen: F64) -> F64:
    """Return the variance of the values in each stratum; with a single draw, `unseen` squared."""
    drawn = np.maximum(sample.drawn, 1)
    mean = np.bincount(sample.stratum, values, minlength=len(sample.sizes)) / drawn
    squares = np.bincount(sample.stratum, (values - mean[sample.stratum]) ** 2, minlength=len(sample.sizes))
    return np.where(drawn > 1, squares / np.maximum(drawn - 1, 1), unseen * unseen)


def _widen(variances: F64, sample: Sample) -> float:
    """Return the variance factor of Student's t relative to the normal (degrees of freedom after Satterthwaite)."""
    spread = float((variances**2 / np.maximum(sample.drawn - 1, 1)).sum())
    if spread == 0:
        return 1.0
    degrees = max(FEWEST_DEGREES, float(variances.sum()) ** 2 / spread)
    first, second = (Z**3 + Z) / 4, (5 * Z**5 + 16 * Z**3 + 3 * Z) / 96  # Cornish-Fisher expansion
    return (1 + first / (degrees * Z) + second / (degrees * degrees * Z)) ** 2


def _gamma_high(value: float, variance: float, unseen: float) -> float:
    """Return the upper limit of a sum of rare events, after adding one event of weight `unseen`."""
    mean, spread = value + unseen, variance + unseen * unseen
    return mean if spread == 0 else spread / mean * _gamma_quantile(mean * mean / spread, Z)


def _gamma_low(value: float, variance: float) -> float:
    if value <= 0 or variance <= 0:
        return max(0.0, value)
    return variance / value * _gamma_quantile(value * value / variance, -Z)


def _gamma_quantile(shape: float, z: float) -> float:
    """Approximate a quantile of the gamma distribution with this shape and scale 1 (Wilson-Hilferty).

    >>> round(_gamma_quantile(1.0, Z), 2), round(_gamma_quantile(50.0, Z), 2)  # exactly 3.69 and 64.78
    (3.67, 64.78)
    """
    a = 1 / (9 * shape)
    return float(shape * max(0.0, 1 - a + z * math.sqrt(a)) ** 3)
