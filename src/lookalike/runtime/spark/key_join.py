"""Join items by key on Spark: buckets, candidates and scores, for every kind of item that has keys and a score.

A kind of item provides a frame `things`, computed in one pass over its input (`arrow_batches.mapped`), with the columns

    item          long    item number; the order of the numbers is the order of the input
    side          byte    3; with two collections, 1 for items of the first and 2 for items of the second
    size          int     0 for an item that matches nothing; if a Bar is given, the size of the item's set
    print, other  long    128 bits that are equal for equal items only
    keys          binary  any number of 64-bit words: items that share one are candidates
    places        binary  32-bit positions of the keys in the item's set (exact joins), or empty

and the columns that its score needs. A score takes two record batches of these columns, in which rows i are a pair, and
returns a float for each pair, NaN if the two do not match. `collapse`, `bucket_items`, `candidates` and `verify` are
shared by all kinds.
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
from lookalike.runtime.spark.heavy_keys import NONE_HEAVY, HeavyKeys
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
GIANT = 4096  # larger buckets are split into parts, joined by several tasks
LINKED_TOGETHER = 1 << 15  # larger buckets are split where groups are made without pairs; a task gets two parts
ROWS_PER_BUCKET_BLOCK = 1 << 18  # approximate rows of a block of buckets, and candidate pairs of a block
PAIRS_SCORED_TOGETHER = 4096  # maximum candidate pairs scored together
BLOCKS = 4  # rows of pairs, of up to PAIRS_SCORED_TOGETHER each, per task
MAX_PART_PAIRS = 1 << 22  # pairs per shuffle partition, above which there are more partitions
KEY_COLUMNS = {"key": np.uint64, "item": np.int64, "side": np.int8, "size": np.int32, "place": np.int32}
PAIR = {"left": np.int64, "right": np.int64}
BUCKETS = "rows long, pairs long, largest long, " + ", ".join(f"{name} binary" for name in KEY_COLUMNS)
RAW = "left binary, right binary"
PAIR_COLUMNS = f"name long, items array<long>, {RAW}"
EDGE_COLUMNS = "left long, right long, similarity double"


@dataclass(frozen=True)
class Order:
    """The preference among items: a Spark sort order `sort` over `item` and the `columns` of `things`, best first.

    number: an expression over `item` with the same order, or None; it saves a global sort.
    """

    sort: tuple[Any, ...] = ("item",)
    columns: tuple[str, ...] = ()
    number: str | None = "item"


def bucket_items(firsts: DataFrame, *, most: int | None = None, heavy: HeavyKeys = NONE_HEAVY) -> DataFrame:
    """Return the rows of every bucket with at least one wanted pair, in blocks of whole buckets (BUCKETS).

    Takes one shuffle, by key. Pairs are not generated here. The buckets of `heavy` keys come in parts, two by two.
    rows, pairs, largest: totals per block; pairs in buckets with more than `most` rows are not counted.
    """

    def spread(batch: pa.RecordBatch) -> Iterator[Columns]:
        keys, places = together(batch, "keys"), together(batch, "places", np.int32)
        row = np.repeat(np.arange(batch.num_rows), words(batch, "keys")[2])
        columns = {name: numbers(batch, name)[row] for name in ("item", "side", "size")}
        columns["place"] = places if len(places) else np.full(len(row), -1, np.int32)
        sent, keys = heavy.divided(keys, columns["item"])
        yield {"key": keys, **{name: values[sent] for name, values in columns.items()}}

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
    """Pack buckets into blocks of whole buckets. counts: number of rows of each bucket; the buckets are consecutive."""
    if not len(counts):
        return
    ends = np.cumsum(counts)
    first = np.concatenate(
        [[0], np.flatnonzero(np.diff((ends - 1) // ROWS_PER_BUCKET_BLOCK)) + 1]
    )  # first bucket of each block
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
    """Totals over buckets. rows: of all buckets; pairs: summed over buckets; largest: rows of the largest bucket."""

    rows: int
    pairs: int
    largest: int


def bucket_statistics(met: DataFrame) -> BucketStatistics:
    """Return the totals of the buckets that `bucket_items` returns."""
    totals = ("sum(rows)", "sum(cast(pairs as decimal(38, 0)))", "max(largest)")
    row = met.selectExpr(*totals).collect()[0]
    return BucketStatistics(*(int(total or 0) for total in row))


def opened(met: DataFrame) -> DataFrame:
    """Return the rows of the buckets one by one: key, item.

    A bucket of more than LINKED_TOGETHER rows is split into parts; every two of them come together under a key of their
    own, so that every two items of a bucket share a key, and no key has more than twice LINKED_TOGETHER rows.
    """
    most = LINKED_TOGETHER  # the value of this process, for all workers

    def stage(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        for block in each_block(batch, KEY_COLUMNS):
            counts = run_lengths(block["key"])
            small = np.repeat(counts <= most, counts)
            yield pa.record_batch({"key": signed(block["key"][small]), "item": as_arrow(block["item"][small])})
            for end, count in zip(np.cumsum(counts), counts, strict=True):
                if count > most:
                    yield from _two_by_two(block["key"][end - 1], block["item"][end - count : end], most)

    return mapped(met, stage, "key long, item long")


def _two_by_two(key: np.uint64, items: I64, most: int) -> Iterator[pa.RecordBatch]:
    """Yield the items of every two parts of a bucket, of `most` items each, under a separate key."""
    parts = [items[at : at + most] for at in range(0, len(items), most)]
    names = np.empty(len(parts) * len(parts), np.uint64)
    hashing.mix_all(np.arange(len(names), dtype=np.uint64), key, names)
    for a, b in itertools.combinations(range(len(parts)), 2):
        both = np.concatenate([parts[a], parts[b]])
        yield pa.record_batch({"key": signed(np.full(len(both), names[a * len(parts) + b])), "item": as_arrow(both)})


def candidates(
    met: DataFrame,
    bar: Bar | None,
    weight: BucketStatistics,
    *,
    giant: int = GIANT,
    crowded: bool = True,
    at_once: int = PAIRS_SCORED_TOGETHER,
) -> DataFrame:
    """Return the distinct candidate pairs (left < right) of all buckets that pass the size and position filters.

    A row (PAIR_COLUMNS) holds at most `at_once` pairs and the items that occur in them.
    A bucket of more than `giant` rows is split into parts; one task for every two parts, and for each part with itself,
    generates its pairs. Without `crowded` such buckets are skipped.
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
    """Return pairs (left, right) from any source without duplicates, in the form of `candidates` (PAIR_COLUMNS)."""

    def spread(batch: pa.RecordBatch) -> Iterator[Columns]:
        yield {"left": numbers(batch, "left"), "right": numbers(batch, "right")}

    def once(found: Columns) -> Iterator[pa.RecordBatch]:
        yield from _each_once(found["left"], found["right"], PAIRS_SCORED_TOGETHER)

    return shuffle_arrays(pairs, spread, PAIR, once, PAIR_COLUMNS, word=_by_left)


