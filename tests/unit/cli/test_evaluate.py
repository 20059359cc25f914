"""lookalike evaluate: tables, reports, pictures, notes and exit codes."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.core.formatting import readable_thresholds
from lookalike.evaluation.api import evaluate

FOUND = "left,right,similarity\na,b,0.9\nc,b,0.8\nd,e,0.8\na,x,0.6\n"
TRUTH = "id,group\na,1\nb,1\nc,1\nd,2\ne,3\n"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with found.csv, truth.csv and groups.csv, which is the current one."""
    (tmp_path / "found.csv").write_text(FOUND)
    (tmp_path / "truth.csv").write_text(TRUTH)
    (tmp_path / "groups.csv").write_text("id,group,size\na,0,2\nb,0,2\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_whole_answer(files: Path, lookalike) -> None:
    done = lookalike("evaluate", "found.csv", "--truth", "truth.csv")
    assert done.code == 0, done.err
    assert done.err == "Note:    found.csv: 1 of 6 ids unknown to truth.csv; their pairs count as false.\n"
    assert done.out == (
        "pairs: 4 reported · 3 true · 2 both\n"
        "\n"
        "threshold  reported  correct  precision  recall      F1\n"
        "   0.9000         1        1     1.0000  0.3333  0.5000\n"
        "   0.8000         3        2     0.6667  0.6667  0.6667  best F1\n"
        "   0.6000         4        2     0.5000  0.6667  0.5714\n"
        "\n"
        "average precision 0.5556\n"
        "\n"
        "True pairs not found, the worst 1\n"
        "similarity  left  right\n"
        "         –  a     c\n"
        "\n"
        "Pairs found that are not true, the worst 2\n"
        "similarity  left  right\n"
        "    0.8000  d     e\n"
        "    0.6000  a     x\n"
    )


def test_distances(files: Path, lookalike) -> None:
    """The same answer with distances: pairs at or below a threshold count, the strictest threshold first."""
    Path("found.csv").write_text("left,right,distance\na,b,1\nc,b,2\nd,e,2\na,x,4\n")
    done = lookalike("evaluate", "found.csv", "--truth", "truth.csv", "-o", "report.json")
    assert done.code == 0, done.err
    assert done.out == (
        "pairs: 4 reported · 3 true · 2 both\n"
        "\n"
        "distance ≤  reported  correct  precision  recall      F1\n"
        "         1         1        1     1.0000  0.3333  0.5000\n"
        "         2         3        2     0.6667  0.6667  0.6667  best F1\n"
        "         4         4        2     0.5000  0.6667  0.5714\n"
        "\n"
        "average precision 0.5556\n"
        "\n"
        "True pairs not found, the worst 1\n"
        "distance  left  right\n"
        "       –  a     c\n"
        "\n"
        "Pairs found that are not true, the worst 2\n"
        "distance  left  right\n"
        "       2  d     e\n"
        "       4  a     x\n"
    )
    report = json.loads(Path("report.json").read_bytes())
    assert report["score"] == {"column": "distance", "nearer": "lower"}
    assert report["pairs"]["best_f1"]["threshold"] == 2
    assert [point["threshold"] for point in report["pairs"]["points"]] == [1, 2, 4]
    assert report["false_pairs"][0] == {"left": "d", "right": "e", "distance": 2}


@pytest.mark.promise("docs/how-to/evaluate.md", "pairs at or below a threshold count.")
@pytest.mark.parametrize("column", ["distance", "angle", "bits"])
def test_a_distance_is_a_similarity_with_its_sign_turned(files: Path, column: str) -> None:
    similar = pa.table({"left": list("acda"), "right": list("bbex"), "similarity": [-0.0, -2.0, -2.0, -4.5]})
    distant = pa.table({"left": list("acda"), "right": list("bbex"), column: [0.0, 2.0, 2.0, 4.5]})
    expected, curve = (evaluate(table, "truth.csv", groups=True) for table in (similar, distant))
    for of_similarity, of_distance in ((expected.pairs, curve.pairs), (expected.groups, curve.groups)):
        assert of_distance.threshold.tolist() == (-of_similarity.threshold).tolist()
        assert of_distance.correct.tolist() == of_similarity.correct.tolist()
        assert of_distance.best == of_similarity.best
    assert [curve.pairs.at(t) for t in (-1.0, 0.0, 1.9, 2.0, 9.0)] == [-1, 0, 0, 1, 2]


def test_groups_of_a_file(files: Path, lookalike) -> None:
    """Of abc, d, e the answer has ab: precision 1, recall 1/3; B-cubed recall (2/3 + 2/3 + 1/3 + 1 + 1) / 5."""
    done = lookalike("evaluate", "groups.csv", "--truth", "truth.csv", "--worst", 0)
    assert done.code == 0, done.err
    assert done.out == (
        "pairs: 1 reported · 3 true · 1 both\n"
        "\n"
        "Groups\n"
        "threshold  groups  pairs  precision  recall      F1  B³ precision  recall      F1  adjusted Rand\n"
        "     none       1      1     1.0000  0.3333  0.5000        1.0000  0.7333  0.8462         0.4118\n"
    )


def test_groups_at_each_threshold(files: Path, lookalike) -> None:
    done = lookalike("evaluate", "found.csv", "--truth", "truth.csv", "--groups", "--json")
    points = json.loads(done.out)["groups"]["points"]
    assert [(point["threshold"], point["reported"], point["correct"]) for point in points] == [
        (0.9, 1, 1),
        (0.8, 4, 3),
        (0.6, 7, 3),
    ]
    assert (
        "\nGroups\nthreshold  groups  pairs"
        in lookalike("evaluate", "found.csv", "--truth", "truth.csv", "--groups").out
    )


def test_json_is_the_report(files: Path, lookalike) -> None:
    done = lookalike("evaluate", "found.csv", "--truth", "truth.csv", "--json", "-o", "report.json")
    assert done.code == 0, done.err
    assert done.err.endswith("Wrote    report.json\n")
    report = json.loads(done.out)
    assert json.loads((files / "report.json").read_text()) == report
    names = "counts score average_precision pairs groups reliability misses false_pairs notes"
    assert list(report) == names.split()
    assert report["pairs"]["best_f1"] == {
        "threshold": 0.8, "reported": 3, "correct": 2, "precision": 2 / 3, "recall": 2 / 3, "f1": 2 / 3,
    }  # fmt: skip
    assert report["misses"] == [{"left": "a", "right": "c", "similarity": None}]


def test_several_outputs(files: Path, lookalike) -> None:
    done = lookalike("evaluate", "found.csv", "--truth", "truth.csv", "-o", "report.json", "-o", "curve.svg")
    assert done.code == 0, done.err
    assert (files / "curve.svg").read_text().startswith("<svg")
    assert (files / "report.json").exists()


def test_named_columns(files: Path, lookalike) -> None:
    (files / "labels.tsv").write_text("doc\tcluster\na\tx\nb\tx\n")
    words = ("evaluate", "found.csv", "--truth", "labels.tsv")
    done = lookalike(*words, "--truth-id", "doc", "--truth-group", "cluster")
    assert done.out.startswith("pairs: 4 reported · 1 true · 1 both\n")
    done = lookalike(*words)
    assert "Note:    labels.tsv: its first two columns, 'doc' and 'cluster', are taken as the pairs.\n" in done.err


def test_an_empty_answer(files: Path, lookalike) -> None:
    (files / "none.csv").write_text("left,right,similarity\n")
    done = lookalike("evaluate", "none.csv", "--truth", "truth.csv", "--groups", "--worst", 1)
    assert done.code == 0
    assert done.out == (
        "pairs: 0 reported · 3 true · 0 both\n\n"
        "True pairs not found, the worst 1\nsimilarity  left  right\n         –  a     b\n"
    )
    assert done.err == "Note:    none.csv holds no pairs: nothing was found.\n"


def test_rows_at_readable_thresholds_where_they_make_a_difference(files: Path, lookalike) -> None:
    (files / "found.csv").write_text(
        "left,right,similarity\n" + "".join(f"a,{n},{n / 1000}\n" for n in range(700, 1001))
    )
    done = lookalike("evaluate", "found.csv", "--truth", "truth.csv")
    rows = [line.split() for line in done.out.split("\n")[3:19]]
    assert [(float(row[0]), int(row[1])) for row in rows] == [((50 - n) / 50, 1 + 20 * n) for n in range(16)]


def test_similarities_that_are_counts(files: Path, lookalike) -> None:
    (files / "counts.csv").write_text("left,right,similarity\n" + "".join(f"a,n{n},{n}\n" for n in range(20, 121)))
    done = lookalike("evaluate", "counts.csv", "--truth", "truth.csv")
    assert [line.split()[0] for line in done.out.split("\n")[3:24]] == [str(n) for n in range(120, 15, -5)]


def test_ids_with_line_breaks_stay_on_one_line(files: Path, lookalike) -> None:
    (files / "odd.jsonl").write_text('{"left": "a\\nb", "right": "\\u001b[31mc", "similarity": 0.5}\n')
    done = lookalike("evaluate", "odd.jsonl", "--truth", "truth.csv")
    assert "    0.5000  a b    [31mc\n" in done.out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("-o", "curve.pgn"), 2, "UsageError: cannot write an evaluation as '.pgn'. Nearest: '.png'. Choices: .json, "
                                 ".svg, .png, .html."),
        (("-o", "report"), 2, "UsageError: cannot write an evaluation as 'report'. Choices: .json, .svg, .png, .html."),
        (("-o", "old.json"), 1, "OutputError: old.json exists. Use --force to replace it, or another name."),
        (("-o", "no/x.json"), 1, "OutputError: no such folder: no. Create it first (mkdir -p), or use another name."),
        (("--truth-group", "cluster"), 1, "ColumnNotFound: no column 'cluster' in truth.csv. Columns: id, group."),
    ],
)  # fmt: skip
def test_mistakes(files: Path, lookalike, words: tuple[str, ...], code: int, message: str) -> None:
    (files / "old.json").write_text("old")
    done = lookalike("evaluate", "found.csv", "--truth", "truth.csv", *words)
    assert (done.code, done.out, done.err) == (code, "", message + "\n")
    assert (files / "old.json").read_text() == "old"


