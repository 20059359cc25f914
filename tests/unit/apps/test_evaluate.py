"""Every number of an evaluation against its definition over all pairs, examples by hand, every note and message."""

from __future__ import annotations

import json
import re
import sys
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.apps.evaluate import Evaluation, evaluate
from lookalike.apps.evaluation_curves import save_evaluation
from lookalike.errors import ColumnNotFound, InputError, LookalikeError, MissingExtra, OutputError, UsageError
from lookalike.io.results import write_folder
from lookalike.stages.matches import PairSet, Partition, unmatched
from lookalike.stages.merging import Growth

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


def pairs_of(*rows: tuple[Any, Any, float | None]) -> pa.Table:
    left, right, similarity = zip(*rows, strict=True)
    return pa.table({"left": left, "right": right, "similarity": pa.array(similarity, pa.float64())})


def groups_of(**labels: Any) -> pa.Table:
    return pa.table({"id": list(labels), "group": list(labels.values())})


FOUND = pairs_of(("a", "b", 0.9), ("c", "b", 0.8), ("d", "e", 0.8), ("a", "x", 0.6))
TRUTH = groups_of(a=1, b=1, c=1, d=2, e=3)


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


# what comes in


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.parquet", "x.arrow", "x.jsonl", "x.csv.gz"])
def test_every_format(tmp_path: Path, name: str) -> None:
    write(FOUND, tmp_path / name)
    write(TRUTH, tmp_path / f"truth{name[1:]}")
    made = evaluate(tmp_path / name, str(tmp_path / f"truth{name[1:]}"))
    assert made.pairs is not None
    assert made.pairs.correct.tolist() == [1, 2, 2]


def write(table: pa.Table, path: Path) -> Path:
    name = path.name
    if name.endswith(".parquet"):
        pq.write_table(table, path)
    elif name.endswith(".arrow"):
        feather.write_feather(table, path)
    elif name.endswith(".jsonl"):
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    else:
        with pa.output_stream(str(path), compression="gzip" if name.endswith(".gz") else None) as out:
            pv.write_csv(table, out, pv.WriteOptions(delimiter="\t" if ".tsv" in name else ","))
    return path