def bucket_pairs(rows: Columns, half: npt.NDArray[np.int8], bar: Bar | None) -> Iterator[Columns]:
    """Generate the pairs (left, right) of consecutive buckets, as `meetings.pairs_of_runs` finds them."""
    n = len(half)
    columns = [rows["key"], rows["item"], rows["side"], half, rows["size"], rows["place"]]
    left, right = np.empty(max(ROWS_PER_BUCKET_BLOCK, n), np.int64), np.empty(max(ROWS_PER_BUCKET_BLOCK, n), np.int64)
    at = 0
    while at < n:
        at, count = meetings.pairs_of_runs(*columns, *(bar or (-1, 0, 1)), at, left, right)
        yield {"left": left[:count].copy(), "right": right[:count].copy()}


def _by_left(pairs: Columns) -> U64:
    return mixed(pairs["left"].view(np.uint64))


def _by_key(rows: Columns) -> U64:
    return mixed(rows["key"])


def _block(columns: Columns) -> pa.RecordBatch:
    return pa.record_batch(packed(columns, np.array([0, len(next(iter(columns.values())))])))


def _cells(bucket: Columns, giant: int) -> Iterator[Columns]:
    """Split a giant bucket: one bucket with its own key for every two of its parts, and for each part with itself."""
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
    """Return the distinct pairs (PAIR_COLUMNS), sorted by left item."""
    order = np.lexsort((right, left))
    left, right = left[order], right[order]
    new = np.ones(len(left), np.bool_)
    new[1:] = (left[1:] != left[:-1]) | (right[1:] != right[:-1])
    left, right = left[new], right[new]
    for at in range(0, len(left), at_once):
        part = {"left": left[at : at + at_once], "right": right[at : at + at_once]}
        items = np.unique(np.concatenate(list(part.values())))
        name = mixed(np.array([left[at] * 31 + right[at]]).view(np.uint64))
        yield pa.record_batch(
            {
                "name": signed(name),
                "items": pa.ListArray.from_arrays(pa.array([0, len(items)], pa.int32()), as_arrow(items)),
                **packed(part, np.array([0, len(part["left"])])),
            }
        )


