"""The exact join by counting against brute force, and when it is taken."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.core.candidates import Items
from lookalike.core.measures import bar, set_measure
from lookalike.core.method_choice import PLANNER_SAMPLE
from lookalike.core.trace import Trace
from lookalike.errors import TooManyPairs
from lookalike.kinds.documents import counting_join, planner
from lookalike.kinds.documents.counting_join import counted_pairs
from lookalike.kinds.documents.planner import SampleJoin, preview
from lookalike.kinds.documents.prefix_join import exact_pairs
from lookalike.runtime.local.memory_budget import MemoryBudget
from lookalike.runtime.local.pool import Pool
from lookalike.runtime.local.work_folder import Workspace
from oracles import MEASURES, join
from strategies import as_dict, families, make_items

SPACE = Workspace(MemoryBudget(1 << 62))


def counted(
    sets: list[set[int]], measure: str, threshold: Fraction, sides: list[int] | None = None, threads: int = 1
) -> dict[tuple[int, int], float]:
    with Pool(threads) as pool:
        target = bar(set_measure(measure), float(threshold))
        return as_dict(*counted_pairs(make_items(sets, sides), target, pool, Trace(), SPACE, 10**9))


@pytest.mark.parametrize("measure", MEASURES)
@given(sets=families, percent=st.integers(5, 100), data=st.data())
@settings(max_examples=80, deadline=None)
def test_counting_is_brute_force(measure: str, sets: list[set[int]], percent: int, data: st.DataObject) -> None:
    """With sides: 1 left, 2 right, 3 both; a pair needs one of each."""
    sides = data.draw(st.none() | st.lists(st.sampled_from([1, 2, 3]), min_size=len(sets), max_size=len(sets)))
    threshold = Fraction(1 + percent // 10) if measure == "overlap" else Fraction(percent, 100)
    expected = join(sets, measure, threshold, lambda i, j: sides is None or sides[i] | sides[j] == 3)
    assert counted(sets, measure, threshold, sides) == expected


def spread_sets(count: int, seed: int) -> list[set[int]]:
    """Some sets of common elements, which meet most others, and some of rare ones, which meet few."""
    draw = random.Random(seed)
    common, rare = ([draw.getrandbits(64) | 1 for _ in range(size)] for size in (12, 3000))
    return [
        set(draw.choices(rare if i % 3 else common, k=draw.randint(1, 9))) | set(draw.choices(rare, k=i % 2))
        for i in range(count)
    ]


@pytest.mark.parametrize("measure", MEASURES)
def test_many_sets_in_many_tasks(measure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Little room for pairs, small tasks; items whose partners are noted, and items that look through all."""
    monkeypatch.setattr(counting_join, "PIECE", 64)
    monkeypatch.setattr(counting_join, "MIN_TASK_TRIPLES", 50)
    sets = spread_sets(400, seed=5)
    for threshold in map(Fraction, ["1", "3"] if measure == "overlap" else ["0.1", "0.5"]):
        expected = join(sets, measure, threshold)
        assert len(expected) > 20
        for threads in (1, 3):
            assert counted(sets, measure, threshold, threads=threads) == expected


def test_too_many_pairs_stop_the_search() -> None:
    sets = [{1, 2, 3, 100 + i} for i in range(100)]
    with Pool(1) as pool, pytest.raises(TooManyPairs, match=r"^more than 50 pairs \(`max_pairs`\)"):
        counted_pairs(make_items(sets), bar(set_measure("jaccard"), 0.5), pool, Trace(), SPACE, 50)


def random_items(count: int, size: int, universe: int) -> Items:
    """Sets of about `size` elements; in order of first appearance, each once."""
    rng = np.random.default_rng(3)
    rows = [
        set((rng.integers(1, universe, size).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)).tolist())
        for _ in range(count)
    ]
    return make_items(rows)


def test_the_cheaper_way_is_taken_and_both_agree() -> None:
    """Few different elements and a low threshold: prefixes leave out nothing. Long sets, a high one: nearly all."""
    jaccard = set_measure("jaccard")
    with Pool(2) as pool:
        baskets = random_items(3 * PLANNER_SAMPLE, 6, 100)
        low = bar(jaccard, 0.2)
        seen = preview(baskets, low, pool, seed=1)
        assert seen is not None
        assert seen.exact_way(seen.grow, 1 << 40)[0] == "counting"
        assert seen.exact_way(seen.grow, 1 << 20)[0] == "prefixes"  # lists that do not fit the memory
        long = random_items(300, 200, 1 << 50)
        high = bar(jaccard, 0.9)
        assert SampleJoin.of_all(long, high, pool).exact_way(1.0, 1 << 40)[0] == "prefixes"
        few = baskets.part(0, 1500)
        assert as_dict(*counted_pairs(few, low, pool, Trace(), SPACE, 10**9)) == as_dict(
            *exact_pairs(few, low, pool, Trace(), SPACE, 10**9)
        )


def test_the_receipt_names_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "SMALL_JOIN", 0.0)
    lists = [[i % 7, i % 5, 100 + i % 3] for i in range(300)]
    receipt = la.pairs(lists, threshold=0.2, exact=True).receipt
    assert receipt["choice"]["way"] == "counting"
    assert receipt["counts"]["triples"] > 0


def test_small_collections_take_one_join() -> None:
    """So the first run of a command compiles the kernels of one join only."""
    lists = [[i % 7, i % 5, 100 + i % 3] for i in range(300)]
    assert la.pairs(lists, threshold=0.2, exact=True).receipt["choice"]["way"] == "prefixes"


@given(sets=families)
@settings(max_examples=40, deadline=None)
def test_triples_are_what_pairs_share(sets: list[set[int]]) -> None:
    items = make_items(sets)
    with Pool(1) as pool:
        seen = SampleJoin.of_all(items, bar(set_measure("jaccard"), 0.5), pool)
    assert seen.triples == sum(len(a & b) for i, a in enumerate(sets) for b in sets[:i])


def test_the_size_of_an_answer_with_copies_is_foretold() -> None:
    """Each basket twice: an answer of classes would be four times too small."""
    rng = np.random.default_rng(4)
    lists = [[int(x) for x in rng.choice(60, 5, replace=False)] for _ in range(PLANNER_SAMPLE + 1000)] * 2
    counts = la.pairs(lists, threshold=0.4, exact=True).receipt["counts"]
    assert 0.9 < counts["expected_pairs"] / counts["pairs"] < 1.1
