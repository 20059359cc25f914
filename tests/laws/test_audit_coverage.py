"""The 95 % interval of the measured recall holds the recall that the run had, whatever the shape of the data.

The run and the data are fixed, and 200 samples are drawn: the only thing that is random in an audit. Seeds are fixed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lookalike as la
from lookalike.data import F64, I64
from lookalike.stages.audit import share_of
from lookalike.stages.recall_interval import total_missed
from lookalike.stages.sampling import draw

SAMPLES = 200
Counts = tuple[I64, I64]  # found and missed partners of every item


def groups(sizes: list[int], recall: F64, rng: np.random.Generator, alone: int = 0) -> Counts:
    """Groups in which all pairs are true, found with the chance of their group; some items miss more than others."""
    found, missed = [np.zeros(alone, np.int64)], [np.zeros(alone, np.int64)]
    for size, chance in zip(sizes, recall, strict=True):
        effect = rng.normal(0, 0.3, size)
        odds = math.log(chance / (1 - chance)) + effect[:, None] + effect[None, :]
        hit = np.triu(rng.random((size, size)) < 1 / (1 + np.exp(-odds)), 1)
        found.append((hit | hit.T).sum(axis=1))
        missed.append(size - 1 - found[-1])
    return np.concatenate(found), np.concatenate(missed)


def around(recall: float, count: int, spread: float, rng: np.random.Generator) -> F64:
    odds = math.log(recall / (1 - recall)) + rng.normal(0, spread, count)
    return np.asarray(1 / (1 + np.exp(-odds)))


def disjoint_pairs(recall: float, rng: np.random.Generator) -> Counts:
    return groups([2] * 1500, around(recall, 1500, 0.5, rng), rng, alone=9000)


def zipf_groups(recall: float, rng: np.random.Generator) -> Counts:
    sizes = [int(min(200, 2 + size)) for size in rng.pareto(1.0, 1000)]
    return groups(sizes, around(recall, len(sizes), 1.0, rng), rng, alone=2000)


def one_giant_group(recall: float, rng: np.random.Generator) -> Counts:
    chances = np.append(np.full(1000, 0.9999), recall)
    return groups([2] * 1000 + [300], chances, rng, alone=1000)


def one_bad_group(recall: float, rng: np.random.Generator) -> Counts:
    return groups([3] * 3000 + [100], np.append(np.full(3000, recall), 0.175), rng)


def chain(recall: float, rng: np.random.Generator) -> Counts:
    hit = rng.random(6000) < recall
    found = np.append(hit, 0) + np.append(0, hit)
    return found, np.append(~hit, 0) + np.append(0, ~hit)


SHAPES: list[Callable[[float, np.random.Generator], Counts]] = [
    disjoint_pairs, zipf_groups, one_giant_group, one_bad_group, chain,
]  # fmt: skip


# Mean width of the intervals, at most this many times that of Wilson's interval for as many independent pairs as the
# sampled items have. Pairs of one group are found or missed together, so groups need wider intervals.
WIDEST = {"disjoint_pairs": 1.6, "zipf_groups": 9.0, "one_giant_group": 4.5, "one_bad_group": 1.2, "chain": 0.6}


def ideal_width(recall: float, pairs: float) -> float:
    """Width of Wilson's 95 % interval for a share of independent pairs."""
    z = 1.96
    return 2 * z / (1 + z * z / pairs) * math.sqrt(recall * (1 - recall) / pairs + (z / (2 * pairs)) ** 2)


def covered(found: I64, missed: I64, size: int) -> tuple[float, float, float, float]:
    """(share of intervals that hold the recall, share of upper limits that hold what was missed, mean width of the
    intervals, standard deviation of the estimates)."""
    pairs, gone = found.sum() / 2, missed.sum() / 2
    totals = []
    for seed in range(SAMPLES):
        sample = draw(found, size, seed)
        totals.append(total_missed(sample, missed[sample.items] / 2))
    low, high, value = (np.array([getattr(total, name) for total in totals]) for name in ("low", "high", "value"))
    width = pairs / (pairs + low) - pairs / (pairs + high)
    holds = (low <= gone + 1e-6) & (gone <= high + 1e-6)
    return (
        float(holds.mean()), float((gone <= high + 1e-6).mean()), float(width.mean()),
        float((pairs / (pairs + value)).std()),
    )  # fmt: skip


