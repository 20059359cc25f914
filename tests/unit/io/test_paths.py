"""Files, folders and globs: what is found, in which order, under which names, and what is refused."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookalike.errors import InputError
from lookalike.io.paths import KNOWN
from lookalike.io.read import open_collection
from lookalike.kinds.records.source import open_records


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def make(*names: str) -> None:
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(f"in {name}")


def ids_of(source: object) -> list[str]:
    return [name for batch in open_collection(source).texts() for name in batch.ids.to_pylist()]


def test_a_folder_is_read_to_its_depth_in_the_order_of_the_paths() -> None:
    make("docs/b.md", "docs/a/z.py", "docs/a.txt", "docs/_c.py", "docs/.hidden", "docs/.git/config")
    collection = open_collection("docs")
    (batch,) = collection.texts()
    assert batch.ids.to_pylist() == ["_c.py", "a.txt", "a/z.py", "b.md"]
    assert batch.texts.to_pylist() == ["in docs/_c.py", "in docs/a.txt", "in docs/a/z.py", "in docs/b.md"]
    assert (collection.name, collection.columns, collection.rows_hint) == ("docs", ("id", "text"), 4)
    assert pa.Table.from_batches(collection.rows()).to_pylist()[0] == {"id": "_c.py", "text": "in docs/_c.py"}


def test_a_glob_names_documents_from_its_fixed_folder(tmp_path: Path) -> None:
    make("src/pkg/a.py", "src/pkg/deep/b.py", "src/pkg/c.md", "src/d.py")
    assert ids_of("src/pkg/**/*.py") == ["a.py", "deep/b.py"]
    assert ids_of(Path("src/*/*.py")) == ["pkg/a.py"]
    assert ids_of(str(tmp_path / "src" / "pkg" / "?.py")) == ["a.py"]
    assert ids_of("*/d.py") == ["src/d.py"]


def test_several_folders_keep_their_names_apart() -> None:
    make("one/a.md", "two/a.md")
    assert ids_of([Path("two"), Path("one/*.md")]) == ["two/a.md", "one/a.md"]


def test_text_files_in_a_folder_are_whole_documents() -> None:
    make("docs/a.txt")
    Path("docs/b.txt").write_text("two\nlines\n")
    (batch,) = open_collection("docs").texts()
    assert batch.texts.to_pylist() == ["in docs/a.txt", "two\nlines\n"]


def test_a_folder_of_csv_and_python_files_is_a_folder_of_texts() -> None:
    make("docs/a.csv", "docs/b.py")
    assert ids_of("docs") == ["a.csv", "b.py"]


@pytest.mark.parametrize("source", ["data", "data/**/*.parquet", "data/**"])
def test_a_folder_or_glob_of_data_files_is_one_data_set(source: str) -> None:
    Path("data/year=2").mkdir(parents=True)
    for name, text in (("data/b.parquet", "b"), ("data/year=2/c.parquet", "c"), ("data/a.parquet", "a")):
        pq.write_table(pa.table({"text": [text]}), name)
    make("data/_SUCCESS", "data/._SUCCESS.crc")
    collection = open_collection(source)
    (batch,) = collection.texts()
    assert (batch.texts.to_pylist(), batch.ids) == (["a", "b", "c"], None)


def test_many_small_files_come_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lookalike.io.plain_text.FILES_PER_BATCH", 7)
    make(*(f"docs/{number:03}.md" for number in range(100)))
    (batch,) = open_collection("docs").texts()
    assert batch.ids.to_pylist() == [f"{number:03}.md" for number in range(100)]
    assert batch.texts.to_pylist() == [f"in docs/{number:03}.md" for number in range(100)]


def test_a_file_name_with_wildcards_in_it_is_a_file() -> None:
    Path("a[1].txt").write_text("x\n")
    assert [batch.texts.to_pylist() for batch in open_collection("a[1].txt").texts()] == [["x"]]


def test_a_file_name_that_is_not_utf8_gets_a_readable_id() -> None:
    Path("docs").mkdir()
    try:
        Path(os.fsdecode(b"docs/\xff.md")).write_text("x")
    except OSError:
        pytest.skip("this file system has only UTF-8 names")
    assert ids_of("docs") == ["\\xff.md"]


def refusal(source: object) -> str:
    with pytest.raises(InputError) as caught:
        list(open_collection(source).texts())
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_missing_files() -> None:
    make("corpus.parquet")
    assert refusal("corpus.parqet") == "no such file: corpus.parqet. Nearest: 'corpus.parquet'."
    assert refusal("zzz.csv") == "no such file: zzz.csv."
    assert refusal("nowhere/a.csv") == "no such file: nowhere/a.csv."
    assert refusal("-") == "- (standard input) cannot be read; save the stream to a file first."


def test_empty_folders_and_globs() -> None:
    Path("docs").mkdir()
    assert refusal("docs") == "no files in the folder docs."
    assert refusal("docs/*.md") == "no files match docs/*.md."


def test_unknown_extensions() -> None:
    Path("a.xlsx").write_bytes(b"PK\3\4\0\0 and so on")
    assert refusal("a.xlsx") == (
        f"a.xlsx is not a text file. Known extensions: {KNOWN}; anything else must be UTF-8 text."
    )
    with pytest.raises(InputError) as caught:
        open_records(Path("a.xlsx"))
    assert str(caught.value) == f"a.xlsx has the unknown extension '.xlsx'. Known: {KNOWN}."
    assert KNOWN == (
        ".parquet, .arrow, .feather, .ipc, .jsonl, .ndjson, .json, .csv, .tsv, .txt "
        "(text formats also with .gz or .zst)"
    )


def test_streams() -> None:
    os.mkfifo("pipe.jsonl")
    assert refusal("pipe.jsonl") == "pipe.jsonl is not a regular file; save the stream to a file first."


def test_mixed_kinds() -> None:
    make("data/a.parquet", "data/b.jsonl", "mixed/a.parquet", "mixed/readme.md", "c.csv", "docs/a.md")
    assert refusal("data") == (
        "data holds Parquet (a.parquet) and JSON lines (b.jsonl); give a glob for files of one kind."
    )
    assert refusal("mixed") == (
        "mixed holds Parquet (a.parquet) and other files (readme.md); give a glob such as *.parquet."
    )
    assert refusal([Path("c.csv"), Path("docs")]) == (
        "c.csv is CSV and docs is text files; give files of one kind, or run once for each."
    )


def test_empty_files_of_formats_with_a_header() -> None:
    for name in ("a.parquet", "a.arrow", "a.csv"):
        Path(name).write_text("")
    assert refusal("a.parquet") == "a.parquet is empty (0 bytes); expected a Parquet file."
    assert refusal("a.arrow") == "a.arrow is empty (0 bytes); expected an Arrow file."
    assert refusal("a.csv") == "a.csv is empty (0 bytes); expected a header line."
    Path("a.csv").write_text("\n\n")
    assert refusal("a.csv") == "a.csv holds only blank lines; expected a header line."


def test_broken_files() -> None:
    pq.write_table(pa.table({"text": [f"{n} {n * n}" for n in range(5000)]}), "whole.parquet")
    content = Path("whole.parquet").read_bytes()
    Path("cut.parquet").write_bytes(content[:-100])
    assert refusal("cut.parquet").startswith("cut.parquet cannot be read as Parquet: ")
    Path("hole.parquet").write_bytes(content[:50] + b"\0" * 2000 + content[2050:])
    assert refusal("hole.parquet").startswith("hole.parquet cannot be read as Parquet: ")
    Path("cut.arrow").write_bytes(b"ARROW1\0\0 and no more")
    assert refusal("cut.arrow").startswith("cut.arrow cannot be read as Arrow: ")
    for name in ("cut.jsonl.gz", "cut.csv.gz", "cut.txt.gz"):
        Path(name).write_bytes(gzip.compress(b'{"text": "a"}\n' * 5000)[:-20])
        assert refusal(name).startswith(f"{name} cannot be read as "), name
    Path("not.jsonl.gz").write_bytes(b"plain")
    assert refusal("not.jsonl.gz").startswith("not.jsonl.gz cannot be read as JSON lines: ")


def test_csv_rows_of_another_length() -> None:
    Path("a.csv").write_text('id,text\n1,"two\nlines"\n2,a,b\n')
    assert refusal("a.csv") == "a.csv line 4: expected 2 columns, found 3. Are quotes missing?"
    Path("a.tsv").write_text("id\ttext\n1\tone\n2\n")
    assert refusal("a.tsv") == "a.tsv line 3: expected 2 columns, found 1. Are quotes missing?"
    Path("b.csv").write_text("id%text\n1%one, two\n")
    assert (
        refusal("b.csv")
        == "b.csv line 2: expected 1 column, found 2. Is another delimiter used? Give `delimiter='%'`, say."
    )


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_a_csv_without_commas_is_parted_by_what_its_header_has(mark: str) -> None:
    Path("a.csv").write_text(f'id{mark}text\nx{mark}"one, {mark} two"\ny{mark}three\n')
    (batch,) = open_collection("a.csv").texts()
    assert (batch.ids.to_pylist(), batch.texts.to_pylist()) == (["x", "y"], [f"one, {mark} two", "three"])
    Path("a.csv").write_text(f'"text{mark}id"\none{mark}two\n')
    assert open_collection("a.csv").columns == (f"text{mark}id",), "one name in quotes is one column"


def test_an_empty_path_is_not_this_folder() -> None:
    make("a.txt", "b.txt")
    assert refusal("") == "an empty path came; expected a file, a folder or a glob."


def test_places_in_text_files_are_lines() -> None:
    Path("a.csv").write_bytes(b'id,text\n\n1,"two\nlines"\n2,\xff\n')
    Path("a.jsonl").write_bytes(b'{"text": "a"}\n\n{"text": "\xff"}\n')
    assert refusal("a.csv").startswith("a.csv line 5: text is not valid UTF-8")
    assert refusal("a.jsonl").startswith("a.jsonl line 3: text is not valid UTF-8")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"text": "a"}\n\n{"text": "b" oops}\n', "line 3: not valid JSON (Expecting ',' delimiter at column 14)."),
        ('{"text": "a"}\n{"text": "b"', "line 2: not valid JSON (Expecting ',' delimiter at column 13)."),
        ('{"text": "a"}\n[1]\n', "line 2: expected a JSON object, found an array."),
        ('"a"\n', "line 1: expected a JSON object, found a string."),
        ("5\n", "line 1: expected a JSON object, found a number."),
        ('{"text": "a\n', "line 1: not valid JSON (Unterminated string starting at column 10)."),
        ("{\n", "line 1: not valid JSON (Expecting property name enclosed in double quotes at column 2)."),
    ],
)
def test_json_that_does_not_parse(content: str, message: str) -> None:
    Path("a.jsonl").write_text(content)
    assert refusal("a.jsonl") == f"a.jsonl {message}"


def test_a_late_json_line_is_named_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lookalike.io.jsonlines.TARGET_BYTES", 100)
    monkeypatch.setattr("lookalike.io.jsonlines.PEEK_BYTES", 100)
    Path("a.jsonl").write_text('{"text": "a", "id": 1}\n' * 60 + '{"text": "a", "id": "b"}\n')
    assert refusal("a.jsonl") == "a.jsonl line 61: column 'id' is a string; expected int64 as in the lines before."
    Path("a.jsonl").write_text('{"text": "a", "id": 1}\n' * 60 + '{"text": "c}\n')
    assert refusal("a.jsonl").startswith("a.jsonl line 61: not valid JSON (Unterminated string starting at")


def test_a_file_that_goes_away_is_named() -> None:
    make("docs/a.md")
    collection = open_collection("docs")
    Path("docs/a.md").unlink()
    with pytest.raises(InputError, match=r"^docs/a\.md cannot be read as text: .*No such file"):
        list(collection.texts())
