"""The output and the table of cuts give the input's bytes again, in every format that keeps rows byte for byte."""

from __future__ import annotations

import gzip
import json
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.errors import InputError
from lookalike.kinds.scrub.writing import in_type

WORDS = st.sampled_from(["a", "b", "é", "漢", '"', "\\", "😀", "x,y", "\t", "/"])
TEXTS = st.lists(st.lists(WORDS, max_size=12).map(" ".join), min_size=1, max_size=6)
MOST = st.sampled_from([1.0, 0.5])


def json_line(text: str, style: int) -> str:
    escaped = json.dumps(text, ensure_ascii=style % 2 == 0)
    escaped = escaped.replace("/", "\\/") if style == 3 else escaped
    before = ['{"text": ', '{"id":1,"text":', '{"a": {"text": "x"}, "text" : ', '{ "\\u0074ext": '][style]
    return before + escaped + ["}", ', "tail": [1, "]"]}', "}", "  }"][style]


def round_trip(name: str, data: bytes, length: int, most: float, **options) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / name).write_bytes(data)
        result = la.scrub(folder / name, min_tokens=length, max_loss=most, threads=1, **options)
        result.write(folder / f"out-{name}", removed=folder / "removed.parquet")
        again = la.undo_scrub(folder / f"out-{name}", folder / "removed.parquet", folder / f"again-{name}")
        assert again.read_bytes() == data


@given(TEXTS, st.lists(st.integers(0, 3), min_size=6, max_size=6), st.sampled_from(["\n", "\r\n", "\n\n"]),
       st.booleans(), st.integers(1, 3), MOST)  # fmt: skip
@settings(max_examples=80)
def test_json_lines(texts, styles, line_break, ended, length, most) -> None:
    lines = [json_line(text, style) for text, style in zip(texts, styles, strict=False)]
    data = (line_break.join(lines) + line_break * ended).encode()
    round_trip("in.jsonl", data, length, most, text="text", id="none")


@given(TEXTS, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.integers(0, 2), st.integers(1, 3), MOST)
@settings(max_examples=80)
def test_csv(texts, line_break, ended, column, length, most) -> None:
    def field(text: str) -> str:
        plain = not any(mark in text for mark in ',"\r\n') and bool(text) and column != 2
        return text if plain else '"' + text.replace('"', '""') + '"'

    rows = [[field(text)] if column == 2 else ["7", field(text)][:: 1 - 2 * (column == 1)] for text in texts]
    head = {0: "n,text", 1: "text,n", 2: "text"}[column]
    data = (line_break.join([head, *(",".join(row) for row in rows)]) + line_break * ended).encode()
    round_trip("in.csv", data, length, most, text="text", id="none")


@given(TEXTS, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.integers(1, 3), MOST)
@settings(max_examples=50)
def test_lines_of_text(texts, line_break, ended, length, most) -> None:
    round_trip("in.txt", (line_break.join(texts) + line_break * ended).encode(), length, most)


