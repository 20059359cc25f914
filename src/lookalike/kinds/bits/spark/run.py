"""A run over bit codes on Spark: the plan of the local engine, joined block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.core.arrays import U64, Bits, Pairs
from lookalike.core.arrow import as_arrow
from lookalike.core.keep_policy import preferred_column
from lookalike.core.method_choice import PLANNER_SAMPLE, Choice
from lookalike.core.recall_audit import Audit, audit_of
from lookalike.core.trace import Trace
from lookalike.errors import UsageError
from lookalike.kernels import bits as kernels
from lookalike.kinds.bits.formats import Form, parse
from lookalike.kinds.bits.joins import BitsJoin, drawn, varying
from lookalike.kinds.bits.multi_index import MultiIndexPlan, exact_plan
from lookalike.kinds.bits.spark.sources import check_widths, open_code_rows, with_codes
from lookalike.kinds.bits.spec import BitsJob
from lookalike.runtime.local.pool import Pool
from lookalike.runtime.run_output import OutputKind
from lookalike.runtime.spark.arrow_batches import as_binary, mapped, nothing, numbers, signed, together
from lookalike.runtime.spark.audit_sample import counted, draw, ends_of, named
from lookalike.runtime.spark.block_join import across, cell_edges, cell_sides
from lookalike.runtime.spark.block_join_run import CellRun
from lookalike.runtime.spark.key_join import EDGE_COLUMNS
from lookalike.runtime.spark.read_items import read_items
from lookalike.runtime.spark.session import open_session, tune

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CODES_PER_BLOCK = 1 << 19
BITS_SALT = np.uint64(0x5EED5EED5EED5EED)
BIT_FEATURES = "size int, print long, other long, length long, words binary, keys binary, places binary"


def run_bits(
    sources: Sequence[Any], columns: dict[str, Any], job: BitsJob, want: OutputKind, keep: str, cluster: dict[str, Any],
    trace: Trace,
) -> BitsRun:  # fmt: skip
    """Create the run over one collection of codes, or over two if the second source is not None."""
    session = open_session(**cluster)
    given = [source for source in sources if source is not None]
    code, id_, form = columns.get("column"), columns.get("id"), columns.get("form", "auto")
    opened = [open_code_rows(session, one, code, id_, form, several=len(given) > 1) for one in given]
    origins, forms, bits = (list(part) for part in zip(*opened, strict=True))
    check_widths(origins, bits)
    if len(set(forms)) > 1:
        raise UsageError("the codes of both collections are written in different forms; give `form`.")
    tune(session, (origin.frame for origin in origins))
    return BitsRun(origins, job, want, keep, "error", trace, form=forms[0], bits=max(bits))


@dataclass(frozen=True)
class BitsRun(CellRun):
    """The run over bit codes, with the same DataFrames as a run over documents.

    form: the format in which codes are written; bits: the length of a code.
    """

    job: BitsJob
    form: Form = "auto"
    bits: int = 0

    payload = "words"

    @cached_property
    def things(self) -> DataFrame:
        form, bits = self.form, self.bits

        def make(batch: pa.RecordBatch) -> Iterator[tuple[pa.RecordBatch, dict[str, pa.Array]]]:
            items = numbers(batch, "item")
            codes = parse(batch["text"], form=form, where=lambda row: f"row {items[row]}")
            yield batch, features(codes.words, batch["text"].is_valid(), bits)

        origins = [with_codes(origin) for origin in self.origins]
        return self.roots.keep(read_items(origins, make, BIT_FEATURES, preferred=preferred_column(self.keep)))

    @cached_property
    def places(self) -> U64:
        """Return the bit positions at which codes differ."""

        def stage(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
            codes = words_of(batch)
            if len(codes):
                ends = np.arange(2) * codes.shape[1]
                both = (np.bitwise_or.reduce(codes, axis=0), np.bitwise_and.reduce(codes, axis=0))
                yield pa.record_batch([as_binary(one, ends) for one in both], ["some", "every"])

        rows = mapped(self.listed, stage, "some binary, every binary").toArrow()
        some, every = ([np.frombuffer(one, np.uint64) for one in rows[name].to_pylist()] for name in ("some", "every"))
        return varying(np.bitwise_or.reduce(some) & ~np.bitwise_and.reduce(every)) if some else np.empty(0, np.uint64)

    def _look(self, pool: Pool) -> BitsJoin:
        """Return the join that the local engine would set up for all codes, from the sample that it would draw."""
        from pyspark.sql import functions as F  # noqa: N812

        wanted = drawn(self.classes, PLANNER_SAMPLE, self.job.seed).tolist()
        some = self.listed.where(F.col("number").isin(wanted)).orderBy("number").select("side", "words").toArrow()
        sides, raw = some["side"].to_numpy().astype(np.uint8), some["words"].to_pylist()
        size = max(1, -(-self.bits // 64))
        words = np.frombuffer(b"".join(raw), np.uint64).reshape(-1, size)
        codes = Bits(words, self.bits)
        return BitsJoin(codes, sides, self.job, pool, self.trace, places=self.places, count=self.classes)

    @cached_property
    def _chosen(self) -> tuple[MultiIndexPlan, Choice]:
        with Pool(1) as pool:
            return self._look(pool).choose(self.want)

    @property
    def choice(self) -> Choice:
        return self._chosen[1]

    @property
    def banded(self) -> MultiIndexPlan | None:
        return self._chosen[0] if self.choice.method == "lsh" else None

    @cached_property
    def edges(self) -> DataFrame:
        job, places, plan = self.job, self.places, self.banded

        def join(cell: pa.RecordBatch, split: int) -> Pairs:
            apart, real = cell_sides(cell, split)
            return across(joined(words_of(cell), apart, job, places, plan), real)

        return self.roots.keep(
            cell_edges(self.listed, CODES_PER_BLOCK, -(-self.classes // CODES_PER_BLOCK), join, "words")
        )

    def counted(self) -> dict[str, int]:
        row = self.things.selectExpr("count(1) as codes", "count_if(size = 0) as null_texts").collect()[0]
        return {**row.asDict(), "bits": self.bits}

    def audited(self) -> Audit | None:
        """Measure the share of the exact partners of a sample (that of the local engine) that were found."""
        from pyspark.sql import functions as F  # noqa: N812

        plan = self.banded
        if plan is None or not self.job.audit or not self.classes:
            return None
        with Pool(1) as pool:
            size = self._look(pool).audit_size(plan)[0]
        sample, items = draw(self.listed.select("number", "item"), ends_of(self.edges), size, self.job.seed)
        rows = self.listed.where(F.col("item").isin(items.tolist())).toArrow().combine_chunks().to_batches()[0]
        truth = mapped(self.listed, partners_of(rows, self.job, self.places), EDGE_COLUMNS).distinct()
        hits = truth.join(self.edges.selectExpr("left", "right", "1 as hit"), ["left", "right"], "left").toArrow()
        true = Pairs(*(hits[name].to_numpy() for name in ("left", "right", "similarity")))
        hit = hits["hit"].is_valid().to_numpy(zero_copy_only=False)
        chances = (plan.probability(-score) for score in true.similarity)
        return audit_of(true, hit, named(sample, items), chances, counted(self.edges))


def features(words: U64, there: pa.Array, bits: int) -> dict[str, pa.Array]:
    """Return the columns BIT_FEATURES of codes; a null has size 0."""
    n, size = words.shape
    one, other = np.empty(n, np.uint64), np.empty(n, np.uint64)
    kernels.fingerprints(words, one)
    kernels.fingerprints(words ^ BITS_SALT, other)
    return {
        "size": there.cast(pa.int32()),
        "print": signed(one),
        "other": signed(other),
        "length": as_arrow(np.full(n, bits)),
        "words": as_binary(words.reshape(-1), np.arange(n + 1) * size),
        "keys": nothing(n),
        "places": nothing(n),
    }


def words_of(batch: pa.RecordBatch) -> U64:
    """Return codes of equal length as u64[n, words]."""
    return np.ascontiguousarray(together(batch, "words")).reshape(batch.num_rows, -1) if batch.num_rows else (
        np.empty((0, 1), np.uint64)
    )  # fmt: skip


def joined(words: U64, sides: npt.NDArray[np.uint8], job: BitsJob, places: U64, plan: MultiIndexPlan | None) -> Pairs:
    """Return the pairs of these codes within the threshold, by the local engine: those that the plan finds, or all."""
    with Pool(1) as pool:
        join = BitsJoin(Bits(words, 64 * words.shape[1]), sides, job, pool, Trace(), places=places)
        left, right, score = join.pairs(plan or exact_plan(len(places), job.threshold, join.costs))
    return Pairs(left.astype(np.int64), right.astype(np.int64), score)


def partners_of(sample: pa.RecordBatch, job: BitsJob, places: U64) -> Any:
    """Return a stage that finds the true pairs (EDGE_COLUMNS) between the codes of a batch and the sampled ones."""
    mine, names, sides = words_of(sample), numbers(sample, "item"), numbers(sample, "side")

    def stage(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        if not batch.num_rows:
            return
        apart = np.full(len(mine) + batch.num_rows, 2, np.uint8)
        apart[: len(mine)] = 1
        real = np.concatenate([sides, numbers(batch, "side")]).astype(np.uint8)
        found = across(joined(np.concatenate([mine, words_of(batch)]), apart, job, places, None), real)
        items = np.concatenate([names, numbers(batch, "item")])
        one, other = items[found.left], items[found.right]
        real_pair = one != other
        low, high = np.minimum(one, other)[real_pair], np.maximum(one, other)[real_pair]
        columns = [as_arrow(low), as_arrow(high), as_arrow(found.similarity[real_pair])]
        yield pa.record_batch(columns, ["left", "right", "similarity"])

    return stage
