"""Similarity measures of sets, each a function of the size of the overlap and the sizes of the two sets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from lookalike.core.arrays import check_choice
from lookalike.core.options import check_similarity
from lookalike.errors import UsageError
from lookalike.kernels import bounds


@dataclass(frozen=True, kw_only=True)
class SetMeasure:
    """A similarity measure of two sets, as a function of the overlap c and the sizes a and b.

    code: its number in kernels.bounds, which defines the score and the bounds for exact joins. formula: as text.
    is_count: the threshold is a number of elements, not a fraction. finest: the largest denominator of a threshold for
    which the integer comparison cannot overflow. least_jaccard: the lowest Jaccard similarity that a pair at a given
    threshold can have, for which minhash banding must be planned; None if there is no such bound.
    """

    name: str
    code: int
    formula: str
    is_count: bool = False
    least_jaccard: Callable[[float], float] | None = None
    finest: int = 10**9


# For bags, every occurrence counts. The containment of a page that was copied into a book is 1.
JACCARD = SetMeasure(name="jaccard", code=bounds.JACCARD, formula="c / (a + b - c)", least_jaccard=lambda t: t)
CONTAINMENT = SetMeasure(name="containment", code=bounds.CONTAINMENT, formula="c / min(a, b)")
DICE = SetMeasure(name="dice", code=bounds.DICE, formula="2c / (a + b)", least_jaccard=lambda t: t / (2 - t))
COSINE = SetMeasure(
    name="cosine", code=bounds.COSINE, formula="c / sqrt(a b)", finest=10**6, least_jaccard=lambda t: t * t
)
OVERLAP = SetMeasure(name="overlap", code=bounds.OVERLAP, formula="c", is_count=True)

SET_MEASURES = {measure.name: measure for measure in (JACCARD, CONTAINMENT, DICE, COSINE, OVERLAP)}


class Bar(NamedTuple):
    """The condition that a pair must meet: the code of a measure and the threshold num/den as integers."""

    code: int
    num: int
    den: int


def set_measure(name: str) -> SetMeasure:
    """Return the measure with this name; raise UsageError with the nearest name if there is none."""
    check_choice("measure", name, tuple(SET_MEASURES))
    return SET_MEASURES[name]


def bar(measure: SetMeasure, threshold: float) -> Bar:
    """Convert a decimal threshold to an exact fraction: 0.8 becomes 4/5, so that a similarity of exactly 4/5 counts.

    The fraction is the nearest to the decimal as written with a denominator of at most `measure.finest`.

    >>> bar(set_measure("jaccard"), 0.8)
    Bar(code=0, num=4, den=5)
    """
    check_threshold(measure, threshold)
    exact = Fraction(repr(float(threshold))).limit_denominator(measure.finest)
    return Bar(measure.code, exact.numerator, exact.denominator)


def check_threshold(measure: SetMeasure, threshold: float) -> None:
    """Raise UsageError if the threshold is outside the range of the measure."""
    if measure.is_count:
        if not (threshold >= 1 and float(threshold).is_integer()):
            raise UsageError(f"threshold is {threshold}; {measure.name} counts shared elements: expected 1, 2, 3, ...")
    else:
        check_similarity(threshold)