@given(TEXTS, st.sampled_from([pa.string(), pa.large_binary(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]),
       st.integers(1, 3), MOST)  # fmt: skip
@settings(max_examples=40)
def test_values_of_parquet(texts, dtype, length, most) -> None:
    values = [text.encode() for text in texts] if dtype == pa.large_binary() else texts
    table = pa.table({"n": range(len(texts)), "text": pa.array(values, dtype)})
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        pq.write_table(table, folder / "in.parquet")
        result = la.scrub(folder / "in.parquet", text="text", min_tokens=length, max_loss=most, threads=1)
        result.write(folder / "out.parquet", removed=folder / "removed.parquet")
        la.undo_scrub(folder / "out.parquet", folder / "removed.parquet", folder / "again.parquet")
        assert pq.read_table(folder / "again.parquet")["n"].to_pylist() == table["n"].to_pylist()
        assert pq.read_table(folder / "again.parquet")["text"].to_pylist() == table["text"].to_pylist()


def test_compressed_files_and_a_byte_order_mark(tmp_path: Path) -> None:
    data = b"\xef\xbb\xbf" + b"".join(b'{"text": "one two three %d"}\n' % (number % 2) for number in range(4))
    (tmp_path / "in.jsonl.gz").write_bytes(gzip.compress(data))
    la.scrub(tmp_path / "in.jsonl.gz", min_tokens=3).write(tmp_path / "out.jsonl.gz", removed=tmp_path / "r.parquet")
    assert gzip.decompress((tmp_path / "out.jsonl.gz").read_bytes()) != data
    la.undo_scrub(tmp_path / "out.jsonl.gz", tmp_path / "r.parquet", tmp_path / "again.jsonl.gz")
    assert gzip.decompress((tmp_path / "again.jsonl.gz").read_bytes()) == data


@pytest.fixture
def scrubbed(tmp_path: Path) -> Path:
    (tmp_path / "in.txt").write_text("one two three\nx one two three y\none two three z\n")
    la.scrub(tmp_path / "in.txt", min_tokens=3).write(tmp_path / "out.txt", removed=tmp_path / "removed.parquet")
    return tmp_path


def test_a_changed_output_is_refused(scrubbed: Path) -> None:
    (scrubbed / "out.txt").write_text("one two three\nx y\nzz\n")
    with pytest.raises(InputError, match=r"removed.parquet does not belong to .*out.txt"):
        la.undo_scrub(scrubbed / "out.txt", scrubbed / "removed.parquet", scrubbed / "again.txt")
    assert not (scrubbed / "again.txt").exists()


def test_a_table_with_overlapping_ranges_is_refused(scrubbed: Path) -> None:
    table = pq.read_table(scrubbed / "removed.parquet")
    pq.write_table(pa.concat_tables([table.slice(0, 1), table]), scrubbed / "twice.parquet")
    with pytest.raises(InputError, match=r"ranges of row 1 overlap"):
        la.undo_scrub(scrubbed / "out.txt", scrubbed / "twice.parquet", scrubbed / "again.txt")


def test_another_table_is_refused(scrubbed: Path) -> None:
    pq.write_table(pa.table({"row": [1]}), scrubbed / "other.parquet")
    with pytest.raises(InputError, match=r"other.parquet is not a table of removed text"):
        la.undo_scrub(scrubbed / "out.txt", scrubbed / "other.parquet", scrubbed / "again.txt")


def test_nothing_else_is_left_in_the_folder(scrubbed: Path) -> None:
    assert sorted(path.name for path in scrubbed.iterdir()) == ["in.txt", "out.txt", "removed.parquet"]
    left = scrubbed / ".removed.parquet.rows.0-999999999.tmp"
    left.write_bytes(b"of another machine")
    la.scrub(scrubbed / "in.txt", min_tokens=3).write(
        scrubbed / "out.txt", removed=scrubbed / "removed.parquet", force=True
    )
    assert left.exists()


TYPES = [
    pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.uint32(), pa.string_view()), pa.run_end_encoded(pa.int32(), pa.string()),
]  # fmt: skip


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_texts_of_any_type_keep_it(dtype: pa.DataType, tmp_path: Path) -> None:
    texts = ["a b c d e f", None, "x a b c d e f y", "a b c d e f"]
    table = pa.table({"text": in_type([text and text.encode() for text in texts], dtype)})
    result = la.scrub(table, text="text", min_tokens=3, max_loss=1.0)
    assert result.kept["text"].type == dtype
    as_bytes = [text.encode() if isinstance(text, str) else text for text in result.kept["text"].to_pylist()]
    assert as_bytes == [b"a b c d e f", None, b"x y", b""]
    result.write(tmp_path / "out.arrow", removed=tmp_path / "removed.parquet")
    la.undo_scrub(tmp_path / "out.arrow", tmp_path / "removed.parquet", tmp_path / "again.arrow")
    assert pa.ipc.open_file(tmp_path / "again.arrow").read_all().equals(table)
