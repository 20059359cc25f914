"""Equal sets collapse to classes, and come back as pairs."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.arrays import Pairs
from lookalike.core.exact_duplicates import Classes, collapse, expand, fingerprints
from lookalike.errors import TooManyPairs
from lookalike.kernels.classes import sort_pairs
from oracles import join
from strategies import as_dict, make_pairs, make_sets

families = st.lists(st.sets(st.integers(1, 4), max_size=3), max_size=12)


def listed(classes: Classes) -> list[list[int]]:
    return [part.tolist() for part in np.split(classes.members, classes.ends)][: len(classes)]


def equal_sets(sets: list[set[int]], order: list[int]) -> list[list[int]]:
    """Items with equal, non-empty sets, in this order; the classes by their lowest item."""
    found = {frozenset(s): [i for i in order if sets[i] == s] for s in sets if s}
    return sorted(found.values(), key=min)


@given(sets=families, data=st.data())
@settings(max_examples=150, deadline=None)
def test_collapse_against_the_twin(sets: list[set[int]], data: st.DataObject) -> None:
    arrays, order = make_sets(sets), data.draw(st.permutations(range(len(sets))))
    classes = collapse(arrays, fingerprints(arrays), np.array(order, np.int64))
    assert listed(classes) == equal_sets(sets, list(order))
    assert listed(collapse(arrays, fingerprints(arrays))) == equal_sets(sets, list(range(len(sets))))
    assert classes.firsts.tolist() == [members[0] for members in listed(classes)]
    assert classes.counts.tolist() == [len(members) for members in listed(classes)]
    number = {item: c for c, members in enumerate(listed(classes)) for item in members}
    assert classes.class_of(len(sets)).tolist() == [number.get(i, -1) for i in range(len(sets))]


@given(elements=st.lists(st.integers(1, 2**64 - 1), unique=True, max_size=20), seed=st.randoms())
@settings(max_examples=50, deadline=None)
def test_fingerprints_know_no_order(elements: list[int], seed: st.DataObject) -> None:
    shuffled = sorted(elements, key=lambda _: seed.random())  # type: ignore[attr-defined]
    prints = fingerprints(make_sets([elements, shuffled, [*elements, 5]]))
    assert prints[0] == prints[1]
    assert prints[0] != prints[2]


@given(sets=families, prints=st.integers(1, 3), data=st.data())
@settings(max_examples=200, deadline=None)
def test_equal_fingerprints_only_propose(sets: list[set[int]], prints: int, data: st.DataObject) -> None:
    """Sets that differ but have one fingerprint are distinguished. An item that shares the first's set is in its class; a set
    that meets a stranger's fingerprint may stand in its own class, and is then found by the join."""
    order = data.draw(st.permutations(range(len(sets))))
    given = np.array([len(s) % prints for s in sets], np.uint64)
    got = listed(collapse(make_sets(sets), given, np.array(order, np.int64)))
    assert sorted(item for members in got for item in members) == [i for i, s in enumerate(sets) if s]
    for members in got:
        assert all(sets[item] == sets[members[0]] for item in members)
        assert members == sorted(members, key=order.index)
    assert [min(members) for members in got] == sorted(min(members) for members in got)
    for value in set(given.tolist()):
        run = [i for i in order if sets[i] and given[i] == value]
        if run:
            assert [i for i in run if sets[i] == sets[run[0]]] in got
    firsts = [sets[members[0]] for members in got]
    whole = expand(make_pairs(join(firsts, "jaccard", Fraction(1, 2))), as_classes(got), np.ones(len(got)), limit=10**6)
    assert as_dict(whole.left, whole.right, whole.similarity) == join(sets, "jaccard", Fraction(1, 2))


def as_classes(members: list[list[int]]) -> Classes:
    flat = [item for some in members for item in some]
    return Classes(np.array(flat, np.int64), np.cumsum([len(some) for some in members]).astype(np.int64))


@pytest.mark.parametrize("measure", ["jaccard", "overlap"])
@given(sets=families, cross=st.booleans(), data=st.data())
@settings(max_examples=150, deadline=None)
def test_expand_against_brute_force(measure: str, sets: list[set[int]], cross: bool, data: st.DataObject) -> None:
    """Pairs of classes, with the classes' own, are the pairs of all items; of two collections those across."""
    threshold = Fraction(1) if measure == "overlap" else Fraction(1, 2)
    split = data.draw(st.integers(0, len(sets))) if cross else -1
    arrays = make_sets(sets)
    classes = collapse(arrays, fingerprints(arrays))
    firsts = [sets[item] for item in classes.firsts]
    own = np.array([len(s) if measure == "overlap" else 1 for s in firsts], np.float64)
    whole = expand(make_pairs(join(firsts, measure, threshold)), classes, own, split=split, limit=10**6)
    expected = join(sets, measure, threshold, lambda i, j: split < 0 or i < split <= j)
    assert as_dict(whole.left, whole.right, whole.similarity) == expected
    assert list(zip(whole.left.tolist(), whole.right.tolist(), strict=True)) == sorted(expected)


def test_too_many_pairs_are_counted_not_made() -> None:
    copies = Classes(np.arange(1_000_001), np.array([1, 1_000_001]))
    one = Pairs(np.array([0]), np.array([1]), np.array([0.9]))
    with pytest.raises(TooManyPairs) as caught:
        expand(one, copies, np.ones(2), limit=1000)
    assert str(caught.value) == (
        "the answer has 500,000,500,000 pairs, more than `max_pairs=1,000`; the most repeated item occurs "
        "1,000,000 times. Ask for groups or dedup instead, take a stricter threshold, or raise `max_pairs`."
    )
    with pytest.raises(TooManyPairs, match="the answer has 250,000,500,000 pairs"):
        expand(one, copies, np.ones(2), split=500_001, limit=1000)


def test_copies_on_one_side_cost_nothing() -> None:
    """A million copies in one collection and none in the other: no pairs, and no time to find that out."""
    copies = Classes(np.arange(1_000_000), np.array([1_000_000]))
    assert len(expand(make_pairs({}), copies, np.ones(1), split=1_000_000, limit=1000)) == 0


@pytest.mark.parametrize("least", [1, 3])
def test_sets_below_the_least_size_are_in_no_class(least: int) -> None:
    arrays = make_sets([{1, 2}, {1, 2}, {1, 2, 3}, {1, 2, 3}, set()])
    expected = [[0, 1], [2, 3]] if least == 1 else [[2, 3]]
    assert listed(collapse(arrays, fingerprints(arrays), least=least)) == expected


def test_as_many_pairs_as_allowed_are_made() -> None:
    copies = Classes(np.arange(4), np.array([4]))
    assert len(expand(make_pairs({}), copies, np.ones(1), limit=6)) == 6
    with pytest.raises(TooManyPairs, match="the answer has 6 pairs"):
        expand(make_pairs({}), copies, np.ones(1), limit=5)


@given(st.sets(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=60), st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_pairs_are_sorted_without_comparing(pairs: set[tuple[int, int]], draw: random.Random) -> None:
    rows = [(a, b, 100.0 * a + b) for a, b in pairs]
    draw.shuffle(rows)
    left, right = (np.array([row[side] for row in rows], np.int64) for side in (0, 1))
    similarity = np.array([row[2] for row in rows], np.float64)
    sort_pairs(left, right, similarity, 10, np.empty(len(rows), np.uint32), np.empty(len(rows)))
    assert list(zip(left.tolist(), right.tolist(), similarity.tolist(), strict=True)) == sorted(rows)
