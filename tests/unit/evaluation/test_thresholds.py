"""Counts and groups at every threshold are those of the pairs that pass it, taken one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.evaluation.thresholds import link, make_cuts


def groups_of(left: list[int], right: list[int], items: int) -> set[frozenset[int]]:
    """The slow twin: groups of two or more, by walking."""
    near: dict[int, set[int]] = {item: set() for item in range(items)}
    for a, b in zip(left, right, strict=True):
        near[a].add(b)
        near[b].add(a)
    found, seen = set(), set()
    for item in range(items):
        if item in seen:
            continue
        group, todo = set(), [item]
        while todo:
            at = todo.pop()
            if at not in group:
                group.add(at)
                todo += near[at]
        seen |= group
        if len(group) > 1:
            found.add(frozenset(group))
    return found


@given(
    st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11), st.integers(0, 20)), max_size=40),
    st.sampled_from([1, -1]),
)
@settings(deadline=None)
def test_every_cut_has_the_groups_of_its_pairs(pairs: list[tuple[int, int, int]], sign: int) -> None:
    pairs = [pair for pair in pairs if pair[0] != pair[1]]
    left, right = (np.array([pair[i] for pair in pairs], np.int64) for i in (0, 1))
    shown = np.array([pair[2] for pair in pairs]) / (20 if sign > 0 else 1)
    cuts = make_cuts(shown, 0.0 if sign > 0 else 20.0, sign)
    made = link(left, right, cuts.levels(shown), 12, len(cuts))
    assert sorted(made.order.tolist()) == list(range(12))
    for cut in range(0, len(cuts), max(1, len(cuts) // 12)):
        passing = sign * shown >= sign * cuts.values[cut] - 1e-9
        wanted = groups_of(left[passing].tolist(), right[passing].tolist(), 12)
        begins, sizes = made.runs(cut)
        assert {frozenset(made.order[b : b + s].tolist()) for b, s in zip(begins, sizes, strict=True)} == wanted
        assert sizes.tolist() == sorted(sizes.tolist(), reverse=True)
        reported = made.pairs[cut], made.groups[cut], made.grouped[cut], made.largest[cut]
        lengths = [len(group) for group in wanted]
        assert reported == (passing.sum(), len(wanted), sum(lengths), max(lengths, default=0))


@pytest.mark.parametrize(
    ("shown", "threshold", "sign", "first", "last"),
    [
        ([0.8, 1.0], 0.8, 1, 0.8, 1.0),
        ([0.5], 0.8, 1, 0.5, 1.0),  # a pair beyond the threshold counts too
        ([], 0.8, 1, 0.8, 1.0),
        ([3, 250], 2, 1, 2, 250),  # shared elements
        ([12.5, 3.25], 30, -1, 30, 0),
        ([1e-7], 1e-6, -1, 1e-6, 0),
        ([5.0], 5, 1, 5, 5),
    ],
)
def test_cuts_go_from_the_threshold_to_the_nearest_score(
    shown: list[float], threshold: float, sign: int, first: float, last: float
) -> None:
    cuts = make_cuts(np.array(shown, np.float64), threshold, sign)
    assert (cuts.values[0], cuts.values[-1]) == pytest.approx((first, last))
    assert 1 <= len(cuts) <= 600
    assert np.all(sign * np.diff(cuts.values) > 0)
    assert np.all(cuts.levels(np.array(shown)) >= 0)


def test_a_fraction_passes_the_decimal_that_is_written_like_it() -> None:
    cuts = make_cuts(np.array([0.7, 17 / 20]), 0.7, 1)
    at = cuts.nearest(0.85)
    assert cuts.values[at] == 0.85
    assert cuts.levels(np.array([17 / 20, 0.8499])).tolist() == [at, at - 1]
