"""lookalike bits and lookalike strings from the command line; lookalike plan for other distances."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import lookalike as la
from lookalike.cli import output as show

CODES = "id,code\na,00ff\nb,00fe\nc,ff00\nd,\n"
NAMES = "id,name\na,Jon Smith\nb,John Smith\nc,Ann Lee\nd,\n"


@pytest.fixture
def codes(tmp_path: Path) -> Path:
    (tmp_path / "codes.csv").write_text(CODES)
    return tmp_path / "codes.csv"


@pytest.fixture
def names(tmp_path: Path) -> Path:
    (tmp_path / "names.csv").write_text(NAMES)
    return tmp_path / "names.csv"


def test_pairs_of_codes(codes: Path, lookalike) -> None:
    done = lookalike("bits", "pairs", codes, "-d", 2)
    assert (done.code, done.out) == (0, "left\tright\tdistance\na\tb\t1\n")
    assert "Read     4 codes · 1 null" in done.err
    assert "Compared at most 2 bits differ · exact join, none missed" in done.err


def test_an_approximate_run_says_how(codes: Path, lookalike) -> None:
    done = lookalike("bits", "pairs", codes, "-d", 2, "--method", "lsh", "--json", "-q")
    receipt = json.loads(done.out)
    assert receipt["job"]["method"] == "lsh"
    assert receipt["recall_at_threshold"] >= 0.99
    assert lookalike("bits", "pairs", codes, "--method", "lsh").code == 0


def test_groups_and_dedup_of_codes(codes: Path, tmp_path: Path, lookalike) -> None:
    assert (
        lookalike("bits", "groups", codes, "-d", 2).out == "id\tgroup\tsize\trepresentative\na\t0\t2\ta\nb\t0\t2\ta\n"
    )
    done = lookalike("bits", "dedup", codes, "-d", 2, "-o", tmp_path / "clean.csv", "--removed", tmp_path / "gone.csv")
    assert done.code == 0
    assert (tmp_path / "clean.csv").read_text().replace('"', "") == "id,code\na,00ff\nc,ff00\nd,\n"
    assert (tmp_path / "gone.csv").read_text().replace('"', "") == "id,kept,distance\nb,a,1\n"
    assert lookalike("bits", "pairs", codes, "--against", codes, "-d", 0).out.splitlines()[1:] == [
        "a\ta\t0",
        "b\tb\t0",
        "c\tc\t0",
    ]
    assert lookalike("bits", "groups", codes, "-o", tmp_path / "all").code == 0
    assert pq.read_table(tmp_path / "all" / "pairs.parquet").num_rows == 1


@pytest.mark.parametrize(
    ("keep", "kept"), [("max:id", "10"), ("min:id", "9"), ("max:n", "9"), ("priority:id=10,9", "10")]
)
def test_which_code_to_keep(tmp_path: Path, lookalike, keep: str, kept: str) -> None:
    """Numbers of a CSV file are compared as numbers, though ids and codes are text."""
    (tmp_path / "x.csv").write_text("id,n,code\n9,100,00ff\n10,20,00fe\n")
    assert lookalike("bits", "dedup", tmp_path / "x.csv", "--keep", keep, "-o", tmp_path / "y.csv").code == 0
    assert (tmp_path / "y.csv").read_text().splitlines()[1].startswith(f"{kept},")


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        (["--column", "cod"], 1, "ColumnNotFound: no column 'cod' in "),
        (["--id", "code"], 1, "InputError: "),
        (["--form", "binary"], 1, "the code has 'f' at position 2; expected 0 and 1."),
        (["-d", -1], 2, "UsageError: max_bits is -1; expected a whole number"),
        (["--max-pairs", 0], 2, "UsageError: max_pairs is 0"),
    ],
)
def test_messages_of_bits(codes: Path, lookalike, words: list[object], code: int, line: str) -> None:
    done = lookalike("bits", "pairs", codes, *words)
    assert done.code == code
    assert line in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("kind", ["bits", "strings"])
def test_no_rows_are_no_error(tmp_path: Path, lookalike, kind: str) -> None:
    (tmp_path / "none.txt").touch()
    (tmp_path / "none.csv").write_text("id,code\n")
    for name in ("none.txt", "none.csv"):
        texts = "" if kind == "bits" or name == "none.csv" else "_text"
        assert lookalike(kind, "pairs", tmp_path / name).out.split() in (
            ["left", "right", "distance"],
            ["left", f"left{texts}", "right", f"right{texts}", "distance"],
        )
        assert lookalike(kind, "groups", tmp_path / name).out.startswith("id\t")
        assert lookalike(kind, "dedup", tmp_path / name, "-o", tmp_path / f"{kind}{name}", "--force").code == 0
    (tmp_path / "empty.csv").touch()
    done = lookalike(kind, "pairs", tmp_path / "empty.csv")
    assert (done.code, done.err.count("\n")) == (1, 1)


def test_pairs_of_strings(names: Path, lookalike) -> None:
    done = lookalike("strings", "pairs", names, "--text", "name", "-d", 1)
    assert (done.code, done.out) == (0, "left\tright\tdistance\na\tb\t1\n")
    assert "Read     4 strings" in done.err
    assert "Compared Levenshtein distance at most 1 · exact join, none missed" in done.err
    near = lookalike("strings", "pairs", names, "--text", "name", "-t", 0.8, "--measure", "indel")
    assert near.out == "left\tright\tsimilarity\na\tb\t0.947368\n"
    assert "insert/delete similarity at least 0.8" in near.err


def test_groups_and_dedup_of_strings(names: Path, tmp_path: Path, lookalike) -> None:
    assert lookalike("strings", "groups", names, "--text", "name").out.splitlines()[1:] == ["a\t0\t2\ta", "b\t0\t2\ta"]
    done = lookalike("strings", "dedup", names, "--text", "name", "--keep", "longest", "-o", tmp_path / "clean.csv")
    assert done.code == 0
    assert "Jon" not in (tmp_path / "clean.csv").read_text()


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        (["--text", "nam"], 1, "ColumnNotFound: no column 'nam' in "),
        (["--text", "name", "-d", 1, "-t", 0.5], 2, "UsageError: max_edits and threshold do not go together"),
        (["--text", "name", "-t", 3], 2, "UsageError: threshold is 3.0; expected a number above 0 and at most 1."),
    ],
)
def test_messages_of_strings(names: Path, lookalike, words: list[object], code: int, line: str) -> None:
    done = lookalike("strings", "pairs", names, *words)
    assert done.code == code
    assert line in done.err
    assert done.err.count("\n") == 1


def test_plans_for_other_distances(lookalike) -> None:
    done = lookalike("plan", "--measure", "cosine", "--distance", 30)
    assert done.out.startswith("15 bands of 7 rows (105 of 128 hashes): recall 0.9926 at 30 degrees\n")
    assert "one hash                     (30, 60, 0.8333, 0.6667)-sensitive" in done.out
    facts = json.loads(lookalike("plan", "--measure", "hamming", "--distance", 8, "--bits", 64, "--json").out)
    assert facts["recall_at_threshold"] >= 0.99
    cascade = lookalike("plan", "--cascade", "and4 or4")
    assert cascade.out.startswith("and4 or4: 16 hashes\n")
    assert "fixed points                 0.7245" in cascade.out


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--measure", "cosine"], "give --measure and --distance together, without a threshold."),
        (["--distance", 3], "give --measure and --distance together, without a threshold."),
        (["--measure", "cosine", "--distance", 3, "-t", 0.5], "give --measure and --distance together"),
        (["--measure", "cosine", "--distance", 3, "-o", "x.svg"], "curves over a distance are shown as a table"),
        (["--measure", "hamming", "--distance", 3], "hamming needs the length of a code"),
        (["--method", "exact"], "--method and --max-share are for a run on INPUTS; name files, or leave them out."),
        (["--max-share", 0.1], "--method and --max-share are for a run on INPUTS; name files, or leave them out."),
        (["--cascade", "xor4"], "a cascade has no step 'xor4'"),
    ],
)
def test_messages_of_plan(lookalike, words: list[object], line: str) -> None:
    done = lookalike("plan", *words)
    assert done.code == 2
    assert line in done.err


@pytest.mark.parametrize("named", [False, True])
def test_a_table_on_a_terminal_shows_what_is_similar(named: bool, tmp_path: Path, monkeypatch, capsys) -> None:
    """Ids alone say nothing: the beginning of each item is next to them, within the width of the terminal."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")  # 80 columns
    rows = ["a,Ann Marie Campbell,Bern", "b,Anne Marie Campbell,Bern", "c,Bob,", 'd,"Jo, x",Rome']
    (tmp_path / "in.csv").write_text("\n".join(["id,name,town", *rows]) + "\n")
    options = {} if named else {"id": "none"}
    result = la.records.pairs(tmp_path / "in.csv", threshold=0.1, audit=0, **options)
    show.print_pairs(result)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["left", "right", "similarity", "left", "record", "right", "record"]
    assert lines[1].split()[:2] == (["a", "b"] if named else ["0", "1"])
    assert "Ann Marie" in lines[1]
    assert "Anne Mari" in lines[1]
    assert max(map(len, lines)) <= 80
    show.print_groups(la.strings.groups(tmp_path / "in.csv", text="name", max_edits=1, **options))
    assert "Anne Marie Campbell" in capsys.readouterr().out
    grouped = la.groups(tmp_path / "in.csv", text="town", k=1, **options)
    show.print_groups(grouped)
    first, second = ("a", "b") if named else ("0", "1")
    assert capsys.readouterr().out.split()[5:] == [first, "0", "2", first, "Bern", second, "0", "2", first, "Bern"]
    (tmp_path / "in.csv").write_text("id,name,town\n")
    show.print_groups(grouped)  # the input has changed: ids alone
    assert "Bern" not in capsys.readouterr().out


