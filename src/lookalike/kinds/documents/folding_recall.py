"""Lower bound of the recall of OR-folding over all sizes of two sets.

Two sets are compared in the matrices in which both have medium density. In a matrix with R rows, D rows distinguish
them: rows without a common element, and with elements of one set only. The mean and the variance of D are exact (from
the probabilities of one row and of two rows); D is then approximated as normal. A key of w rows agrees with probability
C(R-D, w) / C(R, w). The matrices of a pair are folds of each other, so their D are dependent; Hoelder's inequality
bounds the probability to miss the pair in k of them by the product of the k-th roots of the means of k-th powers, for
any dependence.
"""

from __future__ import annotations

import numpy as np

from lookalike.core.arrays import F64

RATIOS = 5  # number of size ratios to try
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(16)  # quadrature for the normal distribution
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def least_recall(
    similarity: float, ratio: float, least_size: int, loads: tuple[float, float], rows: int, bands: int
) -> float:
    """Return a lower bound on the probability that two sets share a key, over all sizes from `least_size` up.

    Sizes up to 4 times `least_size` are tried: the matrices of larger sets have more rows, so D varies less and such
    pairs are found more often.

    ratio: lowest size of the smaller set divided by the size of the larger; loads: range of elements per row of a
    matrix in which a set takes part.
    """
    apart = ratio ** np.linspace(0, 1, RATIOS)
    small = np.arange(least_size, 4 * least_size, dtype=np.float64)
    small, large = np.repeat(small, RATIOS), (small[:, None] / apart).ravel()
    leaving = np.floor(loads[1] * 2.0 ** np.arange(12)) + 1  # the sizes at which a set has just left a matrix
    leaving = leaving[(leaving >= least_size) & (leaving < 4 * least_size / ratio)]
    small = np.concatenate([small, (leaving[:, None] * apart).ravel()])
    large = np.concatenate([large, np.repeat(leaving, RATIOS)])
    small, large = small[small >= least_size], large[small >= least_size]
    return float(1.0 - missed(small, large, similarity, loads, rows, bands).max())


def missed(small: F64, large: F64, similarity: float, loads: tuple[float, float], rows: int, bands: int) -> F64:
    """Return an upper bound on the probability that sets of these sizes share no key."""
    low, high = loads
    common = similarity * (small + large) / (1 + similarity)
    first = 2 ** np.ceil(np.log2(large / high))
    matrices = np.maximum(0.0, np.floor(np.log2(small / low / first)) + 1)
    out = np.ones(len(small))
    for number in range(int(matrices.max(initial=0))):
        here = np.flatnonzero(matrices > number)
        height, power = first[here] * 2**number, matrices[here]
        mean, variance = differing_rows(small[here], large[here], common[here], height)
        differ = np.clip(mean[:, None] + np.sqrt(variance)[:, None] * NODES, 0, height[:, None])
        miss = (1 - key_agrees(differ, height[:, None], rows)) ** (bands * power[:, None])
        out[here] *= (miss @ WEIGHTS) ** (1 / power)
    return out


def differing_rows(small: F64, large: F64, common: F64, height: F64) -> tuple[F64, F64]:
    """Compute the mean and the variance of the number of rows, out of `height`, that distinguish two sets."""
    x, y, one, two = (
        small - common,
        large - common,
        1 - 1 / height,
        1 - 2 / height,
    )  # an element misses one, two rows
    single = one**common * (one**y * (1 - one**x) + one**x * (1 - one**y))
    same_side = (1 - 2 * one**x + two**x) * two**y + (1 - 2 * one**y + two**y) * two**x
    both = two**common * (same_side + 2 * (one**x - two**x) * (one**y - two**y))
    mean = height * single
    return mean, np.maximum(mean + height * (height - 1) * both - mean**2, 0)


def key_agrees(differ: F64, height: F64, rows: int) -> F64:
    """Compute the probability that no row of a key, drawn without replacement, distinguishes the sets."""
    out = np.ones_like(differ)
    for drawn in range(rows):
        out *= np.clip((height - differ - drawn) / np.maximum(height - drawn, 1), 0, 1)
    return out
