"""A run over vectors on Spark: its DataFrames, and what the driver decides from a bounded sample."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import F32
from lookalike.core.keep_policy import preferred_column
from lookalike.core.method_choice import Choice
from lookalike.core.recall_audit import Audit, audit_of
from lookalike.core.size_limit import check_size
from lookalike.errors import InputError, UsageError
from lookalike.io.list_columns import numbers_of
from lookalike.kinds.vectors.geometry import centred
from lookalike.kinds.vectors.local import (
    MAX_ALL_PAIRS_VECTORS,
    VECTORS_ADVICE,
    VectorSample,
    chances,
    choose,
    look_at,
    looked_at,
    too_few_tables,
)
from lookalike.kinds.vectors.lsh_plan import SignPlan
from lookalike.kinds.vectors.spark.joins import (
    VECTOR_FEATURES,
    exact_edges,
    exact_partners,
    features,
    listed_rows,
    nearest_to_centre,
    rows_of,
    sample_matches,
    space_of,
    table_keys,
    vector_score,
)
from lookalike.kinds.vectors.spec import VectorJob
from lookalike.runtime.spark.arrow_batches import numbers
from lookalike.runtime.spark.audit_sample import counted, draw, ends_of
from lookalike.runtime.spark.block_join import number_classes
from lookalike.runtime.spark.heavy_keys import heavy_keys
from lookalike.runtime.spark.key_join import BucketStatistics, bucket_items, bucket_statistics, candidates, verify
from lookalike.runtime.spark.output import Matched
from lookalike.runtime.spark.read_items import read_items
from lookalike.runtime.spark.run import SparkRun
from lookalike.runtime.spark.session import quiet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class VectorRun(SparkRun):
    """The run over vectors: the same DataFrames as a run over documents, computed for a VectorJob."""

    job: VectorJob

    def __post_init__(self) -> None:
        if self.keep in ("longest", "shortest"):
            raise UsageError(
                f"keep {self.keep!r} means nothing for vectors; choices: first, last, max:COLUMN, min:COLUMN, ..."
            )
        super().__post_init__()

    @cached_property
    def things(self) -> DataFrame:
        """Return all rows, without keys."""
        job = self.job

        def make(batch: pa.RecordBatch) -> Iterator[tuple[pa.RecordBatch, dict[str, pa.Array]]]:
            items = numbers(batch, "item")
            made = features(numbers_of([batch["text"]], where=lambda row: f"row {items[row]}"), job)
            bad = np.flatnonzero(numbers(pa.record_batch({"size": made["size"]}), "size") == 0)
            if len(bad) and job.on_bad == "error":
                raise InputError(
                    f"row {items[bad[0]]}: a number is missing or not finite, or all are zeros; expected vectors that "
                    "can be compared. Drop the row, or give `on_bad='skip'`."
                )
            yield batch, made

        return read_items(self.origins, make, VECTOR_FEATURES, preferred=preferred_column(self.keep)).persist()

    @cached_property
    def listed(self) -> DataFrame:
        """Return one row for each class of equal vectors, numbered as in the local engine."""
        return number_classes(self.firsts, self.copies, ["values"], several=len(self.origins) == 2).persist()

    @cached_property
    def _size(self) -> tuple[int, int, float]:
        """Return (number of distinct rows, numbers in each row, number of pairs in question)."""
        row = self.listed.selectExpr(
            "count(1) n", "min(length(values)) low", "max(length(values)) high", "count_if(side & 1 > 0) one",
            "count_if(side & 2 > 0) two",
        ).collect()[0]  # fmt: skip
        if row["low"] != row["high"]:
            raise InputError(
                f"vectors of {row['low'] // 4} and of {row['high'] // 4} numbers in {self.origins[0].name}; expected "
                "one length."
            )
        n = row["n"]
        pairs = float(row["one"]) * row["two"] if len(self.origins) == 2 else n * (n - 1) / 2
        return n, (row["high"] or 4) // 4, pairs

    @cached_property
    def centre(self) -> F32:
        count, width, _ = self._size
        if not count:
            return np.zeros(width, np.float32)
        step = int(np.diff(centred(count)[:2], append=count)[0]) or 1
        some = self.listed.where(f"number % {step} = 0").orderBy("number").select("values").toArrow().combine_chunks()
        return space_of(rows_of(some.to_batches()[0]), self.job).centre

    @cached_property
    def look(self) -> VectorSample | None:
        """Return the sample statistics that the local engine would compute; None if there is no method to choose."""
        count, _, pairs = self._size
        if self.job.method == "exact" or (count <= MAX_ALL_PAIRS_VECTORS and self.job.method == "auto") or not count:
            return None
        drawn, others = looked_at(count, self.job.seed)
        sample, other = (listed_rows(self.listed, wanted) for wanted in (drawn, others))
        matches = sample_matches(self.listed, sample, self.job, self.centre).count()
        space = space_of(np.concatenate([rows_of(sample), rows_of(other)]), self.job, self.centre)
        places = np.arange(len(space))
        nearest = nearest_to_centre(self.listed, self.job, self.centre)
        look = look_at(space, places[: len(drawn)], places[len(drawn) :], matches, count, pairs, nearest)
        if self.want == "pairs":
            expected = round(matches * count / max(1, len(drawn)) / 2)
            sampled = f"{len(drawn):,} sampled vectors have"
            check_size(expected, self.job.max_pairs, sampled=matches, sample=sampled, advice=VECTORS_ADVICE)
        return look

    @cached_property
    def choice(self) -> Choice:
        return choose(self.job, self._size[0], self.look)

    @cached_property
    def banded(self) -> SignPlan | None:
        if self.choice.method != "lsh" or self.look is None or self.look.plan is None:
            return None
        if self.look.plan.recall_at_threshold < self.job.recall:
            self.trace.warnings.append(too_few_tables(self.look.plan.recall_at_threshold, self.job.recall))
        return self.look.plan

    @cached_property
    def keyed(self) -> DataFrame:
        assert self.banded is not None
        return table_keys(self.listed, self.job, self.banded, self.centre).persist()

    @cached_property
    def met(self) -> DataFrame:
        return bucket_items(self.keyed, heavy=heavy_keys(self.keyed, self._size[0])).persist()

    @cached_property
    def weight(self) -> BucketStatistics:
        if self.banded is None:
            return BucketStatistics(0, int(self._size[2]), 0)
        return bucket_statistics(self.met)

    @cached_property
    def edges(self) -> DataFrame:
        count, width, _ = self._size
        plan = self.banded
        if plan is None:
            return exact_edges(self.listed, self.job, self.centre, count, width).persist()
        return verify(self.paired, self.keyed, vector_score(self.job, plan, self.centre), ["signs", "values"]).persist()

    @cached_property
    def paired(self) -> DataFrame:
        return candidates(self.met, None, self.weight).persist()

    @cached_property
    def matched(self) -> Matched:
        own = "1.0D" if self.job.measure == "cosine" else "0.0D"
        return Matched(self.origins, self.things, self.copies, self.edges, self.order, own, self.roots)

    def counted(self) -> dict[str, int]:
        row = self.things.selectExpr(
            "count(1) as vectors", "count_if(size = 0) as skipped", "sum(length) as bytes"
        ).collect()[0]  # fmt: skip
        return {name: row[name] or 0 for name in ("vectors", "skipped", "bytes")}

    def audited(self) -> Audit | None:
        """Measure the share of the exact partners of sampled items that were found."""
        if self.banded is None or not self.job.audit:
            return None
        sample, _ = draw(self.listed.select("number", "item"), ends_of(self.edges), self.job.audit, self.job.seed)
        truth = exact_partners(self.listed, sample.items, self.job, self.centre)
        with quiet():
            items = self.listed.sparkSession.createDataFrame(pa.table({"number": truth.items}))
        names = self.listed.join(items, "number").select("number", "item")
        pairs = self.edges
        for side in ("left", "right"):
            pairs = pairs.join(names.toDF(f"{side}_number", side), side)
        batch = pairs.select("left_number", "right_number").toArrow()
        ends = [np.searchsorted(truth.items, batch[f"{side}_number"].to_numpy()) for side in ("left", "right")]
        one, other = np.minimum(*ends), np.maximum(*ends)
        space = replace(space_of(np.ones((1, self._size[1]), np.float32), self.job, self.centre), radius=truth.radius)
        places = np.int64(len(truth.items)) * np.minimum(truth.pairs.left, truth.pairs.right)
        hit = np.isin(places + np.maximum(truth.pairs.left, truth.pairs.right), len(truth.items) * one + other)
        chance = chances(space, truth.pairs, self.banded)
        known = names.toArrow()
        item = known["item"].to_numpy()[np.argsort(known["number"].to_numpy())]
        local = replace(sample, items=truth.sample, chances=lambda places: sample.chances(item[places]))
        return audit_of(truth.pairs, hit, local, chance, counted(self.edges))
