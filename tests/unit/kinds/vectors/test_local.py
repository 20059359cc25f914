"""Vectors: the exact join is all pairs, the tables find what they promise, and every score is exact."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lookalike as la
from lookalike.errors import TooManyPairs, UsageError
from lookalike.kinds.vectors.lsh_plan import SignPlan, differing, meeting, parity_agreement
from lookalike.kinds.vectors.spec import VectorJob

RANDOM = np.random.default_rng(7)


def planted(pairs: int = 800, width: int = 24, others: int = 3000, spread: float = 0.12) -> np.ndarray:
    """Points, a near copy of some, and strangers."""
    some = RANDOM.standard_normal((pairs, width))
    near = some + spread * RANDOM.standard_normal((pairs, width))
    return np.concatenate([some, near, RANDOM.standard_normal((others, width))]).astype(np.float32) * 2 + 0.5


DATA = planted()
BOUNDS = [{"max_angle": 9.0}, {"min_cosine": 0.985}, {"max_distance": 1.3}]


def as_dict(result: la.Result) -> dict[tuple[int, int], float]:
    table = result.pairs
    return dict(zip(zip(table[0].to_pylist(), table[1].to_pylist(), strict=True), table[2].to_pylist(), strict=True))


def brute(x: np.ndarray, y: np.ndarray, **bound: float) -> set[tuple[int, int]]:
    x, y = x.astype(np.float64), y.astype(np.float64)
    if "max_distance" in bound:
        near = np.sqrt(((x[:, None] - y[None]) ** 2).sum(-1)) <= bound["max_distance"]
    else:
        cosine = (x @ y.T) / np.linalg.norm(x, axis=1)[:, None] / np.linalg.norm(y, axis=1)[None]
        near = cosine >= bound.get("min_cosine", math.cos(math.radians(bound.get("max_angle", 0))))
    return set(zip(*(side.tolist() for side in np.nonzero(near)), strict=True))


@pytest.mark.parametrize("bound", BOUNDS, ids=str)
def test_exact_is_every_pair(bound: dict[str, float]) -> None:
    some = np.concatenate([DATA[:250], DATA[800:1050]])
    wanted = {(i, j) for i, j in brute(some, some, **bound) if i < j}
    assert set(as_dict(la.vectors.pairs(some, exact=True, **bound))) == wanted
    assert len(wanted) > 50


@pytest.mark.parametrize("bound", BOUNDS, ids=str)
def test_tables_keep_their_promise_and_scores_are_the_same(bound: dict[str, float]) -> None:
    exact = as_dict(la.vectors.pairs(DATA, exact=True, **bound))
    result = la.vectors.pairs(DATA, method="lsh", recall=0.9, **bound)
    found = as_dict(result)
    assert found.items() <= exact.items()
    # At the threshold 0.9; nearer pairs more often. 500 pairs: below 0.8 happens less than once in a million runs.
    assert len(found) / len(exact) > 0.8
    assert result.receipt["plan"]["recall_at_threshold"] >= 0.9
    measured = result.receipt["recall_measured"]
    assert measured["true_pairs"] > 0
    assert result.receipt["choice"]["method"] == "lsh"


@pytest.mark.parametrize("method", ["exact", "lsh"])
@pytest.mark.parametrize("bound", BOUNDS, ids=str)
def test_two_collections(method: str, bound: dict[str, float]) -> None:
    left, right = DATA[:300], np.concatenate([DATA[800:1000], DATA[:5]])
    found = set(as_dict(la.vectors.pairs(left, against=right, method=method, recall=0.999, **bound)))
    wanted = brute(left, right, **bound)
    assert found <= wanted
    assert len(found) >= (1.0 if method == "exact" else 0.9) * len(wanted)
    assert {(i, 200 + i) for i in range(5)} <= found


def test_copies_collapse_and_come_back() -> None:
    data = np.repeat(np.eye(3, dtype=np.float32), [3, 1, 2], axis=0)
    result = la.vectors.pairs(data, max_angle=1)
    assert as_dict(result) == {(0, 1): 0.0, (0, 2): 0.0, (1, 2): 0.0, (4, 5): 0.0}
    assert result.receipt["counts"]["exact_duplicates"] == 3
    assert la.vectors.dedup(data, max_distance=0).removed["kept"].to_pylist() == [0, 0, 4]


def test_a_pair_exactly_at_the_threshold_counts() -> None:
    data = np.array([[3.0, 4.0], [0.0, 0.0], [30.0, 40.0]])
    assert as_dict(la.vectors.pairs(data, max_distance=5)) == {(0, 1): 5.0}
    assert as_dict(la.vectors.pairs(data, max_distance=4.999)) == {}
    assert as_dict(la.vectors.pairs(data[::2], max_angle=0)) == {(0, 1): 0.0}
    right_angle = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert as_dict(la.vectors.pairs(right_angle, max_angle=90)) == {(0, 1): 90.0}
    assert as_dict(la.vectors.pairs(right_angle, min_cosine=0)) == {(0, 1): 0.0}


def test_stars_join_the_nearest_that_is_kept() -> None:
    """Scores of distances are negative inside; none is too far to join."""
    data = np.array([[0.0], [30.0], [20.0]])
    assert la.vectors.dedup(data, max_distance=25).removed.to_pylist() == [{"id": 2, "kept": 1, "distance": 10.0}]


def test_groups_and_rethreshold() -> None:
    result = la.vectors.groups(np.array([[0.0], [1.0], [2.5], [9.0]]), max_distance=2)
    assert result.groups["id"].to_pylist() == [0, 1, 2]
    assert result.rethreshold(1.0).groups["id"].to_pylist() == [0, 1]
    with pytest.raises(UsageError, match="beyond 2"):
        result.rethreshold(3.0)


def test_auto_says_why() -> None:
    few = la.vectors.pairs(DATA[:50], max_angle=5).receipt["choice"]
    assert (few["method"], few["why"]) == ("exact", "50 different vectors are few enough to compare all pairs")
    near = la.vectors.pairs(DATA, max_angle=4).receipt["choice"]
    assert near["predicted_seconds"].keys() == {"lsh", "exact"}
    far = la.vectors.pairs(DATA, max_angle=72).receipt["choice"]
    assert far["method"] == "exact"
    assert "cost more than" in far["why"] or "no number of tables" in far["why"]


def test_too_many_pairs_are_refused_before_the_work() -> None:
    with pytest.raises(TooManyPairs, match="are to be expected, far more than `max_pairs=1,000`"):
        la.vectors.pairs(DATA, max_angle=90, max_pairs=1000)
    with pytest.raises(TooManyPairs, match="more than 100 pairs"):
        la.vectors.pairs(DATA[:500], max_angle=90, max_pairs=100)


def test_outliers_cost_time_but_no_pairs() -> None:
    data = np.concatenate([DATA, np.full((1, DATA.shape[1]), 1e6, np.float32)])
    found, exact = (as_dict(la.vectors.pairs(data, max_distance=1.0, method=m)) for m in ("lsh", "exact"))
    assert found.items() <= exact.items()
    assert len(found) >= 0.9 * len(exact)


def test_the_law_of_the_hyperplanes() -> None:
    """One bit agrees with 1 - angle/180; 40,000 bits: five standard deviations are 0.0125."""
    x = np.array([1.0, 0.0])
    for degrees in (10.0, 45.0, 120.0):
        y = np.array([math.cos(math.radians(degrees)), math.sin(math.radians(degrees))])
        planes = np.random.default_rng(11).standard_normal((40_000, 2))
        assert np.mean((planes @ x > 0) == (planes @ y > 0)) == pytest.approx(1 - degrees / 180, abs=0.0125)


def test_the_law_of_the_parities() -> None:
    random = np.random.default_rng(12)
    for ratio in (0.05, 0.3, 0.8):
        step, offset = ratio * random.standard_normal(200_000), random.uniform(0, 2, 200_000)
        agree = np.mean(np.floor(offset) % 2 == np.floor(offset + step) % 2)
        assert parity_agreement(np.array([ratio]))[0] == pytest.approx(agree, abs=0.006)
    curve = parity_agreement(np.linspace(0, 3, 500))
    assert (np.diff(curve) <= 1e-12).all()


def test_the_law_of_the_tables() -> None:
    """Of m bits each of b tables takes r: simulated, against the formula."""
    bits, rows, bands, agreement, cut = 64, 5, 8, 0.8, 20
    random = np.random.default_rng(13)
    trials = 20_000
    differ = random.random((trials, bits)) >= agreement
    met = np.zeros(trials, np.bool_)
    for _ in range(bands):
        chosen = np.argsort(random.random((trials, bits)), axis=1)[:, :rows]
        met |= ~np.take_along_axis(differ, chosen, axis=1).any(axis=1)
    met &= differ.sum(axis=1) <= cut
    plan = SignPlan(
        threshold=0, recall=0.9, bits=bits, rows=rows, bands=bands, cut=cut, width=0, agreement=0.8,
        recall_at_threshold=0.9,
    )  # fmt: skip
    assert plan.probability(np.array([agreement]))[0] == pytest.approx(met.mean(), abs=0.018)
    assert differing(np.array([0.3]), 128).sum() == pytest.approx(1.0)
    assert meeting(128, 10, 3)[0] == 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "nothing given; expected one of `max_angle`"),
        ({"max_angle": 1, "min_cosine": 0.5}, "max_angle and min_cosine given"),
        ({"max_angle": 200}, "max_angle is 200; expected a number from 0 to 180."),
        ({"min_cosine": -2}, "min_cosine is -2; expected a number from -1 to 1."),
        ({"max_distance": -1}, "max_distance is -1; expected a number of 0 or more."),
        ({"max_distance": math.inf}, "max_distance is inf"),
        ({"max_angle": 1, "recall": 1.0}, "recall is 1.0; expected"),
        ({"max_angle": 1, "method": "exat"}, "method 'exat' is unknown. Nearest: 'exact'."),
        ({"max_angle": 1, "exact": True, "method": "lsh"}, "exact and method 'lsh' do not go together"),
        ({"max_angle": 1, "audit": -1}, "audit is -1"),
    ],
)
def test_bad_wishes(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("(", r"\(")):
        la.vectors.pairs(np.eye(2), **options)


def test_words_of_a_job() -> None:
    assert VectorJob(threshold=20).words() == "angle at most 20 degrees"
    assert VectorJob(threshold=0.9, measure="cosine").words() == "cosine at least 0.9"
    assert VectorJob(threshold=2, measure="distance").words() == "Euclidean distance at most 2"
