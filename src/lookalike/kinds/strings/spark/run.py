"""Strings on Spark: blocks sorted by length, so that only blocks whose lengths can match are joined; always exact."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.core.arrays import Pairs
from lookalike.core.arrow import as_arrow
from lookalike.core.keep_policy import preferred_column
from lookalike.core.method_choice import PLANNER_SAMPLE, Choice
from lookalike.core.size_limit import check_size
from lookalike.core.trace import Trace
from lookalike.io.collection import check_texts
from lookalike.io.texts import OnBadText, as_texts
from lookalike.kinds.strings.kernels import strings as kernels
from lookalike.kinds.strings.lengths import LengthBounds, StringsByLength, ranked
from lookalike.kinds.strings.local import ALWAYS_EXACT, STRINGS_ADVICE, StringsJoin
from lookalike.kinds.strings.spec import StringsJob
from lookalike.runtime.local.pool import Pool
from lookalike.runtime.run_output import OutputKind
from lookalike.runtime.spark.arrow_batches import as_binary, nothing, numbers, signed, together, words
from lookalike.runtime.spark.block_join import across, cell_edges, cell_sides
from lookalike.runtime.spark.block_join_run import CellRun
from lookalike.runtime.spark.read_items import read_items
from lookalike.runtime.spark.row_numbers import numbered
from lookalike.runtime.spark.session import open_session, tune
from lookalike.runtime.spark.sources import open_origins

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

STRINGS_PER_BLOCK = 1 << 17
STRING_SALT = np.uint32(0x5EED)
STRING_FEATURES = "size int, print long, other long, length long, bytes long, points binary, keys binary, places binary"


def run_strings(
    sources: Sequence[Any],
    columns: dict[str, Any],
    job: StringsJob,
    want: OutputKind,
    keep: str,
    cluster: dict[str, Any],
    trace: Trace,
) -> StringsRun:
    """Create the run over one collection of strings, or over two if the second source is not None."""
    session = open_session(**cluster)
    origins = open_origins(session, sources, text=columns.get("text"), id=columns.get("id"), lines=True)
    check_texts(origin.is_tokens for origin in origins)
    tune(session, (origin.frame for origin in origins))
    on_bad: OnBadText = columns.get("on_bad_text", "error")
    return StringsRun(origins, job, want, keep, on_bad, trace)


@dataclass(frozen=True)
class StringsRun(CellRun):
    """The run over strings: the same DataFrames as a run over documents, computed for a StringsJob."""

    job: StringsJob

    payload = "points"

    @cached_property
    def things(self) -> DataFrame:
        job, on_bad = self.job, self.on_bad_text

        def make(batch: pa.RecordBatch) -> Iterator[tuple[pa.RecordBatch, dict[str, pa.Array]]]:
            items = numbers(batch, "item")
            texts, _, _ = as_texts(batch["text"], on_bad_text=on_bad, where=lambda row: f"row {items[row]}")
            yield batch, features(texts, job)

        return self.roots.keep(read_items(self.origins, make, STRING_FEATURES, preferred=preferred_column(self.keep)))

    @property
    def choice(self) -> Choice:
        return Choice("exact", {}, ALWAYS_EXACT)

    @property
    def own(self) -> str:
        return "1.0D" if self.job.by_similarity else "0.0D"

    @cached_property
    def listed(self) -> DataFrame:
        """Return one row for each class of equal strings, the shortest first."""
        rows = self.firsts.select("item", "side", "size", self.payload)
        return self.roots.keep(numbered(rows, ["size", "item"], "number"))

    @cached_property
    def edges(self) -> DataFrame:
        job, bar = self.job, self.job.bar()
        if self.want == "pairs" and self.classes > PLANNER_SAMPLE:
            self._check_size()

        def join(cell: pa.RecordBatch, split: int) -> Pairs:
            apart, real = cell_sides(cell, split)
            return across(joined(cell, apart, job), real)

        bounds = self.listed.selectExpr(f"number div {STRINGS_PER_BLOCK} as block", "size").groupBy("block")
        rows = bounds.agg(*_ends()).orderBy("block").collect()
        longest = max((row["high"] for row in rows), default=0)
        wanted = reachable([(row["low"], row["high"]) for row in rows], LengthBounds.of(bar, longest).shortest)
        made = cell_edges(self.listed, STRINGS_PER_BLOCK, len(rows), join, "points", wanted=wanted)
        return self.roots.keep(made)

    def _check_size(self) -> None:
        """Raise an error if the result, estimated from a sample, would be far too large."""
        from pyspark.sql import functions as F  # noqa: N812

        drawn = np.random.default_rng(self.job.seed).choice(self.classes, PLANNER_SAMPLE, replace=False)
        some = self.listed.where(F.col("number").isin(drawn.tolist())).select("side", "points").toArrow()
        sample = some.combine_chunks().to_batches()[0]
        sides = numbers(sample, "side").astype(np.uint8)
        found = len(joined(sample, sides, self.job).left)
        expected = round(found * (self.classes / PLANNER_SAMPLE) ** 2)
        sample_has = f"a sample of {PLANNER_SAMPLE:,} {self.job.noun} has"
        check_size(expected, self.job.max_pairs, sampled=found, sample=sample_has, advice=STRINGS_ADVICE)

    def counted(self) -> dict[str, int]:
        row = self.things.selectExpr(
            "count(1) as strings", "count_if(size = 0) as empty", "sum(bytes) as bytes"
        ).collect()[0]  # fmt: skip
        return {name: row[name] or 0 for name in ("strings", "empty", "bytes")}


def features(texts: pa.Array, job: StringsJob) -> dict[str, pa.Array]:
    """Return the columns STRING_FEATURES of strings; an empty string has size 0."""
    made = StringsByLength.of(texts.cast(pa.large_string()), fold_case=job.fold_case, strip_accents=job.strip_accents)
    n, lengths = len(made), made.lengths
    one, other = np.empty(n, np.uint64), np.empty(n, np.uint64)
    kernels.fingerprints(made.points, made.ends, one)
    kernels.fingerprints(made.points ^ STRING_SALT, made.ends, other)
    sizes = texts.cast(pa.large_binary())
    return {
        "size": as_arrow(lengths.astype(np.int32)),
        "print": signed(one),
        "other": signed(other),
        "length": as_arrow(lengths),
        "bytes": as_arrow(np.diff(np.frombuffer(sizes.buffers()[1], np.int64)[sizes.offset : sizes.offset + n + 1])),
        "points": as_binary(made.points, made.ends),
        "keys": nothing(n),
        "places": nothing(n),
    }


def joined(batch: pa.RecordBatch, sides: npt.NDArray[np.uint8], job: StringsJob) -> Pairs:
    """Return the pairs of rows of a batch (column points) that reach the threshold, by the local engine."""
    ends = np.concatenate([[0], np.cumsum(words(batch, "points", np.uint32)[2])])
    texts = StringsByLength(np.ascontiguousarray(together(batch, "points", np.uint32)), ends.astype(np.int64))
    strings = ranked(texts, np.arange(batch.num_rows), sides)
    with Pool(1) as pool:
        left, right, score = StringsJoin(strings, job.bar(), pool, Trace(), job.max_pairs).pairs()
    return Pairs(left.astype(np.int64), right.astype(np.int64), score)


def reachable(lengths: Sequence[tuple[int, int]], shortest: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return bool[blocks, blocks]: whether two blocks of strings of (least, most) letters can contain a pair.

    shortest: smallest length of a partner that is not longer, by the length of a string.

    >>> reachable([(1, 4), (4, 9), (12, 15)], np.maximum(np.arange(20) - 2, 1)).tolist()
    [[True, True, False], [True, True, False], [False, False, True]]
    """
    blocks = len(lengths)
    out = np.eye(blocks, dtype=np.bool_)
    for low in range(blocks):
        for high in range(low + 1, blocks):
            out[low, high] = out[high, low] = lengths[low][1] >= shortest[lengths[high][0]]
    return out


def _ends() -> list[Any]:
    from pyspark.sql import functions as F  # noqa: N812

    return [F.min("size").alias("low"), F.max("size").alias("high")]
