"""Numbers travel in blocks: one row of Spark holds thousands of ours, column by column, so that Java only moves bytes.

A frame of blocks has binary columns; each value holds the numbers of one column of some rows, as they lie in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.data import I64, U64
from lookalike.engines.spark.batches import Batches, as_binary, mapped_whole, starts_of, together
from lookalike.engines.spark.session import MOST_PARTS, PART, TUNED, UNKNOWN, plan_bytes
from lookalike.kernels import hashing
from lookalike.stages.arrow import as_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Columns = dict[str, npt.NDArray[Any]]
Kinds = Mapping[str, Any]  # of each column, the type of its numbers
Spread = Callable[[pa.RecordBatch], Iterable[tuple[U64, Columns]]]
Gather = Callable[[Columns], Iterable[pa.RecordBatch]]
SALT = np.uint64(0xB10C)
BLOCK, LEAST, MOST = 1 << 18, 4 << 20, 64 << 20  # bytes: of a block; that a task gathers before it sends blocks


def parts_for(frame: DataFrame) -> int:
    """Into how many parts a shuffle of the frame is cut: by its size where Spark can tell, and two for each core; in a
    session of ours that was told a number, that number."""
    session = frame.sparkSession
    asked = int(str(session.conf.get("spark.sql.shuffle.partitions")))
    size = plan_bytes(frame)
    if size >= UNKNOWN or session.conf.get(TUNED, None) == "no":
        return asked
    return max(2 * session.sparkContext.defaultParallelism, min(size // PART, MOST_PARTS))


def exchanged(
    frame: DataFrame, spread: Spread, kinds: Kinds, gather: Gather, schema: str, *, parts: int | None = None
) -> DataFrame:
    """One shuffle. spread: of a batch, rows (columns of these kinds) with a word for each, well mixed: equal words come
    together. gather: of all rows of a part, in any order, what takes their place."""
    count = parts_for(frame) if parts is None else parts
    limit = min(max(count * BLOCK, LEAST), MOST)

    def sent(batches: Batches) -> Batches:
        held: list[tuple[U64, Columns]] = []
        size = 0
        for batch in batches:
            for words, columns in spread(batch):
                held.append((words, columns))
                size += sum(values.nbytes for values in columns.values())
                if size > limit:
                    yield _cut(held, kinds, count)
                    held, size = [], 0
        if held:
            yield _cut(held, kinds, count)

    def received(batches: Batches) -> Batches:
        blocks = [batch for batch in batches if batch.num_rows]
        if blocks:
            yield from gather(unpacked(blocks, kinds))

    listed = ", ".join(f"{name} binary" for name in kinds)
    cut = mapped_whole(frame, sent, f"part int, {listed}")
    return mapped_whole(cut.repartitionById(count, "part").select(*kinds), received, schema)


def _cut(held: list[tuple[U64, Columns]], kinds: Kinds, parts: int) -> pa.RecordBatch:
    """One block for each part that has rows."""
    words = np.concatenate([some for some, _ in held])
    part = (((words >> np.uint64(32)) * np.uint64(parts)) >> np.uint64(32)).astype(np.uint16)
    order = np.argsort(part, kind="stable")
    there, ends = _runs(np.bincount(part, minlength=parts))
    columns = [np.concatenate([some[name] for _, some in held])[order] for name in kinds]
    blocks = [
        as_binary(values.astype(kind, copy=False), ends) for values, kind in zip(columns, kinds.values(), strict=True)
    ]
    return pa.record_batch([as_arrow(there.astype(np.int32)), *blocks], ["part", *kinds])


def _runs(counts: I64) -> tuple[I64, I64]:
    """(which parts have rows, where the rows of each begin, and end)."""
    there = np.flatnonzero(counts)
    return there, np.concatenate([[0], np.cumsum(counts[there])])


def packed(columns: Columns, ends: I64) -> dict[str, pa.Array]:
    """The columns of blocks: block i holds the rows ends[i] to ends[i + 1]."""
    return {name: as_binary(values, ends) for name, values in columns.items()}


def unpacked(blocks: Iterable[pa.RecordBatch], kinds: Kinds) -> Columns:
    """The rows of all blocks.

    >>> two = pa.record_batch(packed({"n": np.array([4, 5, 6])}, np.array([0, 1, 3])))
    >>> unpacked([two, two], {"n": np.int64})["n"].tolist()
    [4, 5, 6, 4, 5, 6]
    """
    every = list(blocks)
    return {name: np.concatenate([together(block, name, kind) for block in every]) for name, kind in kinds.items()}


def each_block(batch: pa.RecordBatch, kinds: Kinds) -> Iterator[Columns]:
    """The rows of the blocks of a batch, one block after the other."""
    for at in range(batch.num_rows):
        yield unpacked([batch.slice(at, 1)], kinds)


def mixed(values: U64) -> U64:
    """Words that spread evenly, alike for equal ones."""
    out = np.empty(len(values), np.uint64)
    hashing.mix_all(values, SALT, out)
    return out


def run_lengths(*columns: npt.NDArray[Any]) -> I64:
    """How many rows follow one another with equal columns, run by run.

    >>> run_lengths(np.array([4, 4, 7, 4])).tolist()
    [2, 1, 1]
    """
    return np.diff(starts_of(*columns), append=len(columns[0]))
