"""Columns of every type: what is compared, what is kept, and how much memory a dictionary may take."""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import lookalike as la
from lookalike.io import columnar
from lookalike.io.canonical import bounded, canonical, canonical_type, for_parquet, parquet_type, without_null_entries
from lookalike.io.columnar import ParquetFile
from lookalike.io.read import open_collection
from lookalike.io.reader import TARGET_BYTES
from lookalike.io.selection import select_values
from lookalike.io.write import write_table


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


TEXTS = ["alpha beta gamma", "alpha beta gamma", None, "", "one two three four"]
STRINGS = pa.array(TEXTS)
WORDS = pa.array(["a", "b", "c", "a", "b"])
LISTS = [["a"], ["b", "c"], None, [], ["a"]]
INDICES = pa.array([0, 1, None, 1, 0])

COLUMNS: dict[str, pa.Array] = {
    "string": STRINGS,
    "large_string": STRINGS.cast(pa.large_string()),
    "string_view": STRINGS.cast(pa.string_view()),
    "binary_view": STRINGS.cast(pa.binary()).cast(pa.binary_view()),
    "dictionary": STRINGS.dictionary_encode(),
    "dictionary of int8 indices": STRINGS.dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string())),
    "dictionary of uint64 indices": pa.DictionaryArray.from_arrays(INDICES.cast(pa.uint64()), WORDS),
    "ordered dictionary": pa.DictionaryArray.from_arrays(INDICES, WORDS, ordered=True),
    "dictionary with a null": pa.DictionaryArray.from_arrays(INDICES, pa.array(["a", None])),
    "dictionary of views": pa.DictionaryArray.from_arrays(INDICES, WORDS.cast(pa.string_view())),
    "dictionary of integers": pa.array([1, 2, None, 1, 2]).dictionary_encode(),
    "dictionary of lists": pa.DictionaryArray.from_arrays(INDICES, pa.array([["a"], ["b"]])),
    "run-end encoded": pc.run_end_encode(STRINGS),
    "run-end encoded integers": pc.run_end_encode(pa.array([1, 1, None, 2, 2])),
    "list view": pa.array(LISTS, pa.list_view(pa.string())),
    "large list view": pa.array([[1], [2], None, [], [3]], pa.large_list_view(pa.int64())),
    "list of views": pa.array(LISTS, pa.list_(pa.string_view())),
    "large list of views": pa.array(LISTS, pa.large_list(pa.string_view())),
    "fixed list of views": pa.array([["a"], ["b"], None, ["d"], ["c"]], pa.list_(pa.string_view(), 1)),
    "list of a dictionary": pa.ListArray.from_arrays([0, 1, 2, 2, 3, 5], WORDS.dictionary_encode()),
    "list of run-end encoded": pa.ListArray.from_arrays([0, 1, 2, 2, 3, 5], pc.run_end_encode(WORDS)),
    "struct of views": pa.StructArray.from_arrays([STRINGS.cast(pa.string_view())], ["s"]),
    "struct of run-end encoded": pa.StructArray.from_arrays([pc.run_end_encode(STRINGS)], ["s"]),
    "map": pa.array([[("a", 1)]] * 5, pa.map_(pa.string(), pa.int64())),
    "map of views": pa.array([[("a", "x")]] * 5, pa.map_(pa.string(), pa.string_view())),
    "decimal": pa.array([decimal.Decimal("1.50")] * 5),
    "decimal256": pa.array([decimal.Decimal("1.50")] * 5, pa.decimal256(50, 2)),
    "time with a zone": pa.array([datetime.datetime(2020, 1, 1)] * 5, pa.timestamp("ns", "Europe/Berlin")),
    "float16": pa.array(np.arange(5, dtype=np.float16)),
    "uint64": pa.array([2**64 - 1 - i for i in range(5)], pa.uint64()),
    "null": pa.nulls(5),
    "bool": pa.array([True] * 5),
    "duration": pa.array([1] * 5, pa.duration("s")),
    "time": pa.array([1] * 5, pa.time64("ns")),
    "json": pa.array(['{"a": 1}'] * 5, pa.json_()),
    "fixed bytes": pa.array([b"ab"] * 5, pa.binary(2)),
    "union": pa.UnionArray.from_sparse(pa.array([0, 1, 0, 1, 0], pa.int8()), [pa.array(range(5)), WORDS]),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("window", [(0, 5), (1, 3), (2, 0)])
