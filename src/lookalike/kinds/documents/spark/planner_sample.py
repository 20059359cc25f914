"""A sample of sets on the driver, to estimate element frequencies and to choose the cheapest method."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lookalike.core.arrays import I64
from lookalike.core.arrow import as_numpy
from lookalike.core.candidates import Items
from lookalike.core.method_choice import PLANNER_SAMPLE, Choice, Way
from lookalike.kinds.documents.planner import NO_BANDING, SampleJoin, cheapest, drawn, few_items, joined
from lookalike.kinds.documents.spec import Job
from lookalike.planning.banding import Plan
from lookalike.runtime.local.pool import Pool
from lookalike.runtime.spark.arrow_batches import words
from lookalike.runtime.spark.block_join import number_classes
from lookalike.runtime.spark.exact_duplicates import Copies

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

HASH_RANGE = 2.0**64


def sampled_sets(things: DataFrame, least: int, elements: int) -> Items:
    """Sample distinct sets with low fingerprints that together have about `elements` elements.

    The same input gives the same sample for any partitioning.
    """
    usable = things.where(f"size >= {max(1, least)}")
    share = elements / max(1, usable.selectExpr("sum(size)").collect()[0][0] or 0)
    if share < 1:
        usable = usable.where(f"print < {int(-(2**63) + share * HASH_RANGE)}L")
    one = usable.dropDuplicates(["print", "other"]).orderBy("print", "other").select("side", "elements")
    return _items(one)


def choose(
    firsts: DataFrame, copies: Copies, count: int, plan: Plan | None, job: Job, crowd: int | None, *, several: bool
) -> Choice:
    """Choose the cheapest method that reaches the recall, by the rule and from the sample of the local engine.

    The sample consists of distinct sets, drawn by the numbers that the local engine gives them. firsts: one document of
    each class of equal documents; count: number of classes.
    """
    if plan is None:
        return Choice("exact", {}, NO_BANDING)
    if count <= PLANNER_SAMPLE:
        return Choice("exact", {}, few_items(count))
    elements, bar = float(firsts.selectExpr("sum(size)").collect()[0][0]), job.bar()
    with Pool(1) as pool:
        some = picked_sets(firsts, copies, drawn(count, job.seed), several=several)
        seen = joined(SampleJoin.of_sample(some, np.arange(len(some)), bar, pool), bar, pool)
        seen = replace(seen, grow=count / PLANNER_SAMPLE)
        exactly: tuple[Way, float] = "prefixes", seen.exact_way(seen.grow, 1 << 62)[1]
        return cheapest(count, elements, exactly, seen, plan, job, pool, crowd)


def picked_sets(firsts: DataFrame, copies: Copies, numbers: I64, *, several: bool) -> Items:
    """Fetch the sets with these numbers, in order. Only item ids are numbered before the few sets are fetched."""
    from pyspark.sql import functions as F  # noqa: N812

    known = number_classes(firsts, copies, [], several=several)
    few = F.broadcast(known.where(F.col("number").isin(numbers.tolist())).select("number", "item"))
    return _items(firsts.select("item", "side", "elements").join(few, "item").orderBy("number"))


def _items(sets: DataFrame) -> Items:
    whole = sets.select("side", "elements").toArrow().combine_chunks()
    if not whole.num_rows:
        empty = np.empty(0, np.int64)
        return Items(np.empty(0, np.uint64), empty, empty, np.empty(0, np.uint8))
    batch = whole.to_batches()[0]
    flat, starts, sizes = words(batch, "elements")
    return Items(flat, starts, sizes, as_numpy(batch["side"]).astype(np.uint8))
