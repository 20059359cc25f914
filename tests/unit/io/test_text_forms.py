"""Encodings and delimiters of text files, JSON arrays, and columns within columns."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import lookalike as la
from lookalike.cli.main import app
from lookalike.errors import ColumnNotFound, InputError, UsageError
from lookalike.io import json_array
from lookalike.io.read import open_collection

ROWS = [("1", "häßliche Grüße aus Köln"), ("2", "häßliche Grüße aus Köln"), ("3", "etwas ganz anderes")]
TABLES = {
    "w.csv": "id,text\n" + "".join(f"{key},{text}\n" for key, text in ROWS),
    "w.tsv": "id\ttext\n" + "".join(f"{key}\t{text}\n" for key, text in ROWS),
    "w.jsonl": "".join(json.dumps({"id": key, "text": text}, ensure_ascii=False) + "\n" for key, text in ROWS),
    "w.json": json.dumps([{"id": key, "text": text} for key, text in ROWS], ensure_ascii=False, indent=1),
    "w.txt": "".join(f"{text}\n" for _, text in ROWS),
}


@pytest.fixture(autouse=True)
def _in_new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*arguments: str) -> Any:
    done = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


def texts(source: Any, **options: Any) -> list[str]:
    return [text for batch in open_collection(source, **options).texts() for text in batch.texts.to_pylist()]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "cp1252", "gb18030"])
@pytest.mark.parametrize("name", TABLES)
def test_texts_are_the_same_in_each_encoding(name: str, encoding: str) -> None:
    Path(name).write_bytes(TABLES[name].encode(encoding))
    marked = encoding.startswith("utf")  # a byte order mark tells
    assert texts(name if marked else la.Files(name, encoding=encoding)) == [text for _, text in ROWS]
    Path(name).unlink()
    Path(f"{name}.gz").write_bytes(gzip.compress(TABLES[name].encode(encoding)))
    assert texts(la.Files(f"{name}.gz", encoding=encoding)) == [text for _, text in ROWS]


def test_the_rows_kept_are_written_in_utf_8() -> None:
    Path("w.csv").write_bytes(TABLES["w.csv"].encode("cp1252"))
    run("dedup", "w.csv", "--encoding", "cp1252", "-o", "kept.csv", "-q")
    assert Path("kept.csv").read_text() == f"id,text\n1,{ROWS[0][1]}\n3,{ROWS[2][1]}\n"


def test_the_encoding_is_that_of_both_collections() -> None:
    for name in ("w.csv", "v.csv"):
        Path(name).write_bytes(TABLES["w.csv"].encode("cp1252"))
    assert "3\t3\t1" in run("pairs", "w.csv", "--against", "v.csv", "--encoding", "cp1252", "-k", "1", "-q").stdout


def test_a_folder_of_texts_may_mix_utf_8_and_utf_16() -> None:
    Path("a").mkdir()
    for number, encoding in enumerate(["utf-8", "utf-16", "utf-32"]):
        Path(f"a/{number}.md").write_bytes("häßlich".encode(encoding))
    assert texts("a") == ["häßlich"] * 3


@pytest.mark.parametrize("delimiter", ["^", "tab", ";"])
def test_fields_are_parted_by_the_given_delimiter(delimiter: str) -> None:
    mark = "\t" if delimiter == "tab" else delimiter
    Path("w.csv").write_text(f"id{mark}text,with a comma\n1{mark}a b c\n")
    assert texts(la.Files("w.csv", delimiter=delimiter), text="text,with a comma") == ["a b c"]
    shown = run(
        "pairs", "w.csv", "--delimiter", delimiter, "--text", "text,with a comma", "-k", "1", "--json", "-o", "p.csv"
    )
    assert json.loads(shown.stdout)["inputs"][0]["origin"]["delimiter"] == mark


def test_another_encoding_is_another_input() -> None:
    """Work that was kept for one reading of the bytes does not serve for another."""
    Path("w.csv").write_bytes(TABLES["w.csv"].encode("cp1252"))
    one, other = (open_collection(la.Files("w.csv", encoding=name)).stamp() for name in ("cp1252", "cp1250"))
    assert one != other


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"encoding": "foo"}, "encoding='foo' is not known; expected a name such as latin-1, cp1252"),
        ({"encoding": "hex"}, "encoding='hex' is not known"),
        ({"delimiter": "ab"}, "delimiter='ab'; expected one ASCII character"),
        ({"delimiter": '"'}, "expected one ASCII character"),
    ],
)
def test_odd_forms_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        la.Files("w.csv", **options)


def test_formats_without_an_encoding_or_a_delimiter_refuse_one() -> None:
    pq.write_table(pa.table({"text": ["a"]}), "a.parquet")
    Path("a.jsonl").write_text('{"text": "a"}\n')
    with pytest.raises(UsageError, match=r"a\.parquet is Parquet, which has no `encoding` or `delimiter`"):
        la.pairs(la.Files("a.parquet", encoding="cp1252"))
    with pytest.raises(UsageError, match=r"a\.jsonl is JSON lines, which has no `delimiter`"):
        la.pairs(la.Files("a.jsonl", delimiter=";"))


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", ["w.csv", "w.jsonl"])
def test_utf_16_without_a_mark_is_named(name: str, encoding: str) -> None:
    Path(name).write_bytes(TABLES[name].encode(encoding))
    for read in (la.pairs, la.records.pairs):
        with pytest.raises(InputError, match="is in UTF-16 without a byte order mark; give `encoding='utf-16-le'`"):
            read(name)
    assert texts(la.Files(name, encoding=encoding))[0] == ROWS[0][1]


def test_bytes_that_are_not_of_the_encoding_are_refused_in_one_line() -> None:
    Path("w.csv").write_bytes(b"id,text\n1,\x81\n")
    with pytest.raises(InputError, match=r"w\.csv cannot be read as CSV: .*0x81.* Is its `encoding` right\?"):
        la.pairs(la.Files("w.csv", encoding="cp1252"))


def test_a_result_opens_its_input_in_the_same_encoding() -> None:
    Path("w.csv").write_bytes(TABLES["w.csv"].encode("cp1252"))
    la.pairs(la.Files("w.csv", encoding="cp1252"), k=1).save("out")
    la.report("out", "page.html")
    assert "häßliche" in Path("page.html").read_text()


def lines_of(array: bytes, size: int) -> list[Any]:
    """Return the elements of an array that is read `size` bytes at a time."""
    Path("a.json").write_bytes(array)
    blocks = list(json_array.array_blocks(Path("a.json"), "a.json", size=size))
    assert [number for number, _ in blocks] == [
        1 + sum(b.count(b"\n") for _, b in blocks[:i]) for i in range(len(blocks))
    ]
    return [json.loads(line) for _, block in blocks for line in block.splitlines()]


values = st.recursive(
    st.none() | st.integers() | st.text(st.sampled_from('a\\",[]{} \n\té'), max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(values, max_size=6), st.sampled_from([None, 0, 2]), st.booleans(), st.integers(1, 40))
def test_elements_of_an_array_are_those_of_json(array: list[Any], indent: int | None, plain: bool, size: int) -> None:
    written = json.dumps(array, indent=indent, ensure_ascii=plain).encode()
    start, json_array.START_BYTES = json_array.START_BYTES, 16
    try:
        assert lines_of(b"\xef\xbb\xbf \n" + written + b" \n", size) == array
    finally:
        json_array.START_BYTES = start


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'[{"text": "a"}', r"a\.json element 1: not valid JSON \(the array has no end\)"),
        (b'[{"text": "a"},, {"text": "b"}]', r"a\.json element 2: not valid JSON \(nothing before a comma\)"),
        (b'[{"text": "a"}] {"text": "b"}', r"a\.json: not valid JSON \(something follows the array\)"),
        (b'[{"text": "a"}, {"text": b}]', r"a\.json element 2: not valid JSON"),
        (b'[{"text": "a"}, "b"]', r"a\.json element 2: expected a JSON object, found a string"),
    ],
)
def test_a_broken_array_is_refused_by_its_element(content: bytes, message: str) -> None:
    Path("a.json").write_bytes(content)
    with pytest.raises(InputError, match=message):
        la.pairs("a.json")


def test_elements_of_an_array_are_kept_as_lines() -> None:
    Path("a.json").write_text('[\n  {"id": 9007199254740993, "text": "a b c"},\n  {"n": 1.50,\n   "text": "a b c"},\n'
                              '  {"text": "x\\ny", "m": null}\n]\n')  # fmt: skip
    la.dedup("a.json", k=1, id="none").write("kept.jsonl")
    assert Path("kept.jsonl").read_text() == (
        '{"id": 9007199254740993, "text": "a b c"}\n{"text": "x\\ny", "m": null}\n'
    )


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.parquet", "a.arrow"])
def test_text_and_id_may_be_fields_within_columns(name: str) -> None:
    rows = [{"n": n, "doc": {"key": f"k{n}", "meta": {"text": text}} if n != 2 else None}
            for n, text in enumerate(["a b c", "a b c", "", "d e f"])]  # fmt: skip
    table = pa.Table.from_pylist(rows)
    match name:
        case "a.jsonl":
            Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
        case "a.json":
            Path(name).write_text(json.dumps(rows))
        case "a.parquet":
            pq.write_table(table, name)
        case _:
            with pa.OSFile(name, "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
                writer.write_table(table)
    result = la.pairs(name, text="doc.meta.text", k=1)
    assert result.pairs.to_pylist() == [{"left": 0, "right": 1, "similarity": 1.0}]
    kept = la.dedup(name, text="doc.meta.text", k=1)
    assert kept.kept.to_pylist() == [rows[0], rows[2], rows[3]]
    with pytest.raises(InputError, match="the id is null"):
        la.pairs(name, text="doc.meta.text", id="doc.key")
    with pytest.raises(ColumnNotFound, match=r"no column 'doc\.meta\.body'"):
        la.pairs(name, text="doc.meta.body")


def test_a_column_with_a_dot_in_its_name_comes_first() -> None:
    table = pa.table({"a.b": ["from the column", "x"], "a": [{"b": "from the field"}, {"b": "y"}]})
    assert texts(table, text="a.b") == ["from the column", "x"]


def test_records_baskets_and_the_index_read_other_encodings() -> None:
    Path("w.csv").write_bytes(TABLES["w.csv"].encode("cp1252"))
    form = ("--encoding", "cp1252")
    assert "1\t2" in run("records", "pairs", "w.csv", "-q", *form).stdout
    assert run("baskets", "pairs", "w.csv", "--set", "id", "--item", "text", "-q", *form).stdout.endswith("1\t2\t1\n")
    run("index", "create", "ix", "-q")
    run("index", "add", "ix", "w.csv", "-q", *form)
    with la.Index.open("ix") as index:
        assert {found.id for found in index.query([ROWS[0][1]])[0]} == {"1", "2"}
