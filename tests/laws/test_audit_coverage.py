"""The 95 % interval of the measured recall holds the recall that the run had, for any shape of the data.

The run and the data are fixed, and 200 samples are drawn: the only thing that is random in an audit. Seeds are fixed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

import lookalike as la
from lookalike.core.arrays import F64, I64, Pairs
from lookalike.core.audit_sample import Partners, Sample, draw, found_partners
from lookalike.core.recall_audit import _edges, measure, share_of, sum_by_item
from lookalike.core.recall_interval import total_missed

SAMPLES = 200


class Run(NamedTuple):
    """The partners that a run found for every item, and the pairs that it missed."""

    found: Partners
    left: I64
    right: I64

    @property
    def true(self) -> I64:
        """The number of true partners of every item."""
        ends = np.concatenate([self.left, self.right])
        return np.asarray(self.found.counts + np.bincount(ends, minlength=len(self.found.counts)))

    def missed_by(self, sample: Sample) -> F64:
        """The shares of missed pairs of each sampled item."""
        ends = np.stack([sample.places(self.left), sample.places(self.right)])
        return sum_by_item(ends, sample.divide(self.left, self.right), len(sample))


def run_of(found: Pairs, missed: Pairs, count: int) -> Run:
    return Run(found_partners(found, count), missed.left, missed.right)


def groups(sizes: list[int], recall: F64, rng: np.random.Generator, alone: int = 0) -> Run:
    """Groups in which all pairs are true, found with the chance of their group; some items miss more than others."""
    found, missed = [np.empty((2, 0), np.int64)], [np.empty((2, 0), np.int64)]
    first = alone
    for size, chance in zip(sizes, recall, strict=True):
        effect = rng.normal(0, 0.3, size)
        odds = math.log(chance / (1 - chance)) + effect[:, None] + effect[None, :]
        hit = rng.random((size, size)) < 1 / (1 + np.exp(-odds))
        ends = np.stack(np.triu_indices(size, 1))
        found.append(first + ends[:, hit[ends[0], ends[1]]])
        missed.append(first + ends[:, ~hit[ends[0], ends[1]]])
        first += size
    both = (np.concatenate(part, axis=1) for part in (found, missed))
    return run_of(*(Pairs(left, right, np.ones(len(left))) for left, right in both), first)


def around(recall: float, count: int, spread: float, rng: np.random.Generator) -> F64:
    odds = math.log(recall / (1 - recall)) + rng.normal(0, spread, count)
    return np.asarray(1 / (1 + np.exp(-odds)))


def disjoint_pairs(recall: float, rng: np.random.Generator) -> Run:
    return groups([2] * 1500, around(recall, 1500, 0.5, rng), rng, alone=9000)


def zipf_groups(recall: float, rng: np.random.Generator) -> Run:
    sizes = [int(min(200, 2 + size)) for size in rng.pareto(1.0, 1000)]
    return groups(sizes, around(recall, len(sizes), 1.0, rng), rng, alone=2000)


def one_giant_group(recall: float, rng: np.random.Generator) -> Run:
    chances = np.append(np.full(1000, 0.9999), recall)
    return groups([2] * 1000 + [300], chances, rng, alone=1000)


def one_bad_group(recall: float, rng: np.random.Generator) -> Run:
    return groups([3] * 3000 + [100], np.append(np.full(3000, recall), 0.175), rng)


def chain(recall: float, rng: np.random.Generator) -> Run:
    hit = rng.random(6000) < recall
    ends = (np.flatnonzero(chosen) for chosen in (hit, ~hit))
    return run_of(*(Pairs(left, left + 1, np.ones(len(left))) for left in ends), 6001)


def lost_items(recall: float, rng: np.random.Generator) -> Run:
    """Groups of Zipf sizes, of which some items lose all their pairs, as records with a wrong key do."""
    sizes = [int(min(60, 2 + size)) for size in rng.pareto(1.0, 600)]
    ends = np.concatenate(
        [
            first + np.stack(np.triu_indices(size, 1))
            for first, size in zip(np.cumsum([0, *sizes]), sizes, strict=False)
        ],
        axis=1,
    )
    order = rng.permutation(sum(sizes))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    first_lost = np.minimum(*rank[ends])  # a pair is missed as soon as one of its ends is lost
    missed = first_lost < np.quantile(first_lost, 1 - recall)
    parts = (ends[:, ~missed], ends[:, missed])
    return run_of(*(Pairs(left, right, np.ones(len(left))) for left, right in parts), len(order))


SHAPES: list[Callable[[float, np.random.Generator], Run]] = [
    disjoint_pairs, zipf_groups, one_giant_group, one_bad_group, chain, lost_items,
]  # fmt: skip


# Mean width of the intervals, at most this many times that of Wilson's interval for as many independent pairs as the
# sampled items have. Pairs of one group are found or missed together, so groups need wider intervals.
WIDEST = {
    "disjoint_pairs": {128: 1.6, 1000: 1.5},
    "zipf_groups": {128: 6.5, 1000: 2.8},
    "one_giant_group": {128: 4.2, 1000: 1.8},
    "one_bad_group": {128: 0.9, 1000: 0.45},
    "chain": {128: 0.6, 1000: 0.5},
    "lost_items": {128: 4.0, 1000: 1.3},
}


def ideal_width(recall: float, pairs: float) -> float:
    """Width of Wilson's 95 % interval for a share of independent pairs."""
    z = 1.96
    return 2 * z / (1 + z * z / pairs) * math.sqrt(recall * (1 - recall) / pairs + (z / (2 * pairs)) ** 2)


