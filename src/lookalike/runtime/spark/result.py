"""The result of a run on Spark: DataFrames with the user's ids, and a receipt that is computed on demand."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from lookalike.core.recall_audit import Audit
from lookalike.core.results import ArrowRows
from lookalike.core.run_options import Grouping
from lookalike.errors import TooManyPairs, UsageError
from lookalike.runtime.receipt import NO_WORK, peak_memory, recall_warnings
from lookalike.runtime.spark.exact_rows import with_valid_text
from lookalike.runtime.spark.job_errors import translated_errors
from lookalike.runtime.spark.run import SparkRun
from lookalike.runtime.spark.session import engine_facts, spark_versions
from lookalike.runtime.spark.writing import write_frame, write_result, write_rows

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

Asked = Literal["pairs", "groups", "dedup"]


class FrameRows(ArrowRows):
    """Length, iteration and the Arrow stream of a result on Spark, from its `frame`."""

    @property
    def frame(self) -> DataFrame:
        """The requested DataFrame."""
        raise NotImplementedError

    def to_arrow(self) -> pa.Table:
        """Return the requested DataFrame as an Arrow table, in the memory of the driver."""
        return self.frame.toArrow()

    def __len__(self) -> int:
        """Return the number of rows of the requested DataFrame, by a Spark job."""
        return self.frame.count()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Iterate over the rows of the requested DataFrame, partition by partition."""
        for row in self.frame.toLocalIterator():
            yield row.asDict()


