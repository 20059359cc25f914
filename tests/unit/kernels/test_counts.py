"""Counting kernels beside their slow twins."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.evaluation.kernels.merge_tree import largest
from lookalike.evaluation.merge_tree import Growth
from lookalike.kernels.buckets import bucket_sizes


@given(st.lists(st.integers(0, 9), max_size=200), st.integers(2, 8))
@settings(deadline=None)
def test_buckets_are_counted_by_doublings(keys: list[int], classes: int) -> None:
    packed = np.sort(np.array([key << 20 | at for at, key in enumerate(keys)], np.uint64))
    out = np.zeros(classes, np.int64)
    bucket_sizes(packed, 20, out)
    wanted = Counter(min(classes - 1, size.bit_length() - 1) for size in Counter(keys).values())
    assert out.tolist() == [wanted[d] for d in range(classes)]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30))
@settings(deadline=None)
def test_the_largest_group_after_each_merge(pairs: list[tuple[int, int]]) -> None:
    left, right = (np.array([pair[i] for pair in pairs], np.int64) for i in (0, 1))
    growth = Growth.of(left, right, 10)
    out = np.empty(len(growth.child), np.int64)
    largest(growth.child, growth.parent, out)
    group = {item: {item} for item in range(10)}
    wanted = []
    for a, b in pairs:
        if group[a] is not group[b]:
            whole = group[a] | group[b]
            group |= dict.fromkeys(whole, whole)
            wanted.append(max(map(len, group.values())))
    assert out.tolist() == wanted