def verify(pairs: DataFrame, things: DataFrame, score: Score, payload: Sequence[str]) -> DataFrame:
    """Return the pairs that match, with their scores (EDGE_COLUMNS). payload: as in `join_payload`."""

    def work(left: pa.RecordBatch, right: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        similarity = score(left, right)
        scored = pa.record_batch([left["item"], right["item"], as_arrow(similarity)], ["left", "right", "similarity"])
        yield scored.filter(as_arrow(~np.isnan(similarity)))

    return join_payload(pairs, things, work, payload, EDGE_COLUMNS)


def join_payload(pairs: DataFrame, things: DataFrame, work: Both, payload: Sequence[str], schema: str) -> DataFrame:
    """Apply `work` to two batches in which rows i are a pair; their columns are `item` and the `payload`.

    pairs: as returned by `candidates`, persisted. Only items that occur in pairs are shuffled; if these are few, their
    numbers are broadcast instead of shuffling `things`.
    """
    from pyspark.sql import functions as F  # noqa: N812

    lots, sent = pairs.selectExpr("count(1)", "coalesce(sum(size(items)), 0L)").collect()[0]
    wanted = pairs.select("name", F.explode("items").alias("item"))
    few = sent <= MAX_BROADCAST_SETS
    wide = things.select("item", *payload).join(F.broadcast(wanted) if few else wanted, "item")
    columns = ["name", "item", *payload, "left", "right"]
    both = wide.unionByName(pairs.select("name", "left", "right"), allowMissingColumns=True).select(*columns)
    least = 2 * things.sparkSession.sparkContext.defaultParallelism
    wanted_parts = max(least, -(-lots // BLOCKS))
    parts = min(wanted_parts, MAX_TASKS)

    def one_part(batches: Batches) -> Batches:
        sets, blocks = [], []
        for batch in batches:
            is_item = batch["item"].is_valid()
            sets.append(batch.filter(is_item).select(["item", *payload]))
            blocks.append(batch.filter(pc.invert(is_item)).select(["left", "right"]))
        if not blocks:
            return
        block_pairs, here = unpacked(blocks, PAIR), joined(sets)
        items = numbers(here, "item")
        order = np.argsort(items)
        for at in range(0, len(block_pairs["left"]), PAIRS_SCORED_TOGETHER):
            sides = [
                here.take(as_arrow(order[np.searchsorted(items, side[at : at + PAIRS_SCORED_TOGETHER], sorter=order)]))
                for side in (block_pairs["left"], block_pairs["right"])
            ]
            yield from work(*sides)

    placed = both.repartition(parts, "name")
    if wanted_parts <= MAX_TASKS:
        return mapped_whole(placed, one_part, schema)

    def name_by_name(batches: Batches) -> Batches:
        for batch in whole_runs(batches, ["name"]):
            yield from one_part(iter([batch]))

    # Each task gets more rows than fit in memory: Spark sorts them on disk, and one name at a time is loaded.
    return mapped_whole(placed.sortWithinPartitions("name"), name_by_name, schema)


def holders(keys: U64) -> I64:
    """Return for each row the number of rows with its key; equal keys are consecutive."""
    counts = run_lengths(keys)
    return np.repeat(counts, counts)
