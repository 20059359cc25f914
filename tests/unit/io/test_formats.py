"""Every format in and out: the same rows in the same order."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from lookalike.errors import InputError
from lookalike.io import delimited, jsonlines, reader
from lookalike.io.plain_text import blocks
from lookalike.io.read import open_collection
from lookalike.io.reader import RawRows
from lookalike.io.write import write_table

TEXTS = [
    "plain",
    "",
    'quotes " and , commas',
    "tab\there",
    "two\nlines\r\nthree",
    "straße 東京 🙂",
    "NA",
    "null",
    "007",
]
TYPED = ("parquet", "arrow", "feather", "ipc", "jsonl", "ndjson", "json", "jsonl.gz", "jsonl.zst")
UNTYPED = ("csv", "tsv", "csv.gz", "csv.zst", "tsv.gz", "tsv.zst")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def table_of(source: object, **options: object) -> pa.Table:
    return pa.Table.from_batches(open_collection(source, **options).rows())  # type: ignore[arg-type]


def texts_of(source: object, **options: object) -> list[object]:
    batches = open_collection(source, **options).texts()  # type: ignore[arg-type]
    return [text for batch in batches for text in batch.texts.to_pylist()]


@pytest.mark.parametrize("extension", TYPED)
def test_a_table_comes_back_as_it_was(extension: str) -> None:
    table = pa.table(
        {"id": range(len(TEXTS)), "text": TEXTS, "score": [0.5, None, *range(7)], "tags": [["a"], [], *[None] * 7]}
    )
    write_table(table, f"a.{extension}")
    collection = open_collection(f"a.{extension}")
    assert pa.Table.from_batches(collection.rows()).to_pylist() == table.to_pylist()
    (batch,) = collection.texts()
    assert batch.texts.type == pa.large_string()
    assert batch.texts.to_pylist() == TEXTS
    assert batch.ids.to_pylist() == list(range(len(TEXTS)))
    assert (batch.first_row, batch.null_texts, batch.bad_texts, batch.extra) == (0, 0, 0, {})


@pytest.mark.parametrize("extension", UNTYPED)
def test_csv_comes_back_as_text(extension: str) -> None:
    write_table(
        pa.table({"id": range(len(TEXTS)), "text": TEXTS, "none": pa.nulls(len(TEXTS), pa.string())}), f"a.{extension}"
    )
    collection = open_collection(f"a.{extension}")
    expected = [{"id": str(row), "text": text, "none": None} for row, text in enumerate(TEXTS)]
    assert pa.Table.from_batches(collection.rows()).to_pylist() == expected
    assert texts_of(f"a.{extension}") == TEXTS


@pytest.mark.parametrize("extension", ["txt", "txt.gz", "txt.zst"])
def test_text_lines_come_back(extension: str) -> None:
    texts = ["one", "", "three €", ""]
    write_table(pa.table({"text": texts}), f"a.{extension}")
    collection = open_collection(f"a.{extension}")
    assert (collection.columns, collection.id_column) == (("text",), None)
    assert texts_of(f"a.{extension}") == texts
    assert table_of(f"a.{extension}").to_pylist() == [{"text": text} for text in texts]


def test_text_lines_may_end_in_carriage_returns_and_need_no_last_newline() -> None:
    Path("a.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\rstill two\r\n\r\nlast")
    assert texts_of("a.txt") == ["one", "two\rstill two", "", "last"]


def test_a_saved_arrow_stream_is_read_like_an_arrow_file() -> None:
    table = pa.table({"id": [1, 2], "text": ["a", "b"]})
    with pa.OSFile("a.arrow", "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    assert texts_of("a.arrow") == ["a", "b"]
    assert table_of("a.arrow") == table


def test_a_compressed_feather_file_is_read_column_by_column() -> None:
    pa.feather.write_feather(pa.table({"id": [1, 2], "other": [0, 0], "text": ["a", "b"]}), "a.feather")
    assert texts_of("a.feather") == ["a", "b"]


def test_an_extension_in_capitals_is_known() -> None:
    pq.write_table(pa.table({"text": ["a"]}), "A.PARQUET")
    assert texts_of("A.PARQUET") == ["a"]


@pytest.mark.parametrize("extension", ["parquet", "arrow", "jsonl", "csv", "txt"])
def test_many_rows_come_in_several_batches_that_fit_together(extension: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"text {row} " + "x" * (row % 90) for row in range(3000)]
    write_table(pa.table({"text": texts}), f"a.{extension}")
    shrink_batches(monkeypatch, 4096)
    batches = list(open_collection(f"a.{extension}").texts())
    assert len(batches) > 10
    assert [text for batch in batches for text in batch.texts.to_pylist()] == texts
    assert [batch.first_row for batch in batches] == [sum(len(b) for b in batches[:n]) for n in range(len(batches))]
    assert table_of(f"a.{extension}")["text"].to_pylist() == texts


def shrink_batches(monkeypatch: pytest.MonkeyPatch, nbytes: int) -> None:
    monkeypatch.setattr(reader, "TARGET_BYTES", nbytes)
    monkeypatch.setattr("lookalike.io.batch.TARGET_BYTES", nbytes)
    monkeypatch.setattr("lookalike.io.jsonlines.TARGET_BYTES", nbytes)
    monkeypatch.setattr(delimited, "BLOCK_BYTES", nbytes)


def test_a_csv_row_may_be_larger_than_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 64)
    texts = ["short"] * 20 + ["y" * 200] + ["short"] * 5 + ["z" * 900] + ["end"]
    write_table(pa.table({"text": texts}), "a.csv")
    assert texts_of("a.csv") == texts


def test_csv_rows_with_line_breaks_may_stand_across_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 64)
    texts = [f"{row}\n{'line ' * (row % 7)}\n" for row in range(100)]
    write_table(pa.table({"text": texts}), "a.csv")
    assert texts_of("a.csv") == texts


def test_an_empty_field_of_csv_is_null_and_any_word_is_text() -> None:
    Path("a.csv").write_text('text,n\nNA,1\n,2\n"",3\nnull,4\nnan,5\n')
    (batch,) = open_collection("a.csv").texts()
    assert (batch.texts.to_pylist(), batch.null_texts) == (["NA", "", "", "null", "nan"], 1)
    assert table_of("a.csv")["text"].to_pylist() == ["NA", None, "", "null", "nan"]


def test_blocks_hold_whole_lines_and_know_their_numbers(tmp_path: Path) -> None:
    content = b"a\nbb\n" + b"c" * 50 + b"\nd\nlast"
    (tmp_path / "a.txt").write_bytes(content)
    found = list(blocks(tmp_path / "a.txt", size=8))
    assert b"".join(block for _, block in found) == content
    assert all(block.endswith(b"\n") for _, block in found[:-1])
    assert [line for line, _ in found] == [1 + content[: content.index(block)].count(b"\n") for _, block in found]


def test_json_lines_need_not_agree_on_their_columns_and_types() -> None:
    lines = [
        {"text": "a", "n": 1, "when": "2020-01-01", "deep": {"when": "2020-01-01T10:00:00Z"}},
        {"text": 5, "n": 1.5, "mixed": "x", "list": [1]},
        {"n": None, "mixed": 3, "list": ["a"], "text": None},
    ]
    Path("a.jsonl").write_text("\n\n".join(json.dumps(line) for line in lines))
    collection = open_collection("a.jsonl")
    assert [batch.texts.to_pylist() for batch in collection.texts()] == [["a", "5", ""]]
    assert [batch.null_texts for batch in collection.texts()] == [1]
    with pytest.raises(
        InputError, match=r"^a\.jsonl line 3: column 'text' is a number, unlike the lines before; .*\.jsonl"
    ):
        list(collection.rows())
    settled = collection.readers[0].settled(["n", "when", "deep", "mixed", "list"])
    assert [str(column.type) for column in settled] == ["double", "string", "struct<when: string>", "string", "string"]


def test_dates_in_json_stay_the_strings_they_are() -> None:
    line = {"text": "2020-01-01", "when": "2020-01-01T10:00:00Z", "deep": [{"day": "2020-01-01"}]}
    Path("a.jsonl").write_text(json.dumps(line))
    assert texts_of("a.jsonl") == ["2020-01-01"]
    assert table_of("a.jsonl").to_pylist() == [line]


def test_json_columns_that_differ_between_blocks_are_settled_for_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [{"text": f"{n}", "grows": n if n < 60 else n + 0.5} for n in range(99)]
    Path("a.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    monkeypatch.setattr("lookalike.io.jsonlines.TARGET_BYTES", 200)
    table = table_of("a.jsonl")
    assert table["text"].to_pylist() == [str(n) for n in range(99)]
    assert table["grows"].to_pylist() == [float(n) if n < 60 else n + 0.5 for n in range(99)]


def test_a_json_column_that_comes_up_late_is_in_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lookalike.io.jsonlines.PEEK_BYTES", 100)
    monkeypatch.setattr("lookalike.io.jsonlines.TARGET_BYTES", 100)
    Path("a.jsonl").write_text('{"text": "a"}\n' * 50 + '{"text": "a", "late": [1]}\n')
    assert table_of("a.jsonl").to_pylist() == [{"text": "a", "late": None}] * 50 + [{"text": "a", "late": [1]}]


def test_json_that_arrow_refuses_is_read_all_the_same() -> None:
    Path("a.jsonl").write_bytes(b'\xef\xbb\xbf{"text": "a", "text": "twice"}\r\n{"text": "b", "other": NaN}\r\n')
    assert texts_of("a.jsonl") == ["twice", "b"]


def test_an_extra_column_of_csv_is_a_number_where_all_its_values_are() -> None:
    Path("a.csv").write_text("text,whole,part,word\na,1,1,1\nb,,2.5,x\n")
    (batch,) = open_collection("a.csv").texts(["whole", "part", "word"])
    assert {name: values.to_pylist() for name, values in batch.extra.items()} == {
        "whole": [1, None],
        "part": [1.0, 2.5],
        "word": ["1", "x"],
    }


def test_an_extra_column_of_json_has_one_type_in_all_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [{"text": "t" * 50, "score": n if n < 60 else n + 0.5} for n in range(99)]
    Path("a.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    shrink_batches(monkeypatch, 500)
    batches = list(open_collection("a.jsonl").texts(["score"]))
    assert len(batches) > 5
    assert {batch.extra["score"].type for batch in batches} == {pa.float64()}


def test_an_extra_column_may_also_be_the_text_or_the_id() -> None:
    (batch,) = open_collection(pa.table({"id": [7], "text": ["a"], "n": [1]})).texts(["id", "text", "n"])
    assert {name: values.to_pylist() for name, values in batch.extra.items()} == {"id": [7], "text": ["a"], "n": [1]}


def test_only_the_needed_columns_are_decoded() -> None:
    wide = pa.table({"id": [1], "text": ["a"], "heavy": ["x"]})
    pq.write_table(wide, "a.parquet")
    (opened,) = open_collection("a.parquet").readers
    (batch,) = opened.batches(pa.schema([wide.field("id"), wide.field("text")]))
    assert batch.schema.names == ["id", "text"]
    assert open_collection("a.parquet").rows_hint == 1


def test_header_only_and_empty_inputs_have_no_documents() -> None:
    Path("header.csv").write_text("id,text")
    Path("empty.txt").write_text("")
    Path("empty.jsonl").write_text("")
    Path("blank.jsonl").write_text("\n \n")
    pq.write_table(pa.table({"text": pa.array([], pa.string())}), "empty.parquet")
    for name in ("header.csv", "empty.txt", "empty.jsonl", "blank.jsonl", "empty.parquet"):
        collection = open_collection(name)
        assert list(collection.texts()) == [], name
        (batch,) = collection.rows()
        assert (batch.num_rows, tuple(batch.schema.names)) == (0, collection.columns), name
    assert open_collection("header.csv").columns == ("id", "text")


def test_an_empty_json_file_among_others_does_no_harm() -> None:
    Path("a.jsonl").write_text("")
    Path("b.jsonl").write_text('{"body": "x"}\n')
    assert texts_of([Path("a.jsonl"), Path("b.jsonl")]) == ["x"]


def test_several_files_are_one_collection_in_the_order_given() -> None:
    pq.write_table(pa.table({"id": pa.array([1], pa.int8()), "text": ["a"], "x": [1]}), "a.parquet")
    pq.write_table(
        pa.table({"text": pa.array(["b"], pa.large_string()), "id": [2], "y": [0.5], "x": [1.5]}), "b.parquet"
    )
    collection = open_collection([Path("b.parquet"), Path("a.parquet")])
    (batch,) = collection.texts(["x"])
    assert (batch.texts.to_pylist(), batch.ids.to_pylist()) == (["b", "a"], [2, 1])
    assert batch.extra["x"].to_pylist() == [1.5, 1.0]
    assert collection.name == "b.parquet and 1 more"
    assert collection.rows_hint == 2
    assert pa.Table.from_batches(collection.rows()).to_pylist() == [
        {"text": "b", "id": 2, "y": 0.5, "x": 1.5},
        {"text": "a", "id": 1, "y": None, "x": 1.0},
    ]


@pytest.mark.promise("docs/reference/formats.md", "without an id column they are row numbers from 0")
def test_row_numbers_go_on_through_several_files(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        write_table(pa.table({"text": [name * 3000] * 2}), f"{name}.jsonl")
    shrink_batches(monkeypatch, 4096)
    batches = list(open_collection([Path("a.jsonl"), Path("b.jsonl")]).texts())
    assert [batch.first_row for batch in batches] == [0, 1, 2, 3]
    assert all(batch.ids is None for batch in batches)


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_rows_of_json_lines_are_found_again_without_reading_what_stands_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    rows = [{"id": number, "text": f"text {number} " + "é" * (number % 7)} for number in range(500)]
    whole = "".join(("\n" if row["id"] % 50 == 0 else "") + json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path = tmp_path / name
    path.write_bytes(gzip.compress(whole.encode()) if name.endswith("gz") else whole.encode())
    parsed: list[int] = []

    def few(path: Path, *, size: int = 0, **where: int) -> Iterator[tuple[int, bytes]]:
        for line, block in blocks(path, size=1000, **where):
            parsed.append(line)
            yield line, block

    monkeypatch.setattr(jsonlines, "blocks", few)
    collection = open_collection(path)
    wanted = {row: rows[row]["text"] for row in (499, 250, 3, 251)}
    assert collection.picked(wanted) == wanted
    parsed.clear()
    assert collection.picked([480]) == {480: rows[480]["text"]}
    assert (min(parsed) > 400) == (name == "a.jsonl"), "compressed files are read from the start"
    assert "line 491:" in collection.readers[0].where(480) + ":"
    assert [batch.ids.to_pylist() for batch in collection.texts()] == [list(range(500))]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_rows_of_csv_are_found_again_without_reading_what_stands_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    texts = [f'text {number}, "said"{ending * (number % 3)} é' for number in range(400)]
    quoted = [
        (ending if n % 40 == 0 else "") + f'{n},"{text.replace(chr(34), 2 * chr(34))}"' for n, text in enumerate(texts)
    ]
    path = tmp_path / "a.csv"
    path.write_bytes((f"id,text{ending}" + ending.join(quoted)).encode())
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 700)
    collection = open_collection(path)
    assert len(collection.ids()) == 400  # read once
    begun: list[int] = []
    reading = delimited.Delimited._blocks

    def noted(self: delimited.Delimited, offset: int) -> Iterator[RawRows]:
        begun.append(offset)
        return reading(self, offset)

    monkeypatch.setattr(delimited.Delimited, "_blocks", noted)
    for row in (399, 1, 0, 200, 201, 333):
        assert collection.picked([row]) == {row: texts[row]}
    assert begun[0] > path.stat().st_size - 2000
    assert begun[2] == 0


def test_a_quote_inside_of_a_csv_field_is_a_character(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.csv"
    path.write_text('id,text\n0,5" disk\n1,plain\n2,plain\n')
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 4)
    collection = open_collection(path)
    assert len(collection.ids()) == 3
    assert collection.picked([2]) == {2: "plain"}
    assert texts_of(path) == ['5" disk', "plain", "plain"]


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_texts_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    write_table(pa.table({"text": TEXTS}), tmp_path / name)
    collection = open_collection(tmp_path / name)
    kind, read = (delimited.Delimited, "_blocks") if name == "a.csv" else (jsonlines.JsonLines, "_infer")
    inside, calls = getattr(kind, read), []
    monkeypatch.setattr(kind, read, lambda *given, **more: calls.append(read) or inside(*given, **more))
    assert [text for batch in collection.texts() for text in batch.texts.to_pylist()] == TEXTS
    assert len(calls) == (1 if name == "a.csv" else 0)
