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
from lookalike.core.arrays import F64, I64, Pairs
from lookalike.core.audit_sample import Partners, draw, found_partners
from lookalike.core.recall_audit import _edges, measure, share_of
from lookalike.core.recall_interval import total_missed

SAMPLES = 200
Counts = tuple[Partners, I64]  # what was found for every item, and how many partners of it were missed


def groups(sizes: list[int], recall: F64, rng: np.random.Generator, alone: int = 0) -> Counts:
    """Groups in which all pairs are true, found with the chance of their group; some items miss more than others."""
    found, missed = [np.zeros(alone, np.int64)], [np.zeros(alone, np.int64)]
    group, first = [np.arange(alone)], alone
    for size, chance in zip(sizes, recall, strict=True):
        effect = rng.normal(0, 0.3, size)
        odds = math.log(chance / (1 - chance)) + effect[:, None] + effect[None, :]
        hit = np.triu(rng.random((size, size)) < 1 / (1 + np.exp(-odds)), 1)
        hit |= hit.T
        found.append(hit.sum(axis=1))
        missed.append(size - 1 - found[-1])
        group.append(first + (hit @ hit | np.eye(size, dtype=np.bool_)).argmax(axis=1))
        first += size
    return Partners(np.concatenate(found), np.concatenate(group)), np.concatenate(missed)


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
    two_back = np.concatenate([[0, 0], hit[1:] & hit[:-1]])
    return Partners(found, np.arange(6001) - 2 * two_back), np.append(~hit, 0) + np.append(0, ~hit)


SHAPES: list[Callable[[float, np.random.Generator], Counts]] = [
    disjoint_pairs, zipf_groups, one_giant_group, one_bad_group, chain,
]  # fmt: skip


# Mean width of the intervals, at most this many times that of Wilson's interval for as many independent pairs as the
# sampled items have. Pairs of one group are found or missed together, so groups need wider intervals.
WIDEST = {
    "disjoint_pairs": {128: 1.6, 1000: 1.5},
    "zipf_groups": {128: 5.0, 1000: 2.5},
    "one_giant_group": {128: 4.2, 1000: 1.8},
    "one_bad_group": {128: 0.7, 1000: 0.4},
    "chain": {128: 0.6, 1000: 0.4},
}


def ideal_width(recall: float, pairs: float) -> float:
    """Width of Wilson's 95 % interval for a share of independent pairs."""
    z = 1.96
    return 2 * z / (1 + z * z / pairs) * math.sqrt(recall * (1 - recall) / pairs + (z / (2 * pairs)) ** 2)


def covered(found: Partners, missed: I64, size: int) -> tuple[float, float, float, float]:
    """(share of intervals that hold the recall, share of upper limits that hold what was missed, mean width of the
    intervals, standard deviation of the estimates)."""
    pairs, gone = found.counts.sum() / 2, missed.sum() / 2
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
        rare = 4 * (len(missed) / found.counts.sum() + 1) / min(size, len(missed))
        assert width <= 2 * (4 * deviation + rare)
        samples = [draw(found, size, seed).items for seed in range(10)]
        true = found.counts + missed
        pairs = float(np.mean([true[items].sum() for items in samples]))
        assert width <= WIDEST[shape.__name__][size] * ideal_width(found.counts.sum() / true.sum(), pairs)


