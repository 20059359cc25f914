"""Connected components of pairs that do not fit on one machine, by rounds of large-star and small-star.

Each round links every item to the least neighbour it knows (Kiveris et al. 2014, "Connected components in MapReduce and
beyond"). Before the first round, every partition reduces its pairs to a forest. Once the forest is small enough, one
task finishes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import I64
from lookalike.core.arrow import as_arrow
from lookalike.kernels import graph
from lookalike.runtime.spark.arrow_batches import Batches, mapped, mapped_runs, mapped_whole, numbers, run_starts
from lookalike.runtime.spark.lineage import LineageCutter
from lookalike.runtime.spark.session import ClusterError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MAX_LOCAL_PAIRS = 1 << 22  # maximum pairs in one task
MAX_ROUNDS = 60  # far above the squared logarithm of the longest chain observed in a forest
LABEL_COLUMNS = "item long, root long"


def components(pairs: DataFrame, *, small: int = MAX_LOCAL_PAIRS, rounds: int = MAX_ROUNDS) -> DataFrame:
    """Return the least item of the component of each item in pairs (left, right), as (item, root).

    Raises ClusterError if `rounds` rounds do not suffice. Otherwise it is complete: the last round changed nothing.
    """
    cutter = LineageCutter()  # a plan that grew with the rounds would take longer than their work
    forest = cutter.keep(mapped_whole(pairs.select("left", "right"), contracted, LABEL_COLUMNS))
    count = forest.count()
    for _ in range(rounds):
        if count <= small:
            whole = forest.toDF("left", "right").repartition(1)
            labels = mapped_whole(whole, contracted, LABEL_COLUMNS)
            return with_roots(labels)
        new = cutter.keep(small_star(large_star(forest)))
        before, count = count, new.count()
        unchanged = count == before and new.exceptAll(forest).isEmpty()
        cutter.kept.pop(0).unpersist()
        forest = new
        if unchanged:
            return with_roots(forest)
    raise ClusterError(f"the groups did not settle in {rounds} rounds; ask for stars, or raise the threshold.")


def with_roots(forest: DataFrame) -> DataFrame:
    """Add the roots of a forest of stars as items with themselves as root."""
    return forest.union(forest.selectExpr("root as item", "root").distinct())


def contracted(batches: Batches) -> Batches:
    """Reduce the pairs (left, right) of a partition to a forest of stars: each item with the least of its component."""
    ends: list[tuple[I64, I64]] = []
    for batch in batches:
        ends.append(forest_of(numbers(batch, "left"), numbers(batch, "right")))
    if ends:
        item, root = forest_of(*(np.concatenate(side) for side in zip(*ends, strict=True)))
        yield pa.record_batch({"item": as_arrow(item), "root": as_arrow(root)})


def forest_of(left: I64, right: I64) -> tuple[I64, I64]:
    """Return (items, least item of the component of each); the least items themselves are omitted.

    >>> [part.tolist() for part in forest_of(np.array([7, 3]), np.array([9, 7]))]
    [[7, 9], [3, 3]]
    """
    items, place = np.unique(np.concatenate([left, right]), return_inverse=True)
    parent = np.arange(len(items))
    graph.components(place[: len(left)].astype(np.int64), place[len(left) :].astype(np.int64), parent)
    child = parent != np.arange(len(items))
    return items[child], items[parent[child]]


def large_star(forest: DataFrame) -> DataFrame:
    """Link every neighbour that is larger than an item to the least of the item and its neighbours."""

    def stage(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        item, other, least = neighbourhoods(batch)
        larger = other > item
        yield pa.record_batch({"item": as_arrow(other[larger]), "root": as_arrow(least[larger])})

    both = forest.union(forest.selectExpr("root", "item")).toDF("item", "root")
    return mapped_runs(both, "item", stage, LABEL_COLUMNS)


def small_star(forest: DataFrame) -> DataFrame:
    """Link each item and its smaller neighbours to the least of them; the resulting rows are distinct."""

    def stage(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        item, other, least = neighbourhoods(batch)
        turned = np.concatenate([other, item]), np.concatenate([least, least])
        real = turned[0] != turned[1]
        yield pa.record_batch({"item": as_arrow(turned[0][real]), "root": as_arrow(turned[1][real])})

    def falling(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        item, root = numbers(batch, "item"), numbers(batch, "root")
        high, low = np.maximum(item, root), np.minimum(item, root)
        yield pa.record_batch({"item": as_arrow(high[high > low]), "root": as_arrow(low[high > low])})

    return mapped_runs(mapped(forest, falling, LABEL_COLUMNS), "item", stage, LABEL_COLUMNS).distinct()


def neighbourhoods(batch: pa.RecordBatch) -> tuple[I64, I64, I64]:
    """Return (item, neighbour, minimum of the item and all its neighbours) per row; rows are grouped by item."""
    item, other = numbers(batch, "item"), numbers(batch, "root")
    starts = run_starts(batch, ["item"])
    counts = np.diff(starts, append=batch.num_rows)
    least = np.minimum(np.minimum.reduceat(other, starts), item[starts]) if len(starts) else item
    return item, other, np.repeat(least, counts)
