"""Repeated and empty column names, and ids that are set aside: for every kind of item."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.errors import DuplicateIds, InputError, OutputError
from lookalike.io.names import unique_names, with_input_names, with_unique_names
from lookalike.io.write import write_table

TEXT = "alpha beta gamma delta epsilon zeta"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@settings(deadline=None)
@given(st.lists(st.sampled_from(["", "a", "b", "a#1", "a#2", "#1", "#2"]), max_size=8))
def test_unique_names_differ_and_lead_back(names: list[str]) -> None:
    unique = unique_names(names)
    assert len(set(unique)) == len(names)
    assert all(unique)
    assert all(one == name for one, name in zip(unique, names, strict=True) if name and names.count(name) == 1)
    schema = pa.schema([pa.field(name, pa.int64()) for name in names])
    batch = pa.record_batch([pa.array([1])] * len(names), schema=with_unique_names(schema))
    assert with_input_names(batch).schema.equals(schema, check_metadata=True)


def repeated() -> pa.Table:
    columns = [[7, 8, 9], [TEXT, TEXT, "x"], ["p", "q", "r"], [1, 1, 5], ["p", "q", "r"], [None] * 3]
    return pa.Table.from_arrays([pa.array(c) for c in columns], ["", "text", "note", "n", "note", ""])


@pytest.mark.promise("docs/reference/formats.md", "are chosen by their position")
@pytest.mark.parametrize("file", ["in.csv", "in.parquet", "in.arrow"])
def test_dedup_writes_repeated_and_empty_names_back(file: str) -> None:
    write_table(repeated(), file)
    runs: list[Callable[[Path], Any]] = [
        lambda source: la.dedup(source, text="text", id="#1"),
        lambda source: la.dedup(source, text="note#5"),
        lambda source: la.records.dedup(source, id="#1", fields=["text", "note#3"], threshold=0.3),
        lambda source: la.strings.dedup(source, text="text", max_edits=1),
        lambda source: la.vectors.dedup(source, column="n", max_distance=1),
        lambda source: la.baskets.dedup(source, set="#1", item="note#5"),
    ]
    for number, run in enumerate(runs):
        result = run(Path(file))
        assert result.kept.column_names == repeated().column_names
        write_table(result.kept_batches(), f"kept{number}.csv")
        assert Path(f"kept{number}.csv").read_text().splitlines()[0] == '"","text","note","n","note",""'


def test_records_compare_repeated_columns_under_their_positions() -> None:
    table = pa.Table.from_arrays(
        [pa.array(["Ann Lee", "Ann Lee", "Bob Ray"]), pa.array(["York", "York", "Leeds"]), pa.array([None] * 3)],
        ["name", "name", ""],
    )
    result = la.records.pairs(table, threshold=0.6)
    assert result.pairs.column_names[:5] == ["left", "right", "similarity", "name#1", "name#2"]
    assert result.pairs.num_rows == 1


def test_repeated_names_cannot_be_keys_of_json() -> None:
    with pytest.raises(OutputError) as caught:
        write_table(repeated(), "out.jsonl")
    assert str(caught.value) == (
        "out.jsonl: several columns are named '', and a JSON object holds one value under a name. "
        "Use .csv or .parquet, or rename them."
    )
    assert not Path("out.jsonl").exists()


def test_a_repeated_id_column_is_refused_unless_one_is_chosen() -> None:
    table = pa.Table.from_arrays([pa.array([1, 2]), pa.array([3, 4]), pa.array(["a", "b"])], ["id", "id", "text"])
    with pytest.raises(InputError) as caught:
        la.dedup(table)
    assert str(caught.value) == "2 columns are named 'id' in the table; choose one by its position: 'id#1', 'id#2'."
    assert la.dedup(table, id="id#2").kept.column_names == ["id", "id", "text"]
    assert la.dedup(table, id="none").kept.num_rows == 2


def test_an_empty_key_of_json_is_a_column() -> None:
    Path("in.jsonl").write_text('{"": "u", "text": "a b"}\n{"": "v", "text": "c"}\n')
    result = la.dedup(Path("in.jsonl"), id="#1", text="text")
    assert result.kept.to_pylist() == [{"": "u", "text": "a b"}, {"": "v", "text": "c"}]
    baskets = la.baskets.pairs(Path("in.jsonl"), set="#1", item="text")
    assert baskets.receipt["counts"]["baskets"] == 2


TWICE = {"id": ["x", "x", "y"], "text": [TEXT, TEXT, "other words"], "name": ["Ann Lee", "Ann Lee", "Bob Ray"],
         "vector": [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], "code": ["ff", "ff", "00"]}  # fmt: skip
KINDS: dict[str, Callable[..., Any]] = {
    "documents": la.pairs,
    "passages": lambda source, **options: la.passages(source, min_tokens=3, **options),
    "stories": la.stories,
    "records": lambda source, **options: la.records.pairs(source, fields=["name"], threshold=0.6, **options),
    "strings": lambda source, **options: la.strings.pairs(source, text="name", max_edits=1, **options),
    "vectors": lambda source, **options: la.vectors.pairs(source, column="vector", max_angle=1, **options),
    "faces": lambda source, **options: la.faces.pairs(source, column="vector", threshold=1.0, **options),
    "bits": lambda source, **options: la.bits.pairs(source, column="code", max_bits=0, **options),
}


@pytest.mark.promise("docs/reference/formats.md", '`--id none` (`id="none"`) takes row numbers')
@pytest.mark.parametrize("kind", KINDS)
def test_repeated_ids_can_be_set_aside(kind: str) -> None:
    pq.write_table(pa.table(TWICE), "twice.parquet")
    text = {"text": "text"} if kind in ("documents", "passages", "stories") else {}
    with pytest.raises(DuplicateIds) as caught:
        KINDS[kind](Path("twice.parquet"), **text)
    assert str(caught.value) == (
        "the id 'x' occurs 2 times in twice.parquet; ids must tell the rows apart. "
        "Use `id` to name another column, or `id='none'` for row numbers."
    )
    result = KINDS[kind](Path("twice.parquet"), id="none", **text)
    assert {"left": 0, "right": 1} in result.pairs.select(["left", "right"]).to_pylist()
    assert result.receipt["inputs"][0]["id"] is None
