"""A run over records on Spark: rules from a bounded sample, then blocking, scores and competitor adjustment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import I64
from lookalike.core.keep_policy import preferred_column
from lookalike.core.method_choice import Choice
from lookalike.core.recall_audit import Audit
from lookalike.core.trace import Trace
from lookalike.errors import UsageError
from lookalike.io.texts import OnBadText, as_values, is_text
from lookalike.kinds.records.blocking import MAX_BLOCK_SIZE
from lookalike.kinds.records.codes import columns_of, field_values
from lookalike.kinds.records.local import KEYS_COMPARED, ONE_TABLE, load, searched
from lookalike.kinds.records.pair_table import Sides
from lookalike.kinds.records.rules import EACH, FieldRule, RecordRules
from lookalike.kinds.records.search import ENOUGH_BITS, FEWER, LARGE_TABLE
from lookalike.kinds.records.source import as_text, open_records
from lookalike.kinds.records.spark.audit import audit
from lookalike.kinds.records.spark.blocking import key_lists, nearest_few
from lookalike.kinds.records.spark.competitors import as_edges, assigned, lifted, oriented, settled
from lookalike.kinds.records.spark.expansion import widened
from lookalike.kinds.records.spark.features import RECORD_FEATURES, crossed, features, text_columns
from lookalike.kinds.records.spark.output import RecordMatched
from lookalike.kinds.records.spark.scoring import TermFrequencies, count_words, record_score
from lookalike.kinds.records.spark.sources import RecordRows, check_fields, common_fields, open_rows
from lookalike.kinds.records.spec import RecordJob
from lookalike.runtime.local.pool import Pool, usable_cores
from lookalike.runtime.run_output import OutputKind
from lookalike.runtime.spark.arrow_batches import numbers
from lookalike.runtime.spark.exact_duplicates import Copies, collapse, count_copies, representatives
from lookalike.runtime.spark.key_join import BucketStatistics, Order, bucket_items, bucket_statistics, lots, verify
from lookalike.runtime.spark.read_items import read_items
from lookalike.runtime.spark.run import SparkRun
from lookalike.runtime.spark.session import open_session, tune

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SAMPLED_RECORDS = 100_000  # maximum number of records of each table from which rules are learned


@dataclass(frozen=True)
class RecordReading:
    """How tables are read: the column of ids, the compared columns, and what to do with text that is not UTF-8."""

    id: str | None
    fields: Sequence[str] | None
    on_bad_text: OnBadText = "error"


def run_records(
    sources: Sequence[Any], reading: RecordReading, rules: RecordRules | None, options: dict[str, Any],
    want: OutputKind, keep: str, cluster: dict[str, Any], trace: Trace,
) -> RecordRun:  # fmt: skip
    """Prepare the run over one table of records, or over two if the second of the sources is not None."""
    _check(options, rules, several=sources[1] is not None)
    if sources[1] is None and rules is not None and rules.rivals == EACH:
        raise UsageError(f'rivals = "{EACH}" within one table is not available on Spark; take the local engine.')
    session = open_session(**cluster)
    opened = [open_rows(session, one, reading.id, several=sources[1] is not None) for one in sources if one is not None]
    tune(session, [one.frame for one in opened])
    names = columns_of(rules.fields) if rules else list(reading.fields or common_fields(opened))
    check_fields(opened, names)
    threshold = options.pop("threshold", None)
    if rules is None or _undecided(rules, threshold, several=len(opened) == 2, single=options["one_to_one"]):
        with trace.stage("learn"):
            rules = _learned(opened, reading.fields, rules, threshold, options, trace, reading.on_bad_text)
    cut = rules.threshold if threshold is None else threshold
    rules = replace(rules, threshold=cut, rivals=rules.rivals if rules.prior is None else False)
    job = RecordJob(rules=rules, threshold=float(cut or 0.5), **options)
    return RecordRun(opened, job, want, keep, reading.on_bad_text, trace)


def _check(options: dict[str, Any], rules: RecordRules | None, *, several: bool) -> None:
    """Raise an error for invalid options, before anything is read."""
    asked = {**options, "threshold": 0.5 if options.get("threshold") is None else options["threshold"]}
    job = RecordJob(rules=rules or RecordRules(fields=(FieldRule(column="?"),)), **asked)
    if job.one_to_one and not several:
        raise UsageError(ONE_TABLE)


def _undecided(rules: RecordRules, threshold: float | None, *, several: bool, single: bool) -> bool:
    """Return whether weights, the threshold, or the cardinality between two tables must be inferred from the data."""
    doubtful = several and not single and rules.rivals is True and rules.prior is None
    return not rules.learned or (threshold is None and rules.threshold is None) or doubtful


def _learned(
    opened: Sequence[RecordRows], chosen: Sequence[str] | None, rules: RecordRules | None, threshold: float | None,
    options: dict[str, Any], trace: Trace, on_bad_text: OnBadText,
) -> RecordRules:  # fmt: skip
    """Learn the rules from a sample, with the local engine. chosen: the columns to compare; None to select them."""
    names = columns_of(rules.fields) if rules else list(chosen or common_fields(opened))
    samples = [rows.sample(names, SAMPLED_RECORDS) for rows in opened]
    tables = [open_records(sample, on_bad_text=on_bad_text) for sample in samples]
    if rules is None:
        with Pool(usable_cores()) as pool:
            rules = load(tables, None, chosen, pool, Trace())[1]
    asked = options | {"audit": 0} | ({} if threshold is None else {"threshold": threshold})
    # On Spark, pairs compete between two tables only.
    alone = replace(rules, rivals=False) if len(tables) == 1 else rules
    made = searched(tables, asked, Trace(), rules=alone).job
    trace.add(sampled=sum(sample.num_rows for sample in samples))
    return replace(made.rules, threshold=made.threshold, rivals=rules.rivals if len(tables) == 1 else made.rules.rivals)


def _where(items: I64, column: str, row: int) -> str:
    return f"row {items[row]}: column {column!r}"


@dataclass(frozen=True)
class RecordRun(SparkRun):
    """Record linkage on Spark: blocking by keys, scores by fields, and adjustment for competing pairs."""

    origins: Sequence[RecordRows]
    job: RecordJob

    @property
    def choice(self) -> Choice:
        return Choice("keys", {}, KEYS_COMPARED)

    @property
    def banded(self) -> None:
        return None

    @property
    def promised(self) -> float | None:
        return None

    @property
    def pairs_complete(self) -> bool:
        return True

    @cached_property
    def things(self) -> DataFrame:
        rules, names = self.job.rules, columns_of(self.job.rules.fields)
        texts = ", ".join(f"{name} string" for name in text_columns(rules))
        several = len(self.origins) == 2
        origins = [one.with_struct(names) for one in self.origins]

        on_bad = self.on_bad_text

        def make(batch: pa.RecordBatch) -> Iterator[tuple[pa.RecordBatch, dict[str, pa.Array]]]:
            items = numbers(batch, "item")
            columns: dict[str, pa.ChunkedArray] = {}
            for name, values in zip(names, batch["text"].flatten(), strict=True):
                if is_text(values.type):
                    where = partial(_where, items, name)
                    columns[name] = pa.chunked_array([as_values(values, on_bad_text=on_bad, where=where)])
                else:
                    columns[name] = pa.chunked_array([as_text(values)])
            texts = [field_values(columns, rule).combine_chunks() for rule in rules.fields]
            yield batch, features(texts, rules)

        read = read_items(origins, make, f"{RECORD_FEATURES}, {texts}", preferred=preferred_column(self.keep))
        if self.job.one_to_one:  # every record is a class of one
            read = read.withColumn("print", read["item"])
        elif several:  # records of two tables are never in one class
            read = read.withColumn("other", read["other"].bitwiseXOR(read["side"].cast("long")))
        return self.roots.keep(read)

    @cached_property
    def known(self) -> Copies:
        """Return the classes of equal records, identified by their first record as in the local engine.

        The record that is kept in the end may be another one.
        """
        if self.keep == "first":
            return self.copies
        return count_copies(self.roots.keep(collapse(self.things, Order())))

    @cached_property
    def firsts(self) -> DataFrame:
        return representatives(self.things, self.known)

    @cached_property
    def reps(self) -> DataFrame:
        """Return the first record of each class: item, side, texts, and count, the number of its members."""
        return self.roots.keep(self.firsts.select("item", "side", "count", *text_columns(self.job.rules)))

    @cached_property
    def _words(self) -> tuple[TermFrequencies, DataFrame]:
        return count_words(self.reps, self.job.rules)

    @property
    def records(self) -> int:
        """Return the number of distinct records."""
        return self._words[0].records

    @property
    def crowd(self) -> int:
        """Return the maximum number of records of a block that is not oversized, as in the local engine."""
        return MAX_BLOCK_SIZE if self.records < LARGE_TABLE else MAX_BLOCK_SIZE // 2

    @cached_property
    def met(self) -> DataFrame:
        return self.roots.keep(bucket_items(self.firsts, most=self.crowd))

    @cached_property
    def met_again(self) -> DataFrame:
        """Return the intersections of oversized blocks."""
        return self.roots.keep(bucket_items(crossed(self.met, self.crowd, self.records), most=self.crowd))

    @cached_property
    def weight(self) -> BucketStatistics:
        one, other = bucket_statistics(self.met), bucket_statistics(self.met_again)
        return BucketStatistics(one.rows + other.rows, one.pairs + other.pairs, max(one.largest, other.largest))

    @cached_property
    def rated(self) -> DataFrame:
        """Return the columns from which scores are computed: item, texts, held (word counts)."""
        texts = self.reps.select("item", *text_columns(self.job.rules))
        return self.roots.keep(texts.join(self._words[1], "item", "left"))

    @property
    def payload(self) -> list[str]:
        return [*text_columns(self.job.rules), "held"]

    @cached_property
    def scored(self) -> DataFrame:
        """Return all compared pairs: left, right, similarity, without competitor adjustment."""
        n, k = self.records, self.job.neighbours
        few, least = (k, 0.0) if n < LARGE_TABLE else (min(k, FEWER), ENOUGH_BITS * float(np.log2(n)))
        lists = key_lists(self.met, n, most=self.crowd, late=False)
        if self.weight.largest > self.crowd:
            lists = lists.union(key_lists(self.met_again, n, most=self.crowd, late=True))
        made = self.roots.keep(self.rate(nearest_few(lists, few, least)))
        return made if len(self.origins) == 2 else widened(made, n, self.cut, self.rate, self.roots)

    def rate(self, pairs: DataFrame) -> DataFrame:
        """Return the distinct pairs (left, right) with their scores."""
        score = record_score(self.job.rules, self._words[0])
        return verify(self.roots.keep(lots(pairs)), self.rated, score, self.payload)

    @property
    def cut(self) -> float:
        """Return the threshold rounded to float32, the type of the scores."""
        return float(np.float32(self.job.threshold))

    @property
    def rivals(self) -> bool:
        """Return whether better competing pairs lower the score of a pair."""
        return any(self.sides)

    @property
    def sides(self) -> Sides:
        """Return whether the pairs of a record of the first table compete, and those of the second."""
        return self.job.rules.sides(across=len(self.origins) == 2)

    @cached_property
    def edges(self) -> DataFrame:
        made = self.scored
        if len(self.origins) == 2:
            pairs = oriented(made)
            if self.job.one_to_one:
                kept = assigned(pairs, self.cut, self.roots)
                pairs = settled(pairs, kept) if self.rivals else kept
            elif self.rivals:
                pairs = lifted(pairs, self.sides)
            made = as_edges(pairs)
        made = made.where(made["similarity"] >= self.cut)
        if self.keep != "first":  # identify each class by the record that is kept
            names = self.copies.frame.select("item", "rep")
            for side, other in (("left", "right"), ("right", "left")):
                made = made.join(names.toDF(side, "rep"), side, "left")
                made = made.selectExpr(f"coalesce(rep, {side}) as {side}", other, "similarity")
            made = made.selectExpr("least(left, right) as left", "greatest(left, right) as right", "similarity")
        return self.roots.keep(made)

    @cached_property
    def matched(self) -> RecordMatched:
        return RecordMatched(
            self.origins, self.things, self.copies, self.edges, self.order, roots=self.roots, known=self.known,
            rated=self.rated, rules=self.job.rules, held=self._words[0], rivals=self.rivals,
        )  # fmt: skip

    def counted(self) -> dict[str, int]:
        row = self.things.selectExpr(
            "count(1) as records", "count_if(size = 0) as empty", "sum(length) as bytes"
        ).collect()[0]  # fmt: skip
        counts = {name: row[name] or 0 for name in ("records", "empty", "bytes")}
        return counts | {"candidates": self.scored.count()}

    def audited(self) -> Audit | None:
        """Measure on a sample of the records the share of the pairs at or above the threshold that were compared."""
        if not self.job.audit:
            return None
        with self.trace.stage("audit"):
            return audit(self)