def covered(run: Run, size: int) -> tuple[float, float, float, float]:
    """(share of intervals that hold the recall, share of upper limits that hold what was missed, mean width of the
    intervals, standard deviation of the estimates)."""
    pairs, gone = run.found.counts.sum() / 2, len(run.left)
    totals = []
    for seed in range(SAMPLES):
        sample = draw(run.found, size, seed)
        totals.append(total_missed(sample, run.missed_by(sample)))
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
def test_intervals_of_every_shape(shape: Callable[[float, np.random.Generator], Run], recall: float) -> None:
    run = shape(recall, np.random.default_rng(7))
    found, true = run.found, run.true
    for size in (128, 1000):
        coverage, at_most, width, deviation = covered(run, size)
        assert coverage >= 0.94
        assert at_most >= 0.94
        # No wider than needed: twice what the estimate varies by, and what no sample of this many items can exclude.
        rare = 4 * (len(true) / found.counts.sum() + 1) / min(size, len(true))
        assert width <= 2 * (4 * deviation + rare)
        samples = [draw(found, size, seed).items for seed in range(10)]
        pairs = float(np.mean([true[items].sum() for items in samples]))
        assert width <= WIDEST[shape.__name__][size] * ideal_width(found.counts.sum() / true.sum(), pairs)


@pytest.mark.parametrize("recall", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_intervals_without_a_list_of_pairs(shape: Callable[[float, np.random.Generator], Run], recall: float) -> None:
    """As above, where the number of found pairs is estimated too: groups from crowded buckets."""
    run = shape(recall, np.random.default_rng(7))
    share = run.found.counts.sum() / run.true.sum()
    held = []
    for seed in range(SAMPLES):
        sample = draw(run.found, 128, seed)
        shares = run.found.counts[sample.items] / 2, run.missed_by(sample)
        interval = share_of(sample, *shares, None, true=0, found=0, predicted=1.0).interval
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


def without(true: Pairs, found: Pairs) -> Pairs:
    """The true pairs that were not found."""
    packed = [pairs.left.astype(np.uint64) << np.uint64(32) | pairs.right.astype(np.uint64) for pairs in (true, found)]
    missed = ~np.isin(*packed)
    return Pairs(*(column[missed].astype(np.int64) for column in (true.left, true.right)), np.ones(missed.sum()))


def assert_covered(true: Pairs, found: Pairs, count: int) -> None:
    run = run_of(found, without(true, found), count)
    for size in (128, 500):
        coverage, at_most, _, _ = covered(run, size)
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
    """As above, where groups of strings are found with their own chances."""
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
