"""Number rows in a global order from 0, without collecting them in one place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

IN_PARTITION = 33  # bits that Spark uses for the row number within a partition (monotonically_increasing_id)


def numbered(frame: DataFrame, sort: Sequence[Any], name: str) -> DataFrame:
    """Add a column `name` with 0, 1, 2, ... in the order of `sort`.

    One job sorts the rows by ranges and counts the rows of each range; the sorted rows are persisted.
    """
    from pyspark.sql import functions as F  # noqa: N812

    ranges = frame.repartitionByRange(*sort).sortWithinPartitions(*sort)
    marked = ranges.withColumn(name, F.monotonically_increasing_id()).persist()
    part = F.shiftright(name, IN_PARTITION)
    counts = {row["part"]: row["count"] for row in marked.groupBy(part.alias("part")).count().collect()}
    before, bases = 0, []
    for number in range(max(counts, default=0) + 1):
        bases.append(before)
        before += counts.get(number, 0)
    first = F.array(*(F.lit(base).cast("long") for base in bases))
    within = F.col(name).bitwiseAND((1 << IN_PARTITION) - 1)
    return marked.withColumn(name, F.element_at(first, (part + 1).cast("int")) + within)
