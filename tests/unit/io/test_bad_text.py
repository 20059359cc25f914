"""Text that is not UTF-8, in every format, under the three policies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike as la
from lookalike.errors import BadText, OutputError
from lookalike.io.read import open_collection
from lookalike.io.write import write_table
from lookalike.kinds.records.source import open_records

GOOD, BAD = b"good \xe2\x82\xac", b"bad \xff\xfe end"
NAMES = ["a.parquet", "a.arrow", "a.csv", "a.tsv", "a.jsonl", "a.txt", "folder"]


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows GOOD, BAD, GOOD in every format."""
    monkeypatch.chdir(tmp_path)
    rows = [GOOD, BAD, GOOD]
    table = pa.table({"text": pa.array(rows).view(pa.string()), "n": [0, 1, 2]})
    pq.write_table(table, "a.parquet")
    write_table(table, "a.arrow")
    Path("a.csv").write_bytes(b"text,n\n" + b"".join(b"%s,%d\n" % (row, n) for n, row in enumerate(rows)))
    Path("a.tsv").write_bytes(b"text\tn\n" + b"".join(b"%s\t%d\n" % (row, n) for n, row in enumerate(rows)))
    Path("a.jsonl").write_bytes(b"".join(b'{"text": "%s", "n": %d}\n' % (row, n) for n, row in enumerate(rows)))
    Path("a.txt").write_bytes(b"\n".join(rows))
    Path("folder").mkdir()
    for n, row in enumerate(rows):
        Path(f"folder/{n}.md").write_bytes(row)


WHERE = (
    {name: f"{name} line 2" for name in NAMES if "parquet" not in name and "arrow" not in name}
    | {name: f"{name} line 3" for name in NAMES if name.startswith(("a.csv", "a.tsv"))}
    | {"folder": "folder/1.md"}
)


ENCODING = " If the file has another encoding, give `encoding='latin-1'`, say."


@pytest.mark.parametrize("name", NAMES)
def test_error_names_the_place(name: str) -> None:
    with pytest.raises(BadText) as caught:
        list(open_collection(name).texts())
    assert str(caught.value) == (
        f"{WHERE.get(name, name + ' row 1')}: text is not valid UTF-8 (byte 0xff at position 4). "
        "Use `on_bad_text='replace'` or 'skip'." + ("" if name.endswith(("parquet", "arrow")) else ENCODING)
    )


@pytest.mark.parametrize("name", NAMES)
def test_replace_repairs_the_bad_bytes_and_counts(name: str) -> None:
    collection = open_collection(name, on_bad_text="replace")
    (batch,) = collection.texts()
    expected = ["good €", "bad \ufffd\ufffd end", "good €"]
    assert (batch.texts.to_pylist(), batch.bad_texts, batch.null_texts) == (expected, 1, 0)
    assert pa.Table.from_batches(collection.rows())["text"].to_pylist() == expected


@pytest.mark.parametrize("name", NAMES)
def test_skip_makes_the_text_empty_and_leaves_the_row(name: str) -> None:
    collection = open_collection(name, on_bad_text="skip")
    (batch,) = collection.texts()
    assert (batch.texts.to_pylist(), batch.bad_texts, batch.null_texts) == (["good €", "", "good €"], 1, 0)
    column = pa.Table.from_batches(collection.rows())["text"].combine_chunks()
    assert column.cast(pa.large_binary()).to_pylist() == [GOOD, BAD, GOOD]


def test_the_row_is_counted_within_its_file() -> None:
    pq.write_table(pa.table({"text": ["x"] * 5, "n": range(5)}), "first.parquet")
    with pytest.raises(BadText, match=r"^a\.parquet row 1: "):
        list(open_collection([Path("first.parquet"), Path("a.parquet")]).texts())


def test_the_row_is_counted_over_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lookalike.io.reader.TARGET_BYTES", 100)
    texts: list[Any] = [b"x" * 60] * 20 + [b"\x80"]
    pq.write_table(pa.table({"text": pa.array(texts).view(pa.string())}), "many.parquet")
    with pytest.raises(BadText, match=r"^many\.parquet row 20: .*byte 0x80 at position 0"):
        list(open_collection("many.parquet").texts())


@pytest.mark.parametrize(
    "dtype", [pa.binary(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.binary())]
)
def test_every_type_of_text_is_looked_into(dtype: pa.DataType) -> None:
    raw = pa.array([GOOD, None, BAD], pa.binary())
    column = raw.cast(dtype) if "binary" in str(dtype) else raw.view(pa.string()).cast(dtype)
    (batch,) = open_collection(pa.table({"text": column}), on_bad_text="replace").texts()
    assert (batch.texts.to_pylist(), batch.bad_texts, batch.null_texts) == (
        ["good €", "", "bad \ufffd\ufffd end"],
        1,
        1,
    )


