"""Gather the members of groups and number the groups, in two shuffles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lookalike.core.arrow import as_arrow
from lookalike.runtime.spark.arrow_batches import Batches, mapped_runs, mapped_whole, numbers, run_starts
from lookalike.runtime.spark.key_join import Order

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

GATHERED = "item long, first long, size long, representative long"
GROUPS = "item long, group long, size long, representative long"


def gather_groups(members: DataFrame, order: Order) -> DataFrame:
    """Add the first member, the best member and the size of the group to members (root, item, columns of the order)."""

    def stage(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        starts = run_starts(batch, ["root"])
        counts = np.diff(starts, append=batch.num_rows)
        item = numbers(batch, "item")
        yield pa.record_batch(
            {
                "item": batch["item"],
                "first": as_arrow(np.repeat(np.minimum.reduceat(item, starts), counts)),
                "size": as_arrow(np.repeat(counts, counts).astype(np.int64)),
                "representative": as_arrow(np.repeat(item[starts], counts)),
            }
        )

    return mapped_runs(members, "root", stage, GATHERED, then=order.sort)


def number_groups(gathered: DataFrame) -> DataFrame:
    """Number the groups 0, 1, ... by first member, and sort them so. One job sorts and counts the groups by range."""
    from pyspark.sql import functions as F  # noqa: N812

    ranges = gathered.repartitionByRange("first").sortWithinPartitions("first", "item").persist()
    part = F.spark_partition_id().alias("part")
    counted = ranges.where("item = first").groupBy(part).count().collect()
    counts = {row["part"]: row["count"] for row in counted}
    before = {number: sum(count for other, count in counts.items() if other < number) for number in counts}

    def work(batches: Batches) -> Batches:
        from pyspark import TaskContext

        context = TaskContext.get()
        number = before.get(context.partitionId(), 0) - 1 if context is not None else -1
        last = None
        for batch in batches:
            first = numbers(batch, "first")
            new = np.ones(len(first), np.int64)
            new[1:] = first[1:] != first[:-1]
            new[:1] = first[:1] != last
            places = number + np.cumsum(new)
            number, last = (int(places[-1]), int(first[-1])) if len(first) else (number, last)
            yield pa.record_batch([batch["item"], as_arrow(places), batch["size"], batch["representative"]],
                                  ["item", "group", "size", "representative"])  # fmt: skip

    return mapped_whole(ranges, work, GROUPS)
