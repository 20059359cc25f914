"""OR-folding: matrices of half the rows, columns of medium density, and the recall that was planned."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.core.candidates import Items
from lookalike.errors import UsageError
from lookalike.kernels.hashing import mix
from lookalike.kinds.documents.folding import LEAST_SIZE, FoldingPlan, ladder, plan_folding
from lookalike.kinds.documents.folding_recall import differing_rows, missed


def items(sets: list[set[int]]) -> Items:
    sizes = np.array([len(s) for s in sets], np.int64)
    flat = np.array([e for s in sets for e in sorted(s)], np.uint64)
    return Items(flat, np.cumsum(sizes) - sizes, sizes, np.full(len(sets), 3, np.uint8))


def bits_of(column: np.ndarray) -> set[int]:
    return {64 * w + b for w, word in enumerate(column.tolist()) for b in range(64) if word >> b & 1}


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sets(st.integers(1, 10**6), max_size=300), min_size=1, max_size=6))
def test_each_matrix_is_the_hashed_sets_modulo_its_rows(sets: list[set[int]]) -> None:
    """Folded or not, row r of a matrix of R rows is the OR of all rows that are r modulo R."""
    seen = 0
    for level in ladder(items(sets), seed=3):
        assert level.rows >= 32
        for number, column in zip(level.items.tolist(), level.columns, strict=True):
            expected = {int(mix(np.uint64(e) ^ np.uint64(3))) % level.rows for e in sets[number]}
            assert bits_of(column) == expected
            assert 0.2 <= 1 - math.exp(-len(sets[number]) / level.rows) <= 0.8
            seen += 1
    large = [s for s in sets if len(s) >= LEAST_SIZE]
    assert seen >= 2 * len(large)


def test_each_set_takes_part_where_its_size_makes_it_of_medium_density() -> None:
    draw = random.Random(1)
    sets = [{draw.randrange(1, 10**9) for _ in range(draw.randint(1, 400))} for _ in range(60)]
    members = {(level.rows, int(i)) for level in ladder(items(sets), seed=3) for i in level.items}
    rows = 8
    while rows <= 4096:
        for number, elements in enumerate(sets):
            density = 1 - math.exp(-len(elements) / rows)
            assert ((rows, number) in members) == (len(elements) >= LEAST_SIZE and 0.2 <= density <= 0.8)
        rows *= 2


def share_found(plan: FoldingPlan, small: int, large: int, common: int) -> tuple[float, int]:
    """The share of pairs of such sets that agree in a key, and the number of pairs: a fresh seed for every 50."""
    hits, pairs, seeds = 0, 50, 60
    for seed in range(seeds):
        draw = np.random.default_rng([seed, small, large])
        union = draw.integers(1, 1 << 63, (pairs, small + large - common), dtype=np.uint64)
        flat = np.concatenate([union[:, :small].ravel(), union[:, small - common :].ravel()])
        sizes = np.repeat([small, large], pairs)
        sets = Items(flat, np.cumsum(sizes) - sizes, sizes, np.full(2 * pairs, 3, np.uint8))
        agree = np.zeros(pairs, np.bool_)
        for level in ladder(sets, seed, plan.density):
            if len(level.items) == 2 * pairs:
                keys = np.empty((2 * pairs, plan.bands), np.uint64)
                level.fill_keys(plan.rows, seed, keys)
                agree |= (keys[:pairs] == keys[pairs:]).any(axis=1)
        hits += int(agree.sum())
    return hits / (pairs * seeds), pairs * seeds


@pytest.mark.promise(
    "docs/explanation/estimates.md", "Each pair at the threshold is found with the requested probability"
)
@pytest.mark.parametrize("recall", [0.8, 0.99])
@pytest.mark.parametrize(
    ("small", "large", "common"),
    [
        (32, 64, 32), (50, 100, 50), (57, 114, 57), (114, 228, 114),  # Jaccard 1/2: one contains the other
        (33, 33, 22), (57, 57, 38), (300, 300, 200), (45, 66, 37),  # Jaccard 1/2: equal and other sizes
        (36, 45, 36), (56, 70, 56), (54, 54, 48), (225, 225, 200),  # Jaccard 4/5
    ],
)  # fmt: skip
def test_pairs_of_all_sizes_are_found_as_often_as_stated(small: int, large: int, common: int, recall: float) -> None:
    """A false alarm has a probability below 1e-6: 5 standard deviations."""
    similarity = common / (small + large - common)
    plan = plan_folding(0.8 if similarity >= 0.8 else 0.5, recall=recall)
    stated = plan.recall_at_threshold
    assert stated >= recall
    share, pairs = share_found(plan, small, large, common)
    assert share >= stated - 5 * math.sqrt(stated * (1 - stated) / pairs)


def test_the_law_is_that_of_the_worst_sizes() -> None:
    """Where 57 elements are half of 114 the two have one matrix in common, and the bound is nearly reached."""
    plan = plan_folding(0.5, recall=0.8)
    share, pairs = share_found(plan, 57, 114, 57)
    assert abs(share - plan.recall_at_threshold) < 5 * math.sqrt(0.8 * 0.2 / pairs)


def test_the_moments_of_the_differing_rows_are_exact() -> None:
    draw = np.random.default_rng(5)
    runs, rows = 20_000, 32
    hit = [np.zeros((runs, rows), np.bool_) for _ in range(3)]
    for mask, count in zip(hit, (9, 4, 15), strict=True):  # common elements, and those of each set alone
        mask[np.arange(runs)[:, None], draw.integers(0, rows, (runs, count))] = True
    count = ((hit[1] ^ hit[2]) & ~hit[0]).sum(axis=1)
    (mean,), (variance,) = differing_rows(*(np.array([x]) for x in (13.0, 24.0, 9.0, 32.0)))
    assert abs(count.mean() - mean) < 5 * math.sqrt(variance / runs)
    assert abs(count.var() / variance - 1) < 5 * math.sqrt(2 / runs)


def test_larger_sets_are_found_more_often_than_the_law_says() -> None:
    plan = plan_folding(0.5, recall=0.8)
    low, high = (-math.log1p(-share) for share in plan.density)
    small = np.arange(32.0, 5000.0)
    for ratio in (0.5, 0.6, 0.75, 0.9, 1.0):
        chance = 1 - missed(small, small / ratio, 0.5, (low, high), plan.rows, plan.bands)
        assert chance.min() >= plan.recall_at_threshold - 1e-12


@pytest.mark.parametrize("sizes", [(3, 3, 2), (16, 31, 16), (31, 62, 31), (30, 30, 20)])
def test_every_pair_with_a_small_set_is_found(sizes: tuple[int, int, int]) -> None:
    small, large, common = sizes
    lists = []
    for start in range(0, 100_000, 1000):
        lists += [
            list(range(start, start + small)),
            list(range(start + small - common, start + small - common + large)),
        ]
    pairs = la.folding.pairs(lists, threshold=0.5, recall=0.5).pairs
    assert pairs["left"].to_pylist() == list(range(0, 200, 2))


@pytest.mark.promise("docs/explanation/estimates.md", "two sets at the threshold always have a matrix in common")
def test_two_sets_at_the_threshold_have_a_matrix_in_common() -> None:
    for threshold in (0.05, 0.2, 0.5, 0.9):
        low, high = (-math.log1p(-share) for share in plan_folding(threshold, recall=0.5).density)
        for small in range(32, 400):
            large = math.floor(small / threshold)
            assert any(low * 2**k <= small and large <= high * 2**k for k in range(20))


def test_every_pair_is_scored_exactly_and_once() -> None:
    draw = random.Random(4)
    lists = [draw.sample(range(300), 120) for _ in range(40)]
    lists += [[*one[10:], *range(1000, 1010)] for one in lists] + [lists[0]]
    got = la.folding.pairs(lists, threshold=0.7).pairs
    exact = la.pairs(lists, threshold=0.7, exact=True).pairs
    assert got.num_rows == exact.num_rows == 42
    assert got.equals(exact)


def test_a_higher_recall_takes_more_keys_or_shorter_ones() -> None:
    bands = [plan_folding(0.8, recall=recall, rows=16).bands for recall in (0.5, 0.9, 0.999)]
    assert bands == sorted(set(bands))
    assert plan_folding(0.5, recall=0.99).rows < plan_folding(0.8, recall=0.99).rows
    most = plan_folding(0.1, recall=0.999999)
    assert most.bands == 256
    assert most.recall_at_threshold < 0.999999


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"rows": 40}, "rows is 40; a key has 1 to 32 rows."),
        ({"recall": 1.0}, "recall is 1.0; expected a number above 0 and below 1."),
        ({"threshold": 0}, "threshold is 0; expected a number above 0 and at most 1."),
        ({"bands": 5}, "bands are of signatures, and method 'folding' makes none"),
        ({"verify": False}, "verify=False estimates from signatures, and method 'folding' makes none"),
        ({"engine": "spark"}, "method folding runs on one machine; on Spark choose lsh"),
        ({"measure": "containment"}, "folding cannot promise a recall for containment"),
    ],
)
def test_options_that_cannot_work(options: dict[str, Any], line: str) -> None:
    with pytest.raises(UsageError) as caught:
        la.folding.pairs([[1, 2]], **options)
    assert line in str(caught.value)


def test_nothing_to_fold() -> None:
    for none in ([], [""], ["", ""]):
        assert la.folding.pairs(none).pairs.num_rows == 0
