"""Families of hash functions: how likely two items at a distance get the same hash (their collision curve)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Family:
    """Hash functions for one distance. p: the chance that a function drawn at random agrees on two items at distance d,
    which never grows with d. furthest: the largest distance there is, or infinity."""

    name: str
    measure: str
    p: Callable[[float], float]
    furthest: float


MINHASH = Family(name="minhash", measure="jaccard", p=lambda d: 1.0 - d, furthest=1.0)
HYPERPLANES = Family(name="random hyperplanes", measure="angle", p=lambda d: 1.0 - d / 180.0, furthest=180.0)


def sampled_bits(bits: int) -> Family:
    """One bit of `bits`, chosen at random; the distance is the number of bits that differ.

    >>> sampled_bits(64).p(16)
    0.75
    """
    return Family(name="sampled bits", measure="hamming", p=lambda d: 1.0 - d / bits, furthest=float(bits))


def projections(width: float) -> Family:
    """Projections on random normal directions, cut into buckets of this width with a random offset (2-stable).

    >>> round(projections(1.0).p(1.0), 4)
    0.3687
    """

    def p(d: float) -> float:
        if d == 0:
            return 1.0
        ratio = width / d
        tail = 0.5 * math.erfc(ratio / math.sqrt(2.0))
        return 1.0 - 2.0 * tail - 2.0 / (math.sqrt(2.0 * math.pi) * ratio) * (1.0 - math.exp(-ratio * ratio / 2.0))

    return Family(name="random projections", measure="euclidean", p=p, furthest=math.inf)
