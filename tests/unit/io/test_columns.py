"""Which column is the text and which the id."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq
import pytest

from lookalike.errors import ColumnNotFound, DuplicateIds, InputError, UsageError
from lookalike.io.read import open_collection


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_texts_may_be_their_own_ids() -> None:
    Path("words.csv").write_text("word\ncolour\ncolor\n")
    collection = open_collection(Path("words.csv"), id="word")
    assert (collection.id_column, collection.text_column) == ("word", "word")
    Path("ids.csv").write_text("id\ncolour\ncolor\n")
    with pytest.raises(UsageError, match=r"no column holds text in ids\.csv"):
        open_collection(Path("ids.csv"))


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet"])
def test_the_column_named_as_id_is_not_passed_over_silently(name: str) -> None:
    """A word list with its counts, a list of customers with their numbers, and two columns of words."""

    def opened(rows: dict[str, list[str]]) -> tuple[str, str | None]:
        table = pa.table(rows)
        if name == "t.jsonl":
            Path(name).write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
        else:
            pv.write_csv(table, name) if name == "t.csv" else pq.write_table(table, name)
        collection = open_collection(Path(name), id=next(iter(rows)))
        return collection.text_column, collection.id_column

    assert opened({"word": ["colour", "color"], "count": ["12", ""]}) == ("word", "word")
    assert opened({"number": ["12", "13"], "customer": ["Ann", "Lee"]}) == ("customer", "number")
    assert opened({"number": ["12", "13"], "zip": ["1.5", "-2"]}) == ("zip", "number")
    with pytest.raises(UsageError) as caught:
        opened({"city": ["Rome", "Bonn"], "country": ["Italy", "Germany"]})
    assert str(caught.value).startswith(f"2 columns could be the text in {name}; give `text=COL`.")


def test_a_column_of_lists_is_the_text_next_to_ids_of_letters() -> None:
    table = pa.table({"basket": ["a", "b"], "has": [["x"], ["y"]]})
    assert open_collection(table, id="basket").text_column == "has"


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (["content", "text"], "text"),
        (["body", "content"], "content"),
        (["Document", "BODY"], "BODY"),
        (["url", "Document"], "Document"),
        (["review"], "review"),
        (["id", "review"], "review"),
    ],
)
def test_the_usual_column_is_taken(names: list[str], chosen: str) -> None:
    assert open_collection(pa.table({name: ["x"] for name in names})).text_column == chosen


def test_a_column_with_a_usual_name_but_no_text_is_passed_over() -> None:
    assert open_collection(pa.table({"document": [1], "line": ["x"]})).text_column == "line"


def test_the_only_list_column_is_taken() -> None:
    assert open_collection(pa.table({"n": [1], "tokens": [["x"]]})).text_column == "tokens"


def test_the_columns_asked_for_are_taken() -> None:
    collection = open_collection(pa.table({"text": ["x"], "b": ["y"], "id": [1], "key": ["k"]}), text="b", id="key")
    (batch,) = collection.texts()
    assert (batch.texts.to_pylist(), batch.ids.to_pylist()) == (["y"], ["k"])


@pytest.mark.parametrize(
    ("table", "options", "error", "message"),
    [
        (
            {"a": ["x"], "b": ["y"], "n": [1]},
            {},
            UsageError,
            "2 columns could be the text in t.parquet; give `text=COL`. Columns: a, b, n.",
        ),
        ({"n": [1]}, {}, UsageError, "no column holds text in t.parquet; give `text=COL`. Columns: n."),
        (
            {"id": [1], "text": ["x"], "url": ["u"]},
            {"text": "txt"},
            ColumnNotFound,
            "no column 'txt' in t.parquet. Nearest: 'text'. Columns: id, text, url.",
        ),
        (
            {"text": ["x"]},
            {"id": "key"},
            ColumnNotFound,
            "no column 'key' in t.parquet. Columns: text.",
        ),
        (
            {"text": [1.5]},
            {"text": "text"},
            InputError,
            "column 'text' in t.parquet is double; expected text (string or binary) or a list of strings or integers.",
        ),
        (
            {"text": ["x"], "id": [1.5]},
            {},
            InputError,
            "column 'id' in t.parquet is double; ids are strings or integers. Use `id` to name another column, or `id='none'` for row numbers.",
        ),
    ],
)
def test_a_choice_that_cannot_work_is_refused(
    table: dict[str, Any], options: dict[str, str], error: type[Exception], message: str
) -> None:
    pq.write_table(pa.table(table), "t.parquet")
    with pytest.raises(error) as caught:
        open_collection("t.parquet", **options)  # type: ignore[arg-type]
    assert str(caught.value) == message


def test_two_columns_of_one_name_are_refused() -> None:
    Path("t.csv").write_text("text,text\na,b\n")
    with pytest.raises(InputError) as caught:
        open_collection("t.csv")
    assert str(caught.value) == "2 columns are named 'text' in t.csv; choose one by its position: 'text#1', 'text#2'."
    collection = open_collection("t.csv", text="text#2")
    assert [batch.texts.to_pylist() for batch in collection.texts()] == [["b"]]


def test_a_column_without_a_name_is_chosen_by_its_position() -> None:
    Path("t.csv").write_text(",text\n7,x\n")
    with pytest.raises(InputError) as caught:
        open_collection("t.csv", id="")
    assert str(caught.value) == "a column has no name in t.csv; choose one by its position: '#1'."
    collection = open_collection("t.csv", id="#1")
    assert [batch.ids.to_pylist() for batch in collection.texts() if batch.ids] == [["7"]]


def test_an_extra_column_must_exist() -> None:
    with pytest.raises(ColumnNotFound) as caught:
        open_collection(pa.table({"text": ["x"], "score": [1]})).texts(["scor"])
    assert str(caught.value) == "no column 'scor' in the table. Nearest: 'score'. Columns: text, score."


def test_the_policy_for_bad_text_must_exist() -> None:
    with pytest.raises(UsageError) as caught:
        open_collection(["x"], on_bad_text="replce")  # type: ignore[arg-type]
    assert str(caught.value) == "on_bad_text 'replce' is unknown. Nearest: 'replace'. Choices: error, replace, skip."


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"body": ["x"], "id": [1]}, "no column 'text' in b.parquet. Columns: body, id."),
        ({"text": ["x"]}, "no column 'id' in b.parquet. Columns: text."),
        (
            {"text": [["x"]], "id": [1]},
            "column 'text' is list<element: string> in b.parquet and string in a.parquet; "
            "expected one kind in all files.",
        ),
        (
            {"text": ["x"], "id": ["1"]},
            "column 'id' is string in b.parquet and int64 in a.parquet; expected one kind in all files.",
        ),
    ],
)
def test_the_columns_must_be_in_every_file(second: dict[str, Any], message: str) -> None:
    pq.write_table(pa.table({"text": ["x"], "id": [1]}), "a.parquet")
    pq.write_table(pa.table(second), "b.parquet")
    with pytest.raises(InputError) as caught:
        open_collection([Path("a.parquet"), Path("b.parquet")])
    assert str(caught.value) == message


def test_other_columns_of_the_files_must_go_together() -> None:
    pq.write_table(pa.table({"text": ["x"], "n": [1]}), "a.parquet")
    pq.write_table(pa.table({"text": ["x"], "n": ["one"]}), "b.parquet")
    collection = open_collection([Path("a.parquet"), Path("b.parquet")])
    with pytest.raises(InputError) as caught:
        list(collection.rows())
    assert str(caught.value) == (
        "column 'n' is string in b.parquet and int64 in the files before it; expected one type."
    )


def test_ids_that_occur_twice_are_named() -> None:
    collection = open_collection(pa.table({"id": ["a", "b", "c", "b", "b", "a"], "text": list("abcdef")}))
    (batch,) = collection.texts()
    with pytest.raises(DuplicateIds) as caught:
        collection.check_ids(batch.ids)
    assert str(caught.value) == (
        "the id 'b' occurs 3 times in the table; ids must tell the rows apart. Use `id` to name another column, or `id='none'` for row numbers."
    )
    collection.check_ids(pa.chunked_array([[1, 2], [3]]))
    with pytest.raises(DuplicateIds, match="the id 3 occurs 2 times"):
        collection.check_ids(pa.chunked_array([[1, 3], [3]]))
