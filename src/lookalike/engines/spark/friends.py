"""Records that match a third one are compared too, as long as it pays: large groups have more pairs than keys show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lookalike.engines.record_search import CIRCLES, PAYS, WIDER
from lookalike.engines.spark.flow import candidates
from lookalike.engines.spark.roots import Roots
from lookalike.stages.record_keys import HUB

if TYPE_CHECKING:
    from collections.abc import Callable

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
        met = both.selectExpr(
            "key", "item", "cast(3 as byte) as side", "cast(0 as byte) as part", "1 as size", "-1 as place"
        )
        pairs = candidates(met.repartition("key").sortWithinPartitions("key"), None, HUB, giant=HUB)
        fresh = pairs.distinct().join(known.select("left", "right"), ["left", "right"], "left_anti")
        rated = roots.keep(rate(fresh))
        row = rated.agg(F.count("*").alias("all"), F.count_if(good).alias("good")).collect()[0]
        if not row["all"] or row["all"] > room:
            break
        known, friends, room = known.union(rated), friends.union(rated.where(good)), room - row["all"]
        if row["good"] / row["all"] < PAYS or room <= 0:
            break
    return known
