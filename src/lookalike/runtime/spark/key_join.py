"""Keys, buckets, candidates, scores: written once for every kind of item that has keys and a score.

A kind of item brings a frame of *things*, made by one pass over its input (`batches.mapped`), with the columns

    item          long    its number; the order of the numbers is the order of the input
    side          byte    3; of two collections, 1 for items of the first and 2 for those of the second
    size          int     0 for an item that matches nothing; where a Bar is given, the size of its set
    print, other  long    128 bits that are equal for equal items, and for these only
    keys          binary  64-bit words (as many as it likes): items that share one may match
    places        binary  32-bit places of the keys in the item's set (exact joins), or no bytes

and whatever its score needs. A score takes two record batches of these columns, in which rows i are a pair, and gives a
float for each pair, NaN where the two do not match. `collapse`, `meet`, `candidates` and `verify` do the rest.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.arrays import F64, I64, U64
from lookalike.core.arrow import as_arrow
from lookalike.core.measures import Bar
from lookalike.kernels import bucket_pairs as meetings
from lookalike.kernels import hashing
from lookalike.runtime.spark.arrow_batches import (
    Batches,
    joined,
    mapped,
    mapped_whole,
    numbers,
    signed,
    together,
    whole_runs,
    words,
)
from lookalike.runtime.spark.limits import MAX_BROADCAST_SETS, MAX_TASKS
from lookalike.runtime.spark.shuffle import (
    Columns,
    each_block,
    mixed,
    packed,
    parts_for,
    run_lengths,
    shuffle_arrays,
    unpacked,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Score = Callable[[pa.RecordBatch, pa.RecordBatch], F64]
Both = Callable[[pa.RecordBatch, pa.RecordBatch], Iterator[pa.RecordBatch]]
GIANT = 4096  # rows of a bucket above which its pairs are made by several tasks
ROWS_PER_BUCKET_BLOCK = 1 << 18  # rows of a block of buckets, candidate pairs of a block
PAIRS_SCORED_TOGETHER = 4096  # candidate pairs that are scored together
BLOCKS = 4  # times as many, in a task
MAX_PART_PAIRS = 1 << 22  # pairs, above which one part of a shuffle would be too full
KEY_COLUMNS = {"key": np.uint64, "item": np.int64, "side": np.int8, "size": np.int32, "place": np.int32}
PAIR = {"left": np.int64, "right": np.int64}
BUCKETS = "rows long, pairs long, largest long, " + ", ".join(f"{name} binary" for name in KEY_COLUMNS)
RAW = "left binary, right binary"
PAIR_COLUMNS = f"name long, items array<long>, {RAW}"
EDGE_COLUMNS = "left long, right long, similarity double"


@dataclass(frozen=True)
class Order:
    """Which of several items is the best: first by `sort`, in Spark's words, of `item` and these `columns` of things.

    number: an expression over `item` that gives the same order, where there is one: it saves a global sort.
    """

    sort: tuple[Any, ...] = ("item",)
    columns: tuple[str, ...] = ()
    number: str | None = "item"


def bucket_items(firsts: DataFrame, *, most: int | None = None) -> DataFrame:
    """The rows of every bucket with two items or more between which a pair is wanted, in blocks of whole buckets
    (BUCKETS). One shuffle, on the keys. No pair is made here.

    rows, pairs, largest: what the buckets of a block come to; pairs of buckets with more than `most` rows do not count.
    """

    def spread(batch: pa.RecordBatch) -> Iterator[Columns]:
        keys, places = together(batch, "keys"), together(batch, "places", np.int32)
        row = np.repeat(np.arange(batch.num_rows), words(batch, "keys")[2])
        columns = {name: numbers(batch, name)[row] for name in ("item", "side", "size")}
        yield {"key": keys, **columns, "place": places if len(places) else np.full(len(row), -1, np.int32)}

    def gather(columns: Columns) -> Iterator[pa.RecordBatch]:
        order = np.argsort(columns["key"])
        counts = run_lengths(columns["key"][order])
        sides = np.bitwise_or.reduceat(columns["side"][order], np.cumsum(counts) - counts)
        shared = (counts > 1) & (sides == 3)
        order, counts = order[np.repeat(shared, counts)], counts[shared]
        yield from _buckets({name: values[order] for name, values in columns.items()}, counts, most)

    return shuffle_arrays(
        firsts.select("item", "side", "size", "keys", "places"), spread, KEY_COLUMNS, gather, BUCKETS, word=_by_key
    )


def _buckets(columns: Columns, counts: I64, most: int | None) -> Iterator[pa.RecordBatch]:
    """Blocks of whole buckets. counts: rows of each bucket, which stand one after the other."""
    if not len(counts):
        return
    ends = np.cumsum(counts)
    first = np.concatenate(
        [[0], np.flatnonzero(np.diff((ends - 1) // ROWS_PER_BUCKET_BLOCK)) + 1]
    )  # bucket that begins each block
    rows = np.concatenate([(ends - counts)[first], ends[-1:]])
    weighed = counts * (counts - 1) // 2
    if most is not None:
        weighed[counts > most] = 0
    facts = {
        "rows": as_arrow(np.diff(rows)),
        "pairs": as_arrow(np.add.reduceat(weighed, first)),
        "largest": as_arrow(np.maximum.reduceat(counts, first)),
    }
    yield pa.record_batch(facts | packed(columns, rows))


@dataclass(frozen=True)
class BucketStatistics:
    """What buckets come to. rows: of all; pairs: that share one, counted in each; largest: rows of the largest one."""

    rows: int
    pairs: int
    largest: int


def bucket_statistics(met: DataFrame) -> BucketStatistics:
    """The weight of the buckets that `meet` gives."""
    blocks = met.select("rows", "pairs", "largest").collect()
    rows, pairs, largest = zip(*blocks, strict=True) if blocks else ((), (), (0,))
    return BucketStatistics(sum(rows), sum(pairs), max(largest))


def opened(met: DataFrame) -> DataFrame:
    """The rows of buckets, one by one: key, item."""

    def stage(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        for block in each_block(batch, KEY_COLUMNS):
            yield pa.record_batch({"key": signed(block["key"]), "item": as_arrow(block["item"])})

    return mapped(met, stage, "key long, item long")


def candidates(
    met: DataFrame,
    bar: Bar | None,
    weight: BucketStatistics,
    *,
    giant: int = GIANT,
    crowded: bool = True,
    at_once: int = PAIRS_SCORED_TOGETHER,
) -> DataFrame:
    """The pairs of every bucket that sizes and places allow (left < right), each once (PAIRS): a row holds some pairs,
    at most `at_once`, and the items that they are of.

    A bucket of more than `giant` rows is cut into parts; one task for every two parts, and for each with itself, makes
    its pairs. Without `crowded` such buckets are left out.
    """
    parts = min(max(parts_for(met), weight.pairs // MAX_PART_PAIRS), MAX_TASKS)

    def small(batch: pa.RecordBatch) -> Iterator[Columns]:
        for rows in each_block(batch, KEY_COLUMNS):
            keep = holders(rows["key"]) <= giant
            few = {name: values[keep] for name, values in rows.items()}
            yield from bucket_pairs(few, np.zeros(keep.sum(), np.int8), bar)

    def cells(batch: pa.RecordBatch) -> Iterator[Columns]:
        for rows in each_block(batch, KEY_COLUMNS):
            counts = run_lengths(rows["key"])
            for end, count in zip(np.cumsum(counts), counts, strict=True):
                if count > giant:
                    yield from _cells({name: values[end - count : end] for name, values in rows.items()}, giant)

    def of_cells(rows: Columns) -> Iterator[pa.RecordBatch]:
        order = np.argsort(rows["key"])
        rows = {name: values[order] for name, values in rows.items()}
        yield from map(_block, bucket_pairs(rows, rows["half"], bar))

    def once(pairs: Columns) -> Iterator[pa.RecordBatch]:
        yield from _each_once(pairs["left"], pairs["right"], at_once)

    if weight.largest <= giant or not crowded:
        return shuffle_arrays(met, small, PAIR, once, PAIR_COLUMNS, word=_by_left, parts=parts)
    near = mapped(met, lambda batch: map(_block, small(batch)), RAW)
    far = shuffle_arrays(met, cells, {**KEY_COLUMNS, "half": np.int8}, of_cells, RAW, word=_by_key, parts=parts)
    return shuffle_arrays(
        near.union(far), lambda batch: each_block(batch, PAIR), PAIR, once, PAIR_COLUMNS, word=_by_left, parts=parts
    )


def lots(pairs: DataFrame) -> DataFrame:
    """Pairs (left, right) of any origin, each once, as `candidates` gives them (PAIRS)."""

    def spread(batch: pa.RecordBatch) -> Iterator[Columns]:
        yield {"left": numbers(batch, "left"), "right": numbers(batch, "right")}

    def once(found: Columns) -> Iterator[pa.RecordBatch]:
        yield from _each_once(found["left"], found["right"], PAIRS_SCORED_TOGETHER)

    return shuffle_arrays(pairs, spread, PAIR, once, PAIR_COLUMNS, word=_by_left)


def bucket_pairs(rows: Columns, half: npt.NDArray[np.int8], bar: Bar | None) -> Iterator[Columns]:
    """The pairs (left, right) of buckets that stand one after the other, as `meetings.run_pairs` finds them."""
    n = len(half)
    columns = [rows["key"], rows["item"], rows["side"], half, rows["size"], rows["place"]]
    left, right = np.empty(max(ROWS_PER_BUCKET_BLOCK, n), np.int64), np.empty(max(ROWS_PER_BUCKET_BLOCK, n), np.int64)
    at = 0
    while at < n:
        at, found = meetings.pairs_of_runs(*columns, *(bar or (-1, 0, 1)), at, left, right)
        yield {"left": left[:found].copy(), "right": right[:found].copy()}


def _by_left(pairs: Columns) -> U64:
    return mixed(pairs["left"].view(np.uint64))


def _by_key(rows: Columns) -> U64:
    return mixed(rows["key"])


def _block(columns: Columns) -> pa.RecordBatch:
    return pa.record_batch(packed(columns, np.array([0, len(next(iter(columns.values())))])))


def _cells(bucket: Columns, giant: int) -> Iterator[Columns]:
    """A giant bucket as one bucket for every two of its parts, and for each with itself, under keys of their own."""
    rows = len(bucket["key"])
    starts = range(0, rows, giant)
    names = np.empty(len(starts) * len(starts), np.uint64)
    hashing.mix_all(np.arange(len(names), dtype=np.uint64), bucket["key"][0], names)
    for a, b in itertools.combinations_with_replacement(range(len(starts)), 2):
        for number, at in enumerate((a, b) if a != b else (a,), 1):
            part = {name: values[starts[at] : starts[at] + giant] for name, values in bucket.items()}
            key = np.full(len(part["key"]), names[a * len(starts) + b])
            half = np.full(len(key), number if a != b else 0, np.int8)
            yield {**part, "key": key, "half": half}


def _each_once(left: I64, right: I64, at_once: int) -> Iterator[pa.RecordBatch]:
    """The different pairs (PAIRS), in the order of the left."""
    order = np.lexsort((right, left))
    left, right = left[order], right[order]
    new = np.ones(len(left), np.bool_)
    new[1:] = (left[1:] != left[:-1]) | (right[1:] != right[:-1])
    left, right = left[new], right[new]
    for at in range(0, len(left), at_once):
        some = {"left": left[at : at + at_once], "right": right[at : at + at_once]}
        items = np.unique(np.concatenate(list(some.values())))
        name = mixed(np.array([left[at] * 31 + right[at]]).view(np.uint64))
        yield pa.record_batch(
            {
                "name": signed(name),
                "items": pa.ListArray.from_arrays(pa.array([0, len(items)], pa.int32()), as_arrow(items)),
                **packed(some, np.array([0, len(some["left"])])),
            }
        )


def verify(pairs: DataFrame, things: DataFrame, score: Score, payload: Sequence[str]) -> DataFrame:
    """The pairs that match, with their score (EDGES). payload: as in `brought`."""

    def work(left: pa.RecordBatch, right: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        similarity = score(left, right)
        scored = pa.record_batch([left["item"], right["item"], as_arrow(similarity)], ["left", "right", "similarity"])
        yield scored.filter(as_arrow(~np.isnan(similarity)))

    return join_payload(pairs, things, work, payload, EDGE_COLUMNS)


def join_payload(pairs: DataFrame, things: DataFrame, work: Both, payload: Sequence[str], schema: str) -> DataFrame:
    """What the work makes of two batches in which rows i are a pair: `item` and the `payload`, columns of things.

    pairs: as `candidates` gives them, kept. Their items travel to them, nobody else does: where these are few, things
    are not shuffled to find them.
    """
    from pyspark.sql import functions as F  # noqa: N812

    counts = [row[0] for row in pairs.selectExpr("size(items)").collect()]
    wanted = pairs.select("name", F.explode("items").alias("item"))
    few = sum(counts) <= MAX_BROADCAST_SETS
    wide = things.select("item", *payload).join(F.broadcast(wanted) if few else wanted, "item")
    columns = ["name", "item", *payload, "left", "right"]
    both = wide.unionByName(pairs.select("name", "left", "right"), allowMissingColumns=True).select(*columns)
    least = 2 * things.sparkSession.sparkContext.defaultParallelism
    wanted_parts = max(least, -(-len(counts) // BLOCKS))
    parts = min(wanted_parts, MAX_TASKS)

    def one_part(batches: Batches) -> Batches:
        sets, blocks = [], []
        for batch in batches:
            is_item = batch["item"].is_valid()
            sets.append(batch.filter(is_item).select(["item", *payload]))
            blocks.append(batch.filter(pc.invert(is_item)).select(["left", "right"]))
        if not blocks:
            return
        found, here = unpacked(blocks, PAIR), joined(sets)
        items = numbers(here, "item")
        order = np.argsort(items)
        for at in range(0, len(found["left"]), PAIRS_SCORED_TOGETHER):
            sides = [
                here.take(as_arrow(order[np.searchsorted(items, side[at : at + PAIRS_SCORED_TOGETHER], sorter=order)]))
                for side in (found["left"], found["right"])
            ]
            yield from work(*sides)

    placed = both.repartition(parts, "name")
    if wanted_parts <= MAX_TASKS:
        return mapped_whole(placed, one_part, schema)

    def name_by_name(batches: Batches) -> Batches:
        for batch in whole_runs(batches, ["name"]):
            yield from one_part(iter([batch]))

    # Each task gets more rows than it should hold: Spark sorts them on disk, and one name at a time is in memory.
    return mapped_whole(placed.sortWithinPartitions("name"), name_by_name, schema)


def holders(keys: U64) -> I64:
    """For each row, how many have its key; equal keys stand together."""
    counts = run_lengths(keys)
    return np.repeat(counts, counts)
