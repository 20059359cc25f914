"""Every number of an evaluation against its definition over all pairs, and examples by hand."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answers import FOUND, TRUTH, groups_of, pairs_of
from lookalike.errors import UsageError
from lookalike.evaluation.api import Evaluation, evaluate
from lookalike.evaluation.matches import PairSet, Partition, unmatched
from lookalike.evaluation.merge_tree import Growth

ITEMS = range(9)
Labels = dict[int, Any]
Pair = tuple[int, int]


# the twins: definitions over all pairs


def same_group(labels: Labels, items: list[int]) -> set[Pair]:
    """All pairs with one label; an item without a label is alone."""
    return {(a, b) for a, b in combinations(items, 2) if labels.get(a) is not None and labels.get(a) == labels.get(b)}


def connected(pairs: set[Pair], items: list[int]) -> Labels:
    labels = {item: item for item in items}
    for a, b in pairs:
        old, new = labels[a], labels[b]
        labels = {item: new if label == old else label for item, label in labels.items()}
    return labels


def count_groups(pairs: set[Pair], items: list[int]) -> int:
    """Groups of two or more: their first members are in a pair, but never the second of one."""
    return sum(1 for item in items if any(a == item for a, _ in pairs) and not any(b == item for _, b in pairs))


def bcubed(found: set[Pair], true: set[Pair], items: list[int]) -> tuple[float, float]:
    """(precision, recall): the mean over the items of the share of right ones among those it is with, itself too."""
    precision, recall = [], []
    for item in items:
        mine = {other for other in items if other == item or tuple(sorted((item, other))) in found}
        theirs = {other for other in items if other == item or tuple(sorted((item, other))) in true}
        precision.append(len(mine & theirs) / len(mine))
        recall.append(len(mine & theirs) / len(theirs))
    return sum(precision) / len(items), sum(recall) / len(items)


def rand(found: set[Pair], true: set[Pair], items: list[int]) -> float:
    """The adjusted Rand index from the four kinds of pairs (Steinley 2004)."""
    every = set(combinations(items, 2))
    a, b = len(found & true), len(found - true)
    c, d = len(true - found), len(every - found - true)
    below = (a + b) * (b + d) + (a + c) * (c + d)
    return 2 * (a * d - b * c) / below if below else 1.0


def check_groups(made: Evaluation, place: int, found: set[Pair], true: set[Pair], items: list[int]) -> None:
    curve = made.groups
    assert curve is not None
    expected = [*bcubed(found, true, items), rand(found, true, items)]
    got = [curve.bcubed_precision[place], curve.bcubed_recall[place], curve.adjusted_rand[place]]
    assert got == pytest.approx(expected, abs=1e-9)
    precision, recall = expected[:2]
    assert curve.bcubed_f1[place] == pytest.approx(2 * precision * recall / (precision + recall))


def check_pairs(curve: Any, place: int, found: set[Pair], true: set[Pair]) -> None:
    both = len(found & true)
    assert (curve.reported[place], curve.correct[place], curve.true) == (len(found), both, len(true))
    nothing = float("nan")
    precision, recall = both / len(found) if found else nothing, both / len(true) if true else nothing
    assert curve.precision[place] == pytest.approx(precision, nan_ok=True)
    assert curve.recall[place] == pytest.approx(recall, nan_ok=True)
    if found and true:
        f1 = 2 * precision * recall / (precision + recall) if both else 0.0
        assert curve.f1[place] == pytest.approx(f1)


labelled = st.dictionaries(st.sampled_from(ITEMS), st.sampled_from("abcd") | st.none(), min_size=1)
scored = st.dictionaries(
    st.tuples(st.sampled_from(ITEMS), st.sampled_from(ITEMS)).filter(lambda pair: pair[0] < pair[1]),
    st.sampled_from([0.25, 0.5, 0.7, 0.75, 1.0]),
    max_size=14,
)


def groups_table(labels: Labels) -> pa.Table:
    return pa.table({"id": pa.array(labels, pa.int64()), "group": pa.array(labels.values(), pa.string())})


def pairs_table(pairs: dict[Pair, float]) -> pa.Table:
    """Every other pair turned around: pairs have no direction."""
    turned = [pair[::-1] if i % 2 else pair for i, pair in enumerate(pairs)]
    left, right = pa.array([a for a, _ in turned], pa.int64()), pa.array([b for _, b in turned], pa.int64())
    return pa.table({"left": left, "right": right, "similarity": pa.array(pairs.values(), pa.float64())})


@given(labelled, labelled)
@settings(max_examples=200, deadline=None)
def test_groups_against_groups(answer: Labels, truth: Labels) -> None:
    items = sorted({*answer, *truth})
    found, true = same_group(answer, items), same_group(truth, items)
    made = evaluate(groups_table(answer), groups_table(truth))
    assert made.pairs is None
    check_pairs(made.groups, 0, found, true)
    check_groups(made, 0, found, true, items)
    assert made.counts["unknown_ids"] == len({*answer} - {*truth})
    assert made.counts["ids"] == len(items)
    assert made.groups is not None
    assert made.groups.groups[0] == count_groups(found, items)


@given(labelled, scored)
@settings(max_examples=100, deadline=None)
def test_groups_against_pairs(answer: Labels, truth: dict[Pair, float]) -> None:
    items = sorted({*answer} | {item for pair in truth for item in pair})
    found = same_group(answer, items)
    made = evaluate(groups_table(answer), pairs_table(truth))
    check_pairs(made.groups, 0, found, set(truth))
    check_groups(made, 0, found, same_group(connected(set(truth), items), items), items)


@pytest.mark.promise("docs/how-to/evaluate.md", "The table has them at every threshold that the answer allows")
@pytest.mark.promise("docs/choosing.md", "draws precision, recall and F1 at every threshold")
@given(scored, st.booleans(), scored, labelled)
@settings(max_examples=300, deadline=None)
def test_pairs_at_every_threshold(
    answer: dict[Pair, float], listed: bool, pairs: dict[Pair, float], labels: Labels
) -> None:
    of_pairs = {item for pair in [*answer, *(pairs if listed else ())] for item in pair}
    items = sorted(of_pairs | (set() if listed else {*labels}))
    true = set(pairs) if listed else same_group(labels, items)
    made = evaluate(pairs_table(answer), pairs_table(pairs) if listed else groups_table(labels), groups=True)
    assert made.pairs is not None
    assert made.groups is not None
    thresholds = sorted(set(answer.values()), reverse=True)
    assert made.pairs.threshold.tolist() == made.groups.threshold.tolist() == thresholds
    area = before = 0.0
    for place, threshold in enumerate(thresholds):
        found = {pair for pair, similarity in answer.items() if similarity >= threshold}
        check_pairs(made.pairs, place, found, true)
        assert made.pairs.at(threshold) == place
        closed = same_group(connected(found, items), items)
        check_pairs(made.groups, place, closed, true)
        assert made.groups.groups[place] == count_groups(closed, items)
        check_groups(made, place, closed, same_group(connected(true, items), items) if listed else true, items)
        if true:
            area += (len(found & true) - before) / len(true) * len(found & true) / len(found)
            before = len(found & true)
    assert made.pairs.average_precision == pytest.approx(area if true else float("nan"), nan_ok=True)


def named(table: pa.Table) -> list[Pair]:
    return [tuple(sorted((row["left"], row["right"]))) for row in table.to_pylist()]  # type: ignore[misc]


@given(st.one_of(labelled, scored), st.one_of(labelled, scored), st.integers(0, 40))
@settings(max_examples=300, deadline=None)
def test_the_worst_are_really_wrong(answer: Any, truth: Any, most: int) -> None:
    def table_of(side: Any) -> pa.Table:
        return pairs_table(side) if not side or isinstance(next(iter(side)), tuple) else groups_table(side)

    def pairs_of(side: Any) -> set[Pair]:
        return set(side) if not side or isinstance(next(iter(side)), tuple) else same_group(side, list(ITEMS))

    made = evaluate(table_of(answer), table_of(truth), worst=most)
    found, true = pairs_of(answer), pairs_of(truth)
    for table, wrong, side in ((made.misses, true - found, truth), (made.false_pairs, found - true, answer)):
        listed = named(table)
        assert len(listed) == len(set(listed)) == min(most, len(wrong))
        assert set(listed) <= wrong
        similarities = table["similarity"].to_pylist()
        if side and isinstance(next(iter(side)), tuple):
            assert similarities == sorted((side[pair] for pair in wrong), reverse=True)[:most]
        else:
            assert similarities == [None] * len(listed)


# by hand


def test_an_example_by_hand() -> None:
    """True pairs: ab, ac, bc. At 0.9: ab. At 0.8: ab, bc right, de wrong. At 0.6: ax wrong too."""
    made = evaluate(FOUND, TRUTH)
    curve = made.pairs
    assert curve is not None
    assert curve.threshold.tolist() == [0.9, 0.8, 0.6]
    assert curve.reported.tolist() == [1, 3, 4]
    assert curve.correct.tolist() == [1, 2, 2]
    assert curve.precision == pytest.approx([1, 2 / 3, 1 / 2])
    assert curve.recall == pytest.approx([1 / 3, 2 / 3, 2 / 3])
    assert curve.f1 == pytest.approx([1 / 2, 2 / 3, 4 / 7])
    assert curve.average_precision == pytest.approx(1 / 3 * 1 + 1 / 3 * 2 / 3)
    assert curve.best == 1
    assert [curve.at(t) for t in (0.95, 0.9, 0.85, 0.8, 0.1)] == [-1, 0, 0, 1, 2]
    assert made.misses.to_pylist() == [{"left": "a", "right": "c", "similarity": None}]
    assert made.false_pairs.to_pylist() == [
        {"left": "d", "right": "e", "similarity": 0.8},
        {"left": "a", "right": "x", "similarity": 0.6},
    ]
    assert made.counts == {"ids": 6, "unknown_ids": 1, "reported_pairs": 4, "true_pairs": 3, "correct_pairs": 2}
    assert made.notes == ("the answer: 1 of 6 ids unknown to the truth; their pairs count as false.",)


def test_rand_and_bcubed_by_hand() -> None:
    """ab | cd against ab | c | d: one pair in both, two and one of six; expected 1/3."""
    made = evaluate(groups_of(a=0, b=0, c=1, d=2), groups_of(a="x", b="x", c="y", d="y")).groups
    assert made is not None
    assert made.adjusted_rand[0] == pytest.approx((1 - 1 / 3) / (3 / 2 - 1 / 3))
    assert (made.bcubed_precision[0], made.bcubed_recall[0]) == (1.0, 0.75)
    assert (made.precision[0], made.recall[0], made.groups[0]) == (1.0, 0.5, 1)


@pytest.mark.parametrize("labels", [{"a": 0, "b": 1}, {"a": 0, "b": 0}, {"a": 0}])
def test_trivial_groups_that_agree_have_a_rand_of_one(labels: dict[str, int]) -> None:
    made = evaluate(groups_of(**labels), groups_of(**labels)).groups
    assert made is not None
    assert made.adjusted_rand.tolist() == [1.0]
    assert made.bcubed_f1.tolist() == [1.0]


def test_pairs_that_chain_make_groups_that_are_wrong() -> None:
    """ab at 0.9, bc at 0.8: at 0.8 the group abc has three pairs, of which one is true."""
    found = pairs_of(("a", "b", 0.9), ("b", "c", 0.8))
    made = evaluate(found, groups_of(a=1, b=1, c=2), groups=True).groups
    assert made is not None
    assert made.reported.tolist() == [1, 3]
    assert made.correct.tolist() == [1, 1]
    assert made.bcubed_precision == pytest.approx([1, (2 / 3 + 2 / 3 + 1 / 3) / 3])
    assert made.bcubed_recall.tolist() == [1.0, 1.0]


def test_giant_groups_are_never_listed_pair_by_pair() -> None:
    """A group of a million has 5e11 pairs."""
    n = 1_000_000
    ids = np.arange(n)
    truth = pa.table({"id": ids, "group": np.zeros(n, np.int64)})
    answer = pa.table({"id": ids, "group": ids // (n // 2)})
    made = evaluate(answer, truth, worst=3)
    assert made.counts["true_pairs"] == n * (n - 1) // 2
    assert made.counts["correct_pairs"] == made.counts["reported_pairs"] == (n // 2) * (n // 2 - 1)
    assert made.misses.num_rows == 3
    assert made.groups is not None
    assert made.groups.bcubed_recall[0] == pytest.approx(0.5)
    chain = pa.table({"left": ids[:-1], "right": ids[1:], "similarity": np.linspace(1, 0.5, n - 1)})
    grown = evaluate(chain, truth, groups=True)
    assert grown.groups is not None
    assert grown.groups.correct[-1] == n * (n - 1) // 2
    assert grown.groups.f1[-1] == grown.groups.adjusted_rand[-1] == 1.0
    assert len(grown.as_dict()["groups"]["points"]) <= 1000


@pytest.mark.parametrize("backwards", [False, True])
def test_paths_in_the_forest_of_merges_stay_short(backwards: bool) -> None:
    """Trees are joined by size: however a chain of n items is made, no path has more than log2(n) steps."""
    items = np.arange(1024)
    left, right = (items[1:], items[:-1]) if backwards else (items[:-1], items[1:])
    parent = Growth.of(left, right, len(items)).parent
    steps, at = 0, items
    while (parent[at] != at).any():
        steps, at = steps + 1, parent[at]
    assert steps <= 10


def test_misses_are_spread_over_the_groups_and_begin_with_the_worst() -> None:
    truth = Partition.of(np.array([0, 0, 0, 0, 1, 1, 2, 2]))
    found, _, _ = PairSet.of(np.array([0, 0, 1, 6]), np.array([1, 2, 2, 7]), np.full(4, 0.9))
    left, right, _ = unmatched(truth, found, 2)
    assert [set(pair) for pair in zip(left.tolist(), right.tolist(), strict=True)] == [{3, 0}, {4, 5}]


def test_a_report_keeps_the_first_the_last_and_the_best() -> None:
    n = 5000
    found = pa.table({"left": np.zeros(n, int), "right": np.arange(1, n + 1), "similarity": np.linspace(1, 0.1, n)})
    truth = pa.table({"left": np.zeros(1234, int), "right": np.arange(1, 1235)})
    report = evaluate(found, truth).as_dict()
    points = report["pairs"]["points"]
    assert len(points) <= 1000
    assert (points[0]["reported"], points[-1]["reported"]) == (1, n)
    assert report["pairs"]["best_f1"] in points
    assert report["pairs"]["best_f1"]["reported"] == 1234
    assert report["average_precision"] == 1.0
    json.dumps(report, allow_nan=False)


def test_ids_of_two_tables_are_not_mixed_up() -> None:
    answer = pa.table({"left": [7, 5], "right": [3, 5], "similarity": [0.9, 0.8]})
    truth = pa.table({"left": [3, 5], "right": [7, 5]})
    made = evaluate(answer, truth, two_tables=True)
    assert (made.counts["reported_pairs"], made.counts["true_pairs"], made.counts["correct_pairs"]) == (2, 2, 1)
    assert made.misses.to_pylist() == [{"left": 3, "right": 7, "similarity": None}]
    assert made.false_pairs.to_pylist() == [{"left": 7, "right": 3, "similarity": 0.9}]
    assert made.counts["ids"] == 6
    assert evaluate(answer, truth).counts["reported_pairs"] == 1
    with pytest.raises(UsageError, match="the truth lists groups, which do not say of which table an id is"):
        evaluate(answer, pa.table({"id": [3], "group": [0]}), two_tables=True)


@pytest.mark.parametrize("folder", [False, True])
def test_the_receipt_says_that_there_are_two_tables(tmp_path: Path, folder: bool) -> None:
    place = tmp_path / "out"
    place.mkdir()
    file = place / "pairs.parquet"
    pq.write_table(pa.table({"left": [7, 5], "right": [3, 5], "similarity": [0.9, 0.8]}), file)
    receipt = place / "receipt.json" if folder else place / "pairs.parquet.receipt.json"
    truth = pa.table({"left": [7, 5], "right": [3, 5]})
    for inputs, reported in (([{}, {}], 2), ([{}], 1)):
        receipt.write_text(json.dumps({"inputs": inputs}))
        assert evaluate(place if folder else file, truth).counts["reported_pairs"] == reported
        assert evaluate(place if folder else file, truth, two_tables=False).counts["reported_pairs"] == 1
