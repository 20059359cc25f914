"""Probability that signatures share a band, given the number of agreeing slots; and the least recall over set sizes.

The slots of a signature are exchangeable, so only the number H of agreeing slots matters. With independent slots H is
binomial. Under Fast Similarity Sketching every round assigns its slots to different elements: H is a sum of
hypergeometric counts, one for each round. These are sums of independent (not identical) Bernoulli variables, so by
Hoeffding (1956, "On the distribution of the number of successes in independent trials") the mean of any function of H
is smallest where H is a constant plus one binomial with the same mean. `least_recall` takes the minimum over these: it
holds for sets of every size and for both schemes.
"""

from __future__ import annotations

import math

NEGLIGIBLE = 1e-20  # coefficients below this fraction of the largest are dropped
Law = tuple[int, list[float]]  # a distribution: the first count, and the probabilities from it on
GRID_POINTS = 8  # number of constants, and of binomial lengths for each, over which the minimum is taken


def missed_by_agreement(slots: int, rows: int, bands: int, p: float) -> list[float]:
    """Return the probability to share no band, for each number of agreeing slots from 0 to `slots`.

    The coefficient of x^h in ((q+px)^rows - (px)^rows)^bands (q+px)^rest, q = 1-p, is the probability that h slots
    agree and no band does; it is divided by the binomial probability of h. `p` determines where the result is accurate:
    it is exact except for counts that are next to impossible at this probability.

    >>> [round(q, 3) for q in missed_by_agreement(4, 2, 2, 0.5)]
    [1.0, 1.0, 0.667, 0.0, 0.0]
    """
    first, law = binomial(rows, p)
    band = first, law[: rows - first]  # excludes the case that all rows agree
    no_band = 0, [1.0]
    for _ in range(bands):
        no_band = _product(no_band, band)
    no_band = _product(no_band, binomial(slots - bands * rows, p))
    first, law = binomial(slots, p)
    missed = [1.0] * first + [0.0] * (slots + 1 - first)
    last = 0.0
    for agreeing in range(first + len(law) - 1, first - 1, -1):  # misses must not decrease as fewer slots agree
        at = agreeing - no_band[0]
        if 0 <= at < len(no_band[1]):
            last = max(last, min(1.0, no_band[1][at] / law[agreeing - first]))
        missed[agreeing] = last
    return missed


def reported(slots: int, p: float, missed: list[float], cut: int) -> float:
    """Return the probability to share a band and agree in at least `cut` slots, if slots agree independently."""
    return 1.0 - _mean_missed(0, slots, p, missed, cut)


def least_recall(slots: int, rows: int, bands: int, p: float, cut: int) -> float:
    """Return the lowest probability over all set sizes to share a band and agree in at least `cut` slots.

    This is for dependent slots. (For independent slots the probability is the S-curve, which may be lower.)

    >>> round(least_recall(128, 21, 6, 0.9, 0), 3), round(1 - (1 - 0.9**21) ** 6, 3)
    (0.469, 0.501)
    """
    if p >= 1.0:
        return 1.0
    missed, mean = missed_by_agreement(slots, rows, bands, p), slots * p
    most = 0.0
    for constant in _spread(0, math.floor(mean)):
        for length in _spread(math.ceil(mean - constant), slots - constant):
            share = (mean - constant) / length if length else 0.0
            if length < slots:
                most = max(most, _mean_missed(constant, length, share, missed, cut))
    return 1.0 - most


def binomial(trials: int, p: float) -> Law:
    """Return the binomial distribution, computed from the mode outwards, without negligible tails.

    >>> first, law = binomial(2, 0.5)
    >>> first, [round(p, 6) for p in law]
    (0, [0.25, 0.5, 0.25])
    """
    if p <= 0.0 or p >= 1.0:
        return (trials if p >= 1.0 else 0), [1.0]
    mode, odds = min(trials, math.floor((trials + 1) * p)), p / (1.0 - p)
    log_ways = math.lgamma(trials + 1) - math.lgamma(mode + 1) - math.lgamma(trials - mode + 1)
    top = math.exp(log_ways + mode * math.log(p) + (trials - mode) * math.log1p(-p))
    above, below = [top], []
    for count in range(mode, trials):
        above.append(above[-1] * (trials - count) / (count + 1) * odds)
        if above[-1] < NEGLIGIBLE * top:
            break
    value = top
    for count in range(mode, 0, -1):
        value *= count / (trials - count + 1) / odds
        below.append(value)
        if value < NEGLIGIBLE * top:
            break
    return mode - len(below), below[::-1] + above


def _mean_missed(constant: int, length: int, p: float, missed: list[float], cut: int) -> float:
    """Return the mean of `missed` (1 below `cut`) if a constant plus a binomial number of slots agrees."""
    first, law = binomial(length, p)
    agreeing = enumerate(law, constant + first)
    return sum(value if count < cut else value * missed[count] for count, value in agreeing)


def _product(one: Law, other: Law) -> Law:
    """Return the distribution of a sum (a convolution), without negligible tails."""
    out = [0.0] * (len(one[1]) + len(other[1]) - 1)
    for i, a in enumerate(one[1]):
        for j, b in enumerate(other[1]):
            out[i + j] += a * b
    least = NEGLIGIBLE * max(out)
    low, high = 0, len(out)
    while out[low] < least:
        low += 1
    while out[high - 1] < least:
        high -= 1
    return one[0] + other[0] + low, out[low:high]


def _spread(low: int, high: int) -> list[int]:
    """Return up to GRID_POINTS evenly spaced integers from `low` to `high`, both included."""
    return sorted({low + round((high - low) * i / (GRID_POINTS - 1)) for i in range(GRID_POINTS)})
