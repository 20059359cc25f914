"""The Spark engine for shared passages: fingerprints are keys, and only texts that share one are sent and compared.

The passages of a pair depend only on its two documents, as long as no common text is excluded: a task runs the local
engine on the documents of its pairs, and keeps the results for these pairs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import I64
from lookalike.core.arrow import as_arrow
from lookalike.core.trace import Trace
from lookalike.errors import TooManyPairs, UsageError
from lookalike.io.collection import Collection
from lookalike.io.read import open_collection
from lookalike.io.texts import OnBadText, as_texts
from lookalike.kinds.passages.local import MOST_SEEDS, in_characters, run, summed
from lookalike.kinds.passages.reading import NO_TEXTS
from lookalike.kinds.passages.receipt import passages_facts
from lookalike.kinds.passages.report import Pair, ReportPage, write_report
from lookalike.kinds.passages.spec import PassageJob, check_report_pairs
from lookalike.kinds.passages.tokens import place_words
from lookalike.kinds.passages.winnowing import NOTHING, fingerprint
from lookalike.runtime.spark.arrow_batches import as_binary, numbers
from lookalike.runtime.spark.block_join import SECOND
from lookalike.runtime.spark.heavy_keys import heavy_keys
from lookalike.runtime.spark.job_errors import translated_errors
from lookalike.runtime.spark.key_join import bucket_items, bucket_statistics, candidates, join_payload
from lookalike.runtime.spark.output import check_ids, named
from lookalike.runtime.spark.read_items import BOTH, Made, read_items
from lookalike.runtime.spark.result import FrameRows
from lookalike.runtime.spark.session import engine_facts, local_only, spark_versions
from lookalike.runtime.spark.sources import SparkSource
from lookalike.runtime.spark.writing import write_frame, write_result

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PASSAGE_FEATURES = "size int, keys binary, places binary, words string"
PAIRS_COMPARED_TOGETHER = 256  # pairs of documents that one call of the local engine compares
PLACES = ("left_start", "left_end", "right_start", "right_end", "tokens")
SUMS = ("shared_tokens", "left_in_right", "right_in_left", "longest", "passages")
PASSAGE_COLUMNS = (
    "left long, right long, left_start long, left_end long, right_start long, right_end long, tokens long, "
    "shared_tokens long, left_in_right double, right_in_left double, longest long, passages long"
)


@dataclass(frozen=True)
class SparkPassages(FrameRows):
    """The result of `passages` on Spark. DataFrames are evaluated lazily."""

    asked: ClassVar[str] = "passages"

    job: PassageJob
    origins: Sequence[SparkSource]
    on_bad_text: OnBadText = "error"
    trace: Trace = field(default_factory=Trace)

    def __post_init__(self) -> None:
        for name in ("language", "max_share"):
            if getattr(self.job, name) is not None:
                raise local_only(name)
        if any(origin.is_tokens for origin in self.origins):
            raise UsageError(NO_TEXTS)

    @cached_property
    def passages(self) -> DataFrame:
        """The shared passages: left, right, left_start, left_end, right_start, right_end (characters), tokens."""
        with translated_errors(), self.trace.stage("match"):
            return self._named(self._found.select("left", "right", *PLACES))

    @cached_property
    def pairs(self) -> DataFrame:
        """The pairs of documents that share a passage: left, right, shared_tokens, left_in_right, right_in_left,
        longest, passages."""
        with translated_errors(), self.trace.stage("match"):
            return self._named(self._found.select("left", "right", *SUMS).distinct())

    @property
    def frame(self) -> DataFrame:
        return self.passages

    @cached_property
    def receipt(self) -> dict[str, Any]:
        """The receipt: the request and the counts, as in the local engine."""
        with translated_errors(), self.trace.stage("count"):
            self.trace.add(**self._counts())
            sides = {row["side"]: row["count"] for row in self.things.groupBy("side").count().collect()}
        several = len(self.origins) == 2
        inputs = [
            {**origin.describe(), "rows": sides.get(number if several else BOTH, 0)}
            for number, origin in enumerate(self.origins, 1)
        ]
        facts = passages_facts(inputs, self.job, self.trace)
        return {"asked": self.asked, **engine_facts(self.things.sparkSession), **facts} | spark_versions()

    def _counts(self) -> dict[str, int]:
        read = self.things.selectExpr("count(1) as documents", "count_if(size = 0) as empty", "sum(size) as tokens")
        found = self._found.selectExpr("count(distinct left, right) as pairs", "count(1) as passages")
        return {name: count or 0 for row in (read, found) for name, count in row.collect()[0].asDict().items()}

    @property
    def tables(self) -> dict[str, DataFrame]:
        """The DataFrames that `save` writes, by name."""
        return {"passages": self.passages, "pairs": self.pairs}

    @property
    def score_column(self) -> str:
        """The name of the column of scores in the table of pairs: shared_tokens."""
        return self.job.scale.column

    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> str:
        """Write passages.parquet and pairs.parquet, folders of parts, and receipt.json into a new folder or URL."""
        tables = self.tables
        with translated_errors(), self.trace.stage("write"):
            return write_result(tables, lambda: self.receipt, os.fspath(folder), force=force)

    def write(self, frame: DataFrame, path: str | os.PathLike[str], *, force: bool = False) -> str:
        """Write one DataFrame as a folder of parts, in the format of the file extension."""
        with translated_errors(), self.trace.stage("write"):
            return write_frame(frame, os.fspath(path), force=force)

    def report(self, path: str | os.PathLike[str], *, pairs: int, force: bool = False) -> Path:
        """Write an HTML report, as the local engine does: the pairs that share most, with their texts side by side.

        The texts of these pairs are collected on the driver.
        """
        check_report_pairs(pairs)
        with translated_errors(), self.trace.stage("match"):
            page = self._page(pairs)
        write_report(page, Path(path), force=force)
        return Path(path)

    def _page(self, most: int) -> ReportPage:
        every = self._found.select("left", "right", *SUMS).distinct()
        best = every.orderBy(every["shared_tokens"].desc(), "left", "right").limit(most).persist()
        shown = best.collect()
        runs: dict[tuple[int, int], list[list[int]]] = {}
        where = self._found.join(best.select("left", "right"), ["left", "right"]).select("left", "right", *PLACES)
        for row in where.orderBy("left", "right", *PLACES).collect():
            runs.setdefault((row["left"], row["right"]), []).append([row[name] for name in PLACES])
        wanted = best.selectExpr("left as item").union(best.selectExpr("right as item")).distinct()
        texts = {
            row["item"]: row["words"] for row in self.things.join(wanted, "item").select("item", "words").collect()
        }
        names: dict[int, str] = {}
        both = best.selectExpr("left", "right", "left as one", "right as other")
        for row in self._named(both).collect():
            names |= {row["one"]: str(row["left"]), row["other"]: str(row["right"])}
        best.unpersist()
        number = self._numbered
        made = [
            Pair(
                number(row["left"]), number(row["right"]), row["shared_tokens"], row["left_in_right"],
                row["right_in_left"], row["longest"], runs[row["left"], row["right"]],
            )
            for row in shown
        ]  # fmt: skip
        counts = self.receipt["counts"]
        summary = (
            f"documents: {counts['documents']:,} · pairs that share something: {counts['pairs']:,} · "
            f"passages: {counts['passages']:,} · {self.job.words()}"
        )
        return ReportPage(
            pairs=made, names={number(item): name for item, name in names.items()},
            texts={number(item): text for item, text in texts.items()}, total=counts["pairs"], summary=summary,
            notes=[], unit=self.job.unit, code=False,
        )  # fmt: skip

    def _numbered(self, item: int) -> int:
        """Return an item's number in a report: documents of the second collection come after all of the first."""
        return item if len(self.origins) == 1 else (item >> 1) + (item & 1) * SECOND

    @cached_property
    def things(self) -> DataFrame:
        job, on_bad = self.job, self.on_bad_text

        def make(batch: pa.RecordBatch) -> Made:
            texts, _, _ = as_texts(batch["text"], on_bad_text=on_bad, where=lambda row: f"row {row} of a batch")
            placed = place_words(texts, fold_case=job.fold_case, strip_accents=job.strip_accents)
            prints = fingerprint(placed.tokens, placed.offsets, k=job.k, window=job.window, barred=NOTHING)
            owner = np.repeat(np.arange(len(texts), dtype=np.uint64), np.diff(prints.offsets))
            order = np.lexsort((prints.hashes, owner))
            hashes, owner = prints.hashes[order], owner[order]
            new = np.ones(len(hashes), np.bool_)
            new[1:] = (hashes[1:] != hashes[:-1]) | (owner[1:] != owner[:-1])
            ends = np.concatenate([[0], np.cumsum(np.bincount(owner[new].astype(np.int64), minlength=len(texts)))])
            n = len(texts)
            yield batch, {
                "size": as_arrow(placed.sizes.astype(np.int32)),
                "keys": as_binary(hashes[new], ends.astype(np.int64)),
                "places": as_binary(np.empty(0, np.int32), np.zeros(n + 1, np.int64)),
                "words": texts.cast(pa.string()),
            }  # fmt: skip

        return read_items(self.origins, make, PASSAGE_FEATURES, preferred=None).persist()

    @cached_property
    def _met(self) -> DataFrame:
        return bucket_items(self.things, heavy=heavy_keys(self.things, self.things.count())).persist()

    @cached_property
    def _paired(self) -> DataFrame:
        check_ids(self.origins, self.things)
        weight = bucket_statistics(self._met)
        if weight.pairs > max(MOST_SEEDS, self.job.max_pairs):
            raise TooManyPairs(
                f"{weight.pairs:,} times two documents share a fingerprint, the most common one occurs in "
                f"{weight.largest:,}: that is boilerplate. Raise `min_tokens`, or take it out of the texts first."
            )
        return candidates(self._met, None, weight, at_once=PAIRS_COMPARED_TOGETHER).persist()

    @cached_property
    def _found(self) -> DataFrame:
        job, cross = self.job, len(self.origins) == 2

        def work(left: pa.RecordBatch, right: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
            yield from compared(left, right, job, cross=cross)

        return join_payload(self._paired, self.things, work, ["words"], PASSAGE_COLUMNS).persist()

    def _named(self, frame: DataFrame) -> DataFrame:
        return named(frame, self.origins, self.things, ["left"], ["right"])

    def done(self) -> None:
        """Unpersist the cached DataFrames."""
        for name in ("things", "_met", "_paired", "_found"):
            if name in self.__dict__:
                self.__dict__[name].unpersist()


def compared(left: pa.RecordBatch, right: pa.RecordBatch, job: PassageJob, *, cross: bool) -> Iterator[pa.RecordBatch]:
    """Find the passages shared by the documents (item, words) at the same rows of two batches (PASSAGE_COLUMNS)."""
    wanted = np.stack([numbers(left, "item"), numbers(right, "item")], axis=1)
    items, first = np.unique(wanted.T.reshape(-1), return_index=True)
    texts = pa.chunked_array([left["words"], right["words"]]).take(as_arrow(first)).combine_chunks()
    sides = [items % 2 == 0, items % 2 == 1] if cross else [np.ones(len(items), np.bool_)]
    order = np.concatenate([items[side] for side in sides])
    collections: list[Collection] = [
        open_collection(pa.table({"text": texts.filter(as_arrow(side))})) for side in sides
    ]
    shared = run(collections, job, Trace())
    one, other = order[shared.sums[:, 0]], order[shared.sums[:, 1]]

    def packed(one: I64, other: I64) -> I64:
        low, high = np.minimum(one, other), np.maximum(one, other)
        return np.searchsorted(items, low) * len(items) + np.searchsorted(items, high)

    keep = np.isin(packed(one, other), packed(wanted[:, 0], wanted[:, 1]))
    each = np.repeat(np.arange(len(one)), shared.sums[:, 5])
    rows = np.flatnonzero(keep[each])
    columns: dict[str, Any] = {"left": one[each], "right": other[each], **in_characters(shared)}
    columns |= {name: values[each] for name, values in summed(shared).items()}
    yield pa.record_batch({name: as_arrow(np.ascontiguousarray(values[rows])) for name, values in columns.items()})
