"""Components, buckets, numbers and sources on Spark, each against what one machine says."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike as la
from lookalike.core.candidates import Items
from lookalike.errors import BadText, ColumnNotFound, DuplicateIds, InputError, OutputError, UsageError
from lookalike.kinds.documents import local, planner
from lookalike.kinds.documents.spark import planner_sample
from lookalike.runtime.spark import exact_duplicates, heavy_keys, key_join
from lookalike.runtime.spark.components import components
from lookalike.runtime.spark.row_numbers import numbered
from lookalike.runtime.spark.session import ClusterError
from oracles import components as slow_components

pytestmark = pytest.mark.xdist_group("spark")
WORDS = [
    "a",
    "rose",
    "is",
    "a",
    "rose",
    "is",
    "a",
    "rose",
    "and",
    "so",
    "it",
    "is",
    "and",
    "will",
    "be",
    "for",
    "ever",
    "and",
    "a",
    "day",
]


def texts(count: int) -> list[str]:
    draw = random.Random(3)
    return [" ".join(draw.choices(WORDS, k=8)) for _ in range(count)]


def rows_of(frame: Any) -> list[str]:
    table = frame if isinstance(frame, pa.Table) else frame.toArrow()
    return sorted(map(repr, table.to_pylist()))


@pytest.mark.parametrize("small", [0, 1 << 20])
def test_components(small: int, spark: Any) -> None:
    """By rounds, and by one task: a chain, which takes rounds, and random pairs."""
    draw = random.Random(1)
    pairs = [(i, i + 1) for i in range(100, 140)] + [(draw.randrange(60), draw.randrange(60, 90)) for _ in range(40)]
    draw.shuffle(pairs)
    frame = spark.createDataFrame(pairs, "left long, right long").repartition(3)
    found = {row["item"]: row["root"] for row in components(frame, small=small).collect()}
    expected = slow_components(pairs, list(range(141)))
    assert found == {item: expected[item] for pair in pairs for item in pair}


def test_components_that_do_not_settle(spark: Any) -> None:
    frame = spark.createDataFrame([(i, i + 1) for i in range(50)], "left long, right long").repartition(3)
    with pytest.raises(ClusterError, match="did not settle in 1 rounds"):
        components(frame, small=0, rounds=1)


def paired(frame: Any) -> list[tuple[int, int]]:
    """The pairs of a frame of `flow.candidates`."""
    rows = frame.select("left", "right").collect()
    sides = [np.frombuffer(b"".join(row[side] for row in rows), np.int64).tolist() for side in ("left", "right")]
    return sorted(zip(*sides, strict=True))


@pytest.mark.parametrize("at_once", [3, 4096])
def test_giant_buckets_give_the_same_pairs(at_once: int, spark: Any) -> None:
    """Each pair once, for any buckets that it shares and however these are cut; the weight counts it in each bucket."""
    draw = random.Random(2)
    buckets = {key: draw.sample(range(40), 1 + 9 * key) for key in range(4)}
    keys = {item: [key for key, items in buckets.items() if item in items] for item in range(40)}
    rows = [(item, 3, 5, np.array(held, np.uint64).tobytes(), b"") for item, held in keys.items()]
    firsts = spark.createDataFrame(rows, "item long, side byte, size int, keys binary, places binary").repartition(3)
    met = key_join.bucket_items(firsts).persist()
    weight = key_join.bucket_statistics(met)
    expected = sorted({(a, b) for items in buckets.values() for a in items for b in items if a < b})
    assert paired(key_join.candidates(met, None, weight, at_once=at_once)) == expected
    assert paired(key_join.candidates(met, None, weight, giant=4, at_once=at_once)) == expected
    assert weight == key_join.BucketStatistics(rows=57, pairs=sum(m * (m - 1) // 2 for m in (10, 19, 28)), largest=28)
    few = sorted({(a, b) for items in buckets.values() if len(items) < 20 for a in items for b in items if a < b})
    assert paired(key_join.candidates(met, None, weight, giant=20, crowded=False)) == few
    assert key_join.bucket_statistics(key_join.bucket_items(firsts, most=20)) == key_join.BucketStatistics(
        rows=57, pairs=45 + 171, largest=28
    )


def test_crowded_buckets_are_opened_in_parts(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every two items of a bucket come together under some key, items of no bucket do, and no key is crowded."""
    monkeypatch.setattr(key_join, "LINKED_TOGETHER", 4)
    buckets = {1: range(3), 2: range(10, 25), 3: range(30, 34)}
    rows = [(item, 3, 5, np.uint64(key).tobytes(), b"") for key, items in buckets.items() for item in items]
    firsts = spark.createDataFrame(rows, "item long, side byte, size int, keys binary, places binary").repartition(3)
    together: dict[int, list[int]] = {}
    for row in key_join.opened(key_join.bucket_items(firsts)).collect():
        together.setdefault(row["key"], []).append(row["item"])
    assert max(map(len, together.values())) == 8
    met = {pair for items in together.values() for pair in itertools.combinations(sorted(items), 2)}
    assert met == {pair for items in buckets.values() for pair in itertools.combinations(items, 2)}


