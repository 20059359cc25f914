"""The measured recall of a run on Spark: all true partners of a sample of its documents, looked up where they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lookalike.data import Pairs
from lookalike.engines.audits import FEW, LEAN
from lookalike.engines.job import Job
from lookalike.engines.spark.batches import Stage, mapped, numbers, words
from lookalike.engines.spark.samples import WORDS
from lookalike.kernels import audit as kernel
from lookalike.plan import Plan
from lookalike.stages.arrow import as_arrow
from lookalike.stages.audit import Audit, index_sample, jaccard_of
from lookalike.stages.candidates import Items
from lookalike.stages.verify import verified

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TRUE = "left long, right long, jaccard double"


def audit(firsts: DataFrame, edges: DataFrame, job: Job, plan: Plan) -> Audit:
    """Recall over all pairs with at least one of the sampled classes: at most job.audit, those of the lowest prints.

    The sample goes to every task; two jobs over the sets. No pair of the run is looked at but by its numbers.
    """
    sets = firsts.select("item", "side", "print", "size", "elements")
    total = sets.selectExpr("count(1) as items", "sum(size) as elements", "max(size) as longest").collect()[0]
    if not total["items"]:
        return Audit(0, 0, 0, 1.0)
    mean = max(1.0, total["elements"] / total["items"])
    size = min(job.audit, int(max(FEW, total["elements"] / LEAN) / mean), total["items"])
    limit = int(-(2**63) + min(1.0, size / total["items"]) * WORDS) if size < total["items"] else 2**63 - 1
    chosen = sets.where(f"print <= {limit}L").orderBy("item").toArrow().combine_chunks()
    if not chosen.num_rows:
        return Audit(0, 0, 0, 1.0)
    sample = chosen.to_batches()[0]
    truth = (
        mapped(sets, partners_of(sample, int(total["longest"]), job), TRUE).dropDuplicates(["left", "right"]).persist()
    )
    found = truth.join(edges.select("left", "right"), ["left", "right"], "left_semi").count()
    histogram = truth.selectExpr("round(jaccard, 4) as s").groupBy("s").count().collect()
    truth.unpersist()
    true = sum(row["count"] for row in histogram)
    chance = sum(plan.probability(row["s"]) * row["count"] for row in histogram)
    return Audit(sample.num_rows, true, found, chance / true if true else 1.0)


def partners_of(sample: pa.RecordBatch, longest: int, job: Job) -> Stage:
    """A stage: the true pairs (TRUE) between the sets of a batch and the sampled ones."""
    bar = job.bar()

    def stage(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        mine, theirs = words(sample, "elements"), words(batch, "elements")
        elements = np.concatenate([mine[0], theirs[0]])
        starts = np.concatenate([mine[1], theirs[1] + len(mine[0])])
        sizes = np.concatenate([mine[2], theirs[2]])
        sides = np.concatenate([numbers(sample, "side"), numbers(batch, "side")]).astype(np.uint8)
        items = Items(elements, starts, sizes, sides)
        names = np.concatenate([numbers(sample, "item"), numbers(batch, "item")])
        chosen = np.arange(sample.num_rows)
        index = index_sample(items.part(0, sample.num_rows), chosen, bar)
        far = np.empty_like(index.longest)
        kernel.partner_sizes(mine[2], longest, *bar, np.empty_like(far), far)
        index = replace(index, longest=far, is_sampled=np.zeros(len(items), np.bool_))
        for candidates in index.candidates(items, (sample.num_rows, len(items))):
            left, right, similarity = verified(items, candidates, bar)
            pairs = Pairs(left.astype(np.int64), right.astype(np.int64), similarity)
            jaccard = jaccard_of(pairs, items, bar)
            one, other = names[pairs.left], names[pairs.right]
            real = one != other
            yield pa.record_batch(
                {
                    "left": as_arrow(np.minimum(one, other)[real]),
                    "right": as_arrow(np.maximum(one, other)[real]),
                    "jaccard": as_arrow(jaccard[real]),
                }
            )

    return stage
