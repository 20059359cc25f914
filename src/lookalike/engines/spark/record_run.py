"""A run over records on Spark: rules from a bounded sample, then keys, crowds and scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lookalike.engines.choice import Choice
from lookalike.engines.found import Want
from lookalike.engines.pool import Pool, usable_cores
from lookalike.engines.record_job import RecordJob
from lookalike.engines.record_search import LARGE
from lookalike.engines.records import load, searched
from lookalike.engines.spark.answer import Matched
from lookalike.engines.spark.flow import Weight, candidates, meet, verify, weigh
from lookalike.engines.spark.reading import read_items
from lookalike.engines.spark.record_sources import Rows, check_fields, common_fields, open_rows
from lookalike.engines.spark.records import (
    FEATURES,
    Held,
    count_words,
    crossed,
    features,
    record_score,
    text_columns,
)
from lookalike.engines.spark.run import Run
from lookalike.engines.spark.session import open_session, tune
from lookalike.engines.trace import Trace
from lookalike.errors import UsageError
from lookalike.io.records import as_text, open_records
from lookalike.measures.fields import FieldRule, RecordRules
from lookalike.stages.audit import Audit
from lookalike.stages.preference import preferred_column
from lookalike.stages.record_keys import CROWD

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SAMPLE = 100_000  # records, of each table, from which rules are learned
NEIGHBOURS = RecordJob.neighbours


def run_records(
    sources: Sequence[Any], id: str | None, rules: RecordRules | None, fields: Sequence[str] | None,  # noqa: A002
    options: dict[str, Any], want: Want, keep: str, cluster: dict[str, Any], trace: Trace,
) -> RecordRun:  # fmt: skip
    """The run over one table of records, or over two where the second of the sources is not None."""
    _check(options, rules, several=sources[1] is not None)
    session = open_session(**cluster)
    opened = [open_rows(session, one, id, several=sources[1] is not None) for one in sources if one is not None]
    tune(session, [one.frame for one in opened])
    names = [rule.column for rule in rules.fields] if rules else list(fields or common_fields(opened))
    check_fields(opened, names)
    threshold = options.pop("threshold", None)
    if rules is None or not rules.learned or (threshold is None and rules.threshold is None):
        with trace.stage("learn"):
            rules = _learned(opened, names, rules, threshold, options, trace)
    cut = rules.threshold if threshold is None else threshold
    rules = replace(rules, threshold=cut)
    job = RecordJob(rules=rules, threshold=float(cut or 0.5), **options | {"audit": 0})
    return RecordRun(opened, job, want, keep, "error", trace)


def _check(options: dict[str, Any], rules: RecordRules | None, *, several: bool) -> None:
    """Refuse what only one machine can do, and what cannot work."""
    asked = {**options, "audit": 0, "threshold": 0.5 if options.get("threshold") is None else options["threshold"]}
    job = RecordJob(rules=rules or RecordRules(fields=(FieldRule(column="?"),)), **asked)
    if job.one_to_one:
        raise UsageError("one_to_one (--one-to-one) runs on one machine; leave it out, or the engine.")
    if job.neighbours != NEIGHBOURS:
        raise UsageError(
            "neighbours (--neighbours) is for one machine; on Spark all records that share a key are compared."
        )
    if rules is not None and several and rules.rivals and rules.prior is None:
        raise UsageError(
            "rivals between two tables are looked at on one machine; on Spark set rivals = false in the settings."
        )


def _learned(
    opened: Sequence[Rows], names: Sequence[str], rules: RecordRules | None, threshold: float | None,
    options: dict[str, Any], trace: Trace,
) -> RecordRules:  # fmt: skip
    """The rules that the local engine learns from a sample. Rivals never count."""
    samples = [rows.sample(names, SAMPLE) for rows in opened]
    tables = [open_records(sample) for sample in samples]
    if rules is None:
        with Pool(usable_cores()) as pool:
            rules = load(tables, None, names, pool, Trace())[1]
    rules = replace(rules, rivals=rules.rivals and len(opened) == 1)
    asked = options | {"audit": 0} | ({} if threshold is None else {"threshold": threshold})
    made = searched(tables, asked, Trace(), rules=rules).job
    trace.add(sampled=sum(sample.num_rows for sample in samples))
    return replace(made.rules, threshold=made.threshold)


@dataclass(frozen=True)
class RecordRun(Run):
    """As a run over documents, of another job: the same frames, by other means."""

    origins: Sequence[Rows]
    job: RecordJob  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if (column := preferred_column(self.keep)) is not None:
            self.origins[0].check(column)

    @property
    def least(self) -> int:
        return 1

    @property
    def choice(self) -> Choice:
        return Choice("keys", {}, "all records that share a key, or two crowded ones, are compared")

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
        rules, names = self.job.rules, [rule.column for rule in self.job.rules.fields]
        texts = ", ".join(f"{name} string" for name in text_columns(rules))
        several = len(self.origins) == 2
        origins = [one.with_struct(names) for one in self.origins]

        def make(batch: pa.RecordBatch) -> Iterator[tuple[pa.RecordBatch, dict[str, pa.Array]]]:
            yield batch, features([as_text(values) for values in batch["text"].flatten()], rules)

        read = read_items(origins, make, f"{FEATURES}, {texts}", preferred=preferred_column(self.keep))
        if several:  # records of two tables are never one class
            read = read.withColumn("other", read["other"].bitwiseXOR(read["side"].cast("long")))
        return read.persist()

    @cached_property
    def reps(self) -> DataFrame:
        """One record of each class: item, texts, and count, its members."""
        return self.firsts.select("item", "count", *text_columns(self.job.rules)).persist()

    @cached_property
    def _words(self) -> tuple[Held, DataFrame]:
        return count_words(self.reps, self.job.rules)

    @cached_property
    def crowd(self) -> int:
        """Records of a bucket above which it is crowded: as on one machine."""
        return CROWD if self._words[0].records < LARGE else CROWD // 2

    @cached_property
    def met(self) -> DataFrame:
        return meet(self.firsts, most=self.crowd).persist()

    @cached_property
    def met_again(self) -> DataFrame:
        """Of the buckets that are crowded, crossed with one another."""
        return meet(crossed(self.met, self.crowd), most=self.crowd).persist()

    @cached_property
    def weight(self) -> Weight:
        return weigh(self.met.union(self.met_again))

    @cached_property
    def paired(self) -> DataFrame:
        met = self.met.union(self.met_again)
        return candidates(met, None, self.weight, giant=self.crowd, crowded=False).persist()

    @cached_property
    def edges(self) -> DataFrame:
        held, beside = self._words
        rated = self.reps.drop("count").join(beside, "item", "left")
        score = record_score(self.job.rules, held, self.job.threshold)
        return verify(self.paired, rated, score, [*text_columns(self.job.rules), "held"]).persist()

    @cached_property
    def matched(self) -> Matched:
        return Matched(self.origins, self.things, self.copies, self.edges, self.order)

    def counted(self) -> dict[str, int]:
        row = self.things.selectExpr(
            "count(1) as records", "count_if(size = 0) as empty", "sum(length) as bytes"
        ).collect()[0]  # fmt: skip
        return {name: row[name] or 0 for name in ("records", "empty", "bytes")}

    def audited(self) -> Audit | None:
        """Never measured here."""
        return None
