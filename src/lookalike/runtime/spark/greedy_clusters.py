"""Stars and cliques on Spark: the local engine's greedy algorithm, run on each whole connected component."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa

from lookalike.core import clusters
from lookalike.core.arrays import Pairs
from lookalike.core.arrow import as_arrow
from lookalike.runtime.spark.arrow_batches import mapped_runs, numbers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Walk = Literal["stars", "cliques"]
STARS = "item long, kept long, similarity double"


def walked(edges: DataFrame, labels: DataFrame, grouping: Walk) -> DataFrame:
    """Return item, representative and similarity of every item that is not the representative of its group (STARS).

    edges: left, right, similarity, left_rank, right_rank (lower is better). labels: item, root. Takes one join and one
    shuffle of the edges, which brings all edges of a component to one task.
    """
    rooted = edges.join(labels.selectExpr("item as left", "root"), "left")

    def stage(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        left, right = numbers(batch, "left"), numbers(batch, "right")
        items, first, place = np.unique(np.concatenate([left, right]), return_index=True, return_inverse=True)
        ranked = np.concatenate([numbers(batch, "left_rank"), numbers(batch, "right_rank")])[first]
        pairs = Pairs(place[: len(left)], place[len(left) :], numbers(batch, "similarity"))
        groups = clusters.MAKERS[grouping](pairs, np.argsort(ranked, kind="stable"))
        gone = np.flatnonzero(groups.representative != np.arange(len(items)))
        yield pa.record_batch(
            {
                "item": as_arrow(items[gone]),
                "kept": as_arrow(items[groups.representative[gone]]),
                "similarity": as_arrow(groups.similarity[gone]),
            }
        )

    return mapped_runs(rooted, "root", stage, STARS)
