"""Competing pairs between two tables on Spark: adjusted scores and one-to-one assignment, as in the local engine.

Pairs have the columns one, two, similarity: a record of the first table, and one of the second.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import F32
from lookalike.core.arrow import as_arrow
from lookalike.errors import TooManyPairs
from lookalike.kinds.records.assignment import one_to_one
from lookalike.kinds.records.pair_table import BOTH, Sides
from lookalike.kinds.records.threshold import standing
from lookalike.runtime.spark.arrow_batches import mapped, mapped_runs, numbers, run_starts
from lookalike.runtime.spark.components import components
from lookalike.runtime.spark.lineage import LineageCutter

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_TIED = 1 << 20  # maximum number of pairs of one connected component, which is assigned in one task
MARGIN_COLUMNS = "one long, two long, similarity double"


def oriented(pairs: DataFrame) -> DataFrame:
    """Convert pairs (left, right, similarity) to (one, two, similarity); items of the first table have even numbers."""
    return pairs.selectExpr(
        "if(left % 2 = 0, left, right) as one", "if(left % 2 = 0, right, left) as two", "similarity"
    )


def as_edges(pairs: DataFrame) -> DataFrame:
    """Convert pairs back to left, right, similarity, with the lower item on the left."""
    return pairs.selectExpr("least(one, two) as left", "greatest(one, two) as right", "similarity")


def lifted(pairs: DataFrame, sides: Sides) -> DataFrame:
    """Adjust the score of each pair by its margin over the best competing pair of the given sides.

    Pairs that are the best ones of both their records compete only with pairs that are still available (`settled`).
    """
    from pyspark.sql import functions as F  # noqa: N812

    moved = _with_margins(pairs, sides)
    best = moved.where("margin > 0").select("one", "two", "similarity")
    again = settled(pairs, best, sides).selectExpr("one", "two", "similarity as settled")
    both = moved.join(again, ["one", "two"], "left")
    return both.select("one", "two", F.greatest("standing", F.coalesce("settled", "standing")).alias("similarity"))


def _with_margins(pairs: DataFrame, sides: Sides) -> DataFrame:
    """Return the pairs with their margins, and the scores adjusted by these (standing). Two shuffles."""

    def first(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        yield batch.append_column("rival", as_arrow(sides[0] * _best_other(batch, "one").astype(np.float64)))

    def second(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        score = numbers(batch, "similarity").astype(np.float32)
        rival = np.maximum(numbers(batch, "rival").astype(np.float32), sides[1] * _best_other(batch, "two"))
        margin = score - rival
        parts = [as_arrow(part.astype(np.float64)) for part in (margin, standing(score, margin))]
        names = ["one", "two", "similarity", "margin", "standing"]
        yield pa.record_batch([batch["one"], batch["two"], batch["similarity"], *parts], names)

    once = mapped_runs(pairs, "one", first, f"{MARGIN_COLUMNS}, rival double")
    return mapped_runs(once, "two", second, f"{MARGIN_COLUMNS}, margin double, standing double")


def _best_other(batch: pa.RecordBatch, by: str) -> F32:
    """Return for each pair the best score of another pair of the same record, 0 if there is none."""
    score = numbers(batch, "similarity").astype(np.float32)
    starts = run_starts(batch, [by])
    run = np.repeat(np.arange(len(starts)), np.diff(starts, append=batch.num_rows))
    order = np.lexsort((-score, run))
    best = order[starts]
    second = np.zeros(len(starts), np.float32)
    several = np.diff(starts, append=batch.num_rows) > 1
    second[several] = score[order[starts[several] + 1]]
    out = score[best][run]
    out[best] = second
    return out


def assigned(pairs: DataFrame, cut: float, roots: LineageCutter) -> DataFrame:
    """Return the one-to-one assignment of the pairs at or above `cut`: each connected component in one task.

    Raises TooManyPairs if a component has more than MOST_TIED pairs.
    """
    from pyspark.sql import functions as F  # noqa: N812

    good = pairs.where(F.col("similarity") >= cut).where("similarity > 0")
    labels = components(good.selectExpr("one as left", "two as right"))
    tied = roots.keep(good.join(labels.selectExpr("item as one", "root"), "one").select("root", *good.columns))
    most = tied.groupBy("root").count().agg(F.max("count")).collect()[0][0] or 0
    if most > MOST_TIED:
        raise TooManyPairs(
            f"{most:,} matching pairs hang together, more than the {MOST_TIED:,} among which one task can choose one "
            "partner for each record. Raise the threshold."
        )

    def stage(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        one, two, score = (numbers(batch, name) for name in ("one", "two", "similarity"))
        order = np.lexsort((two, one))
        left, right = (np.unique(side[order], return_inverse=True)[1].astype(np.uint32) for side in (one, two))
        keep = one_to_one(left, right, score[order].astype(np.float32), np.ones(len(order), np.bool_))
        kept = batch.take(as_arrow(order[keep]))
        yield kept.select(["one", "two", "similarity"])

    return roots.keep(mapped_runs(tied, "root", stage, MARGIN_COLUMNS))


def settled(pairs: DataFrame, kept: DataFrame, sides: Sides = BOTH) -> DataFrame:
    """Adjust the scores of kept pairs by their margin over the available competing pairs of the given sides.

    A competing pair is available if its other record is unmatched, or kept with a lower score.
    """
    from pyspark.sql import functions as F  # noqa: N812

    others = pairs.join(kept.select("one", "two"), ["one", "two"], "left_anti")
    for side, single in zip(("one", "two"), sides, strict=True):
        own = kept.select(side, F.col("similarity").alias(f"own_{side}"))
        if single:
            others = others.join(own, side, "left")
        else:  # a record with several partners is always available
            others = others.withColumn(f"own_{side}", F.lit(None).cast("double"))
    made = kept
    for side, other in (("one", "two"), ("two", "one")):
        to_be_had = others.where(f"own_{other} is null or similarity > own_{other}")
        best = to_be_had.groupBy(side).agg(F.max("similarity").alias(f"rival_{side}"))
        made = made.join(best, side, "left")

    def stage(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        score, one, two = (numbers(batch, n).astype(np.float32) for n in ("similarity", "rival_one", "rival_two"))
        lift = standing(score, score - np.maximum(sides[0] * one, sides[1] * two)).astype(np.float64)
        yield pa.record_batch([batch["one"], batch["two"], as_arrow(lift)], ["one", "two", "similarity"])

    plain = made.fillna(0.0, ["rival_one", "rival_two"]).select("one", "two", "similarity", "rival_one", "rival_two")
    return mapped(plain, stage, MARGIN_COLUMNS)
