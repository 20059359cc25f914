"""Sources that are in memory already: lists, Arrow data, frames."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lookalike.errors import InputError, UsageError
from lookalike.io.read import open_collection


class Exported:
    """An object of another library: all it has is Arrow's interface."""

    def __init__(self, data: Any) -> None:
        self._data = data


class Stream(Exported):
    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._data.__arrow_c_stream__(requested_schema)


class Single(Exported):
    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return self._data.__arrow_c_array__(requested_schema)


TABLE = pa.table({"id": ["x", "y"], "text": ["a", "b"], "n": [1, 2]})
BATCH = TABLE.to_batches()[0]


def texts_of(source: Any, **options: Any) -> list[Any]:
    return [text for batch in open_collection(source, **options).texts() for text in batch.texts.to_pylist()]


@pytest.mark.parametrize(
    "source",
    [TABLE, BATCH, pa.RecordBatchReader.from_batches(TABLE.schema, [BATCH]), Stream(TABLE), Single(BATCH)],
    ids=["table", "batch", "reader", "exported stream", "exported batch"],
)
def test_tables_are_read_twice_alike(source: Any) -> None:
    collection = open_collection(source)
    for _ in range(2):
        assert pa.Table.from_batches(collection.rows()).to_pylist() == TABLE.to_pylist()
        (batch,) = collection.texts()
        assert (batch.texts.to_pylist(), batch.ids.to_pylist()) == (["a", "b"], ["x", "y"])
    assert (collection.name, collection.rows_hint, collection.columns) == ("the table", 2, ("id", "text", "n"))


@pytest.mark.parametrize(
    "source",
    [
        pa.array(["a", "b"]),
        pa.chunked_array([["a"], ["b"]]),
        Stream(pa.chunked_array([["a"], ["b"]])),
        Single(pa.array(["a", "b"])),
        ["a", "b"],
        ("a", "b"),
        [b"a", b"b"],
    ],
    ids=["array", "chunks", "exported chunks", "exported array", "list", "tuple", "bytes"],
)
def test_values_are_texts_known_by_their_number(source: Any) -> None:
    collection = open_collection(source)
    (batch,) = collection.texts()
    assert (batch.texts.to_pylist(), batch.ids, collection.id_column) == (["a", "b"], None, None)
    assert pa.Table.from_batches(collection.rows()).to_pylist() == [{"text": "a"}, {"text": "b"}]


def test_none_is_an_empty_text_and_counted() -> None:
    (batch,) = open_collection(["a", None, ""]).texts()
    assert (batch.texts.to_pylist(), batch.null_texts) == (["a", "", ""], 1)


def test_an_empty_list_has_no_documents() -> None:
    collection = open_collection([])
    assert (list(collection.texts()), collection.rows_hint, collection.is_tokens) == ([], 0, False)


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ([["a", "b"], [], None, ["c"]], pa.large_list(pa.large_string())),
        ([[1, 2], [], None, (3,)], pa.large_list(pa.int64())),
        ([[], []], pa.large_list(pa.large_string())),
    ],
)
def test_lists_of_tokens(source: list[Any], kind: pa.DataType) -> None:
    collection = open_collection(source)
    (batch,) = collection.texts()
    assert batch.texts.type == kind
    assert batch.texts.to_pylist() == [list(tokens or ()) for tokens in source]
    assert batch.null_texts == source.count(None)
    assert collection.is_tokens


TYPES = [
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.binary(),
    pa.large_binary(),
    pa.binary_view(),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.int32(), pa.large_string()),
]


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_every_type_of_text(dtype: pa.DataType) -> None:
    column = pa.array(["no", "a€", None, "b", "a€"]).cast(dtype)
    (batch,) = open_collection(pa.table({"text": column}).slice(1)).texts()
    assert batch.texts.type == pa.large_string()
    assert (batch.texts.to_pylist(), batch.null_texts) == (["a€", "", "b", "a€"], 1)


LISTS = [
    (pa.list_(pa.string()), ["a", "b"]),
    (pa.large_list(pa.large_string()), ["a", "b"]),
    (pa.list_(pa.dictionary(pa.int8(), pa.string())), ["a", "b"]),
    (pa.list_(pa.string(), 2), ["a", "b"]),
    (pa.list_view(pa.string()), ["a", "b"]),
    (pa.list_(pa.uint8()), [1, 255]),
    (pa.large_list(pa.int64()), [-1, 2**62]),
]


@pytest.mark.parametrize(("dtype", "tokens"), LISTS, ids=str)
def test_every_type_of_list(dtype: pa.DataType, tokens: list[Any]) -> None:
    column = pa.array([tokens, None, tokens[::-1]], dtype)
    (batch,) = open_collection(pa.table({"text": column}).slice(1)).texts()
    assert (batch.texts.to_pylist(), batch.null_texts) == ([[], tokens[::-1]], 1)


