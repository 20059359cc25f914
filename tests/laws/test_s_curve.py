"""How often a pair shares a bucket: 1-(1-s^r)^b, through the real signatures and band keys.

Seeds are fixed; with others, each of these would be red less than once in a million times.
"""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Any

import pytest

from laws.planted import planted
from lookalike.core.arrays import Recipe
from lookalike.kinds.documents.signatures import band_keys, sketch
from lookalike.planning.banding import Plan, plan

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


@pytest.mark.promise("docs/tutorial/first-steps.md", "similar texts fall into the same bucket with high probability")
@pytest.mark.promise("docs/explanation/curves.md", "With b bands, the chance of agreeing in at least one is")
@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize(("scheme", "union", "pairs"), [("minhash-1", 40, 2500), ("fss-1", 2000, 2000)])
def test_the_curve(similarity: str, scheme: Any, union: int, pairs: int) -> None:
    """For independent functions always; for Fast Similarity Sketching where sets are much larger than the signature."""
    for shape, found in candidates(similarity, scheme, union, pairs).items():
        p = curve(similarity, shape)
        assert abs(found - pairs * p) < slack(p, pairs), shape


@pytest.mark.promise("docs/explanation/curves.md", "The promise holds for sets of every size")
@pytest.mark.promise("docs/explanation/curves.md", "`recall_at_threshold` is a lower bound over all set sizes")
@pytest.mark.parametrize("union", [20, 60, 200, 1000])
@pytest.mark.parametrize(("similarity", "hashes"), [("0.5", 128), ("0.8", 128), ("0.9", 128), ("0.95", 32)])
def test_small_sets_are_found_as_often_as_their_plan_says(union: int, similarity: str, hashes: int) -> None:
    """The slots of Fast Similarity Sketching are not independent; `recall_at_threshold` allows for that."""
    pairs = 20_000 if union < 1000 else 5_000
    signatures = sketch(planted(Fraction(similarity), union=union, pairs=pairs, seed=23), Recipe(length=hashes))
    agreeing = (signatures.values[::2] == signatures.values[1::2]).sum(axis=1)
    for wish in (0.5, 0.8, 0.99):
        bands = plan(float(similarity), recall=wish, num_hashes=hashes)
        keys = band_keys(signatures, bands.bands, bands.rows)
        found = int(((keys[::2] == keys[1::2]).any(axis=1) & (agreeing >= bands.cut)).sum())
        p = bands.recall_at_threshold
        assert p >= wish
        assert found > pairs * p - slack(p, pairs), (wish, bands.shape)


def test_the_curve_alone_would_promise_too_much_for_small_sets() -> None:
    """One band of 13 of 32 rows at 0.95: s^r is 0.513, and small sets are found less often."""
    book = Plan(threshold=0.95, recall=0.5, num_hashes=32, bands=1, rows=13)
    keys = band_keys(sketch(planted(Fraction("0.95"), union=40, pairs=20_000, seed=23), Recipe(length=32)), 1, 13)
    found = int((keys[::2] == keys[1::2]).any(axis=1).sum())
    assert book.recall_at_threshold < found / 20_000 < book.probability(0.95) - 0.02
