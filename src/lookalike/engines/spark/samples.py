"""A sample of sets, small enough for the driver: how common elements are, and which way is cheapest."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lookalike.engines.choice import SAMPLE, Choice, Preview, Way, cheapest, joined
from lookalike.engines.job import Job
from lookalike.engines.pool import Pool
from lookalike.engines.spark.batches import words
from lookalike.plan import Plan
from lookalike.stages.candidates import Items

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WORDS = 2.0**64


def sampled_sets(things: DataFrame, least: int, *, elements: int = 0, items: int = 0) -> Items:
    """Different sets whose fingerprints are low: always the same ones of the same input, however it is parted.

    As many as hold about `elements` elements, or about `items` of them.
    """
    usable = things.where(f"size >= {max(1, least)}")
    row = usable.selectExpr("count(1) as items", "sum(size) as elements").collect()[0]
    share = items / max(1, row["items"]) if items else elements / max(1, row["elements"] or 0)
    if share < 1:
        usable = usable.where(f"print < {int(-(2**63) + share * WORDS)}L")
    one = usable.dropDuplicates(["print", "other"]).orderBy("print", "other").select("elements")
    batch = one.toArrow().combine_chunks()
    whole = batch.to_batches()[0] if batch.num_rows else None
    if whole is None:
        empty = np.empty(0, np.int64)
        return Items(np.empty(0, np.uint64), empty, empty, np.empty(0, np.uint8))
    flat, starts, sizes = words(whole, "elements")
    return Items(flat, starts, sizes, np.full(len(starts), 3, np.uint8))


def choose(things: DataFrame, least: int, plan: Plan | None, job: Job, crowd: int | None) -> Choice:
    """The cheapest way that keeps the promise, by the rule of the local engine, foretold from a sample of its own."""
    if plan is None:
        return Choice("exact", {}, "no banding keeps a promise of recall for this measure")
    different = (
        things.where(f"size >= {max(1, least)}").select("print", "other", "size").dropDuplicates(["print", "other"])
    )
    row = different.selectExpr("count(1) as items", "sum(size) as elements").collect()[0]
    count = row["items"]
    if count <= SAMPLE:
        return Choice("exact", {}, f"{count:,} different items are few enough to miss none")
    bar = job.bar()
    with Pool(1) as pool:
        some = sampled_sets(things, least, items=SAMPLE)
        seen = joined(Preview.of_sample(some, np.arange(len(some)), bar, pool), bar, pool)
        seen = replace(seen, grow=count / max(1, len(some)))
        exactly: tuple[Way, float] = "prefixes", seen.exact_way(seen.grow, 1 << 62)[1]
        return cheapest(count, float(row["elements"]), exactly, seen, plan, job.recipe(), bar, pool, 1 << 62, crowd)
