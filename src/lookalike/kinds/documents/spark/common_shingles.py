"""Exact removal of very common shingles from distributed sets on Spark."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import U64, Sets
from lookalike.core.arrow import as_arrow
from lookalike.kinds.documents.spark.features import OF_SETS, of_sets, sets_of
from lookalike.runtime.spark.arrow_batches import Batches, mapped, mapped_whole, numbers, signed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COUNTS = "element long, count long"
DRIVER_ELEMENTS = 1 << 20  # maximum elements that the driver sends to every task: 8 MB


def without_common(things: DataFrame, max_share: float) -> DataFrame:
    """Remove the elements that occur in more than `max_share` of the non-empty sets; keys are not updated.

    An element in more than a share of all sets is in more than that share of the sets of some partition: each partition
    proposes its own common elements, and these are counted exactly in all partitions. If more than DRIVER_ELEMENTS are
    proposed (a small share, small partitions), all elements are counted in a shuffle instead. The driver collects the
    dropped elements, at most the mean size of a set divided by `max_share`.
    """
    share = Fraction(repr(float(max_share)))
    limit = int(share * things.where("size > 0").count())
    frequent = mapped_whole(things, lambda batches: _frequent(batches, share), COUNTS)
    proposals = frequent.select("element").distinct().limit(DRIVER_ELEMENTS + 1).persist()
    if proposals.count() <= DRIVER_ELEMENTS:
        proposed = _words(proposals)
        partial = mapped(things, lambda batch: _counted(batch, proposed), COUNTS)
    else:
        partial = mapped_whole(things, lambda batches: _frequent(batches, Fraction(0)), COUNTS)
    proposals.unpersist()
    counted = partial.groupBy("element").sum("count")
    gone = _words(counted.where(f"`sum(count)` > {limit}").select("element"))
    changed = [column.split()[0] for column in OF_SETS.split(", ")]
    kept = [field for field in things.schema.fields if field.name not in changed]
    names = [field.name for field in kept]

    def stage(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        sets = sets_of(batch)
        stays = ~np.isin(sets.elements, gone)
        ends = np.concatenate([[0], np.cumsum(stays)])[sets.offsets]
        rest = Sets(sets.elements[stays], ends)
        yield pa.record_batch({**{name: batch[name] for name in names}, **of_sets(rest)})

    listed = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in kept)
    return mapped(things, stage, f"{listed}, {OF_SETS}")


def _frequent(batches: Batches, share: Fraction) -> Batches:
    """Yield the elements that occur in more than this share of the sets of one partition, with their counts."""
    parts = [(sets.elements, int((sets.sizes > 0).sum())) for sets in map(sets_of, batches)]
    if parts:
        limit = int(share * sum(count for _, count in parts))
        element, count = np.unique(np.concatenate([some for some, _ in parts]), return_counts=True)
        often = count > limit
        yield pa.record_batch({"element": signed(element[often]), "count": as_arrow(count[often].astype(np.int64))})


def _counted(batch: pa.RecordBatch, proposed: U64) -> Iterator[pa.RecordBatch]:
    elements = sets_of(batch).elements
    element, count = np.unique(elements[np.isin(elements, proposed)], return_counts=True)
    yield pa.record_batch({"element": signed(element), "count": as_arrow(count.astype(np.int64))})


def _words(frame: DataFrame) -> U64:
    column = frame.toArrow().combine_chunks().to_batches()
    found: U64 = np.concatenate([np.empty(0, np.int64), *(numbers(batch, "element") for batch in column)])
    return np.sort(found.view(np.uint64))
