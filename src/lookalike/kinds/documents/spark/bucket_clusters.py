"""Groups formed directly from crowded buckets on Spark, without listing the pairs of thousands of near-copies.

Sets are sent to the buckets, once for each bucket that an item shares: linear in the rows for any bucket sizes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import Groups, Sets
from lookalike.core.arrow import as_arrow
from lookalike.core.candidates import Items, item_bits
from lookalike.kernels.shingles import table_size
from lookalike.kinds.documents.banding import walk_stars
from lookalike.kinds.documents.kernels import bucket_clusters
from lookalike.kinds.documents.signatures import band_keys, sketch_items
from lookalike.kinds.documents.spark.features import sets_of
from lookalike.kinds.documents.spec import Job
from lookalike.planning.banding import Plan, plan
from lookalike.runtime.spark.arrow_batches import mapped_runs, numbers, run_starts, words
from lookalike.runtime.spark.greedy_clusters import STARS
from lookalike.runtime.spark.output import Matched

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def linked(met: DataFrame, sets: DataFrame, job: Job, plan: Plan) -> DataFrame:
    """Return a few links (left, right) that connect the same items of each bucket as all its verified pairs would.

    A task processes the rows of one key at a time: an item is compared with members of a component only until one
    matches. met: as `opened` returns it, so that a key has a bounded number of rows.
    """
    bar = job.bar()

    def stage(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        n, bits = batch.num_rows, item_bits(batch.num_rows)
        items = numbers(batch, "item")
        starts = run_starts(batch, ["key"])
        run = np.repeat(np.arange(len(starts)), np.diff(starts, append=n)).astype(np.uint64)
        packed = (run << np.uint64(bits)) | np.arange(n, dtype=np.uint64)
        elements, begins, sizes = words(batch, "elements")
        _, once, row = np.unique(items, return_index=True, return_inverse=True)
        values = sketch_items(elements, begins[once], sizes[once], job.recipe()).values[row]
        parent = np.arange(n)
        keys = np.zeros((n, 1), np.uint64)  # a single band: no pair was compared in an earlier one
        scratch = [np.empty(len(packed), np.int64) for _ in range(3)]
        table = np.zeros(table_size(int(sizes.max(initial=0))), np.uint64)
        bucket_clusters.union_bucket(
            packed, 0, len(packed), 0, *scratch, bits, 0, keys, values, plan.cut, elements, begins, sizes, table, *bar,
            parent,
        )  # fmt: skip
        bucket_clusters.settle(parent)
        child = np.flatnonzero(parent != np.arange(n))
        yield pa.record_batch({"left": as_arrow(items[parent[child]]), "right": as_arrow(items[child])})

    return mapped_runs(met.join(sets, "item"), "key", stage, "left long, right long")


@dataclass(frozen=True)
class BucketClusters(Matched):
    """The output of a run without a list of pairs: `edges` suffice for components; stars are computed separately."""

    job: Job = field(default_factory=Job)
    plan: Plan = field(default_factory=lambda: plan(0.8))

    @cached_property
    def stars(self) -> DataFrame:
        """Table of item, kept, similarity for the first item of every removed class, computed per component."""
        job, planned = self.job, self.plan
        known = self.labels.join(self.things.select("item", "elements", *self.order.columns), "item")

        def stage(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
            items, sets = numbers(batch, "item"), sets_of(batch)
            made = walked(sets, job, planned)
            gone = np.flatnonzero(made.representative != np.arange(len(items)))
            yield pa.record_batch(
                {
                    "item": as_arrow(items[gone]),
                    "kept": as_arrow(items[made.representative[gone]]),
                    "similarity": as_arrow(made.similarity[gone]),
                }
            )

        return mapped_runs(known, "root", stage, STARS, then=self.order.sort).persist()


def walked(sets: Sets, job: Job, planned: Plan) -> Groups:
    """Form stars from sets that are sorted by preference."""
    signatures = sketch_items(sets.elements, sets.offsets[:-1], sets.sizes, job.recipe())
    keys = band_keys(signatures, planned.bands, planned.rows)
    items = Items(sets.elements, sets.offsets[:-1], sets.sizes, np.full(len(sets), 3, np.uint8))
    values: Any = signatures.values
    return walk_stars(items, keys, values, planned, job.bar())[0]
