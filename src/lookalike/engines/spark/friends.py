"""Records that match a third one are compared too, as long as it pays: large groups have more pairs than keys show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lookalike.data import U64
from lookalike.engines.record_search import CIRCLES, PAYS, WIDER
from lookalike.engines.spark.batches import numbers
from lookalike.engines.spark.blocks import Columns, exchanged, mixed
from lookalike.engines.spark.flow import bucket_pairs, holders
from lookalike.engines.spark.proposals import ROW_PAIRS, paired
from lookalike.engines.spark.roots import Roots
from lookalike.stages.arrow import as_arrow
from lookalike.stages.record_keys import HUB

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WAYS = 50  # by which two may know each other, for every pair that may be compared: with more, nothing more is looked at


def widened(
    scored: DataFrame, records: int, cut: float, rate: Callable[[DataFrame], DataFrame], roots: Roots
) -> DataFrame:
    """All pairs that were compared, with their scores: those given (left, right, similarity), and friends of friends.

    rate: pairs (left, right) to pairs with their score. A circle that would come to more than WIDER pairs a record is
    left out.
    """
    from pyspark.sql import functions as F  # noqa: N812

    good = F.col("similarity") >= cut
    known, friends, room = scored, scored.where(good), WIDER * records
    for _ in range(CIRCLES):
        both = friends.selectExpr("left as key", "right as item").union(friends.selectExpr("right", "left"))
        ways = both.groupBy("key").count().where(f"count <= {HUB}").agg(F.expr("sum(count * (count - 1)) / 2"))
        if not 0 < (ways.collect()[0][0] or 0) <= WAYS * room:
            break
        fresh = _in_common(both).distinct().join(known.select("left", "right"), ["left", "right"], "left_anti")
        rated = roots.keep(rate(paired(fresh).persist()))
        row = rated.agg(F.count("*").alias("all"), F.count_if(good).alias("good")).collect()[0]
        if not row["all"] or row["all"] > room:
            break
        known, friends, room = known.union(rated), friends.union(rated.where(good)), room - row["all"]
        if row["good"] / row["all"] < PAYS or room <= 0:
            break
    return known


def _in_common(both: DataFrame) -> DataFrame:
    """Every two (left, right) that have a friend in common who has not too many. both: key, item: a friend of key's."""

    def spread(batch: pa.RecordBatch) -> Iterator[tuple[U64, Columns]]:
        keys = numbers(batch, "key").view(np.uint64)
        yield mixed(keys), {"key": keys, "item": numbers(batch, "item")}

    def gather(rows: Columns) -> Iterator[pa.RecordBatch]:
        order = np.argsort(rows["key"])
        order = order[holders(rows["key"][order]) <= HUB]
        n = len(order)
        plain: Columns = {
            "side": np.full(n, 3, np.int8),
            "size": np.ones(n, np.int32),
            "place": np.full(n, -1, np.int32),
        }
        known: Columns = {"key": rows["key"][order], "item": rows["item"][order], **plain}
        for pairs in bucket_pairs(known, np.zeros(n, np.int8), None):
            yield pa.record_batch({name: as_arrow(values) for name, values in pairs.items()})

    return exchanged(both, spread, {"key": np.uint64, "item": np.int64}, gather, ROW_PAIRS)
