"""Policies for which item of a group to keep, as a Spark sort order; same as `core.keep_policy`."""

from __future__ import annotations

from typing import Any

from lookalike.core.keep_policy import preferred_column
from lookalike.runtime.spark.key_join import Order


def order_of(keep: str, kind: str) -> Order:
    """Return the order of a policy. kind: the Spark type of the column that it sorts by.

    Ties are broken by the earlier item. Nulls and unlisted values come last, and NaN just before nulls.
    """
    from pyspark.sql import functions as F  # noqa: N812

    column = preferred_column(keep)
    if keep == "first":
        return Order()
    if keep == "last":
        return Order((F.desc("item"),), (), "-item")
    if column is None:
        length = F.desc("length") if keep == "longest" else F.asc("length")
        return Order((length, "item"), ("length",), None)
    value: Any = F.col("preferred")
    if keep.startswith("priority"):
        wanted = keep.partition("=")[2].split(",")
        place = F.array_position(F.array(*(F.lit(name) for name in wanted)), value.cast("string"))
        place = F.when(place.isNull() | (place == 0), len(wanted) + 1).otherwise(place)
        return Order((place.asc(), "item"), ("preferred",), None)
    last = F.when(value.isNull(), 2).otherwise(0)
    if kind in ("float", "double"):
        last = F.when(value.isNull(), 2).when(F.isnan(value), 1).otherwise(0)
    return Order((last.asc(), value.desc() if keep.startswith("max") else value.asc(), "item"), ("preferred",), None)
