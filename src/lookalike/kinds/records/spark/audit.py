"""Recall audit of record linkage on Spark, with the same sample and the same comparisons as in the local engine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import I64, Pairs
from lookalike.core.arrow import as_arrow
from lookalike.core.recall_audit import Audit, audit_of
from lookalike.kinds.records.audit import AMONG, AUDITED_NEIGHBOURS, WORD_FREQUENCY_LIMIT, sample_size
from lookalike.kinds.records.rules import RecordRules
from lookalike.kinds.records.spark.blocking import nearest_few, word_lists
from lookalike.kinds.records.spark.features import CROSSES, each_once, fields_of, join_parts, of_records, text_columns
from lookalike.runtime.spark.arrow_batches import as_binary, mapped, numbers
from lookalike.runtime.spark.audit_sample import counted, draw, ends_of, named
from lookalike.runtime.spark.key_join import bucket_items
from lookalike.runtime.spark.row_numbers import numbered

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from lookalike.kinds.records.spark.run import RecordRun

MAX_WORD_RECORDS = 100_000  # words in more records are ignored, since the list of records of a word is shuffled


def audit(run: RecordRun) -> Audit:
    """Measure the share of the sampled records' pairs at or above the threshold that are candidates."""
    n, job = run.records, run.job
    size, whole = sample_size(job.audit, n, run.scored.count())
    order = ["side", "item"] if len(run.origins) == 2 else ["item"]  # the numbering of the local engine
    listed = numbered(run.reps.select("item", "side"), order, "number").select("number", "item")
    found = run.scored.where(run.scored["similarity"] >= run.cut)
    sample, items = draw(listed, ends_of(found), size, job.seed)
    pairs = _with_all(run, items) if whole else _with_near(run, items)
    true = run.rate(pairs)
    true = true.where(true["similarity"] >= run.cut).select("left", "right")
    hits = true.join(found.selectExpr("left", "right", "1 as hit"), ["left", "right"], "left").toArrow()
    truth = Pairs(hits["left"].to_numpy(), hits["right"].to_numpy(), np.ones(len(hits)))
    hit = hits["hit"].is_valid().to_numpy(zero_copy_only=False)
    among = None if whole else AMONG
    return audit_of(truth, hit, named(sample, items), (), counted(found), among=among)


def _with_all(run: RecordRun, sample: I64) -> DataFrame:
    """Return the pairs of every sampled record with every other record that it may match."""
    several = len(run.origins) == 2

    def stage(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        items = numbers(batch, "item")
        one, other = np.repeat(items, len(sample)), np.tile(sample, len(items))
        good = (one ^ other) & 1 == 1 if several else one != other
        left, right = np.minimum(one, other)[good], np.maximum(one, other)[good]
        yield pa.record_batch({"left": as_arrow(left), "right": as_arrow(right)})

    return mapped(run.reps.select("item"), stage, "left long, right long")


def _with_near(run: RecordRun, sample: I64) -> DataFrame:
    """Return the pairs of every sampled record with the records that share its words of the highest weights."""
    rules, most = run.job.rules, min(max(1000, run.records // WORD_FREQUENCY_LIMIT), MAX_WORD_RECORDS)
    chosen = run.reps.where(run.reps["item"].isin(sample.tolist())).toArrow()
    known = np.unique(np.concatenate([np.empty(0, np.uint64), *(_words(b, rules)[0] for b in chosen.to_batches())]))

    def stage(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        n, (hashes, ends) = batch.num_rows, _words(batch, rules)
        wanted = np.isin(hashes, known)
        row = np.repeat(np.arange(n), np.diff(ends))[wanted]
        ends = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n))])
        yield pa.record_batch(
            {
                "item": batch["item"],
                "side": batch["side"],
                "size": as_arrow(np.ones(n, np.int32)),
                "keys": as_binary(hashes[wanted], ends),
                "places": as_binary(np.empty(0, np.int32), np.zeros(n + 1, np.int64)),
            }
        )

    met = bucket_items(mapped(run.reps, stage, CROSSES))
    return nearest_few(word_lists(met, run.records, sample, most=most), AUDITED_NEIGHBOURS, 0.0)


def _words(batch: pa.RecordBatch, rules: RecordRules) -> tuple[np.ndarray[tuple[int], np.dtype[np.uint64]], I64]:
    """Return the distinct words of each record, over all fields: their hashes, and the offsets of each record."""
    fields = fields_of([batch[name] for name in text_columns(rules)], rules)
    every = [of_records(field, field.words.offsets, field.word_hashes) for field in fields]
    return each_once(*join_parts(every), batch.num_rows)
