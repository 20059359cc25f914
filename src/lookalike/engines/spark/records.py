"""Records on Spark: fields, keys, crowds and scores as on one machine, from counts that no machine holds all of.

A record's keys are those of its fields. A bucket that holds too many is crossed with the other full ones of its
records, as `stages.record_keys` does. What a word weighs depends on how many records hold it: words are counted
everywhere, the frequent ones travel with the score, the others with the records that hold them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.data import F64, I64, U64
from lookalike.engines.spark.batches import (
    as_binary,
    mapped,
    mapped_runs,
    numbers,
    run_starts,
    signed,
    together,
)
from lookalike.engines.spark.blocks import each_block
from lookalike.engines.spark.flow import ROWS, Score, holders
from lookalike.kernels import hashing
from lookalike.kernels import letters as letter_kernel
from lookalike.measures.fields import RecordRules
from lookalike.stages.arrow import as_arrow
from lookalike.stages.chances import weigh
from lookalike.stages.comparisons import WholeRecords, compare
from lookalike.stages.fields import Field, make_field, number_hashes, rarity
from lookalike.stages.pair_table import PairTable
from lookalike.stages.record_keys import CROSSED, ValueKeys

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FREQUENT = 1 / 1000  # of the records: words that more of them hold are sent to every task
ONE_MORE = np.uint16(0x5EED)
CROSS, PRINT, OTHER, WORD = (np.uint64(salt) for salt in (13, 3, 5, 19))
FEATURES = "size int, print long, other long, length long, keys binary, places binary"
FULL = "item long, side byte, key long, holders long"
CROSSES = "item long, rep long, side byte, size int, keys binary, places binary"


def text_columns(rules: RecordRules) -> list[str]:
    """The columns of things that hold the texts of the fields."""
    return [f"field{number}" for number in range(len(rules.fields))]


def fields_of(texts: Sequence[pa.Array], rules: RecordRules) -> list[Field]:
    """The columns as fields; what their words weigh is not to be relied on."""
    return [make_field(pa.chunked_array([text]), rule) for text, rule in zip(texts, rules.fields, strict=True)]


def features(texts: Sequence[pa.Array], rules: RecordRules) -> dict[str, pa.Array]:
    """The columns FEATURES of records, and their texts. A record without any value has the size 0."""
    n, fields = len(texts[0]), fields_of(texts, rules)
    one, other = np.zeros(n, np.uint64), np.zeros(n, np.uint64)
    full, length = np.zeros(n, np.int32), np.zeros(n, np.int64)
    for text, field in zip(texts, fields, strict=True):
        there = field.values >= 0
        again = np.empty(len(field.hashes), np.uint64)
        letter_kernel.hash_values(field.letters ^ ONE_MORE, field.offsets, again)
        for chain, hashes, salt in ((one, field.hashes, PRINT), (other, again ^ field.hashes << np.uint64(1), OTHER)):
            mine = np.zeros(n, np.uint64)
            mine[there] = hashes[field.values[there]]
            hashing.mix_all(chain + mine + there.astype(np.uint64), salt, chain)
        full |= there
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
    """The keys of each record, each once."""
    parts = []
    for number, field in enumerate(fields):
        made = ValueKeys.of(field, number, field.rule.keys)
        parts.append(_of_records(field, made.offsets, made.keys))
    return _each_once(*_joined(parts), n)


def _of_records(field: Field, offsets: I64, values: U64) -> tuple[I64, U64]:
    """(record, value) of what the distinct values of a field have."""
    records = np.flatnonzero(field.values >= 0)
    of = field.values[records]
    counts = np.diff(offsets)[of]
    at = np.repeat(offsets[of] - (np.cumsum(counts) - counts), counts) + np.arange(int(counts.sum()))
    return np.repeat(records, counts), values[at]


def _joined(parts: Sequence[tuple[I64, U64]]) -> tuple[I64, U64]:
    records, values = zip(*parts, strict=True)
    return np.concatenate(records), np.concatenate(values)


def _each_once(records: I64, values: U64, n: int) -> tuple[U64, I64]:
    """The different values of each record, and where those of each begin."""
    order = np.lexsort((values, records))
    records, values = records[order], values[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (records[1:] != records[:-1]) | (values[1:] != values[:-1])
    return values[new], np.concatenate([[0], np.cumsum(np.bincount(records[new], minlength=n))])


def crossed(met: DataFrame, crowd: int) -> DataFrame:
    """Keys of two full buckets together (CROSSES): of each record in several buckets of more than `crowd`, the smallest
    few, two by two. met: as of `flow.meet`."""

    def full(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        for rows in each_block(batch, ROWS):
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
            low, high = np.minimum(some[both, a], some[both, b]), np.maximum(some[both, a], some[both, b])
            made = np.empty(len(both), np.uint64)
            hashing.mix_all(low + (high << np.uint64(1)), CROSS, made)
            parts.append((both, made))
        keys, ends = _each_once(*_joined(parts), n)
        items = batch["item"].take(as_arrow(starts))
        yield pa.record_batch(
            {
                "item": items,
                "rep": items,
                "side": batch["side"].take(as_arrow(starts)),
                "size": as_arrow(np.ones(n, np.int32)),
                "keys": as_binary(keys, ends),
                "places": as_binary(np.empty(0, np.int32), np.zeros(n + 1, np.int64)),
            }
        )

    return mapped_runs(mapped(met.where(f"largest > {crowd}"), full, FULL), "item", cross, CROSSES)


@dataclass(frozen=True)
class Held:
    """How often things are held. records: classes of equal records; filled: for each field, records that have a value
    there; words u64 (sorted), holders i64: of the frequent words."""

    records: int
    filled: tuple[int, ...]
    words: U64
    holders: I64


def _salted(hashes: U64, field: int) -> U64:
    """Words told apart by the field that they stand in; -1 for the whole record."""
    out = np.empty(len(hashes), np.uint64)
    hashing.mix_all(hashes + np.uint64(field + 1), WORD, out)
    return out


def count_words(reps: DataFrame, rules: RecordRules) -> tuple[Held, DataFrame]:
    """What every word's weight comes from: the frequent words, and of each record the others that are held more than
    once (item, held: words and counts by turns). reps: one record of each class, with texts and `count`, its members.
    """
    from pyspark.sql import functions as F  # noqa: N812

    names = text_columns(rules)

    def words(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        n, counts = batch.num_rows, numbers(batch, "count")
        fields = fields_of([batch[name] for name in names], rules)
        every = [_of_records(field, field.words.offsets, field.word_hashes) for field in fields]
        for number, (records, hashes) in zip((*range(len(every)), -1), (*every, _joined(every)), strict=True):
            distinct, ends = _each_once(records, hashes, n)
            row = np.repeat(np.arange(n), np.diff(ends))
            adds = np.ones(len(row), np.int64) if number < 0 else counts[row]
            yield pa.record_batch(
                {
                    "word": signed(_salted(distinct, number)),
                    "item": as_arrow(numbers(batch, "item")[row]),
                    "holders": as_arrow(adds),
                }
            )

    def filled(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        counts = numbers(batch, "count")
        made = [int(counts[f.values >= 0].sum()) for f in fields_of([batch[name] for name in names], rules)]
        yield pa.record_batch({"field": [-1, *range(len(made))], "records": [batch.num_rows, *made]})

    sums = mapped(reps, filled, "field long, records long").groupBy("field").agg(F.sum("records").alias("records"))
    totals = {row["field"]: row["records"] for row in sums.collect()}
    listed = mapped(reps, words, "word long, item long, holders long")
    counts = listed.groupBy("word").agg(F.sum("holders").alias("holders")).where("holders > 1").persist()
    limit = int(FREQUENT * totals.get(-1, 0))
    often = counts.where(f"holders > {limit}").toArrow()
    rest = listed.select("word", "item").join(counts.where(f"holders <= {limit}"), "word")

    def gather(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        starts = run_starts(batch, ["item"])
        both = np.stack([numbers(batch, "word"), numbers(batch, "holders")], axis=1).reshape(-1)
        ends = np.concatenate([starts, [batch.num_rows]])
        yield pa.record_batch([batch["item"].take(as_arrow(starts)), as_binary(both, 2 * ends)], ["item", "held"])

    held = mapped_runs(rest.select("item", "word", "holders"), "item", gather, "item long, held binary")
    known, holders = _table(often["word"].to_numpy().view(np.uint64), often["holders"].to_numpy())
    filled_in = tuple(totals.get(number, 0) for number in range(len(names)))
    return Held(totals.get(-1, 0), filled_in, known, holders), held


def _table(words: U64, holders: I64) -> tuple[U64, I64]:
    known, first = np.unique(words, return_index=True)
    return known, holders[first]


def record_score(rules: RecordRules, held: Held, threshold: float) -> Score:
    """The similarity of pairs of records by rules that are complete, NaN below the threshold."""
    names = text_columns(rules)

    def score(left: pa.RecordBatch, right: pa.RecordBatch) -> F64:
        n = left.num_rows
        texts = [pa.concat_arrays([left[name], right[name]]) for name in names]
        beside = np.concatenate([together(side, "held", np.int64) for side in (left, right)]).reshape(-1, 2)
        known, holders = _table(
            np.concatenate([held.words, beside[:, 0].copy().view(np.uint64)]),
            np.concatenate([held.holders, beside[:, 1]]),
        )

        def holding(hashes: U64, number: int) -> I64:
            salted = _salted(hashes, number)
            at = np.searchsorted(known, salted)
            found = np.append(known, salted[:1])[at] == salted
            return np.where(found & (at < len(known)), np.append(holders, 1)[at], 1)

        fields = []
        for number, field in enumerate(fields_of(texts, rules)):
            hashes = field.word_hashes[number_hashes(field.word_hashes)[0]]
            weights = rarity(holding(hashes, number), held.filled[number])
            fields.append(replace(field, words=field.words._replace(weights=weights)))
        whole = WholeRecords(fields)
        whole.weights = rarity(holding(whole.hashes, -1), held.records)
        one, other = np.arange(n, dtype=np.uint32), np.arange(n, 2 * n, dtype=np.uint32)
        seen = [compare(field, one, other) for field in fields]
        table = PairTable(one, other, seen, whole.compare(one, other), 2 * n, -1)
        if rules.prior is not None:
            made = weigh(table, rules.prior, [rule.bits or () for rule in rules.fields], rules.explained)
        else:
            made = table.similarity([rule.weight or 0.0 for rule in rules.fields], rules.whole)
        return np.where(made >= np.float32(threshold), made.astype(np.float64), np.nan)

    return score