def test_tokens_are_looked_into_too() -> None:
    tokens = pa.array([[b"a"], None, [b"b", b"\xff", b"\xfe"], [b"c"]], pa.list_(pa.binary()))
    table = pa.table({"text": tokens})
    with pytest.raises(BadText, match=r"^the table row 2: text is not valid UTF-8 \(byte 0xff at position 0\)"):
        list(open_collection(table).texts())
    (batch,) = open_collection(table, on_bad_text="replace").texts()
    assert (batch.texts.to_pylist(), batch.bad_texts) == ([["a"], [], ["b", "\ufffd", "\ufffd"], ["c"]], 1)
    (batch,) = open_collection(table, on_bad_text="skip").texts()
    assert (batch.texts.to_pylist(), batch.bad_texts) == ([["a"], [], [], ["c"]], 1)


@pytest.mark.parametrize(
    "content", ['{"text": "a\\ud800b"}\n{"text": "c"}\n', '{"text": "a\\ud800b", "x": "\\udc80"}\n{"text": "c"}\n']
)
def test_half_a_surrogate_pair_in_json_is_bad_text(content: str) -> None:
    Path("s.jsonl").write_text(content)
    with pytest.raises(BadText, match=r"^s\.jsonl line 1: .*byte 0xed at position 1"):
        list(open_collection("s.jsonl").texts())
    collection = open_collection("s.jsonl", on_bad_text="replace")
    assert [batch.texts.to_pylist() for batch in collection.texts()] == [["a\ufffd\ufffd\ufffdb", "c"]]
    assert pa.Table.from_batches(collection.rows())["text"].to_pylist() == ["a\ufffd\ufffd\ufffdb", "c"]


def test_bad_bytes_in_json_that_arrow_refuses_stay_what_they_are() -> None:
    Path("s.jsonl").write_bytes(b'{"text": "%s", "control": "\x01"}\n' % BAD)
    with pytest.raises(BadText, match=r"^s\.jsonl line 1: .*byte 0xff at position 4"):
        list(open_collection("s.jsonl").texts())
    (batch,) = open_collection("s.jsonl", on_bad_text="skip").rows()
    assert batch.column("text").cast(pa.binary()).to_pylist() == [BAD]


def test_half_a_surrogate_pair_in_a_list_of_strings_is_bad_text() -> None:
    with pytest.raises(BadText, match=r"^the list row 1: "):
        list(open_collection(["a", "b\ud800"]).texts())


def test_other_columns_pass_as_they_are() -> None:
    Path("o.csv").write_bytes(b"text,author\nx,Ren\xe9\n")
    (batch,) = open_collection("o.csv").rows()
    assert batch.column("author").cast(pa.binary()).to_pylist() == [b"Ren\xe9"]
    write_table(batch, "o2.csv")
    assert Path("o2.csv").read_bytes() == b'"text","author"\n"x","Ren\xe9"\n'
    with pytest.raises(OutputError, match=r"column 'author' of row 0 is not UTF-8 \(byte 0xe9 at position 3\)"):
        write_table(batch, "o.jsonl")
    la.dedup("o.csv", text="text", on_bad_text="replace").write("o.jsonl")
    assert Path("o.jsonl").read_text() == '{"text": "x", "author": "Ren\ufffd"}\n'


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("a.txt", "folder")])
def test_records_under_the_three_policies(name: str) -> None:
    with pytest.raises(BadText) as caught:
        open_records(name).read(["text"])
    assert str(caught.value) == (
        f"{WHERE.get(name, name + ' row 1')}: column 'text': text is not valid UTF-8 (byte 0xff at position 4). "
        "Use `on_bad_text='replace'` or 'skip'." + ("" if name.endswith(("parquet", "arrow")) else ENCODING)
    )
    for policy, expected in (("replace", "bad \ufffd\ufffd end"), ("skip", None)):
        values = open_records(name, on_bad_text=policy).read(["text"])["text"].to_pylist()  # type: ignore[arg-type]
        assert values == ["good €", expected, "good €"]


def test_records_with_bad_ids_are_refused_whatever_the_policy() -> None:
    with pytest.raises(BadText, match=r"byte 0xff at position 4\)\. Use `id` to name another column, or `id='none'`"):
        la.records.pairs("a.csv", id="text", on_bad_text="skip")


def test_dedup_of_records_repairs_the_rows_it_keeps() -> None:
    kept = la.records.dedup("a.csv", threshold=0.9, fields=["text"], on_bad_text="replace")
    kept.write("kept.csv")
    assert Path("kept.csv").read_text().splitlines() == ["text,n", "good €,0", "bad \ufffd\ufffd end,1"]
