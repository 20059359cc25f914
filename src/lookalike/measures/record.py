"""The form of a measure's record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class SetMeasure:
    """A similarity of sets that is a function of the overlap c and the sizes a and b.

    code: its number in kernels.bounds, which holds the score and the bounds for exact joins. formula: for people.
    is_count: the threshold is a number of elements, not a share. finest: the largest denominator of a threshold for
    which the integer comparison cannot overflow. least_jaccard: the lowest Jaccard similarity that a pair at this
    threshold can have, at which minhash banding must be planned; None where there is no such bound.
    """

    name: str
    code: int
    formula: str
    is_count: bool = False
    least_jaccard: Callable[[float], float] | None = None
    finest: int = 10**9
