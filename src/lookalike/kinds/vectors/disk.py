"""Pairs of vectors that stay on disk: sketched and joined in memory part by part, verified in the order of the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.core.arrays import F32, F64, I64, U32, U64
from lookalike.core.exact_duplicates import Classes
from lookalike.core.keep_policy import preferred_column
from lookalike.core.recall_audit import Audit
from lookalike.core.trace import Trace
from lookalike.errors import UsageError
from lookalike.io.vectors import Vectors
from lookalike.kernels import signs, vectors
from lookalike.kinds.vectors.exact_join import TILE, against
from lookalike.kinds.vectors.geometry import VECTORS_PER_TASK, VectorSpace, centred
from lookalike.kinds.vectors.local import (
    VECTORS_ADVICE,
    audit_pairs,
    check_answer_size,
    choose,
    look,
    too_few_tables,
)
from lookalike.kinds.vectors.lsh_join import draw_planes, draw_tables
from lookalike.kinds.vectors.lsh_plan import SignPlan
from lookalike.kinds.vectors.spec import VectorJob
from lookalike.kinds.vectors.stored_rows import (
    DTYPES,
    StoredVectors,
    equal_rows,
    good_rows,
    prints_between,
    prints_of,
)
from lookalike.runtime.local.code_join import CodeJoin, KeySegment, power_below
from lookalike.runtime.local.distinct_rows import DistinctRows, RowMask, find_copies
from lookalike.runtime.local.joins import check_count
from lookalike.runtime.local.kept_features import keep_features
from lookalike.runtime.local.listed_rows import (
    StoredRows,
    audit_fits,
    check_stored_ids,
    output,
    pairs_in_memory,
    room_for,
)
from lookalike.runtime.local.numeric_rows import NumericRows
from lookalike.runtime.local.pair_store import MEMORY_PER_KEPT_PAIR, FoundPairs, PairStore, keys_of
from lookalike.runtime.local.pool import Pool, usable_cores
from lookalike.runtime.local.stored_array import StoredArray, StoredPart
from lookalike.runtime.local.text_pass import ID
from lookalike.runtime.local.work_folder import ResourceLimits, Workspace
from lookalike.runtime.local.workspace import open_kept_workspace
from lookalike.runtime.run_output import Request, RunOutput

ROW_ARRAYS = 16  # bytes of memory per vector: its distance from the centre, masks, its collection
CANDIDATES_PER_TASK = 1 << 12  # candidates that one task scores


@dataclass(frozen=True)
class StoredSpace(VectorSpace):
    """Vectors on disk, with the statistics that the joins use. Lengths are computed where rows are read."""

    stored: DistinctRows

    def __len__(self) -> int:
        return len(self.stored)

    def block(self, low: int, high: int) -> F32:
        return self._ready(self.stored.block(low, high))

    def take(self, items: I64) -> F32:
        distinct, back = np.unique(items, return_inverse=True)
        return self._ready(self.stored.gather(distinct))[back]

    def scored(self, left: U32, right: U32) -> tuple[U32, U32, F64]:
        items, back = np.unique(np.concatenate([left, right]), return_inverse=True)
        values = self.stored.gather(items.astype(np.int64))
        first, second, scores = score(self.job, values, back[: len(left)], back[len(left) :])
        return items[first].astype(np.uint32), items[second].astype(np.uint32), scores

    def _ready(self, values: F32) -> F32:
        """Return directions, or positions relative to the centre."""
        every, out = np.arange(len(values)), np.empty_like(values)
        if self.is_flat:
            vectors.positions(values, every, self.centre, out)
        else:
            vectors.directions(values, every, lengths_of(values), out)
        return out


def lengths_of(values: F32) -> F64:
    out = np.empty(len(values), np.float64)
    vectors.norms(values, np.arange(len(values)), out)
    return out


def score(job: VectorJob, values: F32, left: I64, right: I64) -> tuple[U32, U32, F64]:
    """Score pairs of these rows exactly, and return those that reach the threshold."""
    first, second, scores = left.astype(np.uint32), right.astype(np.uint32), np.empty(len(left), np.float64)
    lengths = np.ones(len(values)) if job.measure == "distance" else lengths_of(values)
    kept = vectors.score_pairs(job.code, values, np.arange(len(values)), lengths, first, second, job.least, scores)
    return first[:kept], second[:kept], scores[:kept]


def run_on_disk(
    sources: Sequence[Vectors], job: VectorJob, asked: Request, trace: Trace, place: ResourceLimits
) -> RunOutput:
    """Find the same pairs as `local.run`, within a memory budget."""
    column, keep = preferred_column(asked.keep), asked.keep
    if keep in ("longest", "shortest"):
        raise UsageError(f"keep {keep!r} means nothing for {job.noun}; choices: first, last, max:COL, min:COL, ...")
    flat = job.measure == "distance"
    collections = [
        StoredVectors(source, [column] if column and not number else [], not flat, job.on_bad)
        for number, source in enumerate(sources)
    ]
    threads = job.threads or usable_cores()
    with Pool(threads) as reading:
        inputs = [one.kept(reading) for one in collections]
        options = {name: value for name, value in job.as_dict().items() if name not in ("threads", "audit")}
        workspace = open_kept_workspace(inputs, {"wants": "pairs", "compared": job.words(), "job": options}, place)
        with workspace, trace.stage("read") as report:
            done = 0

            def counted(rows: int, counts: Any) -> None:
                nonlocal done
                done += rows
                trace.add(**counts)
                workspace.keeper.look()
                report(done, None)

            kept = keep_features(inputs, DTYPES, reading, workspace, counted)
            tables, counts = [one.columns() for one in kept], [one.rows for one in kept]
            _check_ids(collections, tables, workspace)
    with workspace, Pool(threads, workspace.keeper.look) as pool:
        widths = {one.width[0] for one in collections if one.width}
        if len(widths) > 1:
            raise UsageError(f"vectors of {' and of '.join(map(str, sorted(widths)))} numbers; expected one length.")
        parts = [part for one, writer in zip(collections, kept, strict=True) for part in one.parts(writer)]
        stored = StoredArray(parts, max(widths, default=1), np.float32)
        with trace.stage("collapse"):
            good, prints = good_rows(kept), prints_of(kept)
            copies = find_copies(
                lambda low, high: prints_between(prints, low, high), good,
                lambda left, right: equal_rows(stored, left, right), workspace,
                room_for(workspace.keeper, ROW_ARRAYS * len(stored)) // 2,
            )  # fmt: skip
            rows = DistinctRows(stored, copies.mask(good))
            listed = StoredRows(tables, counts, rows.mask, copies, 1.0 if job.measure == "cosine" else -0.0)
            trace.add(exact_duplicates=len(copies.rows))
        return _found(rows, listed, job, asked, pool, workspace, trace)


def _check_ids(collections: Sequence[StoredVectors], tables: Sequence[pa.Table], workspace: Workspace) -> None:
    for one, table in zip(collections, tables, strict=True):
        if table.num_columns:
            check_stored_ids(table[ID], one.source.name, workspace, room_for(workspace.keeper) // 2)


def _found(
    rows: DistinctRows, listed: StoredRows, job: VectorJob, asked: Request, pool: Pool, workspace: Workspace,
    trace: Trace,
) -> RunOutput:  # fmt: skip
    """Choose a method, join, audit, and build the result."""
    room = room_for(workspace.keeper, ROW_ARRAYS * len(rows.stored))
    with trace.stage("choose"):
        space = make_stored_space(rows, listed, job, pool)
        seen = None if job.method == "exact" else look(space, pool)
        choice = choose(job, len(space), seen)
        if seen is not None and asked.want == "pairs":
            check_answer_size(space, seen, trace)
    plan: SignPlan | None = None
    step = power_below(
        max(CANDIDATES_PER_TASK, room // 3 // rows.row_bytes)
    )  # vectors that are held while candidates are verified
    store = PairStore(
        workspace, "pairs", most=pairs_in_memory(workspace.keeper), about={"method": choice.method}, division=step
    )
    if choice.method == "exact" or seen is None or seen.plan is None:
        _all_pairs(space, store, pool, trace)
    else:
        plan = seen.plan
        if plan.recall_at_threshold < job.recall:
            trace.warnings.append(too_few_tables(plan.recall_at_threshold, job.recall))
        if not store.complete:
            candidates = _candidates(space, plan, listed, pool, workspace, trace, room)
            _verified(space, candidates, store, pool, trace, step)
        trace.add(candidates=store.counts.get("candidates", 0))
    out = output(
        listed, store, asked, choice, workspace, lengths=lambda some: np.full(len(some), space.width),
        max_pairs=job.max_pairs,
    )  # fmt: skip
    if plan is not None:
        audit: Audit | None = None
        if job.audit and len(rows) and audit_fits(workspace, len(rows), room, trace):
            with trace.stage("audit"):
                audit = audit_pairs(space, plan, store.scored_pieces, pool)
        out = replace(out, plan=plan, audit=audit)
    if out.streamed is None:  # nothing of the result is in the folder
        workspace.close()
    return out


def make_stored_space(rows: DistinctRows, listed: StoredRows, job: VectorJob, pool: Pool) -> StoredSpace:
    """Compute the centre and the distances from it as `make_space` does, block by block."""
    n, width, flat = len(rows), rows.stored.width, job.measure == "distance"
    sides = listed.copies.sides(listed.mask, listed.split)
    nothing = np.zeros(width, np.float32)
    empty = np.empty(0, np.int64)
    held = NumericRows(
        np.empty((0, width), np.float32), [], listed.split, Classes(empty, empty), empty,
        np.full(n, 3, np.uint8) if sides is None else sides, empty,
    )  # fmt: skip
    before = StoredSpace(held, job, np.empty(0), nothing, np.empty(0), rows)
    some = before.take(centred(n))
    centre = some.mean(axis=0, dtype=np.float64).astype(np.float32) if n else nothing
    space = replace(before, centre=centre)

    def radius(low: int) -> F64:
        ready = space.block(low, min(low + VECTORS_PER_TASK, n))
        out = np.empty(len(ready), np.float64)
        vectors.radii(ready, nothing if flat else centre, out)
        return out

    radii = np.empty(n)
    for low, one in zip(range(0, n, VECTORS_PER_TASK), pool.map(radius, range(0, n, VECTORS_PER_TASK)), strict=True):
        radii[low : low + len(one)] = one
    return replace(space, radius=radii)


def _all_pairs(space: StoredSpace, store: PairStore, pool: Pool, trace: Trace) -> None:
    """Compare all pairs; each row of tiles is a step."""
    with trace.stage("match") as report:
        blocks = [(at, min(at + TILE, len(space))) for at in range(0, len(space), TILE)]
        for done in range(store.steps, len(blocks)):
            low, high = blocks[done]
            items = np.arange(low, high)
            for left, right, scores in against(
                space, items, space.block(low, high), blocks[: done + 1], pool, once=True
            ):
                store.add(keys_of(np.minimum(left, right), np.maximum(left, right)), scores)
                check_count(len(store), space.job.max_pairs, VECTORS_ADVICE)
            store.step()
            report((done + 1) ** 2, len(blocks) ** 2)
        store.finish()
        trace.add(candidates=len(space) * (len(space) - 1) // 2)


def _candidates(
    space: StoredSpace, plan: SignPlan, listed: StoredRows, pool: Pool, workspace: Workspace, trace: Trace, room: int
) -> PairStore:
    """Return the pairs that share a key in a table and differ in few bits of the sketch."""
    words = plan.bits // 64
    with trace.stage("sketch") as report:
        planes = draw_planes(space, plan, space.job.seed)
        pack = signs.pack_parities if space.is_flat else signs.pack_signs

        def fill(arrays: dict[str, npt.NDArray[Any]]) -> None:
            starts = range(0, len(space), VECTORS_PER_TASK)
            blocks = pool.map(lambda low: space.block(low, min(low + VECTORS_PER_TASK, len(space))), starts)
            for low, block in zip(starts, blocks, strict=True):
                pack(block @ planes.directions, planes.shift, arrays["words"][low : low + len(block)])
                report(low + len(block), len(space))

        workspace.filled("sketches", {"words": ((len(space), words), np.uint64)}, fill)
        workspace.keeper.give_back()
    assert workspace.run is not None
    part = StoredPart(workspace.run.path / "sketches.words", len(space), np.uint64)
    every = RowMask(np.ones(len(space), np.bool_))
    codes = DistinctRows(StoredArray([part] if len(space) else [], words, np.uint64), every)
    segments = [KeySegment(places.astype(np.uint64), 0) for places in draw_tables(plan, space.job.seed)]
    sides = None if listed.split < 0 else space.rows.sides
    join = CodeJoin(codes, sides, segments, plan.cut, pool, workspace, trace, room - workspace.budget // 8)
    store = PairStore(
        workspace, "candidates", most=pairs_in_memory(workspace.keeper), about=join.about(), division=join.chunk_rows
    )
    with trace.stage("match") as report:
        if not store.complete:
            join.run(store, report, lambda _: None)
    return store


def _verified(space: StoredSpace, candidates: PairStore, store: PairStore, pool: Pool, trace: Trace, step: int) -> None:
    """Score the candidates. A range of left vectors is held in memory while its partners pass by in their order.

    So each vector is read once for its own range, and at most once for each earlier range.
    """
    piece = max(CANDIDATES_PER_TASK, step * space.stored.row_bytes // MEMORY_PER_KEPT_PAIR)
    starts = list(range(0, len(space), step))
    with trace.stage("verify") as report:
        for number in range(store.steps, len(starts)):
            low, high = starts[number], min(starts[number] + step, len(space))
            held: F32 | None = None
            for found in candidates.pieces(low << 32, high << 32, most=piece):
                if held is None:
                    held = space.stored.block(low, high)
                order = np.argsort(found.right, kind="stable")
                tasks = _tasks(held, found, order, low, space)
                for left, right, scores in pool.map(lambda task: _scored(space.job, *task), tasks):
                    store.add(keys_of(left, right), scores)
                    check_count(len(store), space.job.max_pairs, VECTORS_ADVICE)
            store.step()
            report(number + 1, len(starts))
        store.count(candidates=candidates.counts.get("candidates", 0))
        store.finish()


def _tasks(
    held: F32, found: FoundPairs, order: I64, low: int, space: StoredSpace
) -> Iterator[tuple[F32, I64, DistinctRows, I64, int]]:
    """Yield pairs in the order of their right vectors, a few thousand at a time."""
    for at in range(0, len(order), CANDIDATES_PER_TASK):
        some = order[at : at + CANDIDATES_PER_TASK]
        yield held, found.left[some], space.stored, found.right[some], low


def _scored(job: VectorJob, held: F32, left: I64, stored: DistinctRows, right: I64, low: int) -> tuple[U64, U64, F64]:
    """Score pairs whose left vectors are held from `low` on, and whose right ones are read."""
    first, place = np.unique(left, return_inverse=True)
    second, back = np.unique(right, return_inverse=True)
    values = np.concatenate([held[first - low], stored.gather(second)])
    one, other, scores = score(job, values, place, len(first) + back)
    return first[one].astype(np.uint64), second[other.astype(np.int64) - len(first)].astype(np.uint64), scores
