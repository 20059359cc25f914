"""lookalike index from the command line."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from index_kinds import SAMPLES

ONE = "id,text\na,the quick brown fox jumps over the lazy dog\nb,nothing alike at all\n"
TWO = "id,text\nc,The quick brown fox jumps over the lazy dog!\nd,a third text that is new\n"


def recall(words: str) -> str:
    return f"Recall   planned 0.9922 at the threshold · {words}\n"


MEASURED = recall("measured 1.0000 (1.0000 to 1.0000) on 1 pair of 1 query")


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lookalike) -> Path:
    """An index with the documents of ONE; the current folder has one.csv and two.csv."""
    monkeypatch.chdir(tmp_path)
    Path("one.csv").write_text(ONE)
    Path("two.csv").write_text(TWO)
    assert lookalike("index", "create", "seen", "-k", 2).err == (
        "Created  seen: documents, similarity at least 0.8 · 16 bands of 6 rows\n"
    )
    done = lookalike("index", "add", "seen", "one.csv")
    assert done.err.startswith("Added    2 documents in ")
    assert done.err.endswith(" s · seen has 2\n")
    return tmp_path / "seen"


def test_a_text_file_is_one_document(seen: Path, lookalike) -> None:
    Path("whole.txt").write_text("the first line of words\nand the second line of words\n")
    done = lookalike("index", "add", "seen", "whole.txt")
    assert done.err.startswith("Read     1 file as a document\nAdded    1 document in ")
    done = lookalike("index", "query", "seen", "whole.txt")
    assert (done.out, done.err) == (
        "query\tid\tsimilarity\nwhole.txt\twhole.txt\t1\n",
        f"Read     1 file as a document\n{MEASURED}Found    1 match of 1 item\n",
    )
    done = lookalike("index", "query", "seen", "whole.txt", "--lines")
    assert (done.out, done.err) == (
        "query\tid\tsimilarity\n",
        "Read     2 lines as documents\n"
        + recall("not measured: no match in a comparison of 2 queries with 3 items")
        + "Found    0 matches of 2 items\n",
    )
    lookalike("index", "create", "words", "--kind", "strings", "-q")
    assert lookalike("index", "add", "words", "whole.txt").err.startswith("Added    2 strings")
    assert lookalike("index", "add", "words", "whole.txt", "--lines").err == (
        "UsageError: --lines goes with documents and passages; this index is of strings.\n"
    )


def test_query(seen: Path, lookalike) -> None:
    done = lookalike("index", "query", "seen", "two.csv")
    assert (done.code, done.out) == (0, "query\tid\tsimilarity\nc\ta\t1\n")
    assert done.err == (
        recall("measured 1.0000 (1.0000 to 1.0000) on 1 pair of 2 queries") + "Found    1 match of 2 items\n"
    )
    assert lookalike("index", "query", "seen", "--query", "nothing alike at all", "-q").out.splitlines()[1:] == [
        "nothing alike at all\tb\t1"
    ]
    assert lookalike("index", "query", "seen", "two.csv", "-o", "found.parquet").out == ""
    assert pq.read_table("found.parquet").to_pylist() == [{"query": "c", "id": "a", "similarity": 1.0}]
    assert lookalike("index", "query", "seen", "one.csv", "two.csv", "--top", 1, "-t", 0.9).code == 0
    Path("empty.csv").write_text("id,text\n")
    assert lookalike("index", "query", "seen", "empty.csv").out == "query\tid\tsimilarity\n"


def test_only_new_ones(seen: Path, lookalike) -> None:
    done = lookalike("index", "add", "seen", "two.csv", "--if-new")
    assert done.out == "id\tmatch\tsimilarity\nc\ta\t1\n"
    assert done.err.startswith("Added    1 new of 2 documents in ")
    assert done.err.endswith(" s · seen has 3\n")


def test_replace_remove_info_compact_export(seen: Path, lookalike, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "2 documents, 2 replaced in " in lookalike("index", "add", "seen", "one.csv").err
    assert lookalike("index", "remove", "seen", "b", "zz").err == "Removed  1 of 2 · seen has 1\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO("a\nzz\n"))
    assert lookalike("index", "remove", "seen", "-").err == "Removed  1 of 2 · seen has 0\n"
    lookalike("index", "add", "seen", "two.csv")
    assert lookalike("index", "compact", "seen").err.startswith("Compacted seen: ")
    facts = json.loads(lookalike("index", "info", "seen", "--json").out)
    assert (facts["items"], facts["kind"], facts["format"], facts["segments"]) == (2, "documents", 2, 1)
    reported = lookalike("index", "info", "seen").out
    assert "Items    2 documents\n" in reported
    assert "16 bands of 6 rows\n" in reported
    assert recall("not measured: `lookalike index recall seen` measures it") in reported
    assert lookalike("index", "export", "seen", "-o", "all.parquet").err == "Wrote    all.parquet: 2 documents\n"
    table = pq.read_table("all.parquet")
    assert table["id"].to_pylist() == ["c", "d"]
    assert table["item"][1].as_py() == "a third text that is new"
    assert lookalike("index", "export", "seen", "-o", "all.parquet").code == 1


def test_merge(seen: Path, lookalike) -> None:
    lookalike("index", "create", "other", "-k", 2)
    lookalike("index", "add", "other", "two.csv")
    assert lookalike("index", "merge", "seen", "other").err == "Merged   2 of other, 0 replaced · seen has 4\n"


@pytest.mark.parametrize(
    ("rows", "create", "query"),
    [
        ("id,code\na,00ff\nb,ff00\n", ["--kind", "bits", "--bits", 16, "-t", 2], "id,code\nc,00fe\n"),
        ("id,name\na,Jon Smith\nb,Ann Lee\n", ["--kind", "strings", "-t", 1], "id,name\nc,John Smith\n"),
        ("id,x,y\na,1,0\nb,0,1\n", ["--kind", "vectors", "--dimensions", 2], "id,x,y\nc,1,0.05\n"),
    ],
)
def test_other_kinds(rows: str, create: list, query: str, tmp_path: Path, lookalike, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text(rows)
    Path("asked.csv").write_text(query)
    assert lookalike("index", "create", "seen", *create).code == 0
    assert lookalike("index", "add", "seen", "in.csv").code == 0
    done = lookalike("index", "query", "seen", "asked.csv", "-q")
    assert [line.split("\t")[:2] for line in done.out.splitlines()[1:]] == [["c", "a"]]


def test_sets_and_records(tmp_path: Path, lookalike, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sets.jsonl").write_text('{"id": "a", "text": [1, 2, 3]}\n{"id": "b", "text": [7]}\n')
    lookalike("index", "create", "sets", "--kind", "sets")
    assert lookalike("index", "add", "sets", "sets.jsonl").code == 0
    assert lookalike("index", "query", "sets", "sets.jsonl", "-q").out.splitlines()[1:] == ["a\ta\t1", "b\tb\t1"]
    people = [
        f"p{n},{name} {n:03},{town}" for n, (name, town) in enumerate([("Ann Lee", "York"), ("Bob Ray", "Hull")] * 15)
    ]
    Path("people.csv").write_text("id,name,town\n" + "\n".join(people) + "\n")
    done = lookalike("index", "create", "people", "--kind", "records", "--sample", "people.csv", "-t", 0.8)
    assert "keys of name, town" in done.err
    assert lookalike("index", "add", "people", "people.csv").code == 0
    assert "p3\tp3\t1" in lookalike("index", "query", "people", "people.csv").out.splitlines()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["create", "seen"], 1, "OutputError: seen exists."),
        (["add", "nowhere", "one.csv"], 1, "InputError: no such index: nowhere has no index.json."),
        (["add", "seen", "none.csv"], 1, "MissingInput: no such file: none.csv. Nearest: 'one.csv'."),
        (
            ["add", "seen", "one.csv", "--column", "txt"],
            1,
            "ColumnNotFound: no column 'txt' in one.csv. Nearest: 'text'.",
        ),
        (["query", "seen"], 2, "UsageError: give files to look for, or --query, one of them."),
        (["query", "seen", "two.csv", "-t", "0.2"], 2, "UsageError: threshold is 0.2; this index finds"),
        (["create", "v", "--kind", "vectors"], 2, "UsageError: an index of vectors needs to know how long they are"),
        (["create", "v", "--bits", "3"], 2, "UsageError: an index of documents has no option 'bits'."),
        (["merge", "seen", "seen"], 2, "UsageError: seen cannot be merged with itself."),
    ],
)
def test_errors_are_one_line(seen: Path, words: list[str], code: int, message: str, lookalike) -> None:
    done = lookalike("index", *words)
    assert (done.code, done.err.count("\n")) == (code, 1)
    assert done.err.startswith(message)


def test_token_lists_are_no_texts(seen: Path, lookalike) -> None:
    Path("sets.jsonl").write_text('{"id": "a", "text": [1, 2, 3]}\n')
    done = lookalike("index", "add", "seen", "sets.jsonl")
    assert (done.code, "holds token lists; this index is of texts" in done.err) == (2, True)


def test_ctrl_c_changes_nothing(seen: Path, lookalike) -> None:
    """The command is stopped as soon as it has begun to write."""
    rows = (f"n{n}," + " ".join(f"w{n}x{i}" for i in range(60)) for n in range(40_000))
    Path("large.csv").write_text("id,text\n" + "\n".join(rows) + "\n")
    (seen / "writer.lock").unlink()
    command = [sys.executable, "-m", "lookalike.cli.main", "index", "add", "seen", "large.csv"]
    child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while child.poll() is None and not (seen / "writer.lock").exists():
        time.sleep(0.005)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)
    assert (child.returncode, said) == (130, "Stopped. No output was written.\n")
    assert "Items    2 documents\n" in lookalike("index", "info", "seen").out


def test_a_gallery_of_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lookalike) -> None:
    monkeypatch.chdir(tmp_path)
    Path("photos").mkdir()
    for number, data in enumerate(SAMPLES["images"].items(3, 8)):
        Path(f"photos/{number}.png").write_bytes(data)
    Path("photos/no.png").write_bytes(b"nothing")
    done = lookalike("index", "create", "gallery", "--kind", "images", "--no-crops", "--hash", "phash", "-t", 6)
    assert done.err.startswith("Created  gallery: images, bits at most 6 · ")
    done = lookalike("index", "add", "gallery", "photos")
    left_out = "Warning: 1 file of photos was left out: no.png: not a picture that Pillow knows\n"
    assert done.err.startswith(f"{left_out}Added    3 images in ")
    Path("again.png").write_bytes(Path("photos/1.png").read_bytes())
    done = lookalike("index", "query", "gallery", "again.png")
    assert done.out.splitlines()[0] == "query\tid\tbits"
    assert "again.png\t1.png\t0" in done.out.splitlines()
    others = [line.partition("\t")[2] for line in done.out.splitlines()[1:] if "\t1.png\t" not in line]
    found = lookalike("index", "query", "gallery", "photos/1.png").out.splitlines()[1:]
    assert [line.partition("\t")[2] for line in found] == others, "all but the file itself"
    assert "\t1.png\t" not in lookalike("index", "query", "gallery", "photos/1.png", "--top", 1).out
    assert lookalike("index", "create", "people", "--kind", "faces", "--grid", "8x8", "--tolerance", 5).code == 0
    assert lookalike("index", "add", "people", "photos/0.png", "photos/2.png").code == 0
    done = lookalike("index", "query", "people", "photos/2.png")
    assert done.out.splitlines()[:2] == ["query\tid\tagreement", "photos/2.png\tphotos/2.png\t1"]


@pytest.mark.promise("docs/how-to/clean-a-training-corpus.md", "and the table of earlier snapshots grows")
def test_sizes_are_carried_on_through_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lookalike) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
    text, near, other = (
        " ".join(words),
        " ".join([*words[:11], "last"]),
        "nothing of the kind was ever written anywhere",
    )
    for name, texts in (("a", [text, other, near, text]), ("b", [text, near, "a third text that nobody has seen yet"])):
        rows = (json.dumps({"id": f"{name}{row}", "text": text}) + "\n" for row, text in enumerate(texts))
        Path(f"{name}.jsonl").write_text("".join(rows))
    assert lookalike("index", "create", "seen", "-k", 2, "-t", 0.6).code == 0
    add = ("index", "add", "seen", "--id", "id", "--if-new", "--sizes", "sizes.csv")
    assert lookalike(*add, "a.jsonl").code == 0
    assert Path("sizes.csv").read_text() == '"id","group_size","copies"\n"a0",3,2\n'
    assert lookalike(*add, "b.jsonl").code == 0
    assert Path("sizes.csv").read_text() == '"id","group_size","copies"\n"a0",5,3\n'
    assert lookalike(*add, "b.jsonl").code == 0, "b2 is stored: it is no copy of itself"
    assert Path("sizes.csv").read_text() == '"id","group_size","copies"\n"a0",7,4\n'
    done = lookalike("index", "add", "seen", "a.jsonl", "--sizes", "sizes.csv")
    assert "give --if-new" in done.err
    Path("sizes.csv").write_text("id,group_size,copies\na0,2,3\n")
    done = lookalike(*add, "b.jsonl")
    assert "row 0 is a0, 2, 3; expected an id that is listed once" in done.err
    assert done.code != 0
