"""Limits for a number of true pairs, estimated from a stratified sample of judged pairs, with 95 % confidence.

A stratum of N pairs of which n were drawn, k of them true, is estimated to hold N k / n true pairs. The limits follow
Fay and Feuer (1997), who add one event of the largest weight to a weighted sum, but with a beta instead of a gamma
distribution, because shares end at 1. With one stratum they are close to those of Clopper and Pearson. Ratios of two
totals (recall, F1) combine their limits by the method of variance estimates recovery (Zou and Donner, 2008).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lookalike.core.arrays import F64
from lookalike.core.binomial import beta_quantile

ONE_SIDE = 0.025


@dataclass(frozen=True)
class EstimatedTotal:
    """An estimated number or share, with the limits of its 95 % interval."""

    value: float
    low: float
    high: float


def total_true(sizes: F64, drawn: F64, true: F64) -> EstimatedTotal:
    """Estimate the number of true pairs of all strata. sizes, drawn, true f64[h]: pairs, drawn pairs, true ones.

    >>> made = total_true(np.array([1000.0]), np.array([100.0]), np.array([99.0]))
    >>> round(made.value), round(made.low), round(made.high)
    (990, 947, 1000)
    """
    whole = float(sizes.sum())
    if whole == 0:
        return EstimatedTotal(0.0, 0.0, 0.0)
    seen = drawn > 0
    unseen = float(sizes[~seen].sum())  # of these nothing is known
    sizes, drawn, true = sizes[seen], drawn[seen], true[seen]
    value = float((sizes * true / drawn).sum())
    share = value / float(sizes.sum()) if len(sizes) else 0.5
    low = float(sizes.sum()) - _most(sizes, drawn, drawn - true)
    return EstimatedTotal(value + share * unseen, max(0.0, low), _most(sizes, drawn, true) + unseen)


def _most(sizes: F64, drawn: F64, hits: F64) -> float:
    """Return the upper limit of the number of hits in all strata."""
    if not len(sizes):
        return 0.0
    value, whole = float((sizes * hits / drawn).sum()), float(sizes.sum())
    open_ = (sizes > drawn) & (hits < drawn)  # strata that may hold more hits than those estimated
    known = float((sizes - np.where(sizes > drawn, 0, drawn - hits)).sum())  # all that may be hits
    if not open_.any():
        return min(value, known)
    weight = np.sqrt(sizes * np.maximum(sizes - drawn, 0)) / drawn  # of an event, with the finite population
    most = int(np.argmax(np.where(open_, weight, -1.0)))
    more = hits.astype(np.float64)
    more[most] += 1
    trials = drawn + (np.arange(len(drawn)) == most)
    shares = more / trials
    variance = float((weight**2 * drawn * shares * (1 - shares) * trials / np.maximum(trials - 1, 1)).sum())
    mean, top = value + float(weight[most]) * (1 - float(hits[most] / drawn[most])), whole
    m, s = min(mean / top, 1.0), variance / (top * top)
    if s <= 0 or m >= 1:
        return min(top, known)
    both = max(m * (1 - m) / s - 1, 1e-3)
    return min(known, top * beta_quantile(m * both, (1 - m) * both, 1 - ONE_SIDE))


def ratio_of(part: EstimatedTotal, rest: EstimatedTotal) -> EstimatedTotal:
    """Estimate part / (part + rest), such as the recall, from true pairs above and below a threshold."""
    return _solved(part, rest, lambda f: (1 - f, f, 0.0))


def f1_of(part: EstimatedTotal, rest: EstimatedTotal, reported: float) -> EstimatedTotal:
    """Estimate F1 = 2 part / (reported + part + rest)."""
    return _solved(part, rest, lambda f: (2 - f, f, f * reported))


Weights = Callable[[float], tuple[float, float, float]]


def _solved(part: EstimatedTotal, rest: EstimatedTotal, weights: Weights) -> EstimatedTotal:
    """Return the f at which a(f) part - b(f) rest = c(f), and its limits."""

    def sign(f: float, side: int) -> float:
        a, b, c = weights(f)
        gap = a * part.value - b * rest.value - c
        if side < 0:
            return gap - math.hypot(a * (part.value - part.low), b * (rest.high - rest.value))
        if side > 0:
            return gap + math.hypot(a * (part.high - part.value), b * (rest.value - rest.low))
        return gap

    value, low, high = (_bisect(lambda f, side=side: sign(f, side)) for side in (0, -1, 1))  # type: ignore[misc]
    return EstimatedTotal(value, min(low, value), max(high, value))


def _bisect(positive: Callable[[float], float]) -> float:
    low, high = 0.0, 1.0
    if positive(1.0) >= 0:
        return 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if positive(middle) > 0 else (low, middle)
    return low


def product_of(one: EstimatedTotal, other: EstimatedTotal) -> EstimatedTotal:
    """Estimate the product of two independent shares, such as the recall among candidates and of the search."""
    value = one.value * other.value
    below = math.hypot((one.value - one.low) * other.value, (other.value - other.low) * one.value)
    above = math.hypot((one.high - one.value) * other.value, (other.high - other.value) * one.value)
    return EstimatedTotal(value, max(0.0, value - below), min(1.0, value + above))
