"""Find keys whose bucket one task should not hold, and divide their rows before the shuffle.

The rows of a heavy key are divided into parts by item, and sent once for each other part under a key of that pair of
parts. Every two rows of the bucket then still share a key, and no task receives more than two parts of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import I64, U64
from lookalike.core.arrow import as_arrow
from lookalike.kernels import hashing
from lookalike.runtime.spark.arrow_batches import mapped, numbers, signed, together, words
from lookalike.runtime.spark.shuffle import mixed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MAX_BUCKET_ROWS = 1 << 22  # larger buckets are divided before the shuffle; a task then gets about this many rows of one
SAMPLED_ITEMS = 1 << 16  # approximate number of items whose keys are counted to find the heavy ones
MIN_SAMPLED = 16  # a key in fewer sampled items is not heavy: its share would be a guess


@dataclass(frozen=True)
class HeavyKeys:
    """keys u64[h], sorted; parts i64[h]: into how many parts the rows of each key are divided, at least 3."""

    keys: U64
    parts: I64

    def divided(self, keys: U64, items: I64) -> tuple[I64, U64]:
        """Return (row i64[n], key u64[n]): which rows to send under which keys, in place of rows with these keys.

        >>> heavy = HeavyKeys(np.array([7], np.uint64), np.array([3]))
        >>> row, key = heavy.divided(np.array([5, 7, 7], np.uint64), np.array([1, 2, 3]))
        >>> row.tolist(), int(key[0]), 7 in key
        ([0, 1, 1, 2, 2], 5, False)
        """
        if not len(self.keys):
            return np.arange(len(keys)), keys
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        parts = np.where(self.keys[place] == keys, self.parts[place], 1)
        copies = np.maximum(parts - 1, 1)
        row = np.repeat(np.arange(len(keys)), copies)
        heavy, parts = parts[row] > 1, parts[row]
        own = (mixed(items.view(np.uint64))[row] >> np.uint64(32)).astype(np.int64) % parts
        other = np.arange(len(row)) - np.repeat(np.cumsum(copies) - copies, copies)
        other += other >= own
        pair = np.minimum(own, other) * parts + np.maximum(own, other)
        sent = keys[row]
        sent[heavy] = mixed(sent[heavy] ^ mixed(pair[heavy].astype(np.uint64)))
        return row, sent


NONE_HEAVY = HeavyKeys(np.empty(0, np.uint64), np.empty(0, np.int64))


def heavy_keys(frame: DataFrame, items: int, *, most: int | None = None) -> HeavyKeys:
    """Return the keys that more than `most` rows have, by a sample of the items; `items`: the number of rows of frame.

    most: MAX_BUCKET_ROWS by default. The keys of about SAMPLED_ITEMS items are counted. A key of `most` rows, or of
    items / 2,048 where that is more, is missed with a probability below 0.001; one of half as many may be divided, too.
    """
    from pyspark.sql import functions as F  # noqa: N812

    most = MAX_BUCKET_ROWS if most is None else most
    if items <= most:
        return NONE_HEAVY
    share = min(1.0, SAMPLED_ITEMS / items)
    bound = np.uint64(min(share * 2.0**64, 2.0**64 - 2048))

    def sampled(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        keys = together(batch, "keys")
        row = np.repeat(np.arange(batch.num_rows), words(batch, "keys")[2])
        item = numbers(batch, "item").view(np.uint64)[row]
        salted = np.empty(len(item), np.uint64)
        hashing.mix_all(item, np.uint64(0x5A17), salted)
        kept, count = np.unique(keys[salted <= bound], return_counts=True)
        yield pa.record_batch({"key": signed(kept), "count": as_arrow(count.astype(np.int64))})

    least = max(MIN_SAMPLED, share * most / 2)
    counted = mapped(frame.select("item", "keys"), sampled, "key long, count long")
    found = counted.groupBy("key").agg(F.sum("count").alias("count")).where(f"count >= {least}").toArrow()
    keys = found["key"].to_numpy().astype(np.int64).view(np.uint64)
    rows = found["count"].to_numpy() / share
    order = np.argsort(keys)
    return HeavyKeys(keys[order], np.maximum(3, np.ceil(2 * rows / most)).astype(np.int64)[order])
