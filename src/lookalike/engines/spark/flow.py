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

from lookalike.data import F64
from lookalike.engines.spark.batches import (
    mapped,
    mapped_runs,
    mapped_together,
    numbers,
    run_starts,
    signed,
    together,
    words,
)
from lookalike.kernels import hashing, meetings
from lookalike.measures import Bar
from lookalike.stages.arrow import as_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Score = Callable[[pa.RecordBatch, pa.RecordBatch], F64]
GIANT = 4096  # rows of a bucket above which its pairs are made by several tasks
ROOM = 1 << 18  # candidate pairs in a batch
CLASSES = "item long, rep long, count long, lefts long, side byte, size int, keys binary, places binary"
MET = "key long, item long, side byte, part byte, size int, place int"
PAIRS = "left long, right long"
EDGES = "left long, right long, similarity double"


@dataclass(frozen=True)
class Order:
    """Which of several items is the best: first by `sort`, in Spark's words, of `item` and these `columns` of things.

    number: an expression over `item` that gives the same order, where there is one: it saves a global sort.
    """

    sort: tuple[Any, ...] = ("item",)
    columns: tuple[str, ...] = ()
    number: str | None = "item"


def collapse(things: DataFrame, order: Order, *, least: int = 1) -> DataFrame:
    """The items of size `least` or more, each with its class of equal items (CLASSES): one shuffle, on the prints.

    rep: the best member, of the first collection if it has any there; count, lefts, side: of the whole class. Keys and
    places stay with the rep.
    """

    def stage(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        starts = run_starts(batch, ["print", "other"])
        counts = np.diff(starts, append=batch.num_rows)
        sides = numbers(batch, "side")
        other = np.ones(batch.num_rows, np.bool_)
        other[starts] = False

        def spread(values: npt.NDArray[Any]) -> pa.Array:
            return as_arrow(np.repeat(values, counts))

        yield pa.record_batch(
            {
                "item": batch["item"],
                "rep": spread(numbers(batch, "item")[starts]),
                "count": spread(counts.astype(np.int64)),
                "lefts": spread(np.add.reduceat((sides & 1).astype(np.int64), starts)),
                "side": spread(np.bitwise_or.reduceat(sides, starts)),
                "size": batch["size"],
                "keys": _without(batch["keys"], other),
                "places": _without(batch["places"], other),
            }
        )

    columns = ["print", "other", "item", "side", "size", "keys", "places", *order.columns]
    wanted = things.where(f"size >= {max(1, least)}").select(*columns)
    return mapped_runs(wanted, ["print", "other"], stage, CLASSES, then=["side", *order.sort])


def meet(classes: DataFrame) -> DataFrame:
    """The rows of every bucket with two items or more between which a pair is wanted (MET), each bucket's together.

    One shuffle, on the keys. No pair is made here.
    """

    def spread(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        row = np.repeat(np.arange(batch.num_rows), words(batch, "keys")[2])
        places = together(batch, "places", np.int32)
        yield pa.record_batch(
            {
                "key": signed(together(batch, "keys")),
                "item": as_arrow(numbers(batch, "item")[row]),
                "side": as_arrow(numbers(batch, "side")[row]),
                "part": as_arrow(np.zeros(len(row), np.int8)),
                "size": as_arrow(numbers(batch, "size")[row]),
                "place": as_arrow(places if len(places) else np.full(len(row), -1, np.int32)),
            }
        )

    def shared(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        starts = run_starts(batch, ["key"])
        counts = np.diff(starts, append=batch.num_rows)
        sides = np.bitwise_or.reduceat(numbers(batch, "side"), starts)
        yield batch.filter(as_arrow(np.repeat((counts > 1) & (sides == 3), counts)))

    return mapped_runs(mapped(classes.where("item = rep"), spread, MET), "key", shared, MET)


@dataclass(frozen=True)
class Weight:
    """What buckets come to. rows: of all; pairs: that share one, counted in each; largest: rows of the largest one."""

    rows: int
    pairs: int
    largest: int


def weigh(met: DataFrame, *, most: int | None = None) -> Weight:
    """The weight of the buckets that `meet` gives: a few numbers, counted where the rows are. The pairs of buckets with
    more than `most` rows do not count."""

    def stage(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        counts = np.diff(run_starts(batch, ["key"]), append=batch.num_rows)
        counted = counts if most is None else counts[counts <= most]
        pairs = int((counted * (counted - 1) // 2).sum())
        yield pa.record_batch({"rows": [batch.num_rows], "pairs": [pairs], "largest": [int(counts.max())]})

    parts = mapped_together(met, "key", stage, "rows long, pairs long, largest long")
    row = parts.selectExpr("sum(rows) rows", "sum(pairs) pairs", "max(largest) largest").collect()[0]
    return Weight(row["rows"] or 0, row["pairs"] or 0, row["largest"] or 0)


def candidates(met: DataFrame, bar: Bar | None, largest: int, *, giant: int = GIANT) -> DataFrame:
    """The pairs of every bucket that sizes and places allow (left < right), a pair once for each bucket that it shares.

    A bucket of more than `giant` rows is cut into parts; one task for every two parts, and for each with itself, makes
    its pairs. largest: rows of the largest bucket.
    """
    code, num, den = bar if bar is not None else (-1, 0, 1)

    def pairs_of(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        columns = [numbers(batch, name) for name in ("key", "item", "side", "part", "size", "place")]
        left, right = np.empty(max(ROOM, batch.num_rows), np.int64), np.empty(max(ROOM, batch.num_rows), np.int64)
        at = 0
        while at < batch.num_rows:
            at, found = meetings.run_pairs(*columns, code, num, den, at, left, right)
            yield pa.record_batch({"left": as_arrow(left[:found].copy()), "right": as_arrow(right[:found].copy())})

    def small(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        counts = np.diff(run_starts(batch, ["key"]), append=batch.num_rows)
        yield from pairs_of(batch.filter(as_arrow(np.repeat(counts <= giant, counts))))

    def cut(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        starts = run_starts(batch, ["key"])
        counts = np.diff(starts, append=batch.num_rows)
        for start, count in zip(starts[counts > giant], counts[counts > giant], strict=True):
            yield from _parted(batch.slice(start, count), giant)

    pairs = mapped_together(met, "key", small, PAIRS)
    if largest <= giant:
        return pairs
    return pairs.union(mapped_runs(mapped_together(met, "key", cut, MET), "key", pairs_of, PAIRS))


def _parted(bucket: pa.RecordBatch, giant: int) -> Iterator[pa.RecordBatch]:
    """A giant bucket as one bucket for every two of its parts, and for each with itself, under keys of their own."""
    parts = [bucket.slice(at, giant) for at in range(0, bucket.num_rows, giant)]
    cells = np.empty(len(parts) * len(parts), np.uint64)
    hashing.mix_all(np.arange(len(cells), dtype=np.uint64), numbers(bucket, "key")[:1].view(np.uint64)[0], cells)
    for a, b in itertools.combinations_with_replacement(range(len(parts)), 2):
        for number, part in enumerate([parts[a], parts[b]] if a != b else [parts[a]], 1):
            key = np.full(part.num_rows, cells[a * len(parts) + b])
            half = np.full(part.num_rows, number if a != b else 0, np.int8)
            fresh = {"key": signed(key), "part": as_arrow(half)}
            yield pa.record_batch({name: fresh.get(name, part[name]) for name in part.schema.names})


def verify(pairs: DataFrame, things: DataFrame, score: Score, payload: Sequence[str]) -> DataFrame:
    """The distinct pairs that match, with their score: left, right, similarity. Two joins on the items' numbers.

    payload: the columns of `things` that the score looks at, beside `item`; these travel, nothing else does.
    """
    distinct = pairs.repartition("left").dropDuplicates(["left", "right"])
    for side in ("left", "right"):
        columns = [f"item as {side}", *(f"{name} as {side}_{name}" for name in payload)]
        distinct = distinct.join(things.selectExpr(*columns), side)

    def stage(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        def half(side: str) -> pa.RecordBatch:
            return pa.record_batch([batch[side], *(batch[f"{side}_{name}"] for name in payload)], ["item", *payload])

        similarity = score(half("left"), half("right"))
        scored = pa.record_batch([batch["left"], batch["right"], as_arrow(similarity)], ["left", "right", "similarity"])
        yield scored.filter(as_arrow(~np.isnan(similarity)))

    return mapped(distinct, stage, EDGES)


def _without(column: pa.Array, gone: npt.NDArray[np.bool_]) -> pa.Array:
    """The binary values, null where they are gone."""
    return pc.if_else(as_arrow(gone), pa.scalar(None, column.type), column)