def test_a_notebook_shows_what_is_similar() -> None:
    texts = ["a b c d e <f>", "a b c d e <f>", "x" * 500]
    shown = la.dedup(texts)._repr_html_()
    assert "a b c d e &lt;f&gt;" in shown
    assert "x" * 61 not in la.pairs([*texts, texts[2]])._repr_html_()


def test_strings_without_ids_are_written_next_to_their_row_numbers(lookalike, tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    path.write_text("ann\nanne\nbob\n")
    assert (
        lookalike("strings", "pairs", path, "--max-edits", 1, "-q").out
        == "left\tleft_text\tright\tright_text\tdistance\n0\tann\t1\tanne\t1\n"
    )
    assert lookalike("strings", "groups", path, "--max-edits", 1, "-q").out.splitlines()[1] == "0\tann\t0\t2\t0\tann"
    done = lookalike(
        "strings",
        "dedup",
        path,
        "--max-edits",
        1,
        "-q",
        "-o",
        tmp_path / "kept.txt",
        "--removed",
        tmp_path / "gone.csv",
    )
    assert done.code == 0, done.err
    assert (tmp_path / "gone.csv").read_text().splitlines() == [
        '"id","text","kept","kept_text","distance"',
        '1,"anne",0,"ann",1',
    ]
    named = tmp_path / "names.csv"
    named.write_text("id,name\na,ann\nb,anne\n")
    assert (
        lookalike("strings", "pairs", named, "--text", "name", "--max-edits", 1, "-q").out.splitlines()[0]
        == "left\tright\tdistance"
    )
    assert (
        lookalike("strings", "pairs", path, "--max-edits", 1, "-q", "--with-text", "none").out.splitlines()[1]
        == "0\t1\t1"
    )