@dataclass(frozen=True)
class SparkResult(FrameRows):
    """The result of `pairs`, `groups` or `dedup` on Spark. DataFrames are evaluated lazily, by Spark actions.

    Creating a DataFrame runs the jobs that it depends on: the check for unique ids, the size of the result, and for
    groups the rounds of connected components. `receipt` runs the rest, and counts.
    """

    asked: Asked
    grouping: Grouping
    run: SparkRun

    @property
    def job(self) -> Any:
        return self.run.job

    @cached_property
    def pairs(self) -> DataFrame:
        """left, right, similarity of every verified pair."""
        with self._working():
            _ = self.run.edges  # raises if groups were computed without pairs
            self.run.matched.check_copies(self.run.job.max_pairs)
            return self._shown(self.run.matched.named(self.run.matched.pairs, ["left"], ["right"]))

    @cached_property
    def groups(self) -> DataFrame:
        """id, group (0, 1, ... by first member), size, representative of the members of every group of two or more."""
        if len(self.run.origins) == 2:
            raise UsageError("groups are made within one collection; with `against` ask for pairs or dedup.")
        with self._working():
            matched = self.run.matched
            if self.grouping == "components":
                members = matched.components
            else:
                members = matched.walked_groups("stars" if self.grouping == "stars" else "cliques")
            named = matched.named(members, ["item", "representative"])
            return named.withColumnRenamed("item", "id")

    @cached_property
    def removed(self) -> DataFrame:
        """id, kept, similarity: every item that is removed, and the item that is kept for it."""
        with self._working():
            named = self.run.matched.named(self.run.matched.removed, ["item"], ["kept"])
            return self._shown(named.withColumnRenamed("item", "id"))

    @cached_property
    def kept(self) -> DataFrame:
        """The rows that are kept, with all their columns, in the types that Spark reads.

        An action on it fails if these types would change a value of a JSON Lines file, or a CSV file is not UTF-8.
        """
        with self._working():
            origin, frame = self.run.matched.origins[0], self.run.matched.kept
            if origin.csv is None:
                return frame
            return with_valid_text(frame, origin.name, repair=self.run.on_bad_text == "replace")

    @property
    def frame(self) -> DataFrame:
        """The requested DataFrame: pairs, groups, or the kept rows."""
        return {"pairs": lambda: self.pairs, "groups": lambda: self.groups, "dedup": lambda: self.kept}[self.asked]()

    @cached_property
    def audit(self) -> Audit | None:
        """The measured recall; None if the result is exact, or if no audit was requested."""
        with translated_errors():
            return self.run.audited()

    @cached_property
    def receipt(self) -> dict[str, Any]:
        """The record of what was requested, planned, counted and measured."""
        run, trace = self.run, self.run.trace
        with translated_errors():
            counts = self._counts()
            trace.add(**counts)
            with trace.stage("audit"):
                measured = self.audit
            origins = [
                {**origin.describe(), "rows": rows} for origin, rows in zip(run.origins, self._rows, strict=True)
            ]
        plan = run.banded
        return {
            "asked": self.asked,
            **engine_facts(run.things.sparkSession),
            "inputs": origins,
            "items": run.job.noun,
            "compared": run.job.words(),
            "scale": {"column": run.job.scale.column, "sign": run.job.scale.sign},
            "grouping": self.grouping,
            "job": run.job.as_dict(),
            "choice": run.choice.as_dict(),
            "plan": None if plan is None else plan.as_dict(),
            "recall_at_threshold": run.promised,
            "recall_measured": None if measured is None else measured.as_dict(run.job.scale.sign),
            "verified": run.job.verify,
            "pairs_complete": run.pairs_complete,
            "counts": trace.counts,
            "seconds": trace.seconds,
            "peak_memory_mb": round(peak_memory() / 1e6),
            "warnings": [*trace.warnings, *recall_warnings(measured, run.promised, run.job)],
            "left_out": [],
            "work": NO_WORK,
            **spark_versions(),
        }

    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> str:
        """Write the requested tables as folders of Parquet, with receipt.json, into a new folder or URL."""
        tables = self.tables
        with translated_errors(), self.run.trace.stage("write"):
            complete = {"pairs_complete": "pairs" in tables}
            return write_result(tables, lambda: self.receipt | complete, os.fspath(folder), force=force)

    @property
    def tables(self) -> dict[str, DataFrame]:
        """The DataFrames that `save` writes, by name; pairs are left out if groups or dedup have too many."""
        pairs = self._listed_pairs()
        tables = {} if pairs is None else {"pairs": pairs}
        if len(self.run.origins) == 1:
            tables["groups"] = self.groups
        if self.asked == "dedup":
            tables |= {"kept": self.kept, "removed": self.removed}
        return tables

    @property
    def score_column(self) -> str:
        """The name of the column of scores: similarity, distance, or that of the kind of item."""
        column: str = self.job.scale.column
        return column

    def _listed_pairs(self) -> DataFrame | None:
        """Return the pairs, or None if groups or rows were requested and their pairs exceed `max_pairs`."""
        if not self.run.pairs_complete:
            return None
        try:
            return self.pairs
        except TooManyPairs:
            if self.asked == "pairs":
                raise
            return None

    def write(self, frame: DataFrame, path: str | os.PathLike[str], *, force: bool = False) -> str:
        """Write a DataFrame as a folder of part files, in the format given by the extension of its name.

        Kept rows of JSON Lines, CSV and TSV are written to the same format as the bytes of the input. Other kept rows
        are converted to text as in the local engine; values that have no exact text raise OutputError.
        """
        name = os.fspath(path)
        with translated_errors(), self.run.trace.stage("write"):
            if "kept" in self.__dict__ and frame is self.kept:
                matched = self.run.matched
                lines, repair = matched.kept_lines, self.run.on_bad_text == "replace"
                return write_rows(frame, lines, matched.origins[0].name, name, force=force, repair=repair)
            return write_frame(frame, name, force=force)

    def done(self) -> None:
        """Unpersist what executors hold for further queries."""
        self.run.forget()

    def __repr__(self) -> str:
        return f"<SparkResult of {self.asked}: {self.run.job.words()}>"

    def _shown(self, frame: DataFrame) -> DataFrame:
        """Rename scores to the score column of the kind of item; distances, held as negative, become positive."""
        scale = self.run.job.scale
        if scale.sign < 0:
            frame = frame.withColumn("similarity", -frame["similarity"] + 0.0)
        return frame.withColumnRenamed("similarity", scale.column)

    @contextmanager
    def _working(self) -> Iterator[None]:
        """Wrap the creation of a DataFrame: check the ids, measure the time, translate errors."""
        with translated_errors(), self.run.trace.stage("match"):
            _ = self.run.copies  # this also checks that ids are unique
            yield

    @cached_property
    def _rows(self) -> list[int]:
        things = self.run.things
        if len(self.run.origins) == 1:
            return [things.count()]
        return [things.where(f"item % 2 = {number}").count() for number in (0, 1)]

    def _counts(self) -> dict[str, int]:
        run = self.run
        counts = run.counted()
        counts |= {"exact_duplicates": run.copies.gone, "met": run.weight.pairs}
        if self.asked == "pairs":
            counts["pairs"] = run.count_pairs()
        elif self.asked == "groups":
            groups = self.groups.selectExpr("count(distinct `group`) as groups", "count(1) as grouped").collect()[0]
            counts |= {"groups": groups["groups"], "grouped": groups["grouped"]}
        else:
            removed = self.run.matched.removed.count()
            counts |= {"kept": self._rows[0] - removed, "removed": removed}
        return counts