def test_a_folder_of_files_is_one_table(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    write(FOUND.slice(0, 2), tmp_path / "parts" / "a.parquet")
    write(FOUND.slice(2), tmp_path / "parts" / "b.parquet")
    assert evaluate(tmp_path / "parts", TRUTH).counts["reported_pairs"] == 4


def test_a_result_folder_has_pairs_and_groups(tmp_path: Path) -> None:
    groups = groups_of(a=0, b=0, c=0, d=1, e=1)
    write_folder({"pairs": FOUND, "groups": groups}, {}, tmp_path / "both")
    made = evaluate(tmp_path / "both", TRUTH)
    assert made.pairs is not None
    assert made.groups is not None
    assert made.pairs.correct.tolist() == [1, 2, 2]
    assert (made.groups.reported.tolist(), made.groups.correct.tolist()) == ([4], [3])
    write_folder({"groups": groups}, {}, tmp_path / "one")
    assert evaluate(tmp_path / "one", TRUTH).pairs is None


def test_a_result_folder_as_the_truth(tmp_path: Path) -> None:
    write_folder({"pairs": FOUND, "groups": groups_of(a=0, b=0)}, {}, tmp_path / "both")
    assert evaluate(FOUND, tmp_path / "both").counts["true_pairs"] == 4
    assert evaluate(FOUND, tmp_path / "both", truth_group="group").counts["true_pairs"] == 1


def test_a_result_in_memory() -> None:
    class Result:
        def to_arrow(self) -> pa.Table:
            return FOUND

    assert evaluate(Result(), TRUTH).counts["reported_pairs"] == 4


def test_named_columns_of_true_groups() -> None:
    truth = pa.table({"cluster": [1.5, 1.5, 2.5], "doc": ["a", "b", "c"]})
    assert evaluate(FOUND, truth, truth_id="doc", truth_group="cluster").counts["true_pairs"] == 1


def test_the_first_two_columns_are_the_pairs() -> None:
    made = evaluate(FOUND, pa.table({"one": ["b", "a"], "two": ["a", "c"], "score": [1, 2]}))
    assert made.counts["true_pairs"] == 2
    assert made.notes[0] == "the truth: its first two columns, 'one' and 'two', are taken as the pairs."


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint64(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_ids_of_any_type_meet(kind: pa.DataType) -> None:
    truth = pa.table({"left": pa.array([1, 5]).cast(pa.string()).cast(kind), "right": ["2", "6"]})
    found = pa.table({"left": [2, 3], "right": [1, 4], "similarity": [0.5, 0.5]})
    made = evaluate(found, truth)
    assert made.counts["correct_pairs"] == 1
    assert "ids are integers in the answer and text in the truth: compared as text." in made.notes


def test_ids_in_text_stay_as_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "found.csv").write_text("left,right,similarity\n007,8,0.5\n7,9,0.5\n")
    (tmp_path / "truth.csv").write_text("left,right\n7,8\n7,9\n")
    made = evaluate(tmp_path / "found.csv", tmp_path / "truth.csv")
    assert made.counts["correct_pairs"] == 1
    assert made.false_pairs["left"].to_pylist() == ["007"]


@pytest.mark.parametrize("far", [5, 2**62, 2**64 - 1])
def test_integers_near_and_far(far: int) -> None:
    table = pa.table({"left": pa.array([1, 1], pa.uint64()), "right": pa.array([far, 3], pa.uint64())})
    made = evaluate(table, table)
    assert made.counts["correct_pairs"] == 2
    assert made.counts["ids"] == 3


def test_repeated_pairs_count_once_with_their_highest_similarity() -> None:
    made = evaluate(pairs_of(("a", "b", 0.5), ("b", "a", 0.9), ("a", "b", None), ("c", "c", 1.0)), TRUTH)
    assert made.pairs is not None
    assert made.pairs.threshold.tolist() == [0.9]
    assert made.notes == (
        "the answer: 2 repeated pairs count once.",
        "the answer: 1 pair of an id with itself left out.",
    )


def test_repeated_rows_of_groups_count_once() -> None:
    truth = pa.table({"id": ["a", "b", "a"], "group": [1, 1, 1]})
    made = evaluate(groups_of(a=1, b=1), truth)
    assert made.counts["true_pairs"] == 1
    assert made.notes == ("the truth: 1 repeated row counts once.",)


def test_ids_without_a_group_stand_alone() -> None:
    made = evaluate(groups_of(a=1, b=1), pa.table({"id": ["a", "b", "c"], "group": [1, None, None]}))
    assert made.counts["true_pairs"] == 0
    assert made.notes == (
        "the truth: 2 ids without a 'group' stand alone.",
        "the truth holds no pairs: recall has no meaning.",
    )


def test_pairs_without_similarities_are_one_answer() -> None:
    made = evaluate(FOUND.drop_columns("similarity"), TRUTH, groups=True)
    assert made.pairs is not None
    assert made.groups is not None
    assert np.isnan(made.pairs.threshold).tolist() == np.isnan(made.groups.threshold).tolist() == [True]
    assert (made.pairs.reported.tolist(), made.pairs.correct.tolist()) == ([4], [2])
    assert made.notes[0] == "the answer has no similarities: it is one answer, without thresholds."


def test_pairs_of_which_some_have_no_similarity() -> None:
    made = evaluate(pairs_of(("a", "b", 0.5), ("b", "c", None), ("a", "c", 0.9)), TRUTH)
    assert made.pairs is not None
    assert (made.pairs.threshold.tolist(), made.pairs.reported.tolist()) == ([0.9, 0.5], [1, 3])
    assert made.notes == ("the answer: 1 pair has no similarity and counts at the lowest threshold only.",)


@pytest.mark.parametrize("groups", [False, True])
def test_an_empty_answer(tmp_path: Path, groups: bool) -> None:
    (tmp_path / "none.jsonl").write_text("")
    for nothing in (tmp_path / "none.jsonl", FOUND.slice(0, 0)):
        made = evaluate(nothing, TRUTH, groups=groups)
        assert made.pairs is not None
        assert (len(made.pairs), made.pairs.best, made.pairs.average_precision) == (0, -1, 0.0)
        assert made.counts["reported_pairs"] == made.counts["correct_pairs"] == 0
        assert made.misses.num_rows == 3
        assert made.notes[0].endswith("holds no pairs: nothing was found.")
        assert made.as_dict()["pairs"] == {"best_f1": None, "points": []}


def test_an_empty_truth() -> None:
    made = evaluate(FOUND, FOUND.slice(0, 0))
    assert made.pairs is not None
    assert np.isnan(made.pairs.recall).all()
    assert made.pairs.precision.tolist() == [0.0, 0.0, 0.0]
    assert made.notes == (
        "the truth holds no pairs: recall has no meaning.",
        "the answer: 6 of 6 ids unknown to the truth; their pairs count as false.",
    )
    both = evaluate(FOUND.slice(0, 0), FOUND.slice(0, 0), groups=True)
    assert both.counts["ids"] == 0
    assert both.misses.num_rows == both.false_pairs.num_rows == 0


def test_true_pairs_against_groups_are_said_to_be_connected() -> None:
    made = evaluate(groups_of(a=1, b=1), pa.table({"left": ["a"], "right": ["b"]}))
    assert made.notes == ("the truth lists pairs: for B-cubed and Rand, all that they connect is one true group.",)


# messages


@pytest.mark.parametrize(
    ("pairs", "truth", "options", "error", "message"),
    [
        (FOUND, TRUTH, {"worst": -1}, UsageError, "worst is -1; expected 0 or more misses to list."),
        (
            pa.table({"id": [1], "text": ["a"]}), TRUTH, {}, InputError,
            "the answer lists neither pairs (left, right, similarity) nor groups (id, group). Columns: id, text.",
        ),
        (
            FOUND, pa.table({"id": [1], "label": [2]}), {}, InputError,
            "the truth has neither the columns left and right nor id and group. Rename its columns, or give --truth-id "
            "and --truth-group. Columns: id, label.",
        ),
        (
            FOUND, pa.table({"id": [1], "label": [2]}), {"truth_group": "lable"}, ColumnNotFound,
            "no column 'lable' in the truth. Nearest: 'label'. Columns: id, label.",
        ),
        (
            FOUND, pa.table({"left": ["a", None], "right": ["b", "c"]}), {}, InputError,
            "column 'left' in the truth has no id in row 1; expected one in every row.",
        ),
        (
            FOUND, pa.table({"left": [1.5], "right": ["b"]}), {}, InputError,
            "column 'left' in the truth is double; ids are strings or integers.",
        ),
        (
            FOUND, pa.table({"left": pa.array([b"\xff"]).view(pa.string()), "right": ["b"]}), {}, InputError,
            "column 'left' in the truth holds an id that is not valid UTF-8.",
        ),
        (
            FOUND, pa.table({"id": ["a", "b", "a"], "group": [1, 1, 2]}), {}, InputError,
            "the id 'a' is in two groups of the truth; expected one group for each id.",
        ),
        (
            FOUND, pa.table({"id": ["a"], "group": [[1]]}), {}, InputError,
            "column 'group' in the truth is list<item: int64>; expected one plain value for each id.",
        ),
        (
            pa.table({"left": ["a"], "right": ["b"], "similarity": ["high"]}), TRUTH, {}, InputError,
            "column 'similarity' in the answer is not all numbers: Failed to parse string: 'high' as a scalar of type "
            "double.",
        ),
        (FOUND, [("a", "b")], {}, UsageError, "cannot read list; expected a path, or Arrow data such as a table."),
        (FOUND, "none.csv", {}, InputError, "no such file: none.csv."),
    ],
)  # fmt: skip
def test_every_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pairs: Any, truth: Any, options: Any,
    error: type[LookalikeError], message: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error) as caught:
        evaluate(pairs, truth, **options)
    assert str(caught.value) == message


