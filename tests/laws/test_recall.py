"""A threshold means recall at that threshold, through the whole of a run.

Seeds are fixed; with others, each of these would be red less than once in a million times (5 standard deviations).
"""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Any

import pyarrow as pa
import pytest

import lookalike as la
from laws.planted import planted
from lookalike.core.measures import bar, set_measure

PAIRS = 2000


def collection(similarity: Fraction, seed: int) -> pa.Array:
    """Token lists; the pairs are 0 and 1, 2 and 3, ..., each exactly at the similarity."""
    sets = planted(similarity, union=50, pairs=PAIRS, seed=seed)
    return pa.LargeListArray.from_arrays(sets.offsets, pa.array((sets.elements >> 1).astype("int64")))


def found(tokens: pa.Array, **options: Any) -> tuple[float, dict[str, Any]]:
    """The share of the planted pairs that was found; it must be just these pairs."""
    result = la.pairs(pa.table({"text": tokens}), audit=0, **options)
    left, right = result.pairs["left"].to_pylist(), result.pairs["right"].to_pylist()
    assert all(i % 2 == 0 and j == i + 1 for i, j in zip(left, right, strict=True))
    return len(left) / PAIRS, result.receipt


@pytest.mark.promise(
    "docs/tutorial/first-steps.md", "a pair exactly at the threshold is found with probability 0.99 or more"
)
@pytest.mark.promise("README.md", "finds a pair at exactly 0.8 with probability 0.99 or more")
@pytest.mark.parametrize(
    ("similarity", "recall", "options"),
    [
        ("0.8", 0.99, {}),
        ("0.8", 0.99, {"scheme": "minhash-1"}),
        ("0.8", 0.99, {"seed": 7, "num_hashes": 256}),
        ("0.8", 0.9, {"recall": 0.9}),
        ("0.5", 0.99, {"num_hashes": 256}),
        ("0.9", 0.999, {"recall": 0.999}),
    ],
)
def test_pairs_exactly_at_the_threshold(similarity: str, recall: float, options: dict[str, Any]) -> None:
    tokens = collection(Fraction(similarity), seed=31)
    share, receipt = found(tokens, threshold=float(similarity), method="lsh", **options)
    assert receipt["recall_at_threshold"] >= recall
    assert share > recall - 5 * sqrt(recall * (1 - recall) / PAIRS)


@pytest.mark.parametrize(("measure", "jaccard", "threshold"), [("dice", "0.6", 0.75), ("cosine", "0.6", 0.75)])
def test_other_measures_are_planned_at_their_least_jaccard(measure: str, jaccard: str, threshold: float) -> None:
    """Sets of equal size: Dice and cosine are both 2J/(1+J), and 0.75 where J is 0.6."""
    share, _ = found(collection(Fraction(jaccard), seed=32), threshold=threshold, measure=measure, method="lsh")
    assert share > 0.99 - 5 * sqrt(0.99 * 0.01 / PAIRS)


@pytest.mark.promise("README.md", "`--exact` finds all")
@pytest.mark.parametrize("method", ["exact", "dcm"])
def test_exact_ways_find_every_tie(method: Any) -> None:
    tokens = collection(Fraction(4, 5), seed=33)
    assert found(tokens, threshold=0.8, method=method)[0] == 1.0
    assert found(tokens, threshold=0.8000001, method=method)[0] == 0.0


@pytest.mark.promise(
    "docs/reference/formats.md", "so that 0.6000000000000001, which is 3 × 0.2 in floating point, means 3/5"
)
@pytest.mark.promise("README.md", "and 4/5 counts at 0.8")
@pytest.mark.promise("docs/reference/formats.md", "Up to nine decimals are taken as written (six for cosine).")
def test_a_threshold_means_its_decimals() -> None:
    jaccard, cosine = set_measure("jaccard"), set_measure("cosine")
    assert bar(jaccard, 0.8)[1:] == (4, 5)
    assert bar(jaccard, 0.123456789)[1:] == (123456789, 10**9)
    assert bar(cosine, 0.123457)[1:] == (123457, 10**6)
    assert 3 * 0.2 == 0.6000000000000001
    assert bar(jaccard, 3 * 0.2)[1:] == (3, 5)
    assert bar(jaccard, 1 / 3)[1:] == bar(cosine, 1 / 3)[1:] == (1, 3)


@pytest.mark.promise("docs/how-to/index.md", "A similarity of exactly 0.8 reaches a threshold of 0.8")
@pytest.mark.promise("docs/reference/words.md", "It belongs to the pair: 4/5 counts at 0.8")
@pytest.mark.promise("docs/reference/formats.md", "at 0.8 a similarity of exactly 4/5 counts")
@pytest.mark.promise("docs/explanation/estimates.md", "`4/5` counts at 0.8")
def test_a_tie_is_not_below_the_threshold() -> None:
    result = la.pairs(pa.table({"text": collection(Fraction(4, 5), seed=34)}), threshold=0.8, method="lsh", audit=0)
    assert result.pairs["similarity"].unique().to_pylist() == [0.8]
    assert result.rethreshold(0.8).pairs.equals(result.pairs)
    assert result.rethreshold(0.81).pairs.num_rows == 0
