"""Signatures estimate the Jaccard similarity without bias, and no worse than independent slots would.

Seeds are fixed; with others, each of these would be red less than once in a million times (5 standard deviations).
"""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
import pytest

from laws.planted import planted
from lookalike.core.arrays import Recipe, Sets
from lookalike.kinds.documents.signatures import sketch, sketch_by_permutations

SIMILARITIES = ["0.1", "0.3", "0.5", "0.8", "0.95"]


def agreements(sets: Sets, recipe: Recipe) -> Any:
    """The share of slots in which each pair agrees."""
    values = sketch(sets, recipe).values
    return (values[::2] == values[1::2]).mean(axis=1)


def check_mean_and_variance(shares: Any, similarity: float, length: int) -> None:
    binomial = similarity * (1 - similarity) / length
    assert abs(shares.mean() - similarity) < 5 * sqrt(binomial / len(shares))
    assert shares.var() < binomial * (1 + 5 * sqrt(2 / len(shares)))


@pytest.mark.promise(
    "docs/explanation/curves.md", "A minhash is a number made from a set such that two sets have the same number"
)
@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize(
    ("scheme", "union", "pairs"),
    [("fss-1", 20, 5000), ("fss-1", 200, 3000), ("fss-1", 2000, 1000), ("minhash-1", 40, 1500)],
)
def test_no_bias_over_many_pairs(scheme: Any, union: int, pairs: int, similarity: str) -> None:
    sets = planted(Fraction(similarity), union=union, pairs=pairs, seed=11)
    check_mean_and_variance(agreements(sets, Recipe(scheme=scheme)), float(similarity), 128)


@pytest.mark.promise("docs/explanation/estimates.md", "With n independent hash functions the error is")
@pytest.mark.parametrize("scheme", ["fss-1", "minhash-1"])
def test_no_bias_over_many_seeds(scheme: Any) -> None:
    """One and the same pair, near the threshold, under a thousand seeds."""
    sets = planted(Fraction(4, 5), union=60, pairs=1, seed=3)
    shares = np.concatenate([agreements(sets, Recipe(scheme=scheme, seed=seed)) for seed in range(1000)])
    check_mean_and_variance(shares, 0.8, 128)


@pytest.mark.promise("docs/explanation/estimates.md", "Fast Similarity Sketching (Dahlgaard, Knudsen and Thorup, 2017)")
def test_fast_similarity_sketches_vary_less_than_independent_slots() -> None:
    """Why it is the default: about half of the variance for sets no larger than the signature."""
    shares = agreements(planted(Fraction(1, 2), union=100, pairs=4000, seed=5), Recipe())
    assert shares.var() < 0.7 * 0.25 / 128


def test_no_bias_by_permutations() -> None:
    draw = np.random.default_rng(8)
    orders = np.stack([draw.permutation(50) for _ in range(4000)]).astype(np.uint32)
    rows = Sets(np.array([*range(40), *range(10, 50)], np.uint64), np.array([0, 40, 80]))
    left, right = sketch_by_permutations(rows, orders).values
    assert abs((left == right).mean() - 30 / 50) < 5 * sqrt(0.6 * 0.4 / 4000)


@pytest.mark.parametrize("bits", [1, 2, 4, 8, 16, 32])
def test_few_bits_give_an_unbiased_estimate_with_its_error(bits: int) -> None:
    """Of slots cut to b bits, 2^-b of those that differ agree by chance: the estimate allows for it, its error too."""
    signatures = sketch(planted(Fraction(1, 2), union=500, pairs=1500, seed=21), Recipe())
    cut = signatures if bits == 32 else signatures.cut(bits)
    estimates, errors = np.array([cut.similarity(i, i + 1) for i in range(0, 3000, 2)]).T
    spread = errors.mean()
    assert abs(estimates.mean() - 0.5) < 5 * spread / sqrt(1500)
    assert estimates.std() < spread * (1 + 5 / sqrt(2 * 1500))
    assert estimates.std() > 0.7 * spread


@pytest.mark.parametrize("similarity", ["0", "0.05"])
def test_few_bits_give_an_unbiased_estimate_near_0(similarity: str) -> None:
    """The estimate may be below 0: clipped there, one bit and 64 slots would be off by 0.047 at similarity 0."""
    signatures = sketch(planted(Fraction(similarity), union=200, pairs=4000, seed=22), Recipe(length=64)).cut(1)
    estimates, errors = np.array([signatures.similarity(i, i + 1) for i in range(0, 8000, 2)]).T
    assert abs(estimates.mean() - float(similarity)) < 5 * errors.mean() / sqrt(4000)
    assert estimates.min() < 0
