"""Shuffle arrays in blocks: one Spark row holds thousands of rows, column by column, so that Java only moves bytes.

A frame of blocks has binary columns; each value holds the numbers of one column of several rows, in memory layout.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.core.arrays import I64, U64
from lookalike.core.arrow import as_arrow
from lookalike.kernels import hashing
from lookalike.runtime.spark.arrow_batches import Batches, as_binary, mapped_whole, starts_of, together
from lookalike.runtime.spark.limits import MAX_TASKS
from lookalike.runtime.spark.session import INPUT_BYTES_PER_PART, TUNED, UNKNOWN, plan_bytes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Columns = dict[str, npt.NDArray[Any]]
Kinds = Mapping[str, Any]  # dtype of each column
Spread = Callable[[pa.RecordBatch], Iterable[Columns]]
Word = Callable[[Columns], U64]
Gather = Callable[[Columns], Iterable[pa.RecordBatch]]
BLOCK_SALT = np.uint64(0xB10C)
SHUFFLE_BLOCK_BYTES, MIN_GATHERED_BYTES, MAX_GATHERED_BYTES = (
    1 << 18,
    4 << 20,
    64 << 20,
)  # bytes: of a block; minimum and maximum that a task collects before it sends blocks
HELD_BYTES = 256 << 20  # blocks that a receiving task holds in memory; beyond that it spills them to disk
SPILL_FILES = 64  # number of files of a spill, partitioned by word; each is read back whole
LOW = np.uint64(0xFFFFFFFF)


def parts_for(frame: DataFrame) -> int:
    """Return the number of partitions for a shuffle of the frame.

    It is derived from the size of the frame if Spark can tell it, and is at least two per core. In a session started by
    lookalike with a given number of partitions, it is that number.
    """
    session = frame.sparkSession
    asked = int(str(session.conf.get("spark.sql.shuffle.partitions")))
    size = plan_bytes(frame)
    if size >= UNKNOWN or session.conf.get(TUNED, None) == "no":
        return asked
    return max(2 * session.sparkContext.defaultParallelism, min(size // INPUT_BYTES_PER_PART, MAX_TASKS))


def shuffle_arrays(
    frame: DataFrame, spread: Spread, kinds: Kinds, gather: Gather, schema: str, *, word: Word, parts: int | None = None
) -> DataFrame:
    """Shuffle rows once, so that rows with equal words come together.

    spread: yields the rows of a batch to send (columns of these dtypes). word: returns a well-mixed word for each row.
    gather: turns rows into record batches of the schema. It gets all rows of a partition in any order, or a share of it
    with all rows of its words: a partition of more than HELD_BYTES is first split by word into files, so that a worker
    never holds all of it.
    """
    count = parts_for(frame) if parts is None else parts
    limit = min(max(count * SHUFFLE_BLOCK_BYTES, MIN_GATHERED_BYTES), MAX_GATHERED_BYTES)
    held_bytes = HELD_BYTES  # the value of this process, for all workers

    def sent(batches: Batches) -> Batches:
        held: list[Columns] = []
        size = 0
        for batch in batches:
            for columns in spread(batch):
                held.append(columns)
                size += sum(values.nbytes for values in columns.values())
                if size > limit:
                    yield _cut(held, kinds, word, count)
                    held, size = [], 0
        if held:
            yield _cut(held, kinds, word, count)

    def received(batches: Batches) -> Batches:
        with ShuffleSpill(kinds, word) as spill:
            held, size = [], 0
            for batch in batches:
                if batch.num_rows:
                    held.append(batch)
                    size += batch.nbytes
                if size > held_bytes:
                    spill.add(unpacked(held, kinds))
                    held, size = [], 0
            if held and spill.is_empty:
                yield from gather(unpacked(held, kinds))
                return
            if held:
                spill.add(unpacked(held, kinds))
            held = []
            for columns in spill.parts():
                yield from gather(columns)

    listed = ", ".join(f"{name} binary" for name in kinds)
    cut = mapped_whole(frame, sent, f"part int, {listed}")
    return mapped_whole(cut.repartitionById(count, "part").select(*kinds), received, schema)


class ShuffleSpill:
    """Rows of one shuffle partition on disk, split by word into files: all rows of a word are in the same file."""

    def __init__(self, kinds: Kinds, word: Word) -> None:
        self.kinds, self.word = kinds, word
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> ShuffleSpill:
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    @property
    def is_empty(self) -> bool:
        return self._folder is None

    def add(self, columns: Columns) -> None:
        """Append the rows to their files."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="lookalike-shuffle-")
        # The high bits of a word choose the partition; the low bits choose the file.
        file = (((self.word(columns) & LOW) * np.uint64(SPILL_FILES)) >> np.uint64(32)).astype(np.int64)
        order = np.argsort(file, kind="stable")
        numbers, ends = _runs(np.bincount(file, minlength=SPILL_FILES))
        for name, kind in self.kinds.items():
            values = columns[name].astype(kind, copy=False)[order]
            for number, low, high in zip(numbers.tolist(), ends[:-1], ends[1:], strict=True):
                with open(os.path.join(self._folder.name, f"{number}.{name}"), "ab") as out:
                    values[low:high].tofile(out)

    def parts(self) -> Iterator[Columns]:
        """Yield the rows, file by file."""
        for number in range(SPILL_FILES):
            if self._folder is not None:
                paths = {name: os.path.join(self._folder.name, f"{number}.{name}") for name in self.kinds}
                if all(map(os.path.exists, paths.values())):
                    yield {name: np.fromfile(path, self.kinds[name]) for name, path in paths.items()}


