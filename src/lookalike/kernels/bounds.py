"""Integer bounds of the set measures at a threshold num/den: the overlap that a match needs. Equality counts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lookalike.kernels._jit import jit

JACCARD, CONTAINMENT, DICE, COSINE, OVERLAP = 0, 1, 2, 3, 4


@jit
def ceil_div(a: int, b: int) -> int:
    """Return a/b rounded up to an integer, for a >= 0 and b > 0."""
    return (a + b - 1) // b


@jit
def required(measure: int, na: int, nb: int, num: int, den: int) -> int:
    """Return the smallest overlap with which sets of na and nb elements reach the threshold; grows with na and nb."""
    if measure == JACCARD:  # c / (na + nb - c) >= num/den
        return ceil_div(num * (na + nb), num + den)
    if measure == CONTAINMENT:  # c / min(na, nb)
        return ceil_div(num * min(na, nb), den)
    if measure == DICE:  # 2c / (na + nb)
        return ceil_div(num * (na + nb), 2 * den)
    if measure == COSINE:  # c / sqrt(na * nb)
        c = max(0, int(math.sqrt(float(na) * float(nb)) * (num / den)) - 1)
        while not cosine_reaches(c, na, nb, num, den):
            c += 1
        return c
    return ceil_div(num, den)  # OVERLAP: c


@jit
def cosine_reaches(c: int, na: int, nb: int, num: int, den: int) -> bool:
    """Return whether c/sqrt(na*nb) >= num/den: in integers if the squares fit in 63 bits, otherwise in floats."""
    if float(den) * den * na * nb < 9e18:
        return c * c * den * den >= num * num * na * nb
    return c * float(den) >= num * math.sqrt(float(na) * float(nb))


@jit
def least_size(measure: int, n: int, num: int, den: int) -> int:
    """Return the size of the smallest set that can match a set of n elements."""
    if measure == JACCARD:
        return ceil_div(num * n, den)
    if measure == DICE:
        return ceil_div(num * n, 2 * den - num)
    if measure == COSINE:
        return max(1, ceil_div(num * num * n, den * den))
    if measure == OVERLAP:
        return ceil_div(num, den)
    return 1


@jit
def score(measure: int, c: int, na: int, nb: int) -> float:
    """Return the similarity of sets of na and nb elements that share c elements."""
    if c == 0:
        return 0.0
    if measure == JACCARD:
        return c / (na + nb - c)
    if measure == CONTAINMENT:
        return c / min(na, nb)
    if measure == DICE:
        return 2 * c / (na + nb)
    if measure == COSINE:
        return min(1.0, c / math.sqrt(float(na) * float(nb)))
    return float(c)


@jit
def scores(measure: int, overlap: Any, left: Any, right: Any, sizes: Any, out: Any) -> None:
    """out[i] = score of the pair left[i], right[i]. overlap i64[p]; left, right u32[p]; sizes i64[n]; out f64[p]."""
    for i in range(len(out)):
        out[i] = score(measure, overlap[i], np.int64(sizes[left[i]]), np.int64(sizes[right[i]]))
