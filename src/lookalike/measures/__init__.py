"""What "similar" means: one record per measure, one file per record."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from lookalike.data import check_choice
from lookalike.errors import UsageError
from lookalike.measures.angle import ANGLE
from lookalike.measures.containment import CONTAINMENT
from lookalike.measures.cosine import COSINE
from lookalike.measures.dice import DICE
from lookalike.measures.edit import INDEL, LEVENSHTEIN
from lookalike.measures.euclidean import EUCLIDEAN
from lookalike.measures.hamming import HAMMING
from lookalike.measures.jaccard import JACCARD
from lookalike.measures.overlap import OVERLAP
from lookalike.measures.record import Distance, SetMeasure

SET_MEASURES = {measure.name: measure for measure in (JACCARD, CONTAINMENT, DICE, COSINE, OVERLAP)}
DISTANCES = {distance.name: distance for distance in (HAMMING, ANGLE, EUCLIDEAN, LEVENSHTEIN, INDEL)}


class Bar(NamedTuple):
    """What a pair must reach: a measure's code and the threshold num/den, in integers."""

    code: int
    num: int
    den: int


def set_measure(name: str) -> SetMeasure:
    """The measure of this name; UsageError names the nearest."""
    check_choice("measure", name, tuple(SET_MEASURES))
    return SET_MEASURES[name]


def bar(measure: SetMeasure, threshold: float) -> Bar:
    """The threshold as the fraction that the user means: 0.8 is 4/5, so that a similarity of exactly 4/5 counts.

    It is the nearest fraction to the decimal as written with a denominator of at most `measure.finest`.

    >>> bar(set_measure("jaccard"), 0.8)
    Bar(code=0, num=4, den=5)
    """
    check_threshold(measure, threshold)
    exact = Fraction(repr(float(threshold))).limit_denominator(measure.finest)
    return Bar(measure.code, exact.numerator, exact.denominator)


def check_threshold(measure: SetMeasure, threshold: float) -> None:
    """Refuse a threshold that the measure cannot have."""
    if measure.is_count:
        if not (threshold >= 1 and float(threshold).is_integer()):
            raise UsageError(f"threshold is {threshold}; {measure.name} counts shared elements: expected 1, 2, 3, ...")
    elif not 0 < threshold <= 1:
        hint = f" Did you mean {threshold / 100:g}?" if 10 <= threshold <= 100 else ""
        raise UsageError(f"threshold is {threshold}; expected a number above 0 and at most 1.{hint}")


__all__ = ["DISTANCES", "SET_MEASURES", "Bar", "Distance", "SetMeasure", "bar", "check_threshold", "set_measure"]