def test_a_text_file_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "truth.txt").write_text("a b\n")
    with pytest.raises(InputError) as caught:
        evaluate(FOUND, tmp_path / "truth.txt")
    assert str(caught.value) == (
        f"{tmp_path / 'truth.txt'} is text lines; expected a table with named columns: "
        "Parquet, Arrow, JSON lines, CSV or TSV with a header line."
    )


def test_a_result_without_pairs(tmp_path: Path) -> None:
    write_folder({"kept": TRUTH}, {}, tmp_path / "clean")
    with pytest.raises(InputError) as caught:
        evaluate(tmp_path / "clean", TRUTH)
    assert str(caught.value) == (
        f"{tmp_path / 'clean'} is a result without pairs and groups; run lookalike pairs or groups for one with them."
    )


# the picture

SVG = "{http://www.w3.org/2000/svg}"


def words_of(path: Path) -> list[str]:
    return ["".join(node.itertext()) for node in ElementTree.parse(path).getroot().iter(f"{SVG}text")]


def test_the_picture_says_what_was_found(tmp_path: Path) -> None:
    save_evaluation(evaluate(FOUND, TRUTH), tmp_path / "curve.svg")
    words = words_of(tmp_path / "curve.svg")
    assert {"precision", "recall", "F1", "best F1 0.667 at 0.8"} <= set(words)
    assert "Best F1 0.667 at threshold 0.8: precision 0.667, recall 0.667" in " ".join(words)
    assert "pairs reported: 4, true ones among them: 2 of 3, average precision 0.556" in " ".join(words)
    assert "adjusted Rand" not in words