@pytest.mark.promise("docs/explanation/scale.md", "are divided into parts where they are read")
def test_heavy_keys_are_divided_before_the_shuffle(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """No task receives a whole bucket, every two items of it still share a key, and other keys stay as they are."""
    monkeypatch.setattr(heavy_keys, "MIN_SAMPLED", 1)
    rows = [(item, 3, 5, np.array([7, 100 + item // 2], np.uint64).tobytes(), b"") for item in range(300)]
    firsts = spark.createDataFrame(rows, "item long, side byte, size int, keys binary, places binary").repartition(3)
    found = heavy_keys.heavy_keys(firsts, 300, most=60)
    assert found.keys.tolist() == [7]
    assert found.parts.tolist() == [10]
    assert not len(heavy_keys.heavy_keys(firsts, 300).keys)
    met = key_join.bucket_items(firsts, heavy=found).persist()
    weight = key_join.bucket_statistics(met)
    assert weight.rows == 300 + 9 * 300
    assert 60 <= weight.largest < 100  # two parts of about 30
    assert paired(key_join.candidates(met, None, weight)) == list(itertools.combinations(range(300), 2))
    assert paired(key_join.candidates(met, None, weight, giant=20)) == list(itertools.combinations(range(300), 2))


def test_numbers_follow_the_order(spark: Any) -> None:
    values = random.Random(1).sample(range(1000), 60)
    found = numbered(spark.createDataFrame([(v,) for v in values], "v long"), ["v"], "at").collect()
    assert {row["v"]: row["at"] for row in found} == {v: at for at, v in enumerate(sorted(values))}


# sources


def as_parquet(folder: Path, lines: list[str]) -> Path:
    (folder / "in").mkdir()
    for number in range(3):  # larger files last: Spark reads them first
        part = lines[[0, 5, 20][number] : [5, 20, None][number]]
        pq.write_table(pa.table({"text": part}), folder / "in" / f"part {number}.parquet", row_group_size=7)
    return folder / "in"


def as_json(folder: Path, lines: list[str]) -> Path:
    path = folder / "in.jsonl"
    path.write_text("".join(json.dumps({"text": line}) + "\n" for line in lines))
    return path


def as_csv(folder: Path, lines: list[str]) -> Path:
    path = folder / "in.csv"
    path.write_text("text,n\n" + "".join(f'"{line}",{at}\n' for at, line in enumerate(lines)))
    return path


def as_text(folder: Path, lines: list[str]) -> Path:
    path = folder / "in.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("make", [as_parquet, as_json, as_csv, as_text])
def test_files_are_numbered_as_on_one_machine(
    make: Callable[[Path, list[str]], Path], tmp_path: Path, spark: Any
) -> None:
    source = make(tmp_path, texts(60))
    before = spark.conf.get("spark.sql.files.maxPartitionBytes")
    spark.conf.set("spark.sql.files.maxPartitionBytes", "700")  # files are read in several pieces
    try:
        options: Any = {"k": 1, "threshold": 0.7, "method": "exact"}
        expected, found = la.dedup(source, **options), la.dedup(source, engine="spark", **options)
        assert rows_of(found.removed) == rows_of(expected.removed)
        assert rows_of(found.kept) == rows_of(expected.kept)
        assert expected.removed.num_rows > 5
    finally:
        spark.conf.set("spark.sql.files.maxPartitionBytes", before)


@pytest.mark.parametrize("kind", ["long", "string"])
def test_a_data_frame_is_known_by_its_ids(kind: str, spark: Any) -> None:
    """Its order is that of the ids: the local engine says the same of the rows in that order."""
    ids = random.Random(4).sample(range(100, 1000), 60)
    lines = texts(60)
    frame = spark.createDataFrame(list(zip(ids, lines, strict=True)), "id long, text string")
    frame = frame.withColumn("id", frame["id"].cast(kind))
    table = frame.toArrow().sort_by("id")
    options: Any = {"k": 1, "threshold": 0.7, "method": "exact"}
    expected, found = la.groups(table, **options), la.groups(frame, engine="spark", **options)
    assert rows_of(found.groups) == rows_of(expected.groups)
    assert rows_of(found.pairs) == rows_of(expected.pairs)
    frame.createOrReplaceTempView("some_texts")
    assert rows_of(la.pairs("some_texts", engine="spark", **options).pairs) == rows_of(expected.pairs)


def test_nothing_runs_before_it_must(spark: Any) -> None:
    frame = spark.createDataFrame([(1, "one two three"), (2, "one two three")], "id long, text string")
    before = max(spark.sparkContext.statusTracker().getJobIdsForGroup(), default=-1)
    found = la.pairs(frame, engine="spark", k=2)
    assert max(spark.sparkContext.statusTracker().getJobIdsForGroup(), default=-1) == before
    assert found.pairs.toArrow().to_pylist() == [{"left": 1, "right": 2, "similarity": 1.0}]
    assert repr(found).startswith("<SparkResult of pairs: jaccard at least 0.8")
    found.done()


# errors


def test_errors_are_one_line(tmp_path: Path, spark: Any) -> None:
    frame = spark.createDataFrame([(1, "one two"), (1, "three four")], "id long, text string")
    as_text(tmp_path, texts(3))
    cases: list[tuple[type[Exception], str, Any, dict[str, Any]]] = [
        (DuplicateIds, "the id 1 occurs 2 times in the DataFrame", frame, {}),
        (ColumnNotFound, "no column 'txt' in the DataFrame. Nearest: 'text'", frame, {"text": "txt"}),
        (UsageError, "has no column of ids, and rows of Spark have no numbers", frame.select("text"), {}),
        (InputError, "no such file, folder or table: nowhere.parquet", Path("nowhere.parquet"), {}),
        (UsageError, "memory is for one machine; Spark has its own settings", frame, {"memory": "1GB"}),
        (UsageError, "on_bad_file 'skip' is for one machine", frame, {"on_bad_file": "skip"}),
        (InputError, "text files are a document each, which Spark does not read", tmp_path / "*.txt", {}),
        (InputError, "text files are a document each", [tmp_path / "in.txt", tmp_path / "in.txt"], {}),
        (InputError, "text files are a document each", tmp_path / "in.txt", {"against": tmp_path / "in.txt"}),
        (UsageError, "Divide-Compute-Merge runs on one machine", frame, {"method": "dcm"}),
        (
            UsageError,
            "banding cannot promise a recall for overlap",
            frame,
            {"method": "lsh", "measure": "overlap", "threshold": 9},
        ),
    ]
    for kind, words, source, options in cases:
        with pytest.raises(kind, match=words):
            _ = la.pairs(source, engine="spark", **options).pairs
    with pytest.raises(UsageError, match="master goes with `engine='spark'`"):
        la.pairs(["a"], master="local")  # type: ignore[call-overload]
    with pytest.raises(UsageError, match=r"engine 'spork' is unknown. Nearest: 'spark'"):
        la.pairs(["a"], engine="spork")  # type: ignore[call-overload]


def test_an_error_on_an_executor_is_told_as_itself(tmp_path: Path, spark: Any) -> None:
    bad = pa.table({"id": [1], "text": pa.array([b"caf\xe9"])})
    pq.write_table(bad, tmp_path / "bad.parquet")
    with pytest.raises(BadText, match="text is not valid UTF-8"):
        _ = la.pairs(tmp_path / "bad.parquet", engine="spark", method="lsh").pairs
    found = la.dedup(tmp_path / "bad.parquet", engine="spark", method="lsh", on_bad_text="replace")
    assert found.removed.count() == 0


def test_results_as_folders(tmp_path: Path, spark: Any) -> None:
    from lookalike.io.results import read_folder

    found = la.dedup(["one two three", "one two three", "four"], engine="spark", k=2)
    found.save(tmp_path / "result")
    tables, receipt = read_folder(tmp_path / "result")
    assert tables["removed"].to_pylist() == [{"id": 1, "kept": 0, "similarity": 1.0}]
    assert tables["kept"].num_rows == 2
    assert receipt["engine"] == "spark"
    assert receipt["counts"]["removed"] == 1
    with pytest.raises(OutputError, match="exists"):
        found.save(tmp_path / "result")
    with pytest.raises(UsageError, match=r"unknown extension '.xlsx'"):
        found.write(found.kept, tmp_path / "kept.xlsx")
    found.write(found.kept, tmp_path / "kept.csv")
    assert "four" in "".join(part.read_text() for part in (tmp_path / "kept.csv").glob("*.csv"))


# what is too large to be sent to every task


@pytest.mark.parametrize("keep", ["last"])
def test_joins_are_the_same_where_nothing_is_sent_to_every_task(
    keep: str, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal items, and the items of candidate pairs, are looked up by a shuffle."""
    monkeypatch.setattr(key_join, "MAX_BROADCAST_SETS", 0)
    monkeypatch.setattr(exact_duplicates, "MAX_BROADCAST_SETS", 0)
    lines = texts(60) + texts(20)
    table = pa.table({"id": range(len(lines)), "text": lines})
    options: Any = {"k": 1, "threshold": 0.7, "method": "lsh", "keep": keep}
    expected, found = la.dedup(table, **options), la.dedup(table, engine="spark", **options)
    assert rows_of(found.pairs) == rows_of(expected.pairs)
    assert rows_of(found.removed) == rows_of(expected.removed)
    assert rows_of(found.groups) == rows_of(expected.groups)
    assert found.run.copies.gone >= 20
    across = {"against": pa.table({"id": range(20), "text": texts(20)}), **options}
    assert rows_of(la.dedup(table, engine="spark", **across).removed) == rows_of(la.dedup(table, **across).removed)


def test_pairs_across_where_nothing_is_equal(spark: Any) -> None:
    """The item of the first collection is on the left, whichever has the lower number."""
    lines = [f"{line} n{number}" for number, line in enumerate(texts(60))]
    options: Any = {"k": 1, "threshold": 0.6, "method": "lsh", "against": lines[30:]}
    expected, found = la.pairs(lines[:30], **options), la.pairs(lines[:30], engine="spark", **options)
    assert rows_of(found.pairs) == rows_of(expected.pairs)
    assert found.run.copies.members == 0
    assert any(row["left"] > row["right"] for row in expected.pairs.to_pylist())


@pytest.mark.parametrize("several", [False, True])
def test_the_sample_that_chooses_is_that_of_one_machine(
    several: bool, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (planner, planner_sample):
        monkeypatch.setattr(module, "PLANNER_SAMPLE", 12)
    seen: list[Items] = []

    def spied(items: Items, *rest: Any, seed: int) -> Any:
        seen.append(items.take(planner.drawn(len(items), seed)))
        return planner.preview(items, *rest, seed=seed)

    monkeypatch.setattr(local, "preview", spied)
    lines = texts(60) + texts(20)
    options: Any = {"k": 1, "threshold": 0.9} | ({"against": texts(90)[40:]} if several else {})
    here = la.pairs(lines, **options)
    run = la.pairs(lines, engine="spark", **options).run
    found = planner_sample.picked_sets(run.firsts, run.copies, planner.drawn(run.classes, 42), several=several)
    assert [held(found, at) for at in range(12)] == [held(seen[0], at) for at in range(12)]
    assert found.sides.tolist() == seen[0].sides.tolist()
    assert run.choice.as_dict() | {"way": ""} == here.receipt["choice"] | {"way": ""}


def held(items: Items, at: int) -> list[int]:
    return [int(one) for one in items.elements[items.starts[at] : items.starts[at] + items.sizes[at]]]
