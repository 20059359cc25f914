"""Records that match a third one are compared too, as long as it pays: large groups have more pairs than keys show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lookalike.core.arrow import as_arrow
from lookalike.kinds.records.blocking import HUB
from lookalike.kinds.records.search import CIRCLES, PAYS, WIDER
from lookalike.runtime.spark.arrow_batches import mapped_runs, numbers
from lookalike.runtime.spark.key_join import bucket_pairs, holders
from lookalike.runtime.spark.lineage import LineageCutter

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MAX_PATHS_PER_PAIR = (
    50  # by which two may know each other, for every pair that may be compared: with more, nothing more is looked at
)


def widened(
    scored: DataFrame, records: int, cut: float, rate: Callable[[DataFrame], DataFrame], roots: LineageCutter
) -> DataFrame:
    """All pairs that were compared, with their scores: those given (left, right, similarity), and friends of friends.

    rate: pairs (left, right) to pairs with their score. Pairs that match are wanted, however many; a circle with more
    than WIDER others a record is left out.
    """
    from pyspark.sql import functions as F  # noqa: N812

    good = F.col("similarity") >= cut
    known, friends, room = scored, scored.where(good), WIDER * records
    for _ in range(CIRCLES):
        both = friends.selectExpr("left as key", "right as item").union(friends.selectExpr("right", "left"))
        ways = both.groupBy("key").count().where(f"count <= {HUB}").agg(F.expr("sum(count * (count - 1)) / 2"))
        limit = room + friends.count()
        if not 0 < (ways.collect()[0][0] or 0) <= MAX_PATHS_PER_PAIR * limit:
            break
        pairs = mapped_runs(both, "key", _acquainted, "left long, right long")
        fresh = pairs.distinct().join(known.select("left", "right"), ["left", "right"], "left_anti")
        rated = roots.keep(rate(fresh))
        row = rated.agg(F.count("*").alias("all"), F.count_if(good).alias("good")).collect()[0]
        if not row["all"] or row["all"] > limit:
            break
        known, friends = known.union(rated), friends.union(rated.where(good))
        room -= row["all"] - row["good"]
        if row["good"] / row["all"] < PAYS or room <= 0:
            break
    return known


def _acquainted(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Every two items that share a key, unless more than HUB do."""
    keys = numbers(batch, "key").view(np.uint64)
    keep = holders(keys) <= HUB
    n = int(keep.sum())
    rows = {"key": keys[keep], "item": numbers(batch, "item")[keep], "side": np.full(n, 3, np.int8)}
    rows |= {"size": np.ones(n, np.int32), "place": np.full(n, -1, np.int32)}
    for pairs in bucket_pairs(rows, np.zeros(n, np.int8), None):
        yield pa.record_batch({name: as_arrow(values) for name, values in pairs.items()})
