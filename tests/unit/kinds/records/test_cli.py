"""lookalike records from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

PEOPLE = """rec_id,name,phone,town
a,Ann Lee,555-0100,York
b,Bob Ray,555-0199,Leeds
c,"Lee, Ann",555 0100,York
d,Carl Orff,,York
e,Dora Maar,555-0777,Hull
"""


@pytest.fixture
def people(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text(PEOPLE)
    return tmp_path / "people.csv"


def test_pairs_with_their_parts(lookalike, people: Path, tmp_path: Path) -> None:
    (tmp_path / "truth.csv").write_text("left,right\na,c\n")
    done = lookalike(
        "records", "pairs", people, "-t", 0.6, "-o", tmp_path / "out", "--truth", tmp_path / "truth.csv",
        "--save-settings", tmp_path / "rules.toml",
    )  # fmt: skip
    assert done.code == 0, done.err
    [row] = pq.read_table(tmp_path / "out" / "pairs.parquet").to_pylist()
    assert (row["left"], row["right"]) == ("a", "c")
    assert {"name", "phone", "town", "(whole record)"} <= set(row)
    assert "precision 1.0000 · recall 1.0000 · F1 1.0000" in done.out
    assert "Fields   name (words" in done.err
    again = lookalike("records", "pairs", people, "--settings", tmp_path / "rules.toml", "--json")
    assert json.loads(again.out)["counts"]["pairs"] == 1
    assert "threshold = 0.6" in (tmp_path / "rules.toml").read_text()


def test_ids_of_two_tables_are_told_apart(lookalike, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,name\n1,ann lee york\n2,bob ray leeds\n3,nobody here\n")
    (tmp_path / "b.csv").write_text("id,name\n2,ann lee york\n1,bob ray leeds\n")
    (tmp_path / "truth.csv").write_text("left,right\n1,2\n2,1\n")
    done = lookalike("records", "pairs", tmp_path / "a.csv", "--against", tmp_path / "b.csv", "--one-to-one",
                     "--truth", tmp_path / "truth.csv")  # fmt: skip
    assert done.code == 0, done.err
    assert "F1 1.0000" in done.out
    assert done.out.count("\n") == 4


def test_groups_and_dedup(lookalike, people: Path, tmp_path: Path) -> None:
    groups = lookalike("records", "groups", people, "-t", 0.6)
    assert [line.split("\t")[0] for line in groups.out.splitlines()] == ["id", "a", "c"]
    done = lookalike("records", "dedup", people, "-t", 0.6, "-o", tmp_path / "clean.csv", "--keep", "last")
    assert done.code == 0, done.err
    assert (tmp_path / "clean.csv").read_text().count("\n") == 5
    assert '"Lee, Ann"' in (tmp_path / "clean.csv").read_text()


def test_preview_and_explain(lookalike, people: Path, tmp_path: Path) -> None:
    shown = lookalike("records", "preview", people, "--save-settings", tmp_path / "guess.toml")
    assert shown.code == 0, shown.err
    assert "largest bucket" in shown.out
    assert 'compare = "code"' in (tmp_path / "guess.toml").read_text()
    reported = lookalike("records", "explain", "a", "c", people, "-t", 0.6)
    assert "similarity 1.0000, threshold 0.6000: a match" in reported.out
    reported = lookalike("records", "explain", "a", "d", people, "-t", 0.6)
    assert "missing" in reported.out
    assert "no match" in reported.out
    reported = lookalike("records", "explain", people, "a", "d")
    assert reported.err.strip() == (
        f"UsageError: {people} is a file; the two ids come first: lookalike records explain a d {people}"
    )


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--field", "nmae"), 1, "ColumnNotFound: no column 'nmae' in"),
        (("--id", "town"), 1, "DuplicateIds: the id 'York' occurs 3 times"),
        (("--id", "nope"), 1, "ColumnNotFound: no column 'nope'"),
        (("-t", "2"), 2, "UsageError: threshold is 2.0"),
        (("--one-to-one",), 2, "UsageError: one-to-one is between two tables"),
        (("--settings", "none.toml"), 1, "InputError: cannot read the settings none.toml"),
    ],
)
def test_mistakes_are_one_line(lookalike, people: Path, words: tuple[str, ...], code: int, said: str) -> None:
    done = lookalike("records", "pairs", people, *words)
    assert (done.code, done.out) == (code, "")
    assert said in done.err
    assert done.err.count("\n") == 1


def test_empty_files(lookalike, tmp_path: Path) -> None:
    (tmp_path / "head.csv").write_text("id,name\n")
    done = lookalike("records", "pairs", tmp_path / "head.csv")
    assert done.code == 0, done.err
    assert done.out.splitlines()[0].startswith("left\tright\tsimilarity")
    (tmp_path / "none.csv").write_text("")
    assert lookalike("records", "pairs", tmp_path / "none.csv").code == 1
