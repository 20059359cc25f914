"""Stages as functions over the Arrow batches of a partition: what Spark hands to Python, and how it comes back."""

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
LARGE_BATCH_BYTES = 1 << 30  # bytes of a batch from which its offsets may not fit 31 bits
Stage = Callable[[pa.RecordBatch], Iterable[pa.RecordBatch]]


def mapped(frame: DataFrame, stage: Stage, schema: str) -> DataFrame:
    """The frame with each Arrow batch replaced by what the stage makes of it. schema: of these, in Spark's words."""

    def work(batches: Batches) -> Batches:
        for batch in batches:
            yield from stage(batch)

    return mapped_whole(frame, work, schema)


def mapped_whole(frame: DataFrame, work: Callable[[Batches], Batches], schema: str | StructType) -> DataFrame:
    """As `mapped`, for a stage that must see all batches of a partition, one after the other."""
    with quiet():
        return frame.mapInArrow(work, schema)


def mapped_runs(
    frame: DataFrame, by: str | list[str], stage: Stage, schema: str, *, then: Iterable[Any] = ()
) -> DataFrame:
    """One shuffle: rows with equal `by` come together, sorted by it (and `then`), and no two batches share them."""
    columns = [by] if isinstance(by, str) else by

    def work(batches: Batches) -> Batches:
        for batch in whole_runs(batches, columns):
            yield from stage(batch)

    return mapped_whole(frame.repartition(*columns).sortWithinPartitions(*columns, *then), work, schema)


def whole_runs(batches: Batches, columns: list[str]) -> Batches:
    """The batches cut anew: rows that follow one another with equal columns stand in one of them.

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
        if waiting:  # its run ends in this batch
            first = int(starts[1])
            yield joined([*waiting, batch.slice(0, first)])
            batch, last = batch.slice(first), last - first
        if last:
            yield batch.slice(0, last)
        waiting = [batch.slice(last)]
    if waiting:
        yield joined(waiting)


def run_starts(batch: pa.RecordBatch, columns: list[str]) -> I64:
    """Where rows differ from the one before them; the first row starts a run."""
    return starts_of(*(numbers(batch, name) for name in columns))


def starts_of(*columns: npt.NDArray[Any]) -> I64:
    """As `run_starts`, of the columns themselves."""
    new = np.zeros(len(columns[0]), np.bool_)
    new[:1] = True
    for values in columns:
        new[1:] |= values[1:] != values[:-1]
    return np.flatnonzero(new)


def _equal(one: pa.RecordBatch, other: pa.RecordBatch, columns: list[str]) -> bool:
    return all(one[name][one.num_rows - 1] == other[name][0] for name in columns)


def joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """One batch of several; binary columns get room for more than 2 GB where they need it."""
    if len(batches) == 1:
        return batches[0]
    whole = pa.Table.from_batches(batches)
    if whole.nbytes > LARGE_BATCH_BYTES:
        wide = [pa.field(f.name, pa.large_binary() if pa.types.is_binary(f.type) else f.type) for f in whole.schema]
        whole = whole.cast(pa.schema(wide))
    return whole.combine_chunks().to_batches()[0]


def numbers(batch: pa.RecordBatch, name: str) -> npt.NDArray[Any]:
    """A column of numbers without nulls, not copied."""
    column = batch[name]
    values: npt.NDArray[Any] = column.to_numpy(zero_copy_only=not pa.types.is_boolean(column.type))
    return values


def words(batch: pa.RecordBatch, name: str, kind: Any = np.uint64) -> tuple[npt.NDArray[Any], I64, I64]:
    """A column of binary values that hold numbers of one kind: (all numbers, where each value starts, how many it has).

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
    """The numbers of all values of such a column, one after the other."""
    values, starts, counts = words(batch, name, kind)
    return values[starts[0] : starts[0] + counts.sum()] if len(starts) else values[:0]


def as_binary(values: npt.NDArray[Any], offsets: I64) -> pa.Array:
    """A column of binary values: item i is values[offsets[i]:offsets[i+1]], its bytes as they are."""
    whole = np.ascontiguousarray(values)
    ends = (offsets * whole.itemsize).astype(np.int32)
    return pa.Array.from_buffers(pa.binary(), len(offsets) - 1, [None, pa.py_buffer(ends), pa.py_buffer(whole)])


def signed(values: U64) -> pa.Array:
    """64-bit words as Spark's longs."""
    return as_arrow(values.view(np.int64))


def nothing(count: int) -> pa.Array:
    """So many binary values without bytes."""
    return as_binary(np.empty(0, np.int32), np.zeros(count + 1, np.int64))