@pytest.mark.parametrize("recall", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_intervals_without_a_list_of_pairs(
    shape: Callable[[float, np.random.Generator], Counts], recall: float
) -> None:
    """As above, where the number of found pairs is estimated too: groups from crowded buckets."""
    found, missed = shape(recall, np.random.default_rng(7))
    share = found.counts.sum() / (found.counts + missed).sum()
    held = []
    for seed in range(SAMPLES):
        sample = draw(found, 128, seed)
        halves = found.counts[sample.items] / 2, missed[sample.items] / 2
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


def documents(**options: Any) -> Any:
    return la.pairs(token_lists(np.random.default_rng(3)), threshold=0.5, **options)


def baskets(**options: Any) -> Any:
    lists = token_lists(np.random.default_rng(4))
    table = pa.table(
        {
            "basket": [number for number, words in enumerate(lists) for _ in words],
            "item": [word for words in lists for word in words],
        }
    )
    return la.baskets.pairs(table, threshold=0.5, **options)


def vectors(**options: Any) -> Any:
    rng = np.random.default_rng(5)
    sizes = [100, 80, 60] + [2] * 800
    centres = np.repeat(rng.standard_normal((len(sizes), 32)), sizes, axis=0)
    values = (centres + 0.22 * rng.standard_normal(centres.shape)).astype(np.float32)
    return la.vectors.pairs(values, max_angle=20, **options)


def bits(**options: Any) -> Any:
    rng = np.random.default_rng(6)
    sizes = [120, 90, 60] + [2] * 800
    codes = np.repeat(rng.integers(0, 1 << 63, len(sizes), dtype=np.uint64), sizes)
    for _ in range(5):
        codes ^= np.uint64(1) << rng.integers(0, 64, len(codes), dtype=np.uint64)
    return la.bits.pairs(codes, max_bits=12, **options)


def strings() -> Any:
    """Groups of numbers that differ in a digit or two; searches for strings miss none, so misses are simulated."""
    rng = np.random.default_rng(8)
    sizes = [int(min(60, 2 + size)) for size in rng.pareto(1.0, 200)]
    digits = np.repeat(rng.integers(0, 10, (len(sizes), 14)), sizes, axis=0)
    digits[np.arange(len(digits)), rng.integers(0, 14, len(digits))] = rng.integers(0, 10, len(digits))
    return la.strings.pairs(["".join(map(str, row)) for row in digits], max_edits=2)


def partners_of(pairs: Pairs, count: int) -> I64:
    return np.bincount(pairs.left, minlength=count) + np.bincount(pairs.right, minlength=count)


def assert_covered(true: Pairs, found: Pairs, count: int) -> None:
    missed = partners_of(true, count) - partners_of(found, count)
    for size in (128, 500):
        coverage, at_most, _, _ = covered(found_partners(found, count), missed, size)
        assert coverage >= 0.94
        assert at_most >= 0.94


@pytest.mark.parametrize("kind", [documents, baskets, vectors, bits], ids=lambda kind: kind.__name__)
def test_intervals_of_real_runs(kind: Callable[..., Any]) -> None:
    """As above, of what runs of each kind found and missed."""
    exact = kind(method="exact").found
    for recall in (0.8, 0.95, 0.99):
        run = kind(method="lsh", recall=recall, audit=0).found
        missed = len(exact.pairs) - len(run.pairs)
        assert (20 if recall == 0.8 else 0) < missed < 1.5 * (1 - recall) * len(exact.pairs)
        assert_covered(exact.pairs, run.pairs, len(exact.classes))


@pytest.mark.parametrize("recall", [0.8, 0.95, 0.99])
def test_intervals_of_strings(recall: float) -> None:
    """As above, where groups of strings are found with chances of their own."""
    exact = strings().found
    rng = np.random.default_rng(9)
    number = found_partners(exact.pairs, len(exact.classes)).group
    chance = around(recall, len(number), 1.0, rng)[number[exact.pairs.left]]
    hit = rng.random(len(chance)) < chance
    found = Pairs(*(column[hit] for column in (exact.pairs.left, exact.pairs.right, exact.pairs.similarity)))
    assert len(exact.pairs) - 1 > len(found) > 0.5 * len(exact.pairs)
    assert_covered(exact.pairs, found, len(exact.classes))


def test_intervals_of_score_ranges() -> None:
    """Each range of the score has an interval that holds the recall of its pairs; there, how many pairs the run found is
    counted."""
    exact = documents(method="exact").found
    run = documents(method="lsh", recall=0.8, audit=0).found
    count, partners = len(exact.classes), found_partners(run.pairs, len(exact.classes))
    held, widths = [], []
    for seed in range(SAMPLES):
        sample = draw(partners, 300, seed)
        seen = (sample.places(exact.pairs.left) >= 0) | (sample.places(exact.pairs.right) >= 0)
        truth = Pairs(*(column[seen] for column in (exact.pairs.left, exact.pairs.right, exact.pairs.similarity)))
        parts = measure(truth, run.pairs, sample, np.ones(len(truth))).parts
        edges = [-np.inf, *_edges(np.sort(truth.similarity)), np.inf]
        for low, high, part in zip(edges[:-1], edges[1:], parts, strict=True):
            true, found = (
                np.count_nonzero((pairs.similarity >= low) & (pairs.similarity < high))
                for pairs in (exact.pairs, run.pairs)
            )
            assert part.share.interval is not None
            held.append(part.share.interval[0] - 1e-9 <= found / true <= part.share.interval[1] + 1e-9)
            widths.append(part.share.interval[1] - part.share.interval[0])
    assert count > 1000
    assert np.mean(held) >= 0.94
    assert np.mean(widths) < 0.25


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