@pytest.mark.promise("docs/how-to/explore.md", "with 95 % intervals")
@pytest.mark.promise("docs/explanation/curves.md", "holds the recall of the run in at least 94 of 100 samples")
@pytest.mark.parametrize("recall", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_intervals_of_every_shape(shape: Callable[[float, np.random.Generator], Counts], recall: float) -> None:
    found, missed = shape(recall, np.random.default_rng(7))
    for size in (128, 1000):
        coverage, at_most, width, deviation = covered(found, missed, size)
        assert coverage >= 0.94
        assert at_most >= 0.94
        # No wider than needed: twice what the estimate varies by, and what no sample of so many items can exclude.
        rare = 4 * (len(found) / found.sum() + 1) / min(size, len(found))
        assert width <= 2 * (4 * deviation + rare)
        samples = [draw(found, size, seed).items for seed in range(SAMPLES)]
        pairs = float(np.mean([(found + missed)[items].sum() for items in samples]))
        share = found.sum() / (found + missed).sum()
        assert width <= WIDEST[shape.__name__] * ideal_width(share, pairs)


@pytest.mark.parametrize("recall", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_intervals_without_a_list_of_pairs(
    shape: Callable[[float, np.random.Generator], Counts], recall: float
) -> None:
    """As above, where the number of found pairs is estimated too: groups from crowded buckets."""
    found, missed = shape(recall, np.random.default_rng(7))
    share = found.sum() / (found + missed).sum()
    held = []
    for seed in range(SAMPLES):
        sample = draw(found, 128, seed)
        halves = found[sample.items] / 2, missed[sample.items] / 2
        interval = share_of(sample, *halves, None, true=0, found=0, predicted=1.0).interval
        assert interval is not None
        held.append(interval[0] - 1e-9 <= share <= interval[1] + 1e-9)
    assert np.mean(held) >= 0.94


def token_lists(rng: np.random.Generator) -> list[list[str]]:
    """Zipf-sized groups of lists that share most of their 40 words."""
    lists = []
    for group, size in enumerate([int(min(120, 2 + size)) for size in rng.pareto(1.0, 300)]):
        share = rng.uniform(0.84, 0.93)
        for member in range(size):
            kept = np.flatnonzero(rng.random(40) < share)
            own = [f"{group}m{member}x{word}" for word in range(40 - len(kept))]
            lists.append([f"{group}b{word}" for word in kept] + own)
    return lists


def documents(method: str) -> Any:
    lists = token_lists(np.random.default_rng(3))
    return len(lists), la.pairs(lists, threshold=0.5, method=method, recall=0.8, audit=0)


def baskets(method: str) -> Any:
    lists = token_lists(np.random.default_rng(4))
    table = pa.table(
        {
            "basket": [number for number, words in enumerate(lists) for _ in words],
            "item": [word for words in lists for word in words],
        }
    )
    return len(lists), la.baskets.pairs(table, threshold=0.5, method=method, recall=0.8, audit=0)


def vectors(method: str) -> Any:
    rng = np.random.default_rng(5)
    sizes = [100, 80, 60] + [2] * 800
    centres = np.repeat(rng.standard_normal((len(sizes), 32)), sizes, axis=0)
    values = (centres + 0.22 * rng.standard_normal(centres.shape)).astype(np.float32)
    return len(values), la.vectors.pairs(values, max_angle=20, method=method, recall=0.8, audit=0)


def bits(method: str) -> Any:
    rng = np.random.default_rng(6)
    sizes = [120, 90, 60] + [2] * 800
    codes = np.repeat(rng.integers(0, 1 << 63, len(sizes), dtype=np.uint64), sizes)
    for _ in range(5):
        codes ^= np.uint64(1) << rng.integers(0, 64, len(codes), dtype=np.uint64)
    return len(codes), la.bits.pairs(codes, max_bits=12, method=method, recall=0.8, audit=0)


@pytest.mark.parametrize("kind", [documents, baskets, vectors, bits], ids=lambda kind: kind.__name__)
def test_intervals_of_real_runs(kind: Callable[[str], Any]) -> None:
    """As above, of what a run of each kind found and missed."""
    (count, exact), (_, approximate) = kind("exact"), kind("lsh")
    true, found = (
        np.bincount(result.found.pairs.left, minlength=count) + np.bincount(result.found.pairs.right, minlength=count)
        for result in (exact, approximate)
    )
    assert 20 < (true - found).sum() / 2 < 0.4 * true.sum() / 2
    for size in (128, 500):
        coverage, at_most, _, _ = covered(found, true - found, size)
        assert coverage >= 0.94
        assert at_most >= 0.94


@pytest.mark.promise("docs/explanation/curves.md", "The receipt has that recall, a 95 % interval")
def test_the_receipt_has_the_interval_of_the_whole_run() -> None:
    lists = token_lists(np.random.default_rng(3))
    exact = len(la.pairs(lists, threshold=0.5, method="exact").found.pairs)
    held = []
    for seed in range(8):
        result = la.pairs(lists, threshold=0.5, method="lsh", recall=0.8, audit=300, seed=seed)
        measured = result.receipt["recall_measured"]
        low, high = measured["interval_95"]
        found = len(result.found.pairs)  # of different documents: exact copies count once
        assert measured["run_pairs"] == found
        held.append(low <= found / exact <= high)
    assert sum(held) >= 6