def _cut(held: list[Columns], kinds: Kinds, word: Word, parts: int) -> pa.RecordBatch:
    """Return one block for each partition that has rows."""
    whole = {name: np.concatenate([columns[name] for columns in held]) for name in kinds}
    small = np.uint16 if parts <= 1 << 16 else np.uint32
    part = (((word(whole) >> np.uint64(32)) * np.uint64(parts)) >> np.uint64(32)).astype(small)
    order = np.argsort(part, kind="stable")
    filled, ends = _runs(np.bincount(part, minlength=parts))
    columns = [values[order] for values in whole.values()]
    blocks = [
        as_binary(values.astype(kind, copy=False), ends) for values, kind in zip(columns, kinds.values(), strict=True)
    ]
    return pa.record_batch([as_arrow(filled.astype(np.int32)), *blocks], ["part", *kinds])


def _runs(counts: I64) -> tuple[I64, I64]:
    """Return (the parts that have rows, the row offsets of these parts)."""
    filled = np.flatnonzero(counts)
    return filled, np.concatenate([[0], np.cumsum(counts[filled])])


def packed(columns: Columns, ends: I64) -> dict[str, pa.Array]:
    """Return the columns of blocks: block i holds the rows ends[i] to ends[i + 1]."""
    return {name: as_binary(values, ends) for name, values in columns.items()}


def unpacked(blocks: Iterable[pa.RecordBatch], kinds: Kinds) -> Columns:
    """Concatenate the rows of all blocks.

    >>> two = pa.record_batch(packed({"n": np.array([4, 5, 6])}, np.array([0, 1, 3])))
    >>> unpacked([two, two], {"n": np.int64})["n"].tolist()
    [4, 5, 6, 4, 5, 6]
    """
    every = list(blocks)
    return {name: np.concatenate([together(block, name, kind) for block in every]) for name, kind in kinds.items()}


def each_block(batch: pa.RecordBatch, kinds: Kinds) -> Iterator[Columns]:
    """Yield the rows of each block of a batch."""
    for at in range(batch.num_rows):
        yield unpacked([batch.slice(at, 1)], kinds)


def mixed(values: U64) -> U64:
    """Return evenly distributed hashes of the values."""
    out = np.empty(len(values), np.uint64)
    hashing.mix_all(values, BLOCK_SALT, out)
    return out


def run_lengths(*columns: npt.NDArray[Any]) -> I64:
    """Return the lengths of runs of consecutive rows with equal columns.

    >>> run_lengths(np.array([4, 4, 7, 4])).tolist()
    [2, 1, 1]
    """
    return np.diff(starts_of(*columns), append=len(columns[0]))
