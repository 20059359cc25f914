"""Confidence intervals for a binomial proportion."""

from __future__ import annotations

import math
from collections.abc import Callable


def clopper_pearson(hits: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the exact (Clopper-Pearson) confidence interval of a binomial proportion.

    >>> [round(p, 4) for p in clopper_pearson(99, 100)]
    [0.9455, 0.9997]
    """
    tail = (1 - confidence) / 2
    low = 0.0 if hits == 0 else _bisect(lambda p: _incomplete_beta(hits, trials - hits + 1, p) < tail)
    high = 1.0 if hits == trials else _bisect(lambda p: _incomplete_beta(hits + 1, trials - hits, p) < 1 - tail)
    return low, high


def beta_quantile(a: float, b: float, share: float) -> float:
    """Return the quantile of a beta distribution.

    >>> round(beta_quantile(99, 2, 0.025), 4)
    0.9455
    """
    return _bisect(lambda p: _incomplete_beta(a, b, p) < share)


def _bisect(below: Callable[[float], bool]) -> float:
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) else (low, middle)
    return (low + high) / 2


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """Evaluate the regularised incomplete beta function by its continued fraction (modified Lentz)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    tiny = 1e-300
    f, c, d = 1.0, 1.0, 0.0
    for i in range(10_000):
        m = i // 2
        if i == 0:
            numerator = 1.0
        elif i % 2 == 0:
            numerator = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        else:
            numerator = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1 / (1 + numerator * d or tiny)
        c = 1 + numerator / (c or tiny) or tiny
        f *= c * d
        if abs(1 - c * d) < 1e-14:
            break
    return front * (f - 1)
