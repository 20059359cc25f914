"""Connected components of pairs that no machine holds alone: large-star and small-star rounds.

Each round turns every item to the least neighbour it knows (Kiveris et al. 2014, "Connected components in MapReduce and
beyond"). Before the rounds every partition replaces its pairs by a forest; as soon as that is small enough one task
finishes it.
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
from lookalike.runtime.spark.session import ClusterError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MAX_LOCAL_PAIRS = 1 << 22  # pairs that one task may hold
MAX_ROUNDS = 60  # far more than the square of the logarithm of the longest chain that a forest of any data has shown
LABEL_COLUMNS = "item long, root long"


def components(pairs: DataFrame, *, small: int = MAX_LOCAL_PAIRS, rounds: int = MAX_ROUNDS) -> DataFrame:
    """Of pairs (left, right): each item that has one, and the least item of its component (item, root).

    ClusterError where `rounds` rounds were not enough; else the answer is complete: the last round changed nothing.
    """
    forest = mapped_whole(pairs.select("left", "right"), contracted, LABEL_COLUMNS).persist()
    count = forest.count()
    for _ in range(rounds):
        if count <= small:
            whole = forest.toDF("left", "right").repartition(1)
            labels = mapped_whole(whole, contracted, LABEL_COLUMNS)
            return with_roots(labels)
        new = small_star(large_star(forest)).persist()
        count = new.count()
        unchanged = new.exceptAll(forest).isEmpty() and forest.exceptAll(new).isEmpty()
        forest.unpersist()
        forest = new
        if unchanged:
            return with_roots(forest)
    raise ClusterError(f"the groups did not settle in {rounds} rounds; ask for stars, or raise the threshold.")


def with_roots(forest: DataFrame) -> DataFrame:
    """A forest of stars, with the items in the middle as their own roots."""
    return forest.union(forest.selectExpr("root as item", "root").distinct())


def contracted(batches: Batches) -> Batches:
    """The pairs of a partition (left, right) as a forest of stars: every item with the least of its component."""
    ends: list[tuple[I64, I64]] = []
    for batch in batches:
        ends.append(forest_of(numbers(batch, "left"), numbers(batch, "right")))
    if ends:
        item, root = forest_of(*(np.concatenate(side) for side in zip(*ends, strict=True)))
        yield pa.record_batch({"item": as_arrow(item), "root": as_arrow(root)})


def forest_of(left: I64, right: I64) -> tuple[I64, I64]:
    """(items, the least item of the component of each), least items themselves left out.

    >>> [part.tolist() for part in forest_of(np.array([7, 3]), np.array([9, 7]))]
    [[7, 9], [3, 3]]
    """
    items, place = np.unique(np.concatenate([left, right]), return_inverse=True)
    parent = np.arange(len(items))
    graph.components(place[: len(left)].astype(np.int64), place[len(left) :].astype(np.int64), parent)
    child = parent != np.arange(len(items))
    return items[child], items[parent[child]]


def large_star(forest: DataFrame) -> DataFrame:
    """Every neighbour of an item that is larger than it, with the least of its neighbours and itself."""

    def stage(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        item, other, least = neighbourhoods(batch)
        larger = other > item
        yield pa.record_batch({"item": as_arrow(other[larger]), "root": as_arrow(least[larger])})

    both = forest.union(forest.selectExpr("root", "item")).toDF("item", "root")
    return mapped_runs(both, "item", stage, LABEL_COLUMNS)


def small_star(forest: DataFrame) -> DataFrame:
    """Every neighbour of an item that is smaller than it, and itself, with the least of them; each once."""

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
    """(item, neighbour, the least of all neighbours of the item and itself) of each row; rows of an item together."""
    item, other = numbers(batch, "item"), numbers(batch, "root")
    starts = run_starts(batch, ["item"])
    counts = np.diff(starts, append=batch.num_rows)
    least = np.minimum(np.minimum.reduceat(other, starts), item[starts]) if len(starts) else item
    return item, other, np.repeat(least, counts)
