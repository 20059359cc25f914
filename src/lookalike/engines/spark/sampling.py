"""The sample of an audit on Spark: the one that one machine draws, from the same numbers of items."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lookalike.data import I64
from lookalike.engines.spark.batches import mapped, numbers
from lookalike.stages.arrow import as_arrow
from lookalike.stages.audit import Counted
from lookalike.stages.sampling import STRATA, Sample, Strata, keys_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

STRATUM = "cast(if(partners = 0, 0, length(bin(partners))) as long)"  # as `stages.sampling.strata_of`


def ends_of(edges: DataFrame) -> DataFrame:
    """item, partners: of every item that has a pair."""
    ends = edges.selectExpr("left as item").union(edges.selectExpr("right as item"))
    return ends.groupBy("item").count().withColumnRenamed("count", "partners")


def draw(items: DataFrame, partners: DataFrame, size: int, seed: int) -> tuple[Sample, I64]:
    """(about `size` items by their numbers, the same items as they are named in pairs).

    items: number, item. partners: item, partners; items without any may be left out.
    """
    known = items.join(partners, "item", "left").selectExpr("number", "item", "coalesce(partners, 0L) as partners")
    known = known.selectExpr("number", "item", "partners", f"{STRATUM} as stratum").persist()
    counts = known.groupBy("stratum").agg({"item": "count", "partners": "sum"}).collect()
    sizes, held = np.zeros(STRATA, np.int64), np.zeros(STRATA, np.int64)
    for row in counts:
        sizes[row["stratum"]], held[row["stratum"]] = row["count(item)"], row["sum(partners)"]
    strata = Strata.of(sizes, held, size)
    limits = strata.limits()

    def stage(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        keys = keys_of(numbers(batch, "number"), seed)
        yield batch.filter(as_arrow(keys / 2.0**64 <= limits[numbers(batch, "stratum")]))

    near = mapped(known.select("number", "item", "stratum"), stage, "number long, item long, stratum long").toArrow()
    known.unpersist()
    number, item, stratum = (near[name].to_numpy() for name in ("number", "item", "stratum"))
    sample = strata.sample(number, stratum, keys_of(number, seed))
    order = np.argsort(number)
    return sample, item[order][np.searchsorted(number[order], sample.items)]


def named(sample: Sample, items: I64) -> Sample:
    """The sample with other, ascending or not, names of its items. items i64[n]"""
    order = np.argsort(items)
    return replace(sample, items=items[order], stratum=sample.stratum[order])


def counted(edges: DataFrame) -> Counted:
    """How many pairs have a score at or above each of these."""

    def count(scores: np.ndarray[tuple[int], np.dtype[np.float64]]) -> I64:
        finite = [(n, float(score)) for n, score in enumerate(scores) if np.isfinite(score)]
        wanted = ["count(1) as every", *(f"count_if(similarity >= {score!r}D) as s{n}" for n, score in finite)]
        row = edges.selectExpr(*wanted).collect()[0]
        known = {n: row[f"s{n}"] for n, _ in finite}
        return np.array([known.get(n, 0 if scores[n] > 0 else row["every"]) for n in range(len(scores))], np.int64)

    return count
