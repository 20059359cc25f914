"""Pairs of bit codes that stay on disk: read once into the work folder, joined part by part, with checkpoints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import I64, U64, Bits, Pairs
from lookalike.core.audit_sample import draw, partners_in
from lookalike.core.keep_policy import preferred_column
from lookalike.core.method_choice import PLANNER_SAMPLE
from lookalike.core.recall_audit import Audit, measure_in
from lookalike.core.trace import Trace
from lookalike.errors import UsageError
from lookalike.kernels import bits as kernels
from lookalike.kinds.bits.joins import BITS_ADVICE, BitsJoin, drawn, varying
from lookalike.kinds.bits.multi_index import MultiIndexPlan
from lookalike.kinds.bits.source import CodeSource
from lookalike.kinds.bits.spec import BitsJob
from lookalike.runtime.local.checkpoints import CheckpointWriter, FeatureChunk
from lookalike.runtime.local.code_join import READ_CODES, CodeJoin, KeySegment
from lookalike.runtime.local.distinct_rows import DistinctRows, find_copies
from lookalike.runtime.local.joins import check_count
from lookalike.runtime.local.kept_features import KeptInput, keep_features
from lookalike.runtime.local.listed_rows import (
    StoredRows,
    audit_fits,
    check_stored_ids,
    output,
    pairs_in_memory,
    room_for,
)
from lookalike.runtime.local.pair_store import PairStore
from lookalike.runtime.local.pool import Pool, usable_cores
from lookalike.runtime.local.stored_array import StoredArray, StoredPart
from lookalike.runtime.local.text_pass import ID
from lookalike.runtime.local.work_folder import ResourceLimits
from lookalike.runtime.local.workspace import open_kept_workspace
from lookalike.runtime.run_output import Request, RunOutput

DTYPES: dict[str, Any] = {"words": np.uint64, "present": np.uint8}


def run_on_disk(
    sources: Sequence[CodeSource], job: BitsJob, asked: Request, trace: Trace, place: ResourceLimits
) -> RunOutput:  # fmt: skip
    """Find the same pairs as `local.run`, within a memory budget."""
    column = preferred_column(asked.keep)
    extras: list[list[str]] = [[column] if column and not number else [] for number in range(len(sources))]
    widths: list[list[int]] = [[] for _ in sources]
    inputs = [_kept(source, extra, width) for source, extra, width in zip(sources, extras, widths, strict=True)]
    options = {name: value for name, value in job.as_dict().items() if name not in ("threads", "audit")}
    space = open_kept_workspace(inputs, {"wants": "pairs", "compared": job.words(), "job": options}, place)
    with space, Pool(job.threads or usable_cores(), space.keeper.look) as pool:
        with trace.stage("read") as report:
            done = 0

            def counted(rows: int, counts: Any) -> None:
                nonlocal done
                done += rows
                trace.add(**{name: number for name, number in counts.items() if name != "bytes"})
                report(done, None)

            kept = keep_features(inputs, DTYPES, pool, space, counted)
            width = _one_width(widths, sources)
            trace.add(bits=width)
            tables, counts = [one.columns() for one in kept], [one.rows for one in kept]
            for source, table in zip(sources, tables, strict=True):
                if source.collection.id_column is not None and table.num_columns:
                    check_stored_ids(table[ID], source.name, space, room_for(space.keeper) // 2)
        stored = StoredArray([_words(one, width) for one in kept], -(-max(1, width) // 64), np.uint64)
        with trace.stage("collapse"):
            good = _present(kept)
            single = stored.width == 1

            def prints(low: int, high: int) -> U64:
                words, out = stored.read(low, high), np.empty(high - low, np.uint64)
                kernels.fingerprints(words, out)
                return out

            def same(left: I64, right: I64) -> npt.NDArray[np.bool_]:
                if single:  # the fingerprint is the code
                    return np.ones(len(left), np.bool_)
                equal: npt.NDArray[np.bool_] = np.all(_gathered(stored, left) == _gathered(stored, right), axis=1)
                return equal

            copies = find_copies(prints, good, same, space, room_for(space.keeper, len(good)) // 2)
            codes = DistinctRows(stored, copies.mask(good))
            rows = StoredRows(tables, counts, codes.mask, copies, 0.0)
            sides = copies.sides(codes.mask, rows.split)
            trace.add(exact_duplicates=len(copies.rows))
        with trace.stage("choose"):
            sample = drawn(len(codes), PLANNER_SAMPLE, job.seed)
            part = Bits(codes.gather(sample), width)
            seen = np.full(len(sample), 3, np.uint8) if sides is None else sides[sample]
            planner = BitsJoin(part, seen, job, pool, trace, places=_varying(codes), count=len(codes))
            plan, choice = planner.choose(asked.want)
        held = len(good) + (0 if sides is None else len(sides))
        found = join_codes(codes, sides, planner, plan, pool, space, trace, room_for(space.keeper, held))
        out = output(
            rows, found, asked, choice, space, lengths=lambda some: np.full(len(some), width), max_pairs=job.max_pairs
        )
        if choice.method != "exact":
            audit = None
            if job.audit and len(codes) and audit_fits(space, len(codes), room_for(space.keeper, held), trace):
                audit = _audit(codes, sides, planner, plan, found, trace)
            out = replace(out, plan=plan, audit=audit)
        if out.streamed is None:  # nothing of the result is in the folder
            space.close()
        return out


def _kept(source: CodeSource, extra: Sequence[str], width: list[int]) -> KeptInput:
    """Return the input for the work folder. width: will hold the number of bits of its codes."""

    def state() -> dict[str, Any]:
        return {**source.collection.state(), "width": list(width)}

    def restore(known: Any) -> None:
        source.collection.restore(known)
        width[:] = known.get("width", [])

    def pieces(start: int) -> Iterator[FeatureChunk]:
        return source.stored_pieces(extra, start, width)

    return KeptInput(
        source.name, "codes", source.about(extra), source.collection.nbytes, pieces, state, restore, noun="codes"
    )


def _one_width(widths: list[list[int]], sources: Sequence[CodeSource]) -> int:
    known = [(width[0], source) for width, source in zip(widths, sources, strict=True) if width]
    for width, source in known:
        if width != known[0][0]:
            raise UsageError(
                f"the codes of {source.name} have {width} bits, those of {known[0][1].name} {known[0][0]}; "
                "expected codes of one length."
            )
    return known[0][0] if known else 0


def _words(kept: CheckpointWriter, width: int) -> StoredPart:
    """Return the stored words; a collection of nulls only has none."""
    return kept.part("words", np.uint64, -(-max(1, width) // 64))


def _present(kept: Sequence[CheckpointWriter]) -> npt.NDArray[np.bool_]:
    """Return which rows hold a code."""
    parts = [np.fromfile(one.file("present")[0], np.uint8, one.rows) for one in kept]
    good: npt.NDArray[np.bool_] = np.concatenate(parts).view(np.bool_)
    return good


def _gathered(stored: StoredArray, rows: I64) -> U64:
    distinct, back = np.unique(rows, return_inverse=True)
    words: U64 = stored.gather(distinct)[back]
    return words


def _varying(codes: DistinctRows) -> U64:
    """Return the positions at which codes differ."""
    some, every = np.zeros(codes.stored.width, np.uint64), np.full(codes.stored.width, ~np.uint64(0))
    for low in range(0, len(codes), READ_CODES):
        words = codes.block(low, min(low + READ_CODES, len(codes)))
        some |= np.bitwise_or.reduce(words, axis=0)
        every &= np.bitwise_and.reduce(words, axis=0)
    return varying(some & ~every)


def join_codes(
    codes: DistinctRows, sides: npt.NDArray[np.uint8] | None, planner: BitsJoin, plan: MultiIndexPlan, pool: Pool,
    space: Any, trace: Trace, room: int,
) -> PairStore:  # fmt: skip
    """Return the pairs of all segments of the plan, from checkpoints as far as there are any."""
    job = planner.job
    segments = [KeySegment(piece.places, piece.flips) for piece in plan.pieces(planner.places, job.seed)]
    join = CodeJoin(codes, sides, segments, job.threshold, pool, space, trace, room - space.budget // 8)
    with trace.stage("match") as report:
        store = PairStore(
            space, "pairs", most=pairs_in_memory(space.keeper), about=join.about(), division=join.chunk_rows
        )
        if not store.complete:
            join.run(store, report, lambda count: check_count(count, job.max_pairs, BITS_ADVICE))
        trace.add(candidates=store.counts.get("candidates", 0))
    return store


def _audit(
    codes: DistinctRows, sides: npt.NDArray[np.uint8] | None, planner: BitsJoin, plan: MultiIndexPlan,
    found: PairStore, trace: Trace,
) -> Audit:  # fmt: skip
    """Measure recall as `BitsJoin.audit` does; the partners of the sample are found by comparing it with all codes."""
    with trace.stage("audit"):
        size, _ = planner.audit_size(plan)
        sample = draw(partners_in(found.scored_pieces, len(codes)), size, planner.job.seed)
        mine = codes.gather(sample.items)
        blocks = range(0, len(codes), READ_CODES)
        parts = planner.pool.map(lambda low: _near(codes, sides, sample.items, mine, low, plan.threshold), blocks)
        left, right, score = (np.concatenate(column) for column in zip(*parts, strict=True))
        return measure_in(
            Pairs(left, right, score), found.scored_pieces, sample, (plan.probability(-one) for one in score)
        )


def _near(
    codes: DistinctRows, sides: npt.NDArray[np.uint8] | None, sample: I64, mine: U64, low: int, most: int
) -> tuple[I64, I64, npt.NDArray[np.float64]]:
    """Return the pairs of sampled codes and the codes of a block, each pair of two sampled codes once."""
    words = codes.block(low, min(low + READ_CODES, len(codes)))
    empty = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    out = [empty]
    inside = np.isin(np.arange(low, low + len(words)), sample)
    for item, code in zip(sample.tolist(), mine, strict=True):
        apart = np.bitwise_count(words ^ code).sum(axis=1, dtype=np.int64)
        here = np.flatnonzero(apart <= most)
        other = low + here
        wanted = (other != item) & ~(inside[here] & (other < item))
        if sides is not None:
            wanted &= (sides[other] | sides[item]) == 3
        here, other = here[wanted], other[wanted]
        out.append((np.minimum(item, other), np.maximum(item, other), -apart[here].astype(np.float64)))
    left, right, score = (np.concatenate(column) for column in zip(*out, strict=True))
    return left, right, score
