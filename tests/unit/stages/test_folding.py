"""OR-folding: matrices of half the rows, columns of medium density, and the recall that was planned."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.errors import UsageError
from lookalike.kernels.hashing import mix
from lookalike.stages.candidates import Items
from lookalike.stages.folding import FoldingPlan, ladder, plan_folding


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
        assert level.rows >= 8
        for number, column in zip(level.items.tolist(), level.columns, strict=True):
            expected = {int(mix(np.uint64(e) ^ np.uint64(3))) % level.rows for e in sets[number]}
            assert bits_of(column) == expected
            assert 0.2 <= len(expected) / level.rows <= 0.8
            seen += 1
    large = [s for s in sets if len(s) >= 30]
    assert seen >= 2 * len(large)


def test_no_matrix_misses_a_column_of_medium_density() -> None:
    draw = random.Random(1)
    sets = [{draw.randrange(1, 10**9) for _ in range(draw.randint(1, 400))} for _ in range(60)]
    there = {(level.rows, int(i)) for level in ladder(items(sets), seed=3) for i in level.items}
    rows = 8
    while rows <= 4096:
        for number, one in enumerate(sets):
            ones = len({int(mix(np.uint64(e) ^ np.uint64(3))) % rows for e in one})
            assert ((rows, number) in there) == (0.2 * rows <= ones <= 0.8 * rows)
        rows *= 2


@pytest.mark.parametrize("similarity", [0.6, 0.8, 0.9])
def test_pairs_are_found_as_often_as_planned(similarity: float) -> None:
    """The plan states the least over all sizes; no size does clearly worse, and no pair is false."""
    draw = random.Random(2)
    lists, planted = [], 0
    for _ in range(250):
        size = draw.randint(100, 400)
        shared = round(2 * size * similarity / (1 + similarity)) + 1
        one = draw.sample(range(10**8), 2 * size - shared)
        lists += [one[:size], one[size - shared :]]
        planted += 1
    plan = FoldingPlan(threshold=similarity, recall=0.5, bands=3, rows=12)
    result = la.folding.pairs(lists, threshold=similarity, recall=plan.recall_at_threshold - 1e-9, rows=12)
    made = result.receipt["plan"]
    assert made["bands"] == 3
    p = made["recall_at_threshold"]
    found = {(row["left"], row["right"]) for row in result.pairs.to_pylist()}
    assert found <= {(2 * i, 2 * i + 1) for i in range(planted)}
    assert len(found) >= planted * p - 5.5 * math.sqrt(planted * p * (1 - p)) - 1
    assert result.receipt["choice"]["method"] == "folding"


def test_every_pair_is_scored_exactly_and_once() -> None:
    draw = random.Random(4)
    lists = [draw.sample(range(300), 120) for _ in range(40)]
    lists += [[*one[10:], *range(1000, 1010)] for one in lists] + [lists[0]]
    got = la.folding.pairs(lists, threshold=0.7).pairs
    exact = la.pairs(lists, threshold=0.7, exact=True).pairs
    assert got.num_rows == exact.num_rows == 42
    assert got.equals(exact)


def test_more_keys_for_a_higher_wish() -> None:
    assert (
        plan_folding(0.8, recall=0.9).bands
        < plan_folding(0.8, recall=0.999).bands
        < plan_folding(0.6, recall=0.999).bands
    )
    assert plan_folding(0.1, recall=0.999999).bands == 256


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"rows": 40}, "rows is 40; a key has 1 to 32 rows."),
        ({"recall": 1.0}, "recall is 1.0; expected a number above 0 and below 1."),
        ({"threshold": 0}, "threshold is 0; expected a number above 0 and at most 1."),
    ],
)
def test_options_that_cannot_work(options: dict[str, float], line: str) -> None:
    with pytest.raises(UsageError) as caught:
        la.folding.pairs([[1, 2]], **options)  # type: ignore[arg-type]
    assert line in str(caught.value)


def test_nothing_to_fold() -> None:
    for none in ([], [""], ["", ""]):
        assert la.folding.pairs(none).pairs.num_rows == 0
