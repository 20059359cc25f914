"""Locality-sensitive hash families and their collision curves: the probability of equal hashes by distance."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from lookalike.planning.amplification import Sensitive


@dataclass(frozen=True, kw_only=True)
class Family:
    """A locality-sensitive hash family for one distance measure.

    p: the probability that a random function agrees on two items at distance d, non-increasing in d. furthest: the
    largest possible distance, or infinity. unit: of a distance, for display.
    """

    name: str
    measure: str
    p: Callable[[float], float]
    furthest: float
    unit: str = ""

    def sensitive(self, d1: float, d2: float) -> Sensitive:
        """Return the (d1, d2, p1, p2)-sensitivity given by the collision curve.

        >>> print(HYPERPLANES.sensitive(30, 60))
        (30, 60, 0.8333, 0.6667)-sensitive
        """
        return Sensitive(d1, d2, self.p(d1), self.p(d2))

    def is_sensitive(self, claim: Sensitive) -> bool:
        """Return whether items within d1 agree with probability p1 or more, and items beyond d2 with p2 or less.

        >>> projections(4.0).is_sensitive(Sensitive(2.0, 8.0, 1 / 2, 1 / 3))
        True
        """
        return self.p(claim.d1) >= claim.p1 and self.p(claim.d2) <= claim.p2


MINHASH = Family(name="minhash", measure="jaccard", p=lambda d: 1.0 - d, furthest=1.0)
HYPERPLANES = Family(
    name="random hyperplanes", measure="angle", p=lambda d: 1.0 - d / 180.0, furthest=180.0, unit="degrees"
)


def sampled_bits(bits: int) -> Family:
    """Return the family that samples one of `bits` bits at random, for the Hamming distance.

    >>> sampled_bits(64).p(16)
    0.75
    """
    return Family(name="sampled bits", measure="hamming", p=lambda d: 1.0 - d / bits, furthest=float(bits), unit="bits")


def projections(width: float) -> Family:
    """Return the family of projections on Gaussian directions in buckets of this width with random offset (2-stable).

    >>> round(projections(1.0).p(1.0), 4)
    0.3687
    """

    def p(d: float) -> float:
        if d == 0:
            return 1.0
        ratio = width / d
        tail = 0.5 * math.erfc(ratio / math.sqrt(2.0))
        return 1.0 - 2.0 * tail - 2.0 / (math.sqrt(2.0 * math.pi) * ratio) * (1.0 - math.exp(-ratio * ratio / 2.0))

    return Family(name=f"random projections in buckets of {width:g}", measure="euclidean", p=p, furthest=math.inf)


def lines(width: float) -> Family:
    """Return the textbook family for points in the plane: projections on random lines, in buckets of this width.

    It is (width/2, 2 width, 1/2, 1/3)-sensitive.

    >>> round(lines(1.0).p(0.5), 4), round(lines(1.0).p(2.0), 4)
    (0.6817, 0.1628)
    """

    def p(d: float) -> float:
        # the mean over all angles of the probability to share a bucket, 1 - (d/width) cos(angle) where positive
        ratio = d / width
        least = math.acos(1.0 / ratio) if ratio > 1.0 else 0.0
        return 2.0 / math.pi * (math.pi / 2.0 - least - ratio * (1.0 - math.sin(least)))

    return Family(name=f"random lines in buckets of {width:g}", measure="euclidean", p=p, furthest=math.inf)
