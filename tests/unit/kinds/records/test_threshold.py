"""What is learned without labels: weights, thresholds, and Fellegi and Sunter's evidence."""

from __future__ import annotations

import numpy as np
import pytest

from lookalike.kinds.records.em import weigh
from lookalike.kinds.records.em_composite import estimate, independence, levels
from lookalike.kinds.records.pair_table import PairTable
from lookalike.kinds.records.rules import EDGES
from lookalike.kinds.records.threshold import (
    ThresholdEstimate,
    infer_cardinality,
    learn,
    max_expected_f1_threshold,
    standing,
    standing_cut,
    threshold_from_null_scores,
)


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
    answer = table.greedy(score) & (score >= made.cut.at)
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
    made = estimate(table)
    assert np.isclose(made.prior, np.log2(0.1 / 0.9), atol=0.3)
    for (m, u), found in zip(rates, made.bits, strict=True):
        assert np.isclose(found[-1], np.log2(m / u), atol=0.3)
        assert np.isclose(found[0], np.log2((1 - m) / (1 - u)), atol=0.3)
    assert ((weigh(table, made.prior, made.bits, None) > 0.5) == true).mean() > 0.97


def test_fields_that_say_the_same_are_one_witness() -> None:
    rng = np.random.default_rng(4)
    one, other, even = rng.normal(size=5000), rng.normal(size=5000), np.ones(5000)
    assert independence([one, other], one + other, even) > 0.95
    assert np.isclose(independence([one, one], 2 * one, even), 0.5)
    assert independence([one, -one], 0 * one, even) == 1


def test_a_table_without_matches_has_hardly_any() -> None:
    """Pairs that agree in one field by chance are no matches, however many fields differ."""
    rng = np.random.default_rng(5)
    left = np.repeat(np.arange(2000), 5).astype(np.uint32)
    right = ((left + rng.integers(1, 1999, len(left))) % 2000).astype(np.uint32)
    shared = rng.integers(0, 4, len(left))
    fields = [(shared == n).astype(np.float32) for n in range(4)]
    table = PairTable(left, right, fields, rng.uniform(0.1, 0.4, len(left)).astype(np.float32), 2000, -1)
    made = learn(table, [None] * 4, 0.5)
    assert (table.similarity(made.weights, 0.5) >= made.cut.at).sum() < 20


def test_records_with_several_partners_have_no_rivals() -> None:
    """Whether a record has one partner is seen for each table on its own."""
    table, _ = planted(6)
    score = table.similarity([1.0, 1.0, 1.0], 0.5)
    assert infer_cardinality(table, score, 1.0) == (True, True)
    left, right = np.repeat(table.left, 2), np.repeat(table.right, 2) * np.uint32(2)
    right[1::2] += np.uint32(1)  # every record of the right table is there twice
    twice = PairTable(left, right, [], np.repeat(score, 2), 3 * table.records, table.split)
    assert infer_cardinality(twice, np.repeat(score, 2), 1.0) == (False, True)
    swapped = PairTable(right, left, [], np.repeat(score, 2), 3 * table.records, table.split)
    assert infer_cardinality(swapped, np.repeat(score, 2), 1.0) == (True, False)
    cut = standing_cut(twice, np.repeat(score, 2), (False, True))
    ranks = standing(np.repeat(score, 2), twice.margins(np.repeat(score, 2), (False, True)))
    assert 0.9 < (ranks >= cut.at).sum() / (2 * 600) < 1.1


def test_equal_scores_are_never_parted() -> None:
    score, chance = np.array([0.5, 0.5, 0.5, 0.2], np.float32), np.array([1.0, 1.0, 0.0, 0.0])
    assert 0.2 < max_expected_f1_threshold(score, chance).at < 0.5


def test_levels() -> None:
    assert levels(np.array([*EDGES, 0.0, np.nan], np.float32)).tolist() == [1, 2, 3, 4, 5, 6, 0, -1]


@pytest.mark.parametrize("share", [0.2, 0.6, 0.95])
def test_the_cut_parts_matches_from_the_best_of_others(share: float) -> None:
    rng = np.random.default_rng(7)
    n = 2000
    matches = rng.normal(0.8, 0.08, int(n * share)).astype(np.float32)
    noise = rng.normal(0.3, 0.08, n).astype(np.float32)
    best = np.clip(np.concatenate([matches, noise[: n - len(matches)]]), 0, 1)
    cut = threshold_from_null_scores(best, np.clip(rng.normal(0.3, 0.08, n).astype(np.float32), 0, 1))
    assert 0.4 < cut.at < 0.68
    assert cut.f1 > 0.97


def test_too_few_pairs_teach_nothing() -> None:
    assert threshold_from_null_scores(np.ones(3, np.float32), np.zeros(3, np.float32)) == ThresholdEstimate(0.5, 0.0)


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
