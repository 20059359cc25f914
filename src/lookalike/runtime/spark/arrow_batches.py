"""Run stages as functions over the Arrow batches of a Spark partition, and convert between columns and arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.core.arrays import I64, U64
from lookalike.core.arrow import as_arrow
from lookalike.runtime.spark.session import quiet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

Batches = Iterator[pa.RecordBatch]
LARGE_BATCH_BYTES = 1 << 30  # larger batches get 64-bit offsets, as 32-bit ones may overflow
Stage = Callable[[pa.RecordBatch], Iterable[pa.RecordBatch]]


def mapped(frame: DataFrame, stage: Stage, schema: str) -> DataFrame:
    """Apply a stage to each Arrow batch of the frame. schema: of the batches that it returns, as a Spark DDL string."""

    def work(batches: Batches) -> Batches:
        for batch in batches:
            yield from stage(batch)

    return mapped_whole(frame, work, schema)


def mapped_whole(frame: DataFrame, work: Callable[[Batches], Batches], schema: str | StructType) -> DataFrame:
    """Apply a function to the iterator of all batches of a partition; like `mapped` for stages with state."""
    with quiet():
        return frame.mapInArrow(work, schema)


def mapped_runs(
    frame: DataFrame, by: str | list[str], stage: Stage, schema: str, *, then: Iterable[Any] = ()
) -> DataFrame:
    """Shuffle the rows by `by`, sort them by it (and `then`), and apply the stage to batches of whole runs of `by`."""
    columns = [by] if isinstance(by, str) else by

    def work(batches: Batches) -> Batches:
        for batch in whole_runs(batches, columns):
            yield from stage(batch)

    return mapped_whole(frame.repartition(*columns).sortWithinPartitions(*columns, *then), work, schema)


def whole_runs(batches: Batches, columns: list[str]) -> Batches:
    """Re-cut batches so that each run of consecutive rows with equal columns lies within one batch.

    >>> some = [pa.record_batch({"k": pa.array(keys)}) for keys in ([1, 1, 2], [2], [2, 3])]
    >>> [batch["k"].to_pylist() for batch in whole_runs(iter(some), ["k"])]
    [[1, 1], [2, 2, 2], [3]]
    """
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        if not batch.num_rows:
            continue
        starts = run_starts(batch, columns)
        if waiting and not _equal(waiting[-1], batch, columns):
            yield joined(waiting)
            waiting = []
        if len(starts) == 1:
            waiting.append(batch)
            continue
        last = int(starts[-1])
        if waiting:  # the waiting run ends in this batch
            first = int(starts[1])
            yield joined([*waiting, batch.slice(0, first)])
            batch, last = batch.slice(first), last - first
        if last:
            yield batch.slice(0, last)
        waiting = [batch.slice(last)]
    if waiting:
        yield joined(waiting)


def run_starts(batch: pa.RecordBatch, columns: list[str]) -> I64:
    """Return the row numbers at which the columns differ from the row before; the first row starts a run."""
    return starts_of(*(numbers(batch, name) for name in columns))


def starts_of(*columns: npt.NDArray[Any]) -> I64:
    """Return the starts of runs like `run_starts`, given the columns as arrays."""
    new = np.zeros(len(columns[0]), np.bool_)
    new[:1] = True
    for values in columns:
        new[1:] |= values[1:] != values[:-1]
    return np.flatnonzero(new)


def _equal(one: pa.RecordBatch, other: pa.RecordBatch, columns: list[str]) -> bool:
    return all(one[name][one.num_rows - 1] == other[name][0] for name in columns)


def joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """Concatenate batches; binary columns become large_binary if the whole may exceed 2 GB."""
    if len(batches) == 1:
        return batches[0]
    whole = pa.Table.from_batches(batches)
    if whole.nbytes > LARGE_BATCH_BYTES:
        wide = [pa.field(f.name, pa.large_binary() if pa.types.is_binary(f.type) else f.type) for f in whole.schema]
        whole = whole.cast(pa.schema(wide))
    return whole.combine_chunks().to_batches()[0]


def numbers(batch: pa.RecordBatch, name: str) -> npt.NDArray[Any]:
    """Return a numeric column without nulls as an array, without a copy unless it is boolean."""
    column = batch[name]
    values: npt.NDArray[Any] = column.to_numpy(zero_copy_only=not pa.types.is_boolean(column.type))
    return values


def words(batch: pa.RecordBatch, name: str, kind: Any = np.uint64) -> tuple[npt.NDArray[Any], I64, I64]:
    """Read a binary column whose values hold numbers of dtype `kind`: (all numbers, starts, counts per value).

    >>> two = pa.record_batch({"w": pa.array([b"\\x01\\0\\0\\0\\x02\\0\\0\\0", b""])})
    >>> [part.tolist() for part in words(two, "w", np.int32)]
    [[1, 2], [0, 2], [2, 0]]
    """
    column = batch[name]
    _, offsets, data = column.buffers()
    wide = np.int64 if pa.types.is_large_binary(column.type) else np.int32
    ends = np.frombuffer(offsets, wide)[column.offset : column.offset + len(column) + 1].astype(np.int64)
    ends //= np.dtype(kind).itemsize
    return np.frombuffer(data or b"", kind), ends[:-1], np.diff(ends)


def together(batch: pa.RecordBatch, name: str, kind: Any = np.uint64) -> npt.NDArray[Any]:
    """Return the numbers of all values of such a binary column as one array."""
    values, starts, counts = words(batch, name, kind)
    return values[starts[0] : starts[0] + counts.sum()] if len(starts) else values[:0]


def as_binary(values: npt.NDArray[Any], offsets: I64) -> pa.Array:
    """Return a binary column in which value i holds the bytes of values[offsets[i]:offsets[i+1]]."""
    whole = np.ascontiguousarray(values)
    ends = (offsets * whole.itemsize).astype(np.int32)
    return pa.Array.from_buffers(pa.binary(), len(offsets) - 1, [None, pa.py_buffer(ends), pa.py_buffer(whole)])


def signed(values: U64) -> pa.Array:
    """Return 64-bit words as signed integers, for Spark's long type."""
    return as_arrow(values.view(np.int64))


def nothing(count: int) -> pa.Array:
    """Return `count` empty binary values."""
    return as_binary(np.empty(0, np.int32), np.zeros(count + 1, np.int64))
