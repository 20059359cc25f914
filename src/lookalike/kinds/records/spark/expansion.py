"""Two-hop expansion on Spark: also compare records that match a common third record.

Large groups have more pairs than blocking selects as candidates.
"""

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
    50  # maximum number of two-hop paths per pair that may be compared; expansion stops if there are more
)


def widened(
    scored: DataFrame, records: int, cut: float, rate: Callable[[DataFrame], DataFrame], roots: LineageCutter
) -> DataFrame:
    """Return all compared pairs with their scores: those given (left, right, similarity), and two-hop pairs.

    rate: computes the scores of pairs (left, right). The number of pairs that match is not limited. A round is
    discarded if it has more pairs than there are known matches plus what remains of WIDER other pairs per record.
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
    """Yield every pair of items that share a key, except for keys with more than HUB items."""
    keys = numbers(batch, "key").view(np.uint64)
    keep = holders(keys) <= HUB
    n = int(keep.sum())
    rows = {"key": keys[keep], "item": numbers(batch, "item")[keep], "side": np.full(n, 3, np.int8)}
    rows |= {"size": np.ones(n, np.int32), "place": np.full(n, -1, np.int32)}
    for pairs in bucket_pairs(rows, np.zeros(n, np.int8), None):
        yield pa.record_batch({name: as_arrow(values) for name, values in pairs.items()})
