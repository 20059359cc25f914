"""Scores of records on Spark, with word counts that do not have to fit in the memory of one machine.

The weight of a word depends on the number of records that contain it. Words are counted over all records; the counts of
frequent words are sent to every task with the scoring function, those of the others with the records that contain them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import F32, F64, I64, U64
from lookalike.core.arrow import as_arrow
from lookalike.kernels import hashing
from lookalike.kinds.records.comparisons import WholeRecords, compare
from lookalike.kinds.records.em import parts
from lookalike.kinds.records.em_composite import levels, probability
from lookalike.kinds.records.fields import Field, number_hashes, rarity
from lookalike.kinds.records.pair_table import PairTable
from lookalike.kinds.records.random_pairs import FEWEST, value_rarity
from lookalike.kinds.records.rules import RecordRules
from lookalike.kinds.records.spark.features import each_once, fields_of, join_parts, of_records, text_columns
from lookalike.runtime.spark.arrow_batches import as_binary, mapped, mapped_runs, numbers, run_starts, signed, together
from lookalike.runtime.spark.key_join import Score

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

FREQUENT = 1 / 1000  # counts of words in more than this share of the records are sent to every task
WORD_SALT = np.uint64(19)
WHOLE_RECORD_FIELD, VALUES = (
    -1,
    1 << 20,
)  # further field numbers: for the words of whole records; offset of a field's number for its values


@dataclass(frozen=True)
class TermFrequencies:
    """Counts of frequent words and values.

    records: the number of classes of equal records; filled: for each field, the number of records that have a value;
    words u64 (sorted), holders i64: the frequent words and the number of records that contain each; usual: for each
    field, the share of the pairs with equal values and the number of classes that have a value, if the rules use
    term-frequency adjustments.
    """

    records: int
    filled: tuple[int, ...]
    words: U64
    holders: I64
    usual: tuple[tuple[float, int], ...] = ()


def _salted(hashes: U64, field: int) -> U64:
    """Mix the number of the field into the hashes; WHOLE_RECORD_FIELD for the whole record."""
    out = np.empty(len(hashes), np.uint64)
    hashing.mix_all(hashes + np.uint64(field + 1), WORD_SALT, out)
    return out


def count_words(reps: DataFrame, rules: RecordRules) -> tuple[TermFrequencies, DataFrame]:
    """Count words: return the frequent ones, and for each record its other words that occur in several records.

    The latter has the columns item and held (words and counts alternating). reps: one record of each class, with texts,
    side and `count`, the number of its members.
    """
    from pyspark.sql import functions as F  # noqa: N812

    names = text_columns(rules)
    by_value = rules.explained is not None

    def words(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        n, counts = batch.num_rows, numbers(batch, "count")
        fields = fields_of([batch[name] for name in names], rules)
        every = [of_records(field, field.words.offsets, field.word_hashes) for field in fields]
        hashed = [*enumerate(every), (WHOLE_RECORD_FIELD, join_parts(every))]
        if by_value:
            hashed += [(VALUES + number, _values(field)) for number, field in enumerate(fields)]
        for number, (records, hashes) in hashed:
            distinct, ends = each_once(records, hashes, n)
            row = np.repeat(np.arange(n), np.diff(ends))
            of_field = 0 <= number < VALUES
            yield pa.record_batch(
                {
                    "word": signed(_salted(distinct, number)),
                    "item": as_arrow(numbers(batch, "item")[row]),
                    "holders": as_arrow(counts[row] if of_field else np.ones(len(row), np.int64)),
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
    usual = _usual(reps, rules) if by_value else ()
    return TermFrequencies(totals.get(-1, 0), filled_in, known, holders, usual), held


def _values(field: Field) -> tuple[I64, U64]:
    """Return (record, hash of its value) for the records that have a value."""
    records = np.flatnonzero(field.values >= 0)
    return records, field.hashes[field.values[records]]


def _usual(reps: DataFrame, rules: RecordRules) -> tuple[tuple[float, int], ...]:
    """Return for each field the share of the pairs of records with equal values, and how many records have a value."""
    names = text_columns(rules)

    def values(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        for number, field in enumerate(fields_of([batch[name] for name in names], rules)):
            records, hashes = _values(field)
            at = as_arrow(np.full(len(records), number))
            columns = [at, signed(hashes), batch["side"].take(as_arrow(records))]
            yield pa.record_batch(columns, ["field", "value", "side"])

    each = mapped(reps, values, "field long, value long, side byte").groupBy("field", "value")
    counts = each.agg(*map(_sql, ("count(1) as n", "count_if(side = 1) as one", "count_if(side = 2) as two")))
    sums = "n", "one", "two", "n * (n - 1)", "one * two"
    totals = counts.groupBy("field").agg(
        *(
            _sql(f"sum({what}) as {name}")
            for what, name in zip(sums, ("n", "one", "two", "twice", "across"), strict=True)
        )
    )
    made = {row["field"]: row for row in totals.collect()}
    out = []
    for number in range(len(names)):
        row = made.get(number)
        if row is None:
            out.append((FEWEST, 0))
            continue
        several = row["one"] + row["two"] > 0
        known = float(row["one"]) * row["two"] if several else row["n"] * (row["n"] - 1.0) / 2
        equal = float(row["across"]) if several else row["twice"] / 2
        out.append((max(equal, FEWEST) / max(known, 1.0), int(row["n"])))
    return tuple(out)


def _table(words: U64, holders: I64) -> tuple[U64, I64]:
    known, first = np.unique(words, return_index=True)
    return known, holders[first]


@dataclass(frozen=True)
class ScoredComparisons:
    """Field similarities of pairs of records.

    seen: f32[p] for each field, NaN where a value is missing; whole f32[p]: the similarity of all their words; rare:
    the term-frequency adjustment, f32[p] for each field, if the rules use it.
    """

    seen: list[F32]
    whole: F32
    rare: list[F32]


def compared(
    left: pa.RecordBatch, right: pa.RecordBatch, rules: RecordRules, held: TermFrequencies
) -> ScoredComparisons:
    """Compare row i of `left` with row i of `right`: their texts, and `held`, the counts that give word weights."""
    n, names = left.num_rows, text_columns(rules)
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
    whole.weights = rarity(holding(whole.hashes, WHOLE_RECORD_FIELD), held.records)
    one, other = np.arange(n, dtype=np.uint32), np.arange(n, 2 * n, dtype=np.uint32)
    rare = []
    for number, ((usual, filled), field) in enumerate(zip(held.usual, fields, strict=False)):
        bits = value_rarity(holding(field.hashes, VALUES + number), usual, filled)
        mine = field.values[one]
        rare.append(np.where(mine == field.values[other], bits[mine], np.float32(0)))
    return ScoredComparisons([compare(field, one, other) for field in fields], whole.compare(one, other), rare)


def record_score(rules: RecordRules, held: TermFrequencies) -> Score:
    """Return the scoring function of pairs of records: no threshold, and no competitor adjustment.

    The rules must be complete.
    """

    def score(left: pa.RecordBatch, right: pa.RecordBatch) -> F64:
        made, n = compared(left, right, rules, held), left.num_rows
        if rules.prior is not None:
            bits = [rule.bits or () for rule in rules.fields]
            added = parts([levels(one) for one in made.seen], bits, rules.explained or [{} for _ in bits], made.rare)
            return probability(rules.prior + np.sum(added, axis=0)).astype(np.float32).astype(np.float64)
        nobody = np.empty(n, np.uint32)
        table = PairTable(nobody, nobody, made.seen, made.whole, 2 * n, -1)
        weights = [rule.weight or 0.0 for rule in rules.fields]
        return table.similarity(weights, rules.whole).astype(np.float64)

    return score


def _sql(words: str) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.expr(words)