def test_the_lines_are_drawn_where_the_numbers_are(tmp_path: Path) -> None:
    """Precision 1/2 up to 0.6, 2/3 up to 0.8, 1 up to 0.9: steps that change right at the threshold."""
    save_evaluation(evaluate(FOUND, TRUTH), tmp_path / "curve.svg")
    lines = ElementTree.parse(tmp_path / "curve.svg").getroot().iter(f"{SVG}path")
    blue = next(line for line in lines if line.get("stroke") == "#1c5d99")
    points = [(float(x), float(y)) for x, y in re.findall(r"[ML](-?[\d.]+),(-?[\d.]+)", blue.get("d", ""))]
    low = 0.6 - 0.3 / 40
    drawn = [(low + x / 520 * (0.9 - low), 1 - y / 300) for x, y in points]
    steps = [(low, 1 / 2), (0.6, 1 / 2), (0.6, 2 / 3), (0.8, 2 / 3), (0.8, 1.0), (0.9, 1.0)]
    corners = [corner for i, corner in enumerate(drawn) if i == 0 or corner != pytest.approx(drawn[i - 1], abs=1e-6)]
    assert [value for corner in corners for value in corner] == pytest.approx(
        [value for step in steps for value in step], abs=0.002
    )


def test_groups_stand_beside_the_pairs(tmp_path: Path) -> None:
    save_evaluation(evaluate(FOUND, TRUTH, groups=True), tmp_path / "curve.svg")
    words = words_of(tmp_path / "curve.svg")
    assert {"adjusted Rand", "Pairs", "Groups of connected pairs: B-cubed, and Rand"} <= set(words)
    assert words.count("recall") == 4  # two lines, each name with its halo


@pytest.mark.parametrize("found", [pairs_of(("a", "d", 0.9), ("b", "e", 0.8)), pairs_of(("a", "b", 0.9))])
def test_names_of_lines_that_end_together_do_not_cover_each_other(tmp_path: Path, found: pa.Table) -> None:
    """All lines at 0, or all at 1: the names stay inside of the panel, one below the other."""
    save_evaluation(evaluate(found, groups_of(a=1, b=1)), tmp_path / "curve.svg")
    texts = ElementTree.parse(tmp_path / "curve.svg").getroot().iter(f"{SVG}text")
    names = [node for node in texts if node.text in ("precision", "recall", "F1")]
    moved = [re.match(r"translate\(-?[\d.]+,(-?[\d.]+)", node.get("transform", "")) for node in names]
    heights = sorted({float(match[1]) for match in moved if match})
    assert len(heights) == 3
    assert min(np.diff(heights)) >= 16.9
    assert heights[0] >= 0
    assert heights[-1] <= 300 + 5  # letters stand around the middle of the line


def test_one_pair_only(tmp_path: Path) -> None:
    save_evaluation(evaluate(FOUND.slice(3), FOUND.slice(0, 0)), tmp_path / "curve.svg")
    assert "Best F1 0.000 at threshold 0.6: precision 0.000, recall unknown" in " ".join(
        words_of(tmp_path / "curve.svg")
    )


def test_png_and_a_page_that_asks_no_other_machine(tmp_path: Path) -> None:
    made = evaluate(FOUND, TRUTH)
    save_evaluation(made, tmp_path / "curve.PNG")
    assert (tmp_path / "curve.PNG").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    save_evaluation(made, tmp_path / "curve.html")
    asked: list[str | None] = []

    class Asked(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            asked.extend(value for name, value in attrs if name in ("src", "href", "srcset", "data"))

    page = (tmp_path / "curve.html").read_text(encoding="utf-8")
    Asked().feed(page)
    assert asked == []
    assert "Best F1 0.667" in page


@pytest.mark.parametrize("answer", [FOUND.slice(0, 0), FOUND.drop_columns("similarity"), groups_of(a=1, b=1)])
def test_nothing_to_draw(tmp_path: Path, answer: pa.Table) -> None:
    with pytest.raises(UsageError) as caught:
        save_evaluation(evaluate(answer, TRUTH), tmp_path / "curve.svg")
    assert str(caught.value) == (
        f"{tmp_path / 'curve.svg'}: an answer without similarities has no curve to draw; write -o report.json."
    )
    assert list(tmp_path.iterdir()) == []


def test_pictures_that_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = evaluate(FOUND, TRUTH)
    with pytest.raises(UsageError) as usage:
        save_evaluation(made, tmp_path / "curve.pgn")
    assert str(usage.value) == "cannot draw a curve as '.pgn'. Nearest: '.png'. Choices: .svg, .png, .html."
    (tmp_path / "curve.svg").write_text("old")
    with pytest.raises(OutputError, match=r"curve\.svg exists\. Use --force to replace it, or another name\."):
        save_evaluation(made, tmp_path / "curve.svg")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("curve.svg", "old")]
    save_evaluation(made, tmp_path / "curve.svg", force=True)
    assert (tmp_path / "curve.svg").read_text().startswith("<svg")
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(MissingExtra) as extra:
        save_evaluation(made, tmp_path / "other.svg")
    assert str(extra.value) == 'a picture of the curve needs: pip install "lookalike[plots]"'
