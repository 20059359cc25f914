"""Joins of vectors on Spark: by keys of sign bits, or all pairs block by block; scored by the local engine's kernel.

The sample for planning is drawn by the numbers that the local engine gives to classes of equal rows, so the plan, the
hyperplanes and the tables are the same as in the local engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import F32, F64, I64, Pairs
from lookalike.core.arrow import as_arrow
from lookalike.core.equal_rows import row_prints
from lookalike.core.exact_duplicates import Classes
from lookalike.kernels import hashing, signs, vectors
from lookalike.kinds.vectors.exact_join import TILE, across, partners
from lookalike.kinds.vectors.geometry import VectorSpace, make_space
from lookalike.kinds.vectors.lsh_join import draw_planes, draw_tables
from lookalike.kinds.vectors.lsh_plan import SignPlan
from lookalike.kinds.vectors.spec import VectorJob
from lookalike.runtime.local.numeric_rows import NumericRows
from lookalike.runtime.local.pool import Pool
from lookalike.runtime.spark.arrow_batches import as_binary, mapped, nothing, numbers, signed, words
from lookalike.runtime.spark.block_join import cell_edges
from lookalike.runtime.spark.key_join import Score

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

VECTOR_SALT = np.uint32(0x5EED)
VECTORS_PER_TASK = 1 << 12  # rows that are projected at once
TASK_BYTES = 32 << 20  # bytes of vectors that one task of an exact join compares with as many others
VECTOR_FEATURES = "size int, print long, other long, length long, values binary, keys binary, places binary"
KEYED = "item long, rep long, side byte, size int, keys binary, places binary, signs binary, values binary"


def features(values: F32, job: VectorJob) -> dict[str, pa.Array]:
    """Return the columns VECTOR_FEATURES of rows, without keys; a row that cannot be compared has size 0."""
    n, width = values.shape
    good = np.empty(n, np.bool_)
    vectors.usable(values, job.measure != "distance", good)
    plain = np.where(values == 0, np.float32(0), values)  # -0 equals 0
    salted = (plain.view(np.uint32) ^ VECTOR_SALT).view(np.float32)
    none = nothing(n)
    return {
        "size": as_arrow(good.astype(np.int32)),
        "print": signed(row_prints(plain)),
        "other": signed(row_prints(salted)),
        "length": as_arrow(np.full(n, 4 * width)),
        "values": as_binary(values.reshape(-1), np.arange(n + 1) * width),
        "keys": none,
        "places": none,
    }


def rows_of(batch: pa.RecordBatch, name: str = "values") -> F32:
    """Return a column of rows of equal length as f32[m, d]."""
    column = batch[name]
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    flat = np.frombuffer(data or b"", np.float32)[ends[0] >> 2 : ends[-1] >> 2]
    return flat.reshape(len(column), -1)


def space_of(values: F32, job: VectorJob, centre: F32 | None = None, sides: np.ndarray | None = None) -> VectorSpace:
    """Create a VectorSpace of distinct rows, relative to a given centre."""
    each = np.arange(len(values))
    side = np.full(len(values), 3, np.uint8) if sides is None else sides.astype(np.uint8)
    rows = NumericRows(values, [], -1, Classes(each, each + 1), each, side, each)
    with Pool(1) as pool:
        return make_space(rows, job, pool, centre)


def table_keys(listed: DataFrame, job: VectorJob, plan: SignPlan, centre: F32) -> DataFrame:
    """Return the rows with their sign bits and one key for each table (KEYED)."""
    tables = draw_tables(plan, job.seed)
    planes = draw_planes(space_of(np.ones((1, len(centre)), np.float32), job, centre), plan, job.seed)
    pack = signs.pack_parities if job.measure == "distance" else signs.pack_signs

    def stage(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        n, values = batch.num_rows, rows_of(batch)
        space = space_of(values, job, centre)
        bits, keys = np.empty((n, plan.bits // 64), np.uint64), np.empty((n, plan.bands), np.uint32)
        for at in range(0, n, VECTORS_PER_TASK):
            part = slice(at, min(at + VECTORS_PER_TASK, n))
            pack(space.block(part.start, part.stop) @ planes.directions, planes.shift, bits[part])
            signs.table_keys(bits[part], tables, keys[part])
        wide = keys.astype(np.uint64) | np.arange(plan.bands, dtype=np.uint64) << np.uint64(32)
        mixed = np.empty(wide.size, np.uint64)
        hashing.mix_all(np.ascontiguousarray(wide).reshape(-1), np.uint64(job.seed), mixed)
        yield pa.record_batch(
            {
                "item": batch["item"],
                "rep": batch["item"],
                "side": batch["side"],
                "size": as_arrow(np.ones(n, np.int32)),
                "keys": as_binary(mixed, np.arange(n + 1) * plan.bands),
                "places": nothing(n),
                "signs": as_binary(bits.reshape(-1), np.arange(n + 1) * bits.shape[1]),
                "values": batch["values"],
            }
        )

    return mapped(listed, stage, KEYED)


def vector_score(job: VectorJob, plan: SignPlan, centre: F32) -> Score:
    """Return a function that scores pairs exactly: NaN beyond the threshold or if more than plan.cut bits differ."""

    def score(left: pa.RecordBatch, right: pa.RecordBatch) -> F64:
        n = left.num_rows
        out = np.full(n, np.nan)
        one, other = (words(side, "signs") for side in (left, right))
        width = plan.bits // 64
        apart = np.bitwise_count(
            one[0][one[1][:, None] + np.arange(width)] ^ other[0][other[1][:, None] + np.arange(width)]
        ).sum(axis=1)
        near = np.flatnonzero(apart <= plan.cut)
        space = space_of(np.concatenate([rows_of(left)[near], rows_of(right)[near]]), job, centre)
        first, second = np.arange(len(near), dtype=np.uint32), np.arange(len(near), 2 * len(near), dtype=np.uint32)
        kept, _, scores = space.scored(first, second)
        out[near[kept]] = scores
        return out

    return score


def nearest_to_centre(listed: DataFrame, job: VectorJob, centre: F32) -> float:
    """Return the smallest distance of any row from the centre; each batch sends one number."""

    def stage(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"nearest": as_arrow(space_of(rows_of(batch), job, centre).radius.min(keepdims=True))})

    return float(mapped(listed, stage, "nearest double").selectExpr("min(nearest) nearest").collect()[0]["nearest"])


def exact_edges(listed: DataFrame, job: VectorJob, centre: F32, count: int, width: int) -> DataFrame:
    """Return every pair that reaches the threshold (EDGE_COLUMNS): one task for every two blocks of items."""
    each = max(1, TASK_BYTES // (4 * width))

    def join(cell: pa.RecordBatch, split: int) -> Pairs:
        space = space_of(rows_of(cell), job, centre, numbers(cell, "side"))
        with Pool(1) as pool:
            return across(space, split, pool)

    return cell_edges(listed, each, -(-count // each), join, "values")


@dataclass(frozen=True)
class Truth:
    """The exact partners of sampled items.

    items i64[k], radius f64[k]: all items in a pair or in the sample, by their numbers, and their distances from the
    centre; pairs: positions in `items`; sample i64: positions of the sampled items in `items`.
    """

    items: I64
    radius: F64
    pairs: Pairs
    sample: I64


def sample_matches(listed: DataFrame, chosen: pa.RecordBatch, job: VectorJob, centre: F32) -> DataFrame:
    """Return the exact pairs of sampled rows in one pass that compares every row with the sample.

    chosen: the sample, as `listed_rows` returns it. The result has a row (number, other, similarity, radius of the
    other) for each pair, once where both are in the sample; vectors stay on the executors.
    """
    sample, mine, sides = numbers(chosen, "number"), rows_of(chosen), numbers(chosen, "side")
    several = len(np.unique(sides)) > 1

    def stage(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        k, there = len(sample), numbers(batch, "number")
        both = np.concatenate([sides, numbers(batch, "side")]) if several else None
        space = space_of(np.concatenate([mine, rows_of(batch)]), job, centre, both)
        with Pool(1) as pool:
            found = partners(space, np.arange(k), pool)
        keep = (found.left < k) & (found.right >= k)
        number, row = sample[found.left[keep]], found.right[keep] - k
        other, similarity = there[row], found.similarity[keep]
        once = (number != other) & ~(np.isin(other, sample) & (number > other))
        columns = [number[once], other[once], similarity[once], space.radius[k + row[once]]]
        yield pa.record_batch(list(map(as_arrow, columns)), ["number", "other", "similarity", "radius"])

    return mapped(listed, stage, "number long, other long, similarity double, radius double")


def exact_partners(listed: DataFrame, sampled: I64, job: VectorJob, centre: F32) -> Truth:
    """Find the exact partners of sampled items."""
    chosen = listed_rows(listed, sampled)
    sample, own = numbers(chosen, "number"), space_of(rows_of(chosen), job, centre).radius
    table = sample_matches(listed, chosen, job, centre).toArrow()
    number, other, similarity, radius = (table[name].to_numpy() for name in table.column_names)
    # in the order in which the local engine finds them: block by block, then by the sampled item
    order = np.lexsort((other, number, other // TILE))
    items, first = np.unique(np.concatenate([sample, other]), return_index=True)
    one, two = (np.searchsorted(items, side[order]) for side in (number, other))
    pairs = Pairs(np.minimum(one, two), np.maximum(one, two), similarity[order])
    return Truth(items, np.concatenate([own, radius])[first], pairs, np.searchsorted(items, sample))


def listed_rows(listed: DataFrame, wanted: I64) -> pa.RecordBatch:
    """Collect the rows with these numbers, in order: a bounded sample for the driver."""
    from pyspark.sql import functions as F  # noqa: N812

    chosen = listed.where(F.col("number").isin(wanted.tolist())).orderBy("number")
    return chosen.toArrow().combine_chunks().to_batches()[0]
