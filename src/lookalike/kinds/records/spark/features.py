"""Features of records on Spark: fields, blocking keys and intersections of oversized blocks, as in the local engine.

The keys of a record are those of its fields. An oversized block is intersected with the other oversized blocks of its
records, as in `kinds.records.blocking`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.arrays import I64, U64
from lookalike.core.arrow import as_arrow
from lookalike.core.candidates import item_bits
from lookalike.kernels import hashing
from lookalike.kinds.records.blocking import CROSSED, ValueKeys, high_bits
from lookalike.kinds.records.fields import Field, make_field
from lookalike.kinds.records.kernels import blocking
from lookalike.kinds.records.kernels import text as letter_kernel
from lookalike.kinds.records.rules import RecordRules
from lookalike.runtime.spark.arrow_batches import as_binary, mapped, mapped_runs, numbers, run_starts, signed
from lookalike.runtime.spark.key_join import KEY_COLUMNS, holders
from lookalike.runtime.spark.shuffle import each_block

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ONE_MORE = np.uint16(0x5EED)
PRINT, SECOND_PRINT = np.uint64(3), np.uint64(5)
RECORD_FEATURES = "size int, print long, other long, length long, keys binary, places binary"
FULL_COLUMNS = "item long, side byte, key long, holders long"
CROSSES = "item long, side byte, size int, keys binary, places binary"


def text_columns(rules: RecordRules) -> list[str]:
    """Return the names of the columns that contain the texts of the fields."""
    return [f"field{number}" for number in range(len(rules.fields))]


def fields_of(texts: Sequence[pa.Array], rules: RecordRules) -> list[Field]:
    """Make fields of the columns; their word weights are those of this batch only, and must be replaced."""
    return [make_field(pa.chunked_array([text]), rule) for text, rule in zip(texts, rules.fields, strict=True)]


def features(texts: Sequence[pa.Array], rules: RecordRules) -> dict[str, pa.Array]:
    """Return the columns RECORD_FEATURES of records, and their texts. A record without any value has the size 0."""
    n, fields = len(texts[0]), fields_of(texts, rules)
    one, other = np.zeros(n, np.uint64), np.zeros(n, np.uint64)
    full, length = np.zeros(n, np.int32), np.zeros(n, np.int64)
    for text, field in zip(texts, fields, strict=True):
        there = field.values >= 0
        again = np.empty(len(field.hashes), np.uint64)
        letter_kernel.hash_values(field.letters ^ ONE_MORE, field.offsets, again)
        for chain, hashes, salt in (
            (one, field.hashes, PRINT),
            (other, again ^ field.hashes << np.uint64(1), SECOND_PRINT),
        ):
            mine = np.zeros(n, np.uint64)
            mine[there] = hashes[field.values[there]]
            hashing.mix_all(chain + mine + there.astype(np.uint64), salt, chain)
        full |= there
        if not field.rule.sources:  # derived values are not counted twice
            length += pc.fill_null(pc.binary_length(text), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    keys, ends = _keys(fields, n)
    return {
        "size": as_arrow(full),
        "print": signed(one),
        "other": signed(other),
        "length": as_arrow(length),
        "keys": as_binary(keys, ends),
        "places": as_binary(np.empty(0, np.int32), np.zeros(n + 1, np.int64)),
        **dict(zip(text_columns(rules), (text.cast(pa.string()) for text in texts), strict=True)),
    }


def _keys(fields: Sequence[Field], n: int) -> tuple[U64, I64]:
    """Return the distinct keys of each record."""
    parts = []
    for number, field in enumerate(fields):
        made = ValueKeys.of(field, number, field.rule.keys)
        parts.append(of_records(field, made.offsets, made.keys))
    return each_once(*join_parts(parts), n)


def of_records(field: Field, offsets: I64, values: U64) -> tuple[I64, U64]:
    """Return (record, value) for the elements that belong to the distinct value of each record."""
    records = np.flatnonzero(field.values >= 0)
    of = field.values[records]
    counts = np.diff(offsets)[of]
    at = np.repeat(offsets[of] - (np.cumsum(counts) - counts), counts) + np.arange(int(counts.sum()))
    return np.repeat(records, counts), values[at]


def join_parts(parts: Sequence[tuple[I64, U64]]) -> tuple[I64, U64]:
    records, values = zip(*parts, strict=True)
    return np.concatenate(records), np.concatenate(values)


def each_once(records: I64, values: U64, n: int) -> tuple[U64, I64]:
    """Return the distinct values of each record, and their offsets (i64[n + 1])."""
    order = np.lexsort((values, records))
    records, values = records[order], values[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (records[1:] != records[:-1]) | (values[1:] != values[:-1])
    return values[new], np.concatenate([[0], np.cumsum(np.bincount(records[new], minlength=n))])


def crossed(met: DataFrame, crowd: int, records: int) -> DataFrame:
    """Return the keys of intersections of two oversized blocks (columns CROSSES).

    For each record in several blocks of more than `crowd` records, the CROSSED smallest ones are intersected. met: the
    result of `bucket_items`; records: the number of records, which determines how many bits of a key are used.
    """
    high = high_bits(item_bits(max(records, 2)))

    def full(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        for rows in each_block(batch, KEY_COLUMNS):
            held = holders(rows["key"])
            columns = [as_arrow(rows["item"]), as_arrow(rows["side"]), signed(rows["key"]), as_arrow(held)]
            yield pa.record_batch(columns, ["item", "side", "key", "holders"]).filter(as_arrow(held > crowd))

    def cross(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        starts = run_starts(batch, ["item"])
        n, keys = len(starts), numbers(batch, "key").view(np.uint64)
        row = np.repeat(np.arange(n), np.diff(starts, append=batch.num_rows))
        order = np.lexsort((keys, numbers(batch, "holders"), row))
        rank = np.arange(len(row)) - starts[row]
        few = rank < CROSSED
        some, there = np.zeros((n, CROSSED), np.uint64), np.zeros((n, CROSSED), np.bool_)
        some[row[few], rank[few]], there[row[few], rank[few]] = keys[order][few], True
        parts: list[tuple[I64, U64]] = []
        for a, b in combinations(range(CROSSED), 2):
            both = np.flatnonzero(there[:, b])
            one, other = some[both, a] & high, some[both, b] & high
            made = np.empty(len(both), np.uint64)
            blocking.cross_all(np.minimum(one, other), np.maximum(one, other), made)
            parts.append((both, made))
        keys, ends = each_once(*join_parts(parts), n)
        items = batch["item"].take(as_arrow(starts))
        yield pa.record_batch(
            {
                "item": items,
                "side": batch["side"].take(as_arrow(starts)),
                "size": as_arrow(np.ones(n, np.int32)),
                "keys": as_binary(keys, ends),
                "places": as_binary(np.empty(0, np.int32), np.zeros(n + 1, np.int64)),
            }
        )

    return mapped_runs(mapped(met.where(f"largest > {crowd}"), full, FULL_COLUMNS), "item", cross, CROSSES)
