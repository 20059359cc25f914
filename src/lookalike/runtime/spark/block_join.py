"""Exact joins without keys: the items are divided into blocks, and the local engine joins every two blocks in a task.

A task holds two blocks, independent of the size of the data. An item is shuffled once for each block that may match
its own block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.core.arrays import Pairs
from lookalike.core.arrow import as_arrow
from lookalike.runtime.spark.arrow_batches import mapped, mapped_runs, numbers
from lookalike.runtime.spark.exact_duplicates import Copies, near
from lookalike.runtime.spark.key_join import EDGE_COLUMNS
from lookalike.runtime.spark.row_numbers import numbered

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SECOND = 1 << 62  # added to items of the second collection, to sort them after the first
Join = Callable[[pa.RecordBatch, int], Pairs]  # joins a cell, given the number of its rows in the first block


def number_classes(firsts: DataFrame, copies: Copies, payload: Sequence[str], *, several: bool) -> DataFrame:
    """Return one row per class of equal items: number, item, side and the payload columns.

    Classes are numbered by their first items, as in the local engine. firsts: as returned by `representatives`.
    """
    from pyspark.sql import functions as F  # noqa: N812

    place = f"if(item % 2 = 1, item + {SECOND}, item)" if several else "item"
    early = copies.frame.groupBy("rep").agg(F.expr(f"min({place}) as first"))
    rows = firsts.select("item", "side", *payload)
    rows = rows.join(near(early, copies.classes), rows["item"] == early["rep"], "left")
    rows = rows.withColumn("first", F.expr(f"coalesce(first, {place})"))
    return numbered(rows, ["first"], "number").select("number", "item", "side", *payload)


def cell_edges(
    rows: DataFrame, each: int, blocks: int, join: Join, payload: str, *, wanted: npt.NDArray[np.bool_] | None = None
) -> DataFrame:
    """Return every pair that the join finds (EDGE_COLUMNS).

    rows: number, item, side and the payload. each: number of items per block. wanted bool[blocks, blocks]: which two
    blocks can have a pair, symmetric.
    join: returns the pairs of rows of a cell, between the first block and the second; all pairs if there is no second.
    """

    def spread(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        mine = numbers(batch, "number") // each
        for other in range(blocks):
            part = batch if wanted is None else batch.filter(as_arrow(wanted[mine, other]))
            own = numbers(part, "number") // each
            high, low = np.maximum(own, other), np.minimum(own, other)
            cell, second = high * (high + 1) // 2 + low, (own == low) & (high != low)
            columns = [as_arrow(cell), as_arrow(second.astype(np.int8)), part["item"], part["side"], part[payload]]
            yield pa.record_batch(columns, ["cell", "part", "item", "side", payload])

    def compare(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        cells = numbers(batch, "cell")
        edges = np.concatenate([[0], np.flatnonzero(np.diff(cells)) + 1, [len(cells)]])
        for at, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            cell = batch.slice(at, stop - at)
            items, split = numbers(cell, "item"), int((numbers(cell, "part") == 0).sum())
            pairs = join(cell, split)
            one, other = items[pairs.left], items[pairs.right]
            columns = [as_arrow(np.minimum(one, other)), as_arrow(np.maximum(one, other)), as_arrow(pairs.similarity)]
            yield pa.record_batch(columns, ["left", "right", "similarity"])

    cells = mapped(rows, spread, f"cell long, part byte, item long, side byte, {payload} binary")
    return mapped_runs(cells, "cell", compare, EDGE_COLUMNS, then=["part"])


def cell_sides(cell: pa.RecordBatch, split: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Return (sides for a join of the two blocks, real sides of the items).

    If there is a second block, the sides for the join restrict it to pairs between the two blocks.
    """
    real = numbers(cell, "side").astype(np.uint8)
    if split == cell.num_rows:
        return real, real
    apart = np.full(cell.num_rows, 2, np.uint8)
    apart[:split] = 1
    return apart, real


def across(pairs: Pairs, sides: npt.NDArray[np.uint8]) -> Pairs:
    """Keep the pairs whose sides together are 3: between two collections, or within one."""
    keep = (sides[pairs.left] | sides[pairs.right]) == 3
    return Pairs(pairs.left[keep], pairs.right[keep], pairs.similarity[keep])
