"""Measured recall: the sample's true partners are all found, and the interval is the exact one."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.data import Pairs
from lookalike.engines.audits import audit
from lookalike.engines.pool import Pool
from lookalike.engines.trace import Trace
from lookalike.measures import bar, set_measure
from lookalike.plan import plan
from lookalike.stages.audit import clopper_pearson, index_sample, measure
from lookalike.stages.verify import verified
from oracles import MEASURES, join
from strategies import families, make_items

NO_PAIRS = Pairs(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


@given(
    sets=families,
    tenths=st.integers(1, 10),
    measure=st.sampled_from(sorted(MEASURES)),
    picks=st.sets(st.integers(0, 9)),
)
@settings(max_examples=150, deadline=None)
def test_every_true_partner_of_the_sample_is_found(
    sets: list[set[int]], tenths: int, measure: str, picks: set[int]
) -> None:
    sets = [s for s in sets if s]
    sample = sorted(pick for pick in picks if pick < len(sets))
    if not sample:
        return
    threshold = float(tenths) if set_measure(measure).is_count else tenths / 10
    true = {pair for pair in join(sets, measure, Fraction(repr(threshold))) if set(pair) & set(sample)}
    items, reach = make_items(sets), bar(set_measure(measure), threshold)
    got = set()
    for piece in index_sample(items, np.array(sample), reach).candidates(items, (0, len(items))):
        left, right, _ = verified(items, piece, reach)
        pairs = [tuple(sorted(pair)) for pair in zip(left.tolist(), right.tolist(), strict=True)]
        assert len(pairs) == len(set(pairs))
        assert not got & set(pairs)
        got |= set(pairs)
    assert got == true


def test_recall_is_the_share_of_the_true_pairs_that_were_found() -> None:
    rng = np.random.default_rng(5)
    base = [set(rng.choice(10**6, 40, replace=False).tolist()) for _ in range(50)]
    items = make_items([s | {10**7 + copy} for s in base for copy in range(2)])
    left = np.arange(0, 100, 2)
    reach, planned = bar(set_measure("jaccard"), 0.8), plan(0.8)
    found = Pairs(left[:40], left[:40] + 1, np.ones(40))
    with Pool(2) as pool:
        whole = audit(items, found, planned, reach, pool, Trace(), size=1000, seed=1)
        none = audit(items, NO_PAIRS, planned, reach, pool, Trace(), size=1000, seed=1)
    assert (whole.true, whole.found, whole.sampled) == (50, 40, 100)
    assert whole.predicted == pytest.approx(planned.probability(40 / 42))
    receipt = whole.as_dict(40)
    assert receipt["recall"] == 0.8
    assert receipt["probably_missed"] == 10
    assert none.as_dict(0)["recall"] == 0


def test_nothing_to_measure_is_said() -> None:
    with Pool(1) as pool:
        made = audit(make_items([{1}, {2}]), NO_PAIRS, plan(0.8), bar(set_measure("jaccard"), 0.8), pool, Trace(),
                     size=10, seed=1)  # fmt: skip
    assert made.as_dict(0) == {"sampled": 2, "true_pairs": 0, "recall": None, "note": "no pairs in the sample"}


def binomial_tail(trials: int, least: int, p: float) -> float:
    return math.fsum(math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(least, trials + 1))


@pytest.mark.parametrize(("hits", "trials"), [(1, 10), (9, 10), (50, 100), (99, 100), (3, 7), (199, 200)])
def test_clopper_pearson_by_its_definition(hits: int, trials: int) -> None:
    low, high = clopper_pearson(hits, trials)
    assert binomial_tail(trials, hits, low) == pytest.approx(0.025, abs=1e-9)
    assert 1 - binomial_tail(trials, hits + 1, high) == pytest.approx(0.025, abs=1e-9)


def test_clopper_pearson_at_the_ends() -> None:
    assert clopper_pearson(0, 10) == (0.0, pytest.approx(1 - 0.025 ** (1 / 10)))
    assert clopper_pearson(10, 10) == (pytest.approx(0.025 ** (1 / 10)), 1.0)
    low, high = clopper_pearson(99_000, 100_000)
    assert low < 0.99 < high


def test_recall_is_told_apart_by_the_score() -> None:
    score = np.concatenate([np.full(50, 0.8), np.linspace(0.9, 0.99, 100)])
    truth = Pairs(np.arange(150), np.arange(150) + 1000, score)
    kept = np.concatenate([np.arange(30), np.arange(50, 150)])
    found = Pairs(truth.left[kept], truth.right[kept], score[kept])
    told = measure(truth, found, 9, np.where(score > 0.85, 1.0, 0.6)).as_dict(130)
    parts = told["parts"]
    assert sum(part["true_pairs"] for part in parts) == 150
    assert sum(part["found_pairs"] for part in parts) == 130
    assert (parts[0]["at"], parts[0]["true_pairs"], parts[0]["recall"]) == pytest.approx(
        (0.8, 50, 0.6)
    )  # equal scores stay together
    assert all(part["recall"] == 1.0 and part["predicted"] == 1.0 for part in parts[1:])
    assert parts[0]["interval_95"][0] < 0.6 < parts[0]["interval_95"][1]
    assert [part["at"] for part in parts] == sorted(part["at"] for part in parts)


def test_distances_are_told_as_they_are_shown() -> None:
    truth = Pairs(np.arange(3), np.arange(3) + 10, np.array([-1.0, -2.0, -3.0]))
    parts = measure(truth, truth, 3, [1.0, 1.0, 1.0]).as_dict(3, sign=-1)["parts"]
    assert [part["at"] for part in parts] == [2.0]
    assert measure(truth, truth, 3, ()).as_dict(3)["parts"] == []