def test_values_are_the_same_in_canonical_types_and_after_selection(name: str, window: tuple[int, int]) -> None:
    column = COLUMNS[name].slice(*window)
    values = column.to_pylist()
    plain = canonical(column)
    plain.validate(full=True)
    assert plain.type.equals(canonical_type(column.type))
    assert canonical_type(plain.type).equals(plain.type)
    assert plain.to_pylist() == values
    stored = for_parquet(without_null_entries(column))
    assert stored.type.equals(parquet_type(column.type))
    assert stored.to_pylist() == values
    mask = np.array([True, False, True, True, False])[: len(column)]
    kept = select_values(column, mask)
    kept.validate(full=True)
    assert kept.type.equals(column.type)
    assert kept.to_pylist() == [value for value, stays in zip(values, mask, strict=True) if stays]


@pytest.mark.promise("docs/reference/formats.md", "kept rows come back in the Arrow types of the input")
@pytest.mark.parametrize("name", COLUMNS)
def test_kept_rows_have_the_types_and_values_of_the_input(name: str) -> None:
    table = pa.table({"text": ["a b c d e f"] * 2 + ["g h i j k l", "m n", "o"], "other": COLUMNS[name]})
    result = la.dedup(table)
    assert result.kept.schema.equals(table.schema)
    assert result.kept.to_pylist() == [table.to_pylist()[row] for row in (0, 2, 3, 4)]
    write_table(result.kept_batches(), "kept.arrow")
    assert pa.ipc.open_file("kept.arrow").read_all().to_pylist() == result.kept.to_pylist()
    for file in ("kept.csv", "kept.jsonl"):
        write_table(result.kept_batches(), file)
    if name != "union":  # which Parquet does not have
        result.save("folder")
        assert pq.read_table("folder/kept.parquet").to_pylist() == result.kept.to_pylist()


def test_a_type_that_parquet_lacks_is_refused_in_one_line() -> None:
    result = la.dedup(pa.table({"text": ["a"] * 5, "other": COLUMNS["union"]}))
    with pytest.raises(la.errors.OutputError, match=r"^cannot write kept.parquet: .*sparse_union") as caught:
        write_table(result.kept_batches(), "kept.parquet")
    assert "\n" not in str(caught.value)
    assert not Path("kept.parquet").exists()


@pytest.fixture
def reviews() -> dict[str, Any]:
    return {
        "id": ["a", "b", "c"],
        "text": ["great shoes, fit well and last", "Great shoes, fit well, and last!", "came late and broken"],
        "stars": [4, 5, 1],
    }


def test_polars_frames_give_and_take_all_their_types(reviews: dict[str, Any]) -> None:
    frame = pl.DataFrame(reviews).with_columns(
        pl.col("id").cast(pl.Categorical).alias("shop"),
        pl.Series("kind", ["u", None, "v"], dtype=pl.Enum(["u", "v"])),
        pl.col("text").str.split(" ").alias("words"),
        pl.struct("id", "stars").alias("both"),
        pl.col("text").cast(pl.Binary).alias("raw"),
        pl.Series("vector", [[1.0, 2.0], [1.0, 2.0], [3.0, 0.0]], dtype=pl.Array(pl.Float32, 2)),
        pl.lit(None).alias("nothing"),
        pl.lit(datetime.datetime(2020, 1, 1)).dt.replace_time_zone("Europe/Berlin").alias("when"),
        pl.lit(decimal.Decimal("1.50")).alias("price"),
    )
    frame.write_ipc("frame.arrow")
    frame.write_parquet("frame.parquet")
    for source in (frame, Path("frame.arrow"), Path("frame.parquet")):
        result = la.dedup(source, text="text", id="id")
        assert pl.from_arrow(result.kept).equals(frame[[0, 2]]) or source != frame
        assert result.removed.to_pylist() == [{"id": "b", "kept": "a", "similarity": 1.0}]
        assert la.strings.dedup(source, text="id", id="shop", max_edits=1).kept.num_rows == 1
        assert la.dedup(source, text="words", id="shop").kept_count == 3
        assert la.records.dedup(source, id="id", fields=["text"], threshold=0.9).kept_count == 2
        assert la.vectors.dedup(source, column="vector", id="shop", max_angle=1).kept_count == 2
        assert la.baskets.dedup(source, set="shop", item="words", threshold=0.3).kept_count <= 3
        result.save(f"folder-{type(source).__name__}-{getattr(source, 'suffix', '')[1:]}")


