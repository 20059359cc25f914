"""The form of a measure's record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lookalike.measures.families import Family


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


@dataclass(frozen=True, kw_only=True)
class Distance:
    """A distance: never negative, 0 for equal items alone, symmetric, and no detour is shorter.

    between: of two items. unit: of its numbers. formula: for people. equal: which items count as equal, where that is
    not equality. family: the hash functions that belong to it, made from keywords such as bits or width; None where
    candidates are found otherwise.
    """

    name: str
    unit: str
    formula: str
    between: Callable[[Any, Any], float]
    family: Callable[..., Family] | None = None
    equal: str = "items are equal"
