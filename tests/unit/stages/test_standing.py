"""What is learned without labels: weights, thresholds, and Fellegi and Sunter's evidence."""

from __future__ import annotations

import numpy as np
import pytest

from lookalike.measures.fields import EDGES
from lookalike.stages.evidence import estimate, levels, weigh
from lookalike.stages.standing import PairTable, expected_cut, learn, standing


def planted(seed: int, *, records: int = 600) -> tuple[PairTable, np.ndarray]:
    """Two tables, each record with one true partner and five others; a telling field, a weak one and a useless one."""
    rng = np.random.default_rng(seed)
    left = np.repeat(np.arange(records), 6).astype(np.uint32)
    right = np.empty(len(left), np.int64)
    right[::6] = np.arange(records)
    right[np.arange(len(left)) % 6 > 0] = rng.integers(0, records, 5 * records)
    _, at = np.unique(left.astype(np.int64) * records + right, return_index=True)
    left, right = left[at], right[at]
    true = left == right
    telling = np.where(true, rng.random(len(at)) < 0.95, rng.random(len(at)) < 0.05)
    weak = np.where(true, rng.random(len(at)) < 0.6, rng.random(len(at)) < 0.4)
    useless = rng.random(len(at)) < 0.5
    fields = [one.astype(np.float32) for one in (telling, weak, useless)]
    whole = np.where(true, 0.7, 0.2).astype(np.float32) + rng.normal(0, 0.08, len(at)).astype(np.float32)
    return PairTable(
        left, (right + records).astype(np.uint32), fields, np.clip(whole, 0, 1), 2 * records, records
    ), true


def test_weights_follow_what_a_field_tells() -> None:
    table, true = planted(1)
    made = learn(table, [None, None, None], 0.5)
    assert made.weights[0] > 3 * made.weights[1] > made.weights[2]
    score = table.similarity(made.weights, 0.5)
    answer = table.greedy(score) & (score >= made.threshold)
    assert (answer & true).sum() / true.sum() > 0.95
    assert (answer & true).sum() / answer.sum() > 0.95


def test_given_weights_stay() -> None:
    table, _ = planted(2)
    assert learn(table, [1.0, None, 7.0], 0.5).weights[::2] == [1.0, 7.0]


def test_evidence_recovers_the_rates() -> None:
    rng = np.random.default_rng(3)
    rates = [(0.95, 0.02), (0.9, 0.1), (0.8, 0.1), (0.5, 0.5)]
    true = rng.random(20_000) < 0.1
    fields = [np.where(true, rng.random(len(true)) < m, rng.random(len(true)) < u).astype(np.float32) for m, u in rates]
    fields[1][::7] = np.nan
    records = np.arange(len(true), dtype=np.uint32)
    whole = np.nanmean(fields, axis=0).astype(np.float32)
    table = PairTable(records, records + np.uint32(len(true)), fields, whole, 2 * len(true), len(true))
    prior, bits = estimate(table)
    assert np.isclose(prior, np.log2(0.1 / 0.9), atol=0.3)
    for (m, u), found in zip(rates, bits, strict=True):
        assert np.isclose(found[-1], np.log2(m / u), atol=0.3)
        assert np.isclose(found[0], np.log2((1 - m) / (1 - u)), atol=0.3)
    assert ((weigh(table, prior, bits) > 0.5) == true).mean() > 0.97


def test_levels() -> None:
    assert levels(np.array([*EDGES, 0.0, np.nan], np.float32)).tolist() == [1, 2, 3, 4, 5, 6, 0, -1]


@pytest.mark.parametrize("share", [0.2, 0.6, 0.95])
def test_the_cut_parts_matches_from_the_best_of_others(share: float) -> None:
    rng = np.random.default_rng(7)
    n = 2000
    matches = rng.normal(0.8, 0.08, int(n * share)).astype(np.float32)
    noise = rng.normal(0.3, 0.08, n).astype(np.float32)
    best = np.clip(np.concatenate([matches, noise[: n - len(matches)]]), 0, 1)
    cut, f1 = expected_cut(best, np.clip(rng.normal(0.3, 0.08, n).astype(np.float32), 0, 1))
    assert 0.4 < cut < 0.68
    assert f1 is not None
    assert f1 > 0.97


def test_too_few_pairs_teach_nothing() -> None:
    assert expected_cut(np.ones(3, np.float32), np.zeros(3, np.float32)) == (0.5, None)


def test_rivals_lift_and_lower() -> None:
    score = np.array([0.6, 0.6, 0.6], np.float32)
    lifted, level, fallen = standing(score, np.array([0.6, 0.0, -0.05], np.float32))
    assert np.isclose(lifted, 0.6)
    assert lifted > level > fallen


def test_a_missing_value_is_neutral() -> None:
    one = np.array([1.0], np.float32)
    nothing = np.array([np.nan], np.float32)
    pair = np.array([0], np.uint32), np.array([1], np.uint32)
    assert PairTable(*pair, [one, nothing], one, 2, -1).similarity([1.0, 1.0], 0.5)[0] == 1.0
    assert PairTable(*pair, [one, nothing], one, 2, -1).similarity([0.1, 1.0], 0.5)[0] < 0.5  # hardly anything is known
