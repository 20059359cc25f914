"""Draw the sample of an audit on Spark; it is the sample that the local engine draws from the same item numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import F64, I64
from lookalike.core.arrow import as_arrow
from lookalike.core.audit_sample import CELL_DRAWS, STRATA, TICKETS, GroupStrata, Sample, Strata, keys_of
from lookalike.core.recall_audit import Counted
from lookalike.runtime.spark.arrow_batches import mapped, numbers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

STRATUM = "cast(if(partners = 0, 0, length(bin(partners))) as long)"  # same as `core.audit_sample.strata_of`


def ends_of(edges: DataFrame) -> DataFrame:
    """Return item, partners and group of every item that has a pair, like `core.audit_sample.found_partners`."""
    ends = edges.selectExpr("left as item", "right as other").union(edges.selectExpr("right", "left"))
    nearest = ends.groupBy("item").agg({"other": "min"}).toDF("other", "nearest")
    return ends.join(nearest, "other").groupBy("item").agg({"*": "count", "nearest": "min"}).selectExpr(
        "item", "`count(1)` as partners", "`min(nearest)` as group"
    )  # fmt: skip


def draw(items: DataFrame, partners: DataFrame, size: int, seed: int) -> tuple[Sample, I64]:
    """Draw about `size` items; return the sample by item numbers, and the items as named in pairs.

    items: number, item. partners: item, partners, group; items without partners may be omitted.
    """
    known = items.join(partners, "item", "left").selectExpr(
        "number", "item", "coalesce(partners, 0L) as partners", "coalesce(group, item) as group"
    )
    known = known.selectExpr("*", f"{STRATUM} as stratum").persist()
    counts = known.groupBy("stratum").agg({"item": "count", "partners": "sum"}).collect()
    sizes, held = np.zeros(STRATA, np.int64), np.zeros(STRATA, np.int64)
    for row in counts:
        sizes[row["stratum"]], held[row["stratum"]] = row["count(item)"], row["sum(partners)"]
    strata = _divided(known, Strata.of(sizes, held, size))
    limits = strata.limits()

    def stage(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        number, stratum = numbers(batch, "number"), strata.places(numbers(batch, "stratum"), numbers(batch, "group"))
        near = keys_of(number, seed) / 2.0**64 <= limits[stratum]
        columns = number[near], numbers(batch, "item")[near], stratum[near]
        yield pa.record_batch([as_arrow(column) for column in columns], ["number", "item", "stratum"])

    near = mapped(known, stage, "number long, item long, stratum long").toArrow()
    known.unpersist()
    number, item, stratum = (near[name].to_numpy() for name in ("number", "item", "stratum"))
    sample = strata.sample(number, stratum, keys_of(number, seed), _chances(partners, strata))
    order = np.argsort(number)
    return sample, item[order][np.searchsorted(number[order], sample.items)]


def _divided(known: DataFrame, strata: Strata) -> Strata:
    """Split off groups from which several items would be drawn as strata; collects at most half the sample size."""
    from pyspark.sql import functions as F  # noqa: N812

    tickets = f"element_at(array({', '.join(f'{each}L' for each in strata.tickets)}), cast(stratum + 1 as int))"
    rows = (
        known.where("partners > 0").groupBy("group")
        .agg(F.expr("count(1)"), F.expr(f"sum({tickets}) as tickets"), F.expr("sum(partners)"), F.expr("max(partners)"))
        .where(f"tickets >= {CELL_DRAWS * TICKETS}").orderBy("group").collect()
    )  # fmt: skip
    if not rows:
        return strata
    groups = GroupStrata(*np.array(rows, np.int64).T).large()
    outside = known.where(~known["group"].isin(groups.numbers.tolist())).groupBy("stratum").count().collect()
    left = np.zeros(STRATA, np.int64)
    for row in outside:
        left[row["stratum"]] = row["count"]
    return strata.divided(groups, left)


def _chances(partners: DataFrame, strata: Strata) -> Callable[[I64], F64]:
    """Return a function that maps items, as named in pairs, to the probability that each is drawn."""

    def chances(items: I64) -> F64:
        wanted, place = np.unique(items, return_inverse=True)

        def stage(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
            here = np.isin(numbers(batch, "item"), wanted)
            names = ["item", "partners", "group"]
            yield pa.record_batch([as_arrow(numbers(batch, name)[here]) for name in names], names)

        count, group = np.zeros(len(wanted), np.int64), wanted.copy()
        if len(wanted):
            known = mapped(partners, stage, "item long, partners long, group long").toArrow()
            at = np.searchsorted(wanted, known["item"].to_numpy())
            count[at], group[at] = known["partners"].to_numpy(), known["group"].to_numpy()
        return strata.chances(count, group)[place]

    return chances


def named(sample: Sample, items: I64) -> Sample:
    """Return the sample with its items renamed to items i64[n], which need not be ascending."""
    order = np.argsort(items)
    return replace(sample, items=items[order], stratum=sample.stratum[order])


def counted(edges: DataFrame) -> Counted:
    """Return a function that counts the pairs with at least each of the given scores."""

    def count(scores: np.ndarray[tuple[int], np.dtype[np.float64]]) -> I64:
        finite = [(n, float(score)) for n, score in enumerate(scores) if np.isfinite(score)]
        wanted = ["count(1) as every", *(f"count_if(similarity >= {score!r}D) as s{n}" for n, score in finite)]
        row = edges.selectExpr(*wanted).collect()[0]
        known = {n: row[f"s{n}"] for n, _ in finite}
        return np.array([known.get(n, 0 if scores[n] > 0 else row["every"]) for n in range(len(scores))], np.int64)

    return count
