"""Divide-Compute-Merge against brute force and the exact join, for any memory; and that no file is left."""

from __future__ import annotations

import os
import random
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lookalike.core.measures import bar, set_measure
from lookalike.core.trace import Trace
from lookalike.errors import OutputError, TooManyPairs
from lookalike.kinds.documents import inverted_lists
from lookalike.kinds.documents.inverted_lists import dcm_pairs
from lookalike.kinds.documents.prefix_join import exact_pairs
from lookalike.runtime.local.memory_budget import MemoryBudget
from lookalike.runtime.local.pool import Pool
from lookalike.runtime.local.work_folder import Workspace
from oracles import MEASURES, join
from strategies import as_dict, families, make_items

MEMORIES = (1, 2_000, 1 << 30)  # every posting and triple for itself; many runs and parts of lists; all at once


def found(
    sets: list[set[int]], measure: str, threshold: Fraction, sides: list[int] | None = None, memory: int = 1 << 30,
    threads: int = 1, trace: Trace | None = None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    with Pool(threads) as pool:
        target = bar(set_measure(measure), float(threshold))
        return dcm_pairs(make_items(sets, sides), target, pool, trace or Trace(), 10**9, memory=memory)


def overlapping_sets(count: int, seed: int) -> list[set[int]]:
    """Sets of 1 to 30 elements with near-copies; one element is in nearly all of them, and one set has very many."""
    draw = random.Random(seed)
    universe = [draw.getrandbits(64) for _ in range(300)]
    weights = [1 / (i + 1) for i in range(300)]
    sets = [{universe[0], *draw.choices(universe, weights, k=draw.randint(1, 30))} for _ in range(count)]
    for i in range(0, count, 3):
        sets[i] = sets[i + 1] ^ {universe[draw.randrange(300)]} or {1}
    sets[count // 2] = set(universe[:280])
    return sets


def ties(sets: list[set[int]], measure: str) -> list[Fraction]:
    """Thresholds that two of these sets reach exactly."""
    shapes = {(len(a & b), len(a), len(b)) for a in sets for b in sets if a & b}
    exact = {
        "jaccard": lambda c, a, b: Fraction(c, a + b - c),
        "containment": lambda c, a, b: Fraction(c, min(a, b)),
        "dice": lambda c, a, b: Fraction(2 * c, a + b),
        "cosine": lambda c, a, b: Fraction(c, a) if a == b else Fraction(1),
        "overlap": lambda c, a, b: Fraction(c),
    }
    return sorted({exact[measure](*shape) for shape in shapes})


@pytest.mark.parametrize("measure", MEASURES)
@given(sets=families, data=st.data())
@settings(max_examples=80, deadline=None)
@example(sets=[{1, 2, 3, 4}, {1, 2, 3, 4, 5}], data=None)
def test_it_is_brute_force(measure: str, sets: list[set[int]], data: st.DataObject | None) -> None:
    whole = measure == "overlap"
    thresholds = (
        [Fraction(4, 1 if whole else 5)] if data is None else ties(sets, measure)[:1] + ties(sets, measure)[-1:]
    )
    sides = [3] * len(sets)
    if data is not None:
        thresholds.append(
            Fraction(data.draw(st.integers(1, 12) if whole else st.integers(5, 100)), 1 if whole else 100)
        )
        sides = data.draw(st.just(sides) | st.lists(st.sampled_from([1, 2, 3]), min_size=len(sets), max_size=len(sets)))
    memory = 1 << 30 if data is None else data.draw(st.sampled_from([1, 100, 1 << 30]))
    for threshold in thresholds:
        expected = join(sets, measure, threshold, lambda i, j: sides[i] | sides[j] == 3)
        assert as_dict(*found(sets, measure, threshold, sides, memory)) == expected


@pytest.mark.parametrize("sided", [False, True])
@pytest.mark.parametrize("measure", MEASURES)
def test_the_same_bytes_for_any_memory_and_threads(measure: str, sided: bool) -> None:
    sets = overlapping_sets(150, seed=5)
    sides = [1 + i % 3 for i in range(len(sets))] if sided else None
    for threshold in map(Fraction, ["2", "9"] if measure == "overlap" else ["0.1", "0.7"]):
        with Pool(1) as pool:
            target = bar(set_measure(measure), float(threshold))
            expected = as_dict(
                *exact_pairs(make_items(sets, sides), target, pool, Trace(), Workspace(MemoryBudget(1 << 40)), 10**9)
            )
        assert len(expected) > 10
        first = found(sets, measure, threshold, sides)
        assert as_dict(*first) == expected
        seen = set()
        for memory in MEMORIES:
            for threads in (1, 3):
                trace = Trace()
                again = found(sets, measure, threshold, sides, memory, threads, trace)
                assert [column.tobytes() for column in again] == [column.tobytes() for column in first]
                assert (trace.counts.pop("spilled_bytes") > 0) == (memory < 1 << 30)
                seen.add(tuple(trace.counts.items()))
        assert len(seen) == 1


def test_what_is_counted() -> None:
    sets = [{1, 2, 3}, {1, 2, 4}, {1, 5, 6}, {7, 8, 9}, {1, 2, 3, 10, 11, 12, 13}]
    trace = Trace()
    assert as_dict(*found(sets, "jaccard", Fraction(1, 2), trace=trace)) == {(0, 1): 0.5}
    # 1 is in three of the small sets, 2 in two; the large set is out of reach for all of them
    assert trace.counts == {"postings": 19, "triples": 4, "spilled_bytes": 0, "candidates": 3}
    assert list(trace.seconds) == ["divide", "merge", "match"]


def test_lists_that_fit_are_never_written_as_triples() -> None:
    """A thousand items share one shingle: 499 500 triples, but postings are all that goes to disk."""
    sets = [{1, 100 + i} for i in range(1000)]
    trace = Trace()
    left, _, _ = found(sets, "overlap", Fraction(1), memory=24 * 1500, trace=trace)
    assert len(left) == trace.counts["triples"] == 499_500
    assert trace.counts["spilled_bytes"] == 2000 * 12 + 1000 * 4


def test_an_item_with_more_triples_than_a_task_may_have() -> None:
    """The last items have up to 597 triples, 200 fit: a pair comes once in each of several goes, and counts in all."""
    sets = [{1, 2, 3, 100 + i} for i in range(200)]
    _, _, overlap = found(sets, "overlap", Fraction(3), memory=inverted_lists.TRIPLE * 200)
    assert overlap.tolist() == [3.0] * (200 * 199 // 2)


def test_nothing_to_join() -> None:
    for sets in ([], [set()], [set(), set()], [{1}], [{1}, {2}], [{1}, set()]):
        for memory in MEMORIES:
            left, right, similarity = found(sets, "jaccard", Fraction(1, 2), memory=memory)
            assert (len(left), len(right), len(similarity)) == (0, 0, 0)


def test_too_many_triples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inverted_lists, "MOST_TRIPLES", 1000)
    sets = [{1, 1000 + i} for i in range(46)] + [{1000 + i, 2000 + i} for i in range(4)]
    trace = Trace()
    with pytest.raises(TooManyPairs) as caught:
        found(sets, "jaccard", Fraction(1, 10), trace=trace)
    assert str(caught.value) == (
        "Divide-Compute-Merge would make 1,039 (item, item, 1) triples, more than 1,000; the most common shingle is in "
        "92.0% of the items. Drop common shingles with `max_share`, or use `method='exact'`."
    )
    assert "match" not in trace.seconds
    monkeypatch.setattr(inverted_lists, "MOST_TRIPLES", 1039)
    assert len(found(sets, "jaccard", Fraction(1, 10))[0]) == 1039


# temporary files


def open_files(folder: Path) -> list[str]:
    """Files of this process in the folder, also those without a name."""
    found = []
    for number in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{number}"))
        except OSError:
            continue
    return [path for path in found if path.startswith(str(folder))]


linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")


@linux
@pytest.mark.parametrize("end", ["well", "too many pairs", "too many triples", "interrupt"])
@pytest.mark.parametrize("at", ["divide", "merge", "match"])
def test_no_file_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str, at: str) -> None:
    if end == "too many triples":
        monkeypatch.setattr(inverted_lists, "MOST_TRIPLES", 10)
    used = []

    def watch(stage: str, done: int, _total: int | None) -> None:
        assert list(tmp_path.iterdir()) == []
        used.extend(open_files(tmp_path))
        if end == "interrupt" and stage == at and done > 0:
            raise KeyboardInterrupt

    expected = {"too many pairs": TooManyPairs, "too many triples": TooManyPairs, "interrupt": KeyboardInterrupt}
    items, target = make_items(overlapping_sets(60, seed=2)), bar(set_measure("jaccard"), 0.1)
    with Pool(2) as pool:
        caught: BaseException | None = None
        try:
            dcm_pairs(
                items,
                target,
                pool,
                Trace(watch),
                5 if end == "too many pairs" else 10**9,
                memory=2_000,
                folder=tmp_path,
            )
        except (TooManyPairs, KeyboardInterrupt) as error:
            caught = error
        assert open_files(tmp_path) == []  # though the error, with all that its traceback holds, is still there
        assert isinstance(caught, expected.get(end, type(None)))
    assert used
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    items, target = make_items([{1, 2}, {1, 2, 3}]), bar(set_measure("jaccard"), 0.5)
    with Pool(1) as pool:
        with pytest.raises(OutputError, match=r"aside in .*none: No such file or directory"):
            dcm_pairs(items, target, pool, Trace(), 10, memory=1, folder=tmp_path / "none")
        left, _, _ = dcm_pairs(items, target, pool, Trace(), 10, folder=tmp_path / "none")  # all fits memory
    assert np.array_equal(left, [1])
