"""WeightedMinHash: slots agree with the probability of the weighted Jaccard at every scale of the weights."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import lookalike as la
from lookalike.errors import RecipeMismatch, UsageError


def jaccard(left: dict[str, float], right: dict[str, float]) -> float:
    names = left.keys() | right.keys()
    both = [(left.get(name, 0), right.get(name, 0)) for name in names]
    return sum(map(min, both)) / sum(map(max, both))


@pytest.mark.parametrize("scale", [1e-12, 1.0, 7e9])
@pytest.mark.parametrize("shape", ["near", "far", "one large", "subset"])
def test_the_estimate_is_the_weighted_jaccard(shape: str, scale: float) -> None:
    """64 seeds of 256 slots: the mean is within five standard errors of the exact value."""
    rng = np.random.default_rng(7)
    names = [f"t{number}" for number in range(60)]
    weights = rng.exponential(size=60) + 1
    changed = {
        "near": weights * rng.uniform(0.8, 1.2, 60), "far": rng.exponential(size=60) + 1,
        "one large": np.where(np.arange(60) == 3, 500, weights), "subset": np.where(np.arange(60) < 40, weights, 0),
    }[shape]  # fmt: skip
    left, right = (
        {n: scale * max(1.0, w) if w else 0.0 for n, w in zip(names, one, strict=True)} for one in (weights, changed)
    )
    exact = jaccard(left, right)
    found = [la.WeightedMinHash(left, 256, seed=s).jaccard(la.WeightedMinHash(right, 256, seed=s)) for s in range(64)]
    assert abs(np.mean(found) - exact) < 5 * np.sqrt(exact * (1 - exact) / (256 * 64))
    assert np.std(found) < 1.4 * np.sqrt(exact * (1 - exact) / 256)


def test_a_signature_depends_on_the_weights_alone() -> None:
    weights = {"a": 0.5, "b": 3, "ü": 2.25}
    made = la.WeightedMinHash(weights)
    assert made == la.WeightedMinHash({"ü".encode(): 2.25, "zero": 0.0, "b": 3.0, "a": 0.5}) == made.copy()
    assert hash(made) == hash(la.WeightedMinHash(weights))
    assert made == pickle.loads(pickle.dumps(made))
    assert made != la.WeightedMinHash(weights | {"b": 3.1}, seed=42)
    assert made != 3
    assert la.WeightedMinHash(np.array([0, 2.5])) == la.WeightedMinHash([0, 2.5]) == la.WeightedMinHash({"1": 2.5})
    assert len(made) == made.num_perm == 128
    assert (made.hashvalues == made.digest()).all()
    assert repr(made) == "WeightedMinHash(num_perm=128, seed=42)"
    assert la.WeightedMinHash.bulk([[1, 2], [2, 1]], num_perm=8)[1] == la.WeightedMinHash([2, 1], 8)


def test_nothing_resembles_a_set_without_weight() -> None:
    empty = la.WeightedMinHash({"a": 0.0})
    assert empty.is_empty()
    assert empty.jaccard(empty) == 0
    assert la.WeightedMinHash([]) == empty


def test_an_lsh_table_finds_weighted_sets_as_often_as_planned() -> None:
    """At a weighted similarity of exactly the threshold, at least the recall of 0.9 is found: 400 draws."""
    found = 0
    for seed in range(400):
        table = la.MinHashLSH(threshold=0.6, num_perm=64, recall=0.9)
        table.insert("x", la.WeightedMinHash({"a": 6, "b": 2}, 64, seed=seed))
        found += bool(table.query(la.WeightedMinHash({"a": 6, "c": 2}, 64, seed=seed)))  # 6 / 10
    assert found > 400 * 0.9 - 5 * np.sqrt(400 * 0.09)
    with pytest.raises(RecipeMismatch, match="signatures differ in scheme: 'darts-1' and 'fss-1'"):
        table.query(la.MinHash(64))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"a": -1.0}, "the weight of 'a' is -1; expected 0, or a finite number from 1e-12 to 1e+300."),
        ({"a": 1e-13}, "the weight of 'a' is 1e-13; expected 0"),
        ([1.0, float("nan")], "the weight of '1' is nan; expected 0"),
        ([float("inf")], "the weight of '0' is inf; expected 0"),
        ([1e300, 1e300], "the weights add up to 2e+300; expected at most 1e+300."),
        ({"a": "much"}, "the weight of 'a' is 'much'; expected a number."),
        ({3: 1.0}, "a token is 3; expected bytes or str."),
        ({"a": 1.0, b"a": 2.0}, "the token b'a' has two weights, as bytes and as str; expected one."),
    ],
)
def test_a_weight_that_is_none_is_refused(weights: Any, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        la.WeightedMinHash(weights)
    assert str(caught.value).startswith(message)


def test_the_other_side_must_be_of_the_same_recipe() -> None:
    one = la.WeightedMinHash([1.0])
    for other in (la.MinHash(), la.WeightedMinHash([1.0], seed=7), la.WeightedMinHash([1.0], 64)):
        with pytest.raises(RecipeMismatch):
            one.jaccard(other)
