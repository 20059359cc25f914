"""Candidate selection on Spark: for each record those with the highest total weight of shared keys.

Every block is sent to each of its records, as one row with the list of its members. All keys of a record are then in
one task, in the order in which the local engine adds up their weights, so that sums, ties and the selected candidates
are identical.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.core.arrays import I64, U64
from lookalike.core.arrow import as_arrow
from lookalike.kinds.records.fields import rarity
from lookalike.kinds.records.kernels import blocking
from lookalike.runtime.spark.arrow_batches import (
    Batches,
    as_binary,
    mapped,
    mapped_runs,
    numbers,
    run_starts,
    signed,
    together,
    words,
)
from lookalike.runtime.spark.key_join import KEY_COLUMNS, holders
from lookalike.runtime.spark.shuffle import Columns, each_block

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LISTS = "item long, late byte, at long, weight float, others binary"
SIGN_BIT = np.uint64(1 << 63)  # XOR with it maps the order of unsigned numbers to that of signed ones


def key_lists(met: DataFrame, records: int, *, most: int, late: bool) -> DataFrame:
    """Return the blocks of at most `most` records (columns LISTS), with weights log2((records + 1) / size).

    met: the result of `bucket_items`; late: these keys come after the others.
    """

    def weigh(counts: I64) -> pa.Array:
        return as_arrow(np.log2((records + 1) / counts).astype(np.float32))

    def stage(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        for rows in each_block(batch, KEY_COLUMNS):
            held = holders(rows["key"])
            few = held <= most
            yield from _lists(_chosen(rows, few), weigh(held[few]), late=late)

    return mapped(met, stage, LISTS)


def word_lists(met: DataFrame, records: int, sampled: I64, *, most: int) -> DataFrame:
    """As `key_lists`, with words as keys (weighted by rarity), for the sampled items only."""

    def stage(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        for rows in each_block(batch, KEY_COLUMNS):
            held = holders(rows["key"])
            few = held <= most
            yield from _lists(_chosen(rows, few), as_arrow(rarity(held[few], records)), late=False, only=sampled)

    return mapped(met, stage, LISTS)


def _chosen(rows: Columns, keep: npt.NDArray[np.bool_]) -> Columns:
    return {name: values[keep] for name, values in rows.items()}


def _lists(rows: Columns, weights: pa.Array, *, late: bool, only: I64 | None = None) -> Batches:
    keys, items, sides = rows["key"].view(np.int64), rows["item"], rows["side"]
    order = np.lexsort((items, keys))
    same = np.array_equal(sides, np.full(len(sides), 3))
    new = np.ones(len(order), np.bool_)
    new[1:] = keys[order][1:] != keys[order][:-1]
    bucket = np.cumsum(new) - 1
    parts = [_members(items[order], bucket, None)] if same else [
        _members(items[order], bucket, sides[order] == side) for side in (2, 1)
    ]  # fmt: skip
    for number, lists in enumerate(parts):
        mine = np.ones(len(order), np.bool_) if same else sides[order] == number + 1
        if only is not None:
            mine &= np.isin(items[order], only)
        at = np.flatnonzero(mine)
        yield pa.record_batch(
            {
                "item": as_arrow(items[order][at]),
                "late": as_arrow(np.full(len(at), late, np.int8)),
                "at": signed(keys[order][at].view(np.uint64) ^ SIGN_BIT),
                "weight": weights.take(as_arrow(order[at])),
                "others": lists.take(as_arrow(bucket[at])),
            }
        )


def _members(items: I64, bucket: I64, wanted: np.ndarray[tuple[int], np.dtype[np.bool_]] | None) -> pa.Array:
    """Return the (wanted) items of every block as one binary value."""
    count = int(bucket[-1]) + 1 if len(bucket) else 0
    if wanted is not None:
        items, bucket = items[wanted], bucket[wanted]
    ends = np.concatenate([[0], np.cumsum(np.bincount(bucket, minlength=count))]).astype(np.int64)
    return as_binary(items, ends)


def nearest_few(lists: DataFrame, few: int, least: float) -> DataFrame:
    """Return for each item the pairs with the `few` others that have the highest total weight of shared keys.

    The weight is at least `least`. Columns left and right, the lower item first; a pair occurs twice if it is selected
    from both sides.
    """

    def stage(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        starts = run_starts(batch, ["item"])
        mine = numbers(batch, "item")[starts]
        others = together(batch, "others", np.int64)
        names, place = _numbered(mine, others)
        ends = np.cumsum(words(batch, "others", np.int64)[2])
        out: U64 = np.empty(len(mine) * few, np.uint64)
        count = blocking.nearest_by_keys(
            0, len(mine), np.arange(batch.num_rows, dtype=np.uint32), np.append(starts, batch.num_rows), place, ends,
            numbers(batch, "weight"), -1, np.zeros(len(names), np.float32), np.empty(len(names), np.uint32), few,
            least, out,
        )  # fmt: skip
        one = names[(out[:count] >> np.uint64(32)).astype(np.int64)]
        other = names[(out[:count] & np.uint64(0xFFFFFFFF)).astype(np.int64)]
        yield pa.record_batch({"left": as_arrow(np.minimum(one, other)), "right": as_arrow(np.maximum(one, other))})

    return mapped_runs(lists, "item", stage, "left long, right long", then=["late", "at"])


def _numbered(mine: I64, others: I64) -> tuple[I64, np.ndarray[tuple[int], np.dtype[np.uint32]]]:
    """Number the distinct items: return the items by number, and the number of each of `others`.

    Those of `mine`, which is sorted, come first.
    """
    at = np.searchsorted(mine, others)
    known = np.append(mine, -1)[at] == others
    rest, number = np.unique(others[~known], return_inverse=True)
    place = np.empty(len(others), np.uint32)
    place[known], place[~known] = at[known], len(mine) + number
    return np.concatenate([mine, rest]), place
