"""The 95 % interval of the recall measured on records holds the recall of the run, over 200 samples.

All pairs that share a value are compared once; a run of a given recall loses pairs of these one by one, by seeded draws,
and only the sample of the audit is drawn again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lookalike as la
from lookalike.core.arrays import U64, Pairs
from lookalike.core.audit_sample import draw, found_partners
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
    missed = np.bincount(both[~is_found].ravel(), minlength=count)
    left, right = both[is_found].T
    found = found_partners(Pairs(left, right, np.ones(len(left))), count)
    held = []
    for seed in range(SAMPLES):
        sample = draw(found, size, seed)
        total = total_missed(sample, missed[sample.items] / 2)
        held.append(total.low - 1e-6 <= (~is_found).sum() <= total.high + 1e-6)
    return float(np.mean(held))


@pytest.fixture(scope="module")
def truth() -> tuple[pa.Table, U64]:
    table = people()
    return table, pairs_of(table, blocking="exact:phone,street")


@pytest.mark.parametrize("recall", [0.8, 0.95, 0.99])
def test_intervals_of_records(truth: tuple[pa.Table, U64], recall: float) -> None:
    table, pairs = truth
    is_found = np.random.default_rng(5).random(len(pairs)) < recall
    for size in (128, 500):
        assert coverage(len(table), pairs, is_found, size) >= 0.94
