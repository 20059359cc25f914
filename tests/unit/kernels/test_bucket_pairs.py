"""Candidates from rows sorted by key, against their slow twins."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.kernels import bounds, bucket_pairs
from oracles import reaches

ROW = st.tuples(st.integers(0, 3), st.integers(0, 6), st.sampled_from([1, 2, 3]), st.integers(1, 9))


@settings(deadline=None)
@given(st.lists(ROW, max_size=25), st.booleans())
def test_pairs_of_runs(rows: list[tuple[int, int, int, int]], sized: bool) -> None:
    rows = sorted(rows)
    keys, items, sides, sizes = (np.array([row[i] for row in rows], np.int64) for i in range(4))
    left, right = np.empty(len(rows) + 1, np.int64), np.empty(len(rows) + 1, np.int64)
    none = np.full(len(rows), -1, np.int32)
    found, at = [], 0
    while at < len(rows):  # room for one run only: it stops and goes on
        at, count = bucket_pairs.pairs_of_runs(
            keys, items, sides.astype(np.int8), np.zeros(len(rows), np.int8), sizes.astype(np.int32), none,
            bounds.JACCARD if sized else -1, 1, 2, at, left, right,
        )  # fmt: skip
        found += list(zip(left[:count].tolist(), right[:count].tolist(), strict=True))
    half = Fraction(1, 2)
    expected = [
        (min(a[1], b[1]), max(a[1], b[1]))
        for a, b in combinations(rows, 2)
        if a[0] == b[0] and a[1] != b[1] and a[2] | b[2] == 3
        if not sized or reaches("jaccard", min(a[3], b[3]), a[3], b[3], half)
    ]
    assert sorted(found) == sorted(expected)


def test_pairs_between_parts_only() -> None:
    items = np.arange(5)
    left, right = np.empty(20, np.int64), np.empty(20, np.int64)
    parts = np.array([1, 1, 2, 2, 2], np.int8)
    flat = np.zeros(5, np.int64)
    _, count = bucket_pairs.pairs_of_runs(
        flat, items, np.full(5, 3, np.int8), parts, flat.astype(np.int32), np.full(5, -1, np.int32), -1, 0, 1, 0,
        left, right,
    )  # fmt: skip
    assert set(zip(left[:count].tolist(), right[:count].tolist(), strict=True)) == {
        (a, b) for a in (0, 1) for b in (2, 3, 4)
    }


SET = st.sets(st.integers(1, 60), min_size=1, max_size=20)


@settings(deadline=None)
@given(st.lists(SET, min_size=2, max_size=12), st.sampled_from([0.5, 0.8]), st.integers(0, 5))
def test_every_pair_at_the_threshold_meets_by_its_rarest(sets: list[set[int]], threshold: float, seed: int) -> None:
    """For any levels, a pair that matches shares a word among its rarest, at places that let it through."""
    levels = np.random.default_rng(seed).integers(0, 200, 64).astype(np.uint8)
    num, den = Fraction(str(threshold)).as_integer_ratio()
    elements = np.array([x for s in sets for x in sorted(s)], np.uint64)
    sizes = np.array([len(s) for s in sets], np.int64)
    starts = np.cumsum(sizes) - sizes
    lengths = sizes.copy()  # whole sets in order: their beginnings are the prefixes
    words = np.empty(int(lengths.sum()), np.uint64)
    bucket_pairs.rarest(elements, starts, sizes, lengths, levels, words)
    for start, s in zip(starts.tolist(), sets, strict=True):
        assert words[start : start + len(s)].tolist() == sorted((int(levels[x % 64]) << 56) | x for x in s)
    for i, j in combinations(range(len(sets)), 2):
        if not reaches("jaccard", len(sets[i] & sets[j]), len(sets[i]), len(sets[j]), Fraction(num, den)):
            continue
        mine, theirs = (words[starts[k] : starts[k] + sizes[k]].tolist() for k in (i, j))
        first = next(word for word in mine if word in set(theirs))
        places = mine.index(first), theirs.index(first)
        assert bucket_pairs.passes_positional_filter(bounds.JACCARD, sizes[i], places[0], sizes[j], places[1], num, den)
