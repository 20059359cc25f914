"""passages and stories from the command line: outputs, pipes, messages and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

QUOTED = "the quick brown fox jumps over the lazy dog and then sleeps until the evening comes"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "a.txt").write_text(f"It is said that {QUOTED}, no more.")
    (texts / "b.txt").write_text(f"{QUOTED.upper()}: so it was.")
    (texts / "c.txt").write_text("entirely different words")
    return texts


def test_a_pipe_gets_passages_with_their_places(folder: Path, lookalike) -> None:
    done = lookalike("passages", folder)
    head, row = done.out.splitlines()
    assert head == "left\tright\tleft_start\tleft_end\tright_start\tright_end\ttokens"
    assert row == f"a.txt\tb.txt\t16\t{16 + len(QUOTED)}\t0\t{len(QUOTED)}\t16"
    assert "Found    1 pair · 1 passage in" in done.err
    assert "winnowed fingerprints, none missed" in done.err


def test_every_output(folder: Path, tmp_path: Path, lookalike) -> None:
    assert lookalike("passages", folder, "-o", tmp_path / "out.csv").code == 0
    assert (tmp_path / "out.csv").read_text().splitlines()[1].split(",")[-1] == "16"
    assert json.loads((tmp_path / "out.csv.receipt.json").read_text())["job"]["guaranteed"] == 12
    assert lookalike("passages", folder, "-o", tmp_path / "all").code == 0
    assert pq.read_table(tmp_path / "all" / "pairs.parquet").to_pylist() == [
        {"left": "a.txt", "right": "b.txt", "shared_tokens": 16, "left_in_right": 16 / 22, "right_in_left": 16 / 19,
         "longest": 16, "passages": 1}
    ]  # fmt: skip
    page = lookalike("passages", folder, "-o", tmp_path / "report.html")
    assert page.code == 0
    assert f"Wrote    {tmp_path / 'report.html'}" in page.err
    again = lookalike("passages", folder, "-o", tmp_path / "report.html")
    assert again.code == 1
    assert again.err == f"OutputError: {tmp_path / 'report.html'} exists. Use --force to replace it, or another name.\n"
    assert lookalike("passages", folder, "-o", tmp_path / "report.html", "--force", "-q").err == ""
    receipt = json.loads(lookalike("passages", folder, "--json", "-q").out)
    assert receipt["counts"]["passages"] == 1


def test_references_templates_and_authors(folder: Path, tmp_path: Path, lookalike) -> None:
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "book.txt").write_text(f"Chapter one. {QUOTED}.")
    lines = lookalike("passages", folder, "--against", sources).out.splitlines()[1:]
    assert [line.split("\t")[:2] for line in lines] == [["a.txt", "book.txt"], ["b.txt", "book.txt"]]
    (tmp_path / "template.txt").write_text(QUOTED)
    assert lookalike("passages", folder, "--template", tmp_path / "template.txt").out.count("\n") == 1
    rows = [{"id": i, "text": QUOTED, "student": who} for i, who in enumerate("xxy")]
    (tmp_path / "work.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    lines = lookalike("passages", tmp_path / "work.jsonl", "--author", "student").out.splitlines()[1:]
    assert [line.split("\t")[:2] for line in lines] == [["0", "2"], ["1", "2"]]


def test_stories(folder: Path, tmp_path: Path, lookalike) -> None:
    done = lookalike("stories", folder)
    assert done.out == "id\tstory\tsize\tfirst\na.txt\t0\t2\ta.txt\nb.txt\t0\t2\ta.txt\n"
    assert "1 pair · 1 passage · 1 story in" in done.err
    assert lookalike("stories", folder, "-o", tmp_path / "out").code == 0
    assert lookalike("stories", folder, "--share", "7").err.startswith("UsageError: share is 7.0; expected")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--text", "txt"], 1, "ColumnNotFound: no column 'txt'"),
        (["--author", "who"], 1, "ColumnNotFound: no column 'who'"),
        (["--min-tokens", "-1"], 2, "UsageError: min_tokens is -1"),
        (["--gap", "1000"], 2, "UsageError: gap is 1000; expected 0 to 64 tokens.\n"),
        (["--max-share", "2"], 2, "UsageError: max_share is 2.0"),
        (["--language", "pythn"], 2, "UsageError: language 'pythn' is unknown. Nearest: 'python'."),
        (["--template", "nowhere.txt"], 1, "MissingInput: no such file: nowhere.txt"),
        (["--against", "nowhere"], 1, "MissingInput: no such file: nowhere"),
        (["-o", "x.xlsx"], 2, "UsageError: x.xlsx has the unknown extension"),
        (["-o", "nowhere/x.html"], 1, "OutputError: no such folder: nowhere"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(folder: Path, lookalike, words: list[str], code: int, message: str) -> None:
    done = lookalike("passages", folder, *words)
    assert done.code == code
    assert done.err.startswith(message)
    assert done.err.count("\n") == 1


def test_nothing_to_read_is_no_error(tmp_path: Path, lookalike) -> None:
    (tmp_path / "none.txt").touch()
    assert lookalike("passages", tmp_path / "none.txt").out.count("\n") == 1
    assert lookalike("stories", tmp_path / "none.txt").out == "id\tstory\tsize\tfirst\n"
    assert lookalike("passages", tmp_path / "none.txt", "-o", tmp_path / "none.html").code == 0


def test_none_missed_is_not_said_where_something_was_left_out(tmp_path: Path, lookalike) -> None:
    shared = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi"
    for name in "abc":
        (tmp_path / f"{name}.txt").write_text(f"{shared} own{name}")
    files = [tmp_path / f"{name}.txt" for name in "abc"]
    assert "winnowed fingerprints, none missed" in lookalike("passages", *files).err
    done = lookalike("passages", *files, "--max-share", "0.5")
    assert "winnowed fingerprints, 10 common shingles left out" in done.err
    done = lookalike("pairs", *files, "-t", "80")
    assert done.err == "UsageError: threshold is 80.0; expected a number above 0 and at most 1. Did you mean 0.8?\n"
