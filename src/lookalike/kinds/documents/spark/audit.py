"""Recall audit of a run on Spark: exact search for the partners of a sample of documents, on the executors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import Pairs
from lookalike.core.arrow import as_arrow
from lookalike.core.candidates import Items
from lookalike.core.recall_audit import (
    OVER,
    OVER_GROUPS,
    OVER_KEPT,
    Audit,
    index_sample,
    jaccard_of,
    share_of,
    sum_by_item,
)
from lookalike.core.verification import verified
from lookalike.kernels import audit as kernel
from lookalike.kinds.documents.audit import affordable
from lookalike.kinds.documents.spec import Job
from lookalike.planning.banding import Plan
from lookalike.runtime.spark.arrow_batches import Stage, mapped, numbers, words
from lookalike.runtime.spark.audit_sample import draw, ends_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TRUE = "left long, right long, jaccard double"


def audit(firsts: DataFrame, edges: DataFrame, job: Job, plan: Plan) -> Audit:
    """Measure recall over the pairs of sampled items, whose partners are searched exactly.

    The sample is sent to every task. Only the item numbers of the run's pairs are used.
    """

    def mark(truth: DataFrame) -> DataFrame:
        marked = truth.join(edges.selectExpr("left", "right", "true as hit"), ["left", "right"], "left")
        return marked.fillna({"hit": False})

    return _audit(firsts, ends_of(edges), mark, edges.count() if job.verify else None, job, plan, OVER)


def audit_groups(firsts: DataFrame, roots: DataFrame, job: Job, plan: Plan, *, stars: bool) -> Audit:
    """Measure the recall of groups formed without a list of pairs, as `kinds.documents.audit.audit_groups` does.

    roots: item and root of every item in a group of two or more; for stars, the root is the representative.
    """
    sizes = roots.groupBy("root").count()
    partners = roots.join(sizes, "root").selectExpr("item", "count - 1 as partners", "root as group")

    def mark(truth: DataFrame) -> DataFrame:
        for side in ("left", "right"):
            truth = truth.join(roots.selectExpr(f"item as {side}", f"root as {side}_root"), side, "left")
        left, right = "coalesce(left_root, left)", "coalesce(right_root, right)"
        hit = f"{left} != left or {right} != right" if stars else f"{left} = {right}"
        return truth.selectExpr("left", "right", "jaccard", f"{hit} as hit")

    return _audit(firsts, partners, mark, None, job, plan, OVER_KEPT if stars else OVER_GROUPS)


def _audit(
    firsts: DataFrame, partners: DataFrame, mark: Callable[[DataFrame], DataFrame], run_pairs: int | None, job: Job,
    plan: Plan, over: str,
) -> Audit:  # fmt: skip
    """Draw a sample, find its true pairs, and count those that the run found.

    partners: table of item, partners, group from which the sample is drawn. mark: adds the column hit to true pairs.
    run_pairs: number of true pairs that the run found, if known.
    """
    sets = firsts.select("item", "side", "size", "elements")
    total = sets.selectExpr("count(1) as items", "sum(size) as elements", "max(size) as longest").collect()[0]
    size = affordable(job.audit, total["items"], total["elements"] or 0)
    sample, _ = draw(sets.selectExpr("item as number", "item"), partners, size, job.seed)
    chosen = sets.where(sets["item"].isin(sample.items.tolist())).toArrow().combine_chunks()
    if not chosen.num_rows:
        return Audit(
            0, share_of(sample, np.empty(0), np.empty(0), run_pairs, true=0, found=0, predicted=1.0), over=over
        )
    pairs = mapped(sets, partners_of(chosen.to_batches()[0], int(total["longest"]), job), TRUE)
    truth = mark(pairs.dropDuplicates(["left", "right"])).persist()
    true, found = truth.selectExpr("count(1)", "count_if(hit)").collect()[0]
    ends = truth.selectExpr("left as item", "jaccard", "hit").union(truth.selectExpr("right", "jaccard", "hit"))
    ends = ends.where(ends["item"].isin(sample.items.tolist()))
    hits = ends.where("hit").groupBy("item").count().toArrow()
    gone = truth.where("not hit").select("left", "right").toArrow()
    weights = dict(zip(sample.items.tolist(), sample.weights.tolist(), strict=True))
    histogram = ends.selectExpr("item", "round(jaccard, 4) as s").groupBy("item", "s").count().toArrow()
    truth.unpersist()
    halves = np.zeros(len(sample))
    halves[sample.places(hits["item"].to_numpy())] = hits["count"].to_numpy() / 2
    left, right = gone["left"].to_numpy(), gone["right"].to_numpy()
    missed = sum_by_item(np.stack([sample.places(left), sample.places(right)]), sample.divide(left, right), len(sample))
    weight = np.array([weights[item] for item in histogram["item"].to_pylist()]) * histogram["count"].to_numpy()
    chance = np.array([plan.probability(s) for s in histogram["s"].to_pylist()])
    predicted = float(np.average(chance, weights=weight)) if true else 1.0
    share = share_of(sample, halves, missed, run_pairs, true=true, found=found, predicted=predicted)
    return Audit(len(sample), share, over=over)


def partners_of(sample: pa.RecordBatch, longest: int, job: Job) -> Stage:
    """Return a stage that finds the true pairs (columns TRUE) between the sets of a batch and the sample."""
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
