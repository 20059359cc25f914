"""The 95 % interval of the recall measured on records holds the recall of the run, over 200 samples.

All pairs that share a value are compared once. A run of a given recall loses pairs of these one by one, or all pairs of
some records (as wrong keys do), by seeded draws; only the sample of the audit is drawn again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lookalike as la
from lookalike.core.arrays import I64, U64, Pairs
from lookalike.core.audit_sample import draw, found_partners
from lookalike.core.recall_audit import sum_by_item
from lookalike.core.recall_interval import total_missed
from lookalike.evaluation.matches import Mask

SAMPLES = 200
RULES: dict[str, Any] = {"threshold": 0.6, "weights": "equal", "audit": 0}


def people() -> pa.Table:
    """Persons with one to many rows, up to 40, with slips in their names."""
    rng = np.random.default_rng(11)
    letters = list("abdeiklmnorstu")
    rows = []
    for size in [int(min(40, 1 + size)) for size in rng.pareto(1.2, 400)]:
        name, street = ("".join(rng.choice(letters, 8)) for _ in range(2))
        phone = str(rng.integers(10**8, 10**9))
        for _ in range(size):
            slip = "".join(rng.choice(letters, 2))
            rows.append({"name": name + slip, "street": street if rng.random() < 0.9 else slip, "phone": phone})
    return pa.Table.from_pylist(rows)


def pairs_of(table: pa.Table, **options: Any) -> U64:
    """The pairs of a run, left << 32 | right, sorted."""
    pairs = la.records.pairs(table, **RULES, **options).found.pairs
    assert pairs is not None
    return np.unique(pairs.left.astype(np.uint64) << np.uint64(32) | pairs.right.astype(np.uint64))


def coverage(count: int, pairs: U64, is_found: Mask, size: int) -> float:
    """The share of intervals that hold the number of missed pairs."""
    both = np.stack([pairs >> np.uint64(32), pairs & np.uint64(0xFFFFFFFF)], axis=1).astype(np.int64)
    lost = both[~is_found].T
    left, right = both[is_found].T
    found = found_partners(Pairs(left, right, np.ones(len(left))), count)
    held = []
    for seed in range(SAMPLES):
        sample = draw(found, size, seed)
        ends = np.stack([sample.places(lost[0]), sample.places(lost[1])])
        total = total_missed(sample, sum_by_item(ends, sample.divide(*lost), len(sample)))
        held.append(total.low - 1e-6 <= (~is_found).sum() <= total.high + 1e-6)
    return float(np.mean(held))


@pytest.fixture(scope="module")
def truth() -> tuple[pa.Table, U64]:
    table = people()
    return table, pairs_of(table, blocking="exact:phone,street")


def pairs_lost(pairs: U64, count: int, recall: float, rng: np.random.Generator) -> Mask:
    """Lose pairs one by one; return which are found."""
    return np.asarray(rng.random(len(pairs)) < recall)


def records_lost(pairs: U64, count: int, recall: float, rng: np.random.Generator) -> Mask:
    """Lose all pairs of some records, as likely of records with few pairs as of records with many."""
    return _without(pairs, rng.permutation(count), recall)


def large_records_lost(pairs: U64, count: int, recall: float, rng: np.random.Generator) -> Mask:
    """Lose all pairs of a few records that have many."""
    partners = np.bincount(np.concatenate([pairs >> np.uint64(32), pairs & np.uint64(0xFFFFFFFF)]), minlength=count)
    return _without(pairs, np.argsort(-partners * rng.random(count)), recall)


def _without(pairs: U64, order: I64, recall: float) -> Mask:
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    lost = np.minimum(rank[pairs >> np.uint64(32)], rank[pairs & np.uint64(0xFFFFFFFF)])
    return np.asarray(lost > np.quantile(lost, 1 - recall))


@pytest.mark.parametrize("recall", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("lose", [pairs_lost, records_lost, large_records_lost])
def test_intervals_of_records(
    truth: tuple[pa.Table, U64], lose: Callable[[U64, int, float, np.random.Generator], Mask], recall: float
) -> None:
    table, pairs = truth
    is_found = lose(pairs, len(table), recall, np.random.default_rng(5))
    assert 0.5 * (1 - recall) < (~is_found).mean() < 1.5 * (1 - recall) + 0.01
    for size in (128, 500):
        assert coverage(len(table), pairs, is_found, size) >= 0.94