def test_force_replaces(files: Path, lookalike) -> None:
    (files / "old.json").write_text("old")
    assert lookalike("evaluate", "found.csv", "--truth", "truth.csv", "-o", "old.json", "--force").code == 0
    assert json.loads((files / "old.json").read_text())["counts"]["true_pairs"] == 3


def test_the_truth_is_needed(files: Path, lookalike) -> None:
    done = lookalike("evaluate", "found.csv")
    assert done.code == 2
    assert "--truth" in done.err


def test_groups_have_no_curve(files: Path, lookalike) -> None:
    done = lookalike("evaluate", "groups.csv", "--truth", "truth.csv", "-o", "curve.svg")
    assert done.code == 2
    assert done.err == (
        "UsageError: curve.svg: an answer without similarities has no curve to draw; write -o report.json.\n"
    )


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_readable_thresholds(one: float, other: float) -> None:
    low, high = sorted((one, other))
    steps = readable_thresholds(low, high)
    assert len(steps) <= 21
    assert all(low <= step <= high for step in steps)
    assert steps == sorted(steps)
    if high - low > 1e-3 * max(1.0, abs(high)):
        assert len(steps) >= 7
        assert all(len(f"{step / (high - low):.4g}") <= 8 for step in steps)


def test_readable_thresholds_are_the_numbers_people_write() -> None:
    assert readable_thresholds(0.0, 1.0) == [round(n * 0.05, 2) for n in range(21)]
    assert readable_thresholds(0.7, 0.7) == [0.7]
    assert readable_thresholds(-math.inf, 1.0) == [1.0]
