"""Find classes of equal items first, so that the rest of a run only sees one representative of each class.

Most items equal no other, so a frame of copies only has rows for items that do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.core.arrays import U64
from lookalike.core.arrow import as_arrow
from lookalike.runtime.spark.arrow_batches import numbers
from lookalike.runtime.spark.key_join import Order
from lookalike.runtime.spark.limits import MAX_BROADCAST_SETS
from lookalike.runtime.spark.shuffle import Columns, mixed, run_lengths, shuffle_arrays

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MEMBER_COLUMNS = {
    "word": np.uint64,
    "other": np.int64,
    "item": np.int64,
    "side": np.int8,
    "size": np.int32,
    "named": np.bool_,
}
MEMBER_ROW = "item long, rep long, count long, side byte, size int"
COPY_COUNTS = ("members", "classes", "pairs", "across", "most", "twice")  # per partition; `Copies` has the totals
COPY_COLUMNS = f"{MEMBER_ROW}, pairs_of array<long>"
NAME_SALT = np.uint64(0x1D)


@dataclass(frozen=True)
class Copies:
    """The items that equal other items (frame, MEMBER_ROW), with counts.

    rep: the best item of the class, from the first collection if it has any there. count, side: of the whole class.
    members, classes: their numbers. pairs, across: pairs of equal items in all, and between two collections.
    most: size of the largest class. twice: number of ids that may repeat another id.
    """

    frame: DataFrame
    members: int
    classes: int
    pairs: int
    across: int
    most: int
    twice: int

    @property
    def gone(self) -> int:
        """The number of items that are represented by another one."""
        return self.members - self.classes

    def sent(self, *columns: str) -> DataFrame:
        """Select columns of the frame for a join; broadcast if it has few rows."""
        return near(self.frame.selectExpr(*columns), self.members)


def near(frame: DataFrame, rows: int) -> DataFrame:
    """Mark the frame to be broadcast in a join if it has few rows."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.broadcast(frame) if rows <= MAX_BROADCAST_SETS else frame


def collapse(things: DataFrame, order: Order, *, least: int = 1) -> DataFrame:
    """Return the items of size `least` or more that equal another (COPY_COLUMNS), and a row of counts per partition.

    Takes one shuffle, by the hashes of the contents and of the ids.
    """
    name = "if(id is null, null, xxhash64(id, side))" if "id" in things.columns else "cast(null as long)"
    narrow = things.selectExpr("print", "other", "item", "side", "size", f"{name} as name")
    smallest = max(1, least)
    last = order.number == "-item"

    def spread(batch: pa.RecordBatch) -> Iterator[Columns]:
        names = batch["name"].drop_null()
        whole = batch.filter(as_arrow(numbers(batch, "size") >= smallest))
        prints = {name: numbers(whole, name) for name in ("other", "item", "side", "size")}
        words = numbers(whole, "print").view(np.uint64)
        yield {"word": words, **prints, "named": np.zeros(len(words), np.bool_)}
        n = len(names)
        words = names.to_numpy().view(np.uint64)
        blank: Columns = {kind: np.zeros(n, MEMBER_COLUMNS[kind]) for kind in ("other", "item", "side", "size")}
        yield {"word": words, **blank, "named": np.ones(n, np.bool_)}

    def word(rows: Columns) -> U64:
        return mixed(np.where(rows["named"], rows["word"] ^ NAME_SALT, rows["word"]))

    def gather(rows: Columns) -> Iterator[pa.RecordBatch]:
        names = rows["word"][rows["named"]]
        twice = len(names) - len(np.unique(names))
        unnamed = np.flatnonzero(~rows["named"])
        yield from _classes({name: values[unnamed] for name, values in rows.items()}, twice, last=last)

    copies = shuffle_arrays(narrow, spread, MEMBER_COLUMNS, gather, COPY_COLUMNS, word=word)
    return copies if order.number is not None else _ordered(copies, things, order)


def _classes(rows: Columns, twice: int, *, last: bool) -> Iterator[pa.RecordBatch]:
    """Return the rows whose (word, other) occurs more than once, the best of a class first, and then the counts."""
    by = np.argsort(rows["word"])
    counts = run_lengths(rows["word"][by])
    members = by[np.repeat(counts > 1, counts)]
    place = -rows["item"][members] if last else rows["item"][members]
    members = members[np.lexsort((place, rows["side"][members], rows["other"][members], rows["word"][members]))]
    counts = run_lengths(rows["word"][members], rows["other"][members])
    members, counts = members[np.repeat(counts > 1, counts)], counts[counts > 1]
    starts = np.cumsum(counts) - counts
    item, side = rows["item"][members], rows["side"][members]
    lefts = np.add.reduceat((side & 1).astype(np.int64), starts) if len(starts) else counts
    sides = np.bitwise_or.reduceat(side, starts) if len(starts) else side
    pairs_of = (len(members), len(counts), (counts * (counts - 1) // 2).sum(), (lefts * (counts - lefts)).sum(),
            counts.max(initial=0), twice)  # fmt: skip

    def spread(values: npt.NDArray[Any]) -> pa.Array:
        return as_arrow(np.repeat(values, counts))

    columns = {
        "item": as_arrow(item),
        "rep": spread(item[starts]),
        "count": spread(counts),
        "side": spread(sides),
        "size": as_arrow(rows["size"][members]),
        "pairs_of": pa.nulls(len(members), pa.list_(pa.int64())),
    }
    yield pa.record_batch(columns)
    yield pa.RecordBatch.from_pylist(
        [{"pairs_of": [int(number) for number in pairs_of]}], schema=pa.record_batch(columns).schema
    )


def _ordered(copies: DataFrame, things: DataFrame, order: Order) -> DataFrame:
    """Set `rep` to the best member of each class when the order depends on columns of `things`."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    known = things.selectExpr("item", "side as own_side", *order.columns)
    best = F.first("item").over(Window.partitionBy("rep").orderBy("own_side", *order.sort))
    return copies.join(known, "item", "left").withColumn("rep", best).select(*copies.columns)


def count_copies(alike: DataFrame) -> Copies:
    """Return the Copies of the (persisted) frame that `collapse` returns."""
    rows = [row["pairs_of"] for row in alike.where("pairs_of is not null").select("pairs_of").collect()]
    columns = dict(zip(COPY_COUNTS, zip(*rows, strict=True), strict=True)) if rows else dict.fromkeys(COPY_COUNTS, (0,))
    frame = alike.where("pairs_of is null").drop("pairs_of")
    return Copies(
        frame,
        **{name: max(pairs_of) if name == "most" else sum(pairs_of) for name, pairs_of in columns.items()},
    )


def representatives(things: DataFrame, copies: Copies, *, least: int = 1) -> DataFrame:
    """Return one item per class, of size `least` or more: the columns of `things`, with side and count of the class."""
    whole = things.where(f"size >= {max(1, least)}")
    if not copies.members:
        return whole.selectExpr("*", "1L as count")
    known = copies.sent("item", "rep", "count", "side as class_side")
    firsts = whole.join(known, "item", "left").where("rep is null or rep = item")
    others = [name for name in things.columns if name != "side"]
    return firsts.selectExpr(*others, "coalesce(class_side, side) as side", "coalesce(count, 1L) as count")
