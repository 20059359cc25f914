"""What an evaluation reads, and every note and message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from answers import FOUND, TRUTH, groups_of, pairs_of
from lookalike.errors import ColumnNotFound, InputError, LookalikeError, UsageError
from lookalike.evaluation.api import evaluate
from lookalike.io.results import write_folder


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
        "the truth: 2 ids without a 'group' are alone.",
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
            "the answer lists neither pairs (left, right, similarity or distance) nor groups (id, group). Columns: id, text.",
        ),
        (
            FOUND, pa.table({"id": [1], "label": [2]}), {}, InputError,
            "the truth has neither the columns left and right nor id and group. Rename its columns, or give `truth_id` "
            "and `truth_group`. Columns: id, label.",
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
        (FOUND, ["a", "b"], {}, UsageError, "cannot read list; expected a path, Arrow data such as a table, or a list of pairs."),
        (
            FOUND, [(1, "b"), ("a", 2)], {}, UsageError,
            "the listed pairs do not make a table: Could not convert 'a' with type str: tried to convert to int64.",
        ),
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


def test_pairs_may_be_listed() -> None:
    done = evaluate([(0, 1, 0.9), (2, 3, 0.8)], [(1, 0), (4, 5)])
    assert (done.counts["reported_pairs"], done.counts["true_pairs"], done.counts["correct_pairs"]) == (2, 2, 1)