def test_duckdb_relations_give_all_their_types(reviews: dict[str, Any]) -> None:
    pq.write_table(pa.table(reviews), "reviews.parquet")
    relation = duckdb.sql(
        "select *, id::enum('a', 'b', 'c') as shop, string_split(text, ' ') as words, {'s': stars} as both, "
        "map {'a': stars} as numbers, timestamptz '2020-01-01' as zoned, 1.5::decimal(9, 2) as price, stars::hugeint as large, "
        "18446744073709551615::ubigint as top, null as nothing, text::blob as raw from 'reviews.parquet' order by id"
    )
    table = relation.arrow().read_all()
    result = la.dedup(relation, text="text", id="shop")
    assert result.kept.to_pylist() == [table.to_pylist()[row] for row in (0, 2)]
    assert result.kept.schema.equals(table.schema)
    result.save("folder")


def test_a_large_dictionary_column_is_never_decoded_whole() -> None:
    long = pa.array(["x" * 50_000, "y" * 50_000])
    column = pa.DictionaryArray.from_arrays(pa.array(np.arange(4000) % 2), long)
    pieces = list(bounded(pa.record_batch({"text": column})))
    assert sum(map(len, pieces)) == 4000
    assert max(len(piece) for piece in pieces) * 50_000 <= 2 * TARGET_BYTES
    collection = open_collection(pa.table({"text": column}))
    before = pa.default_memory_pool().bytes_allocated()
    sizes = []
    for batch in collection.texts():
        sizes.append(batch.texts.nbytes)
        assert pa.default_memory_pool().bytes_allocated() - before < 120 << 20  # of 200 MB in all
    assert sum(sizes) > 4000 * 50_000
    assert max(sizes) < 20 << 20


@pytest.mark.promise(
    "docs/reference/formats.md", "A dictionary column becomes plain text where it is larger than 16 MiB"
)
def test_a_parquet_dictionary_that_takes_much_memory_is_read_as_plain_values(monkeypatch: pytest.MonkeyPatch) -> None:
    column = pa.array([f"text {i}" for i in range(1000)]).dictionary_encode()
    when = pa.array([datetime.datetime(2020, 1, 1)] * 1000, pa.timestamp("us", "Europe/Berlin"))
    table = pa.table({"text": column, "when": when, "wait": pa.array([1] * 1000, pa.duration("s"))})
    pq.write_table(table, "t.parquet")
    assert ParquetFile(Path("t.parquet"), "t").row_schema().equals(table.schema)
    monkeypatch.setattr(columnar, "DICTIONARY_BYTES", 1000)
    reader = ParquetFile(Path("t.parquet"), "t")
    assert reader.row_schema().types == [pa.string(), when.type, pa.duration("s")]
    rows = pa.Table.from_batches(list(reader.batches(reader.row_schema())))
    assert rows.to_pylist() == table.to_pylist()


@pytest.mark.promise("docs/reference/formats.md", "or where several files or row groups bring different dictionaries")
def test_files_with_different_dictionaries_can_be_kept_in_one_arrow_file() -> None:
    for number in (0, 1):
        words = pa.array([f"{number} b c d e f", f"{number} h i j k l"]).dictionary_encode()
        pq.write_table(pa.table({"text": words}), f"{number}.parquet", row_group_size=1 + number)
    write_table(la.dedup([Path("0.parquet"), Path("1.parquet")]).kept_batches(), "kept.arrow")
    assert pa.ipc.open_file("kept.arrow").read_all().num_rows == 4
