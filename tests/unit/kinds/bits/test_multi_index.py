"""Pieces of codes: exact plans let no pair escape, and chances are those of an enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.kinds.bits.multi_index import CodeSegment, MultiIndexPlan, SegmentCosts, exact_plan, lsh_plan, missed

shapes = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), min_size=1, max_size=3)


@settings(max_examples=80, deadline=None)
@given(shapes, st.integers(0, 3), st.integers(1, 6))
def test_the_chance_of_a_miss_by_enumeration(shape: list[tuple[int, int]], spare: int, distance: int) -> None:
    widths, flips = tuple(w for w, _ in shape), tuple(t for _, t in shape)
    bits = sum(widths) + spare
    if distance > bits:
        return
    starts = list(itertools.accumulate(widths, initial=0))
    placings = list(itertools.combinations(range(bits), distance))
    misses = sum(
        all(sum(starts[i] <= bit < starts[i + 1] for bit in placing) > flips[i] for i in range(len(widths)))
        for placing in placings
    )
    assert missed(bits, distance, widths, flips) == pytest.approx(misses / len(placings), abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 300), st.integers(0, 40), st.sampled_from([10, 10**4, 10**6]), st.floats(0.05, 0.5))
def test_exact_plans_let_none_escape(bits: int, threshold: int, n: int, differ: float) -> None:
    plan = exact_plan(bits, threshold, SegmentCosts(n, -(-bits // 64), differ))
    assert plan.is_exact
    assert sum(plan.widths) <= bits
    assert all(plan.probability(distance) == 1.0 for distance in range(threshold + 1))


@settings(max_examples=15, deadline=None)
@given(st.sampled_from([32, 64, 200]), st.integers(1, 12), st.floats(0.5, 0.999))
def test_approximate_plans_keep_the_wish_and_cost_no_more(bits: int, threshold: int, recall: float) -> None:
    costs = SegmentCosts(10**6, -(-bits // 64), 0.5)
    plan = lsh_plan(bits, threshold, recall, costs)
    assert plan.recall_at_threshold >= recall - 1e-12
    assert costs.of(plan) <= costs.of(exact_plan(bits, threshold, costs)) * (1 + 1e-9)
    chances = [plan.probability(distance) for distance in range(bits)]
    assert chances == sorted(chances, reverse=True) or np.all(np.diff(chances) < 1e-9)


@pytest.mark.parametrize("flips", [0, 1, 2, 3])
def test_the_flips_of_a_key(flips: int) -> None:
    xors = CodeSegment(np.arange(6, dtype=np.uint64), flips).xors
    assert xors.tolist() == [key for key in range(64) if key.bit_count() <= flips]


def test_a_mask_has_ones_at_the_places() -> None:
    assert CodeSegment(np.array([0, 63, 64, 70], np.uint64), 0).mask(2).tolist() == [1 | 1 << 63, 1 | 1 << 6]


def test_rounds_draw_pieces_that_do_not_overlap() -> None:
    plan = MultiIndexPlan(bits=20, threshold=3, recall=0.9, widths=(7, 6), flips=(1, 0), rounds=3)
    places = np.arange(100, 120, dtype=np.uint64)
    pieces = plan.pieces(places, seed=1)
    assert len(pieces) == 6
    for one, other in zip(pieces[::2], pieces[1::2], strict=True):
        assert len(np.unique(np.concatenate([one.places, other.places]))) == 13
    assert {tuple(piece.places.tolist()) for piece in pieces[::2]} != 1
    assert plan.shape == "6 keys of 6 to 7 bits, up to 1 flipped"
