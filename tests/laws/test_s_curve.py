"""How often a pair shares a bucket: 1-(1-s^r)^b, through the real signatures and band keys.

Seeds are fixed; with others, each of these would be red less than once in a million times.
"""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Any

import pytest

from laws.planted import planted
from lookalike.data import Recipe
from lookalike.stages.sketches import band_keys, sketch

SHAPES = [(16, 6), (20, 5), (32, 4), (9, 13)]
SIMILARITIES = ["0.3", "0.5", "0.7", "0.8", "0.9"]


def candidates(similarity: str, scheme: Any, union: int, pairs: int) -> dict[tuple[int, int], int]:
    """How many of the pairs share a bucket, for each shape."""
    signatures = sketch(planted(Fraction(similarity), union=union, pairs=pairs, seed=17), Recipe(scheme=scheme))
    keys = {shape: band_keys(signatures, *shape) for shape in SHAPES}
    return {shape: int((key[::2] == key[1::2]).any(axis=1).sum()) for shape, key in keys.items()}


def curve(similarity: str, shape: tuple[int, int]) -> float:
    bands, rows = shape
    return 1 - (1 - float(similarity) ** rows) ** bands


def slack(p: float, pairs: int) -> float:
    """Five standard deviations of a binomial, and three more where it is nearly sure to be all or nothing."""
    return 5 * sqrt(pairs * p * (1 - p)) + 3


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize(("scheme", "union", "pairs"), [("minhash-1", 40, 2500), ("fss-1", 2000, 2000)])
def test_the_curve(similarity: str, scheme: Any, union: int, pairs: int) -> None:
    """For independent functions always; for Fast Similarity Sketching where sets are much larger than the signature."""
    for shape, found in candidates(similarity, scheme, union, pairs).items():
        p = curve(similarity, shape)
        assert abs(found - pairs * p) < slack(p, pairs), shape


@pytest.mark.parametrize("union", [20, 200])
@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_small_sets_keep_to_the_curve_and_above_it_where_recall_is_promised(union: int, similarity: str) -> None:
    """Slots of Fast Similarity Sketching vary less, so the curve of small sets is a little steeper: within 0.02, and
    where it is high, which is where a plan puts its threshold, not below."""
    pairs = 4000
    for shape, found in candidates(similarity, "fss-1", union, pairs).items():
        p = curve(similarity, shape)
        assert abs(found - pairs * p) < 0.02 * pairs + slack(p, pairs), shape
        if p > 0.9:
            assert found > pairs * p - slack(p, pairs), shape
