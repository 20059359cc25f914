"""The Spark engine for documents."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from lookalike.core.candidates import commonness
from lookalike.core.keep_policy import preferred_column
from lookalike.core.method_choice import Choice
from lookalike.core.recall_audit import Audit
from lookalike.core.size_limit import CERTAIN_EXCESS
from lookalike.errors import NO_PAIRS, TooManyPairs, UsageError
from lookalike.kinds.documents.local import MAX_PAIRS_PER_ITEM, planned_for
from lookalike.kinds.documents.planner import BANDS_REQUESTED
from lookalike.kinds.documents.prefix_join import COUNTED
from lookalike.kinds.documents.spark.audit import audit, audit_groups
from lookalike.kinds.documents.spark.bucket_clusters import BucketClusters, linked
from lookalike.kinds.documents.spark.common_shingles import without_common
from lookalike.kinds.documents.spark.features import DocumentKeys, set_score
from lookalike.kinds.documents.spark.planner_sample import choose, sampled_sets
from lookalike.kinds.documents.spark.reading import read_things, rekeyed
from lookalike.kinds.documents.spec import Job
from lookalike.planning.banding import Plan
from lookalike.runtime.local.memory_needs import fewer_pairs
from lookalike.runtime.spark.heavy_keys import heavy_keys
from lookalike.runtime.spark.key_join import (
    BucketStatistics,
    bucket_items,
    bucket_statistics,
    candidates,
    opened,
    verify,
)
from lookalike.runtime.spark.output import Matched
from lookalike.runtime.spark.run import SparkRun

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class DocumentRun(SparkRun):
    """A run over documents on Spark."""

    job: Job

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.plan

    @cached_property
    def plan(self) -> Plan | None:
        """The bands and rows of the job, or None if it cannot use banding."""
        return planned_for(self.job, self.trace)

    @property
    def least(self) -> int:
        """The smallest size of a set that can match another set."""
        bar = self.job.bar()
        return -(-bar.num // bar.den) if self.job.set_measure().is_count else 1

    @cached_property
    def things(self) -> DataFrame:
        """All documents as sets, already with band keys if the method is lsh and no common shingles are dropped."""
        fused = self.job.method == "lsh" and self.job.max_share is None
        keys = DocumentKeys(self.job, self.plan if fused else None)
        preferred = preferred_column(self.keep)
        read = read_things(self.origins, self.job, keys, preferred=preferred, on_bad_text=self.on_bad_text).persist()
        return read if self.job.max_share is None else without_common(read, self.job.max_share).persist()

    @cached_property
    def choice(self) -> Choice:
        job = self.job
        if job.method != "auto":
            return Choice(job.method, {}, "asked for")
        if job.bands is not None or job.rows is not None or not job.verify:
            return Choice("lsh", {}, BANDS_REQUESTED)
        crowd = MAX_PAIRS_PER_ITEM if self.want != "pairs" and len(self.origins) == 1 else None
        return choose(self.firsts, self.copies, self.classes, self.plan, job, crowd, several=len(self.origins) == 2)

    @property
    def banded(self) -> Plan | None:
        """The plan if the chosen method is banding, otherwise None."""
        return self.plan if self.choice.method == "lsh" else None

    @cached_property
    def met(self) -> DataFrame:
        firsts = self.firsts
        if self.job.method != "lsh" or self.job.max_share is not None:
            keys = DocumentKeys(self.job, self.banded)
            if self.banded is None:
                levels = commonness(sampled_sets(self.things, self.least, COUNTED))
                keys = DocumentKeys(self.job, None, levels)
            firsts = rekeyed(firsts, keys)
        return bucket_items(firsts, heavy=heavy_keys(firsts, self.classes)).persist()

    @cached_property
    def weight(self) -> BucketStatistics:
        return bucket_statistics(self.met)

    @cached_property
    def edges(self) -> DataFrame:
        """The verified pairs of classes."""
        if not self.pairs_complete:
            raise UsageError(NO_PAIRS)
        weight, limit = self.weight, self.job.max_pairs
        often = self.banded.bands if self.banded is not None else 8  # buckets that a pair may share
        if weight.pairs > CERTAIN_EXCESS * often * limit:
            raise TooManyPairs(
                f"{weight.pairs:,} times two documents share a key, the largest bucket holds {weight.largest:,}: "
                f"far more than `max_pairs={limit:,}` pairs are to be expected. {self._advice}"
            )
        return verify(self.paired, self.things, set_score(self.job, self.banded), ["elements"]).persist()

    @property
    def _advice(self) -> str:
        return fewer_pairs(self.want, cross=len(self.origins) == 2, method=self.choice.method)

    @cached_property
    def paired(self) -> DataFrame:
        """The candidates: pairs of classes that share a key and may match."""
        return candidates(self.met, self.job.bar(), self.weight).persist()

    @cached_property
    def matched(self) -> Matched:
        own = "cast(size as double)" if self.job.set_measure().is_count else "1.0D"
        if not self.pairs_complete and self.banded is not None:
            sets = self.things.select("item", "elements")
            links = linked(opened(self.met), sets, self.job, self.banded)
            return BucketClusters(
                self.origins,
                self.things,
                self.copies,
                links,
                self.order,
                own,
                self.roots,
                job=self.job,
                plan=self.banded,
            )
        return Matched(self.origins, self.things, self.copies, self.edges, self.order, own, self.roots)

    @cached_property
    def pairs_complete(self) -> bool:
        """False if groups are formed directly from buckets without a list of pairs, by the rule of the local engine."""
        if self.want == "pairs" or len(self.origins) == 2 or self.banded is None:
            return True
        return self.weight.pairs <= MAX_PAIRS_PER_ITEM * self.classes

    def counted(self) -> dict[str, int]:
        """Count the documents, empty documents, shingles and bytes."""
        row = self.things.selectExpr(
            "count(1) as documents", "count_if(size = 0) as empty", "sum(size) as shingles", "sum(length) as bytes"
        ).collect()[0]
        return {name: row[name] or 0 for name in ("documents", "empty", "shingles", "bytes")}

    def audited(self) -> Audit | None:
        """Measure the recall; None if the answer is exact or the audit is disabled."""
        if self.banded is None or not self.job.audit:
            return None
        if self.pairs_complete:
            return audit(self.firsts, self.edges, self.job, self.banded)
        stars = self.want == "stars"
        roots = self.matched.star_roots if stars else self.matched.labels
        return audit_groups(self.firsts, roots, self.job, self.banded, stars=stars)