def test_large_unsigned_tokens_keep_apart() -> None:
    column = pa.array([[2**64 - 1, 2**63]], pa.list_(pa.uint64()))
    (batch,) = open_collection(pa.table({"text": column})).texts()
    assert batch.texts.to_pylist() == [[-1, -(2**63)]]


@pytest.mark.parametrize(
    ("column", "expected", "dtype"),
    [
        (pa.array([1, 2], pa.uint16()), [1, 2], pa.int64()),
        (pa.array(["x", "y"], pa.large_string()), ["x", "y"], pa.string()),
        (pa.array(["x", "y"]).dictionary_encode(), ["x", "y"], pa.string()),
        (pa.array([b"x", b"y"]), ["x", "y"], pa.string()),
    ],
)
def test_every_type_of_id(column: pa.Array, expected: list[Any], dtype: pa.DataType) -> None:
    (batch,) = open_collection(pa.table({"id": column, "text": ["a", "b"]})).texts()
    assert (batch.ids.to_pylist(), batch.ids.type) == (expected, dtype)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (
            pa.array(["x", None]),
            "the table row 1: the id is null. Use `id` to name another column, or `id='none'` for row numbers.",
        ),
        (
            pa.array([None, 1]),
            "the table row 0: the id is null. Use `id` to name another column, or `id='none'` for row numbers.",
        ),
        (pa.array([b"x", b"\xff"]), "the table row 1: the id is not valid UTF-8 (byte 0xff at position 0)."),
    ],
)
def test_bad_ids_are_named(column: pa.Array, message: str) -> None:
    with pytest.raises(InputError) as caught:
        list(open_collection(pa.table({"id": column, "text": ["a", "b"]})).texts())
    assert str(caught.value) == message


def test_a_null_token_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        list(open_collection([["a"], [], ["b", None]]).texts())
    assert str(caught.value) == "the list row 2: a token is null; expected strings or integers."


def test_names_of_files_in_a_list_are_not_silently_taken_for_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("x")
    with pytest.raises(UsageError) as caught:
        open_collection(["a.txt"])
    assert str(caught.value) == (
        "a list of strings is read as texts, but 'a.txt' is the name of a file. "
        "To read files, give pathlib.Path objects; to compare their names, give pyarrow.array(names)."
    )
    assert texts_of(["a.txt", "other"]) == ["a.txt", "other"]
    assert texts_of(pa.array(["a.txt"])) == ["a.txt"]
    assert texts_of([Path("a.txt"), "a.txt"]) == ["x", "x"]


EXPECTED = "a path, a list of paths, texts, token lists or dicts, or Arrow data such as a table or a data frame"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (5, f"cannot read int; expected {EXPECTED}."),
        (["a", 5], f"the list holds str and others; expected {EXPECTED}."),
        ([["a"], "b"], f"the list holds list and others; expected {EXPECTED}."),
        ([["a", 1]], f"the list holds list and others; expected {EXPECTED}."),
    ],
)
def test_what_cannot_be_read_is_refused(source: Any, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        open_collection(source)
    assert str(caught.value) == message


def test_a_large_table_is_cut_into_batches() -> None:
    texts = ["x" * 1000] * 20_000
    batches = list(open_collection(pa.table({"text": texts})).texts())
    assert sum(len(batch) for batch in batches) == 20_000
    assert max(batch.texts.nbytes for batch in batches) <= 8 << 20
    assert all(isinstance(batch.texts, pa.Array) for batch in batches)


def test_one_huge_chunk_of_repeated_text_is_cut_too() -> None:
    column = pa.array(["x" * 10_000, "y"] * 5000).dictionary_encode()
    table = pa.table({"id": range(10_000), "text": column, "n": range(10_000)})
    batches = list(open_collection(table).texts(["n"]))
    assert [number for batch in batches for number in batch.ids.to_pylist()] == list(range(10_000))
    assert [batch.first_row for batch in batches] == [batch.ids[0].as_py() for batch in batches]
    assert all(batch.extra["n"].equals(batch.ids) for batch in batches)
    assert max(batch.texts.nbytes for batch in batches) <= 8 << 20


def test_tiny_chunks_are_put_together() -> None:
    table = pa.concat_tables([pa.table({"id": [row], "text": [str(row)]}) for row in range(500)])
    (batch,) = open_collection(table).texts(["id"])
    assert batch.ids.to_pylist() == batch.extra["id"].to_pylist() == list(range(500))


def test_a_pandas_frame() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"review": ["a", "b", None], "stars": [5, 4, 1]}, index=["x", "y", "z"])
    collection = open_collection(frame)
    (batch,) = collection.texts(["stars"])
    assert (collection.text_column, batch.texts.to_pylist(), batch.null_texts) == ("review", ["a", "b", ""], 1)
    back = pa.Table.from_batches(collection.rows()).to_pandas()
    pandas.testing.assert_frame_equal(back, frame)
