"""Local engine for measurements: two items match if enough of their measurements nearly agree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lookalike.core.arrays import F64, I64, U64, Pairs
from lookalike.core.audit_sample import draw, found_partners
from lookalike.core.method_choice import Choice, cheaper
from lookalike.core.recall_audit import Audit, measure
from lookalike.core.trace import Trace
from lookalike.io.vectors import Vectors
from lookalike.kernels import buckets
from lookalike.kinds.faces.kernels import measurements
from lookalike.kinds.faces.spec import (
    PER_MEASUREMENT,
    RANGE_WIDTHS,
    CollisionStatistics,
    FaceJob,
    RangePlan,
    plan_ranges,
)
from lookalike.runtime.local.joins import Block, scored
from lookalike.runtime.local.memory_limit import UNLIMITED, InputNeed, MemoryLimit
from lookalike.runtime.local.numeric_rows import NumericRows, read_rows
from lookalike.runtime.local.pool import Pool, usable_cores
from lookalike.runtime.run_output import OutputKind, RunOutput

MAX_ALL_PAIRS_FACES = 2000  # up to this number of distinct items, all pairs are compared
SAMPLED_FACES = 300  # number of items whose pairs are sampled to estimate how often ranges collide
NEAR_MARGIN, MIN_NEAR_PAIRS = (
    0.1,
    20,
)  # pairs with at most this much more agreement count as at the threshold; minimum number of them for an estimate
FACES_ADVICE = "Ask for a larger share or a smaller tolerance, or raise `max_pairs`."
FACE_PAIR_BUFFER = 1 << 16
KEY_ABOVE = 32  # the item number takes the low bits of a packed table entry, the key the bits above


# measured by benchmarks/scale/memory_needs.py
FACES_NEED = InputNeed("faces", row=350, byte=1.5, text_byte=2)


def run(
    sources: Sequence[Vectors], job: FaceJob, want: OutputKind, trace: Trace, *, keep: str = "first",
    memory: MemoryLimit = UNLIMITED,
) -> RunOutput:  # fmt: skip
    """Find the pairs of one collection of measurements, or between probes and a gallery."""
    with Pool(job.threads or usable_cores(), memory.look) as pool:
        rows = read_rows(sources, pool, trace, noun=job.noun, keep=keep, on_bad=job.on_bad)
        memory.check(FACES_NEED.row * len(rows.values) + FACES_NEED.byte * rows.values.nbytes, "these faces")
        with trace.stage("choose"):
            pairs = _all_pairs(rows)
            offsets = _offsets(rows, job)
            plan, choice = _choose(rows, job, offsets, pairs)
        trace.add(all_pairs=round(pairs))
        found = RunOutput(rows.ids, rows.split, rows.classes, np.ones(len(rows)), rows.order, choice)
        if plan is None:
            trace.add(candidates=round(pairs))
            with trace.stage("match"):
                return replace(found, pairs=_exact(rows, job, pool, trace, np.arange(len(rows))))
        if job.tables is None and plan.recall_at_threshold < job.recall:
            trace.warnings.append(
                f"{plan.bands} tables reach a recall of {plan.recall_at_threshold:.3f} at the threshold, on average "
                f"over sampled pairs, not {job.recall:g}. Ask for `method='exact'`, or for a larger share."
            )
        join = RangeJoin(rows, job, plan, offsets, pool, trace)
        got = join.pairs(trace)
        audit = _audit(join, got, trace) if job.audit and len(rows) else None
        return replace(found, plan=plan, pairs=got, audit=audit)


def _all_pairs(rows: NumericRows) -> float:
    if rows.split < 0:
        return len(rows) * (len(rows) - 1) / 2
    both = float((rows.sides == 3).sum())  # two items that are on both sides form one pair, not two
    return float((rows.sides & 1 > 0).sum()) * float((rows.sides & 2 > 0).sum()) - both * (both + 1) / 2


def _offsets(rows: NumericRows, job: FaceJob) -> F64:
    """Draw the offset of the ranges of each measurement at random."""
    random = np.random.default_rng([job.seed, 4])
    return random.uniform(0.0, RANGE_WIDTHS[-1] * job.tolerance, (rows.values.shape[1],))


def _choose(rows: NumericRows, job: FaceJob, offsets: F64, pairs: float) -> tuple[RangePlan | None, Choice]:
    if job.method == "exact":
        return None, Choice("exact", {}, "asked for")
    if job.method == "auto" and len(rows) <= MAX_ALL_PAIRS_FACES and job.tables is None:
        return None, Choice("exact", {}, f"{len(rows):,} different items are few enough to compare all pairs")
    plan, lsh = plan_ranges(job, _meetings(rows, job, offsets), len(rows), pairs, rows.values.shape[1])
    exact = pairs * rows.values.shape[1] * PER_MEASUREMENT / 1e9
    seconds = {"lsh": round(lsh, 3), "exact": round(exact, 3)}
    if job.method == "lsh" or job.tables is not None:
        return plan, Choice("lsh", seconds, "asked for")
    if exact <= lsh or plan.recall_at_threshold < job.recall:
        return None, Choice("exact", seconds, "tables of ranges cost more here than all pairs")
    return plan, Choice("lsh", seconds, cheaper("tables of ranges are", exact / lsh, "all pairs"))


def _meetings(rows: NumericRows, job: FaceJob, offsets: F64) -> list[CollisionStatistics]:
    """Estimate how often ranges collide, for random pairs and for pairs at the threshold, by width of the ranges.

    The latter is estimated from sampled pairs near the threshold. If these are too few, measurements within the
    tolerance count as colliding, and the others collide as often as in random pairs. With probes and a gallery, each
    sampled pair consists of a probe and an item of the gallery.
    """
    left, right = _sampled_pairs(rows, np.random.default_rng([job.seed, 5]))
    agree, meet = np.empty(len(left)), np.empty(len(left))
    out = []
    for factor in RANGE_WIDTHS:
        width = factor * job.tolerance
        measurements.meet_shares(rows.values, left, right, offsets, width, job.tolerance, agree, meet)
        near = meet[(agree >= job.threshold) & (agree < job.threshold + NEAR_MARGIN)]
        if len(near) < MIN_NEAR_PAIRS:
            other = float((meet - agree).sum() / max(1e-9, (1.0 - agree).sum())) if len(left) else 0.0
            near = np.array([job.threshold + (1.0 - job.threshold) * max(0.0, other)])
        out.append(CollisionStatistics(width, near, meet.copy() if len(left) else np.zeros(1)))
    return out


def _sampled_pairs(rows: NumericRows, random: np.random.Generator) -> tuple[I64, I64]:
    """Return the rows of all pairs of about SAMPLED_FACES items."""
    if rows.split < 0:
        chosen = np.sort(random.choice(len(rows), min(len(rows), SAMPLED_FACES), replace=False))
        left, right = (chosen[at] for at in np.nonzero(np.tri(len(chosen), k=-1)))
    else:
        sides = [np.flatnonzero(rows.sides & side) for side in (1, 2)]
        drawn = [np.sort(random.choice(each, min(len(each), SAMPLED_FACES // 2), replace=False)) for each in sides]
        left, right = (side.ravel() for side in np.meshgrid(*drawn, indexing="ij"))
        left, right = left[left != right], right[left != right]
    return rows.firsts[left], rows.firsts[right]


@dataclass
class RangeJoin:
    """The hash tables of a plan, over all items."""

    rows: NumericRows
    job: FaceJob
    plan: RangePlan
    offsets: F64
    pool: Pool
    chosen: I64
    packed: U64

    def __init__(
        self, rows: NumericRows, job: FaceJob, plan: RangePlan, offsets: F64, pool: Pool, trace: Trace
    ) -> None:
        self.rows, self.job, self.plan, self.offsets, self.pool = rows, job, plan, offsets, pool
        random = np.random.default_rng([job.seed, 6])
        width = rows.values.shape[1]
        size = min(plan.rows, width)
        self.chosen = np.array([random.choice(width, size, replace=False) for _ in range(plan.bands)])
        self.packed = np.empty((plan.bands, len(rows)), np.uint64)

        def fill(number: int) -> None:
            table = self.packed[number]
            measurements.table_keys(rows.values, rows.firsts, self.chosen[number], self.offsets, self.plan.width, table)
            table.sort()

        with trace.stage("index") as report:
            for done, _ in enumerate(pool.map(fill, range(plan.bands)), 1):
                report(done, plan.bands)
        for table in self.packed:
            buckets.bucket_sizes(table, KEY_ABOVE, trace.buckets)

    def pairs(self, trace: Trace) -> Pairs:
        """Return the matches of every item, or of every probe, among the items in its buckets."""
        rows, job = self.rows, self.job
        step = max(16, len(rows) // (16 * self.pool.threads))
        spans = [(at, min(at + step, len(rows))) for at in range(0, len(rows), step)]

        def search(span: tuple[int, int]) -> tuple[Block, int]:
            at, stop = span
            found: list[Block] = []
            total = matches = 0
            seen = np.full(len(rows), -1, np.int64)
            while at < stop and matches <= job.max_pairs:
                left, right, score = _room(len(rows))
                at, count, scored = measurements.probe(
                    rows.values, rows.firsts, rows.sides, rows.split < 0, self.chosen, self.offsets, self.plan.width,
                    job.tolerance, job.need(rows.values.shape[1]), self.packed, seen, at, stop, left, right, score,
                )  # fmt: skip
                total, matches = total + scored, matches + count
                found.append((left[:count].copy(), right[:count].copy(), score[:count].copy()))
            return _joined(found), total

        with trace.stage("match") as report:

            def pieces() -> Iterator[tuple[Block, int]]:
                for done, piece in enumerate(self.pool.map(search, spans), 1):
                    report(done, len(spans))
                    yield piece

            return Pairs(*scored(pieces(), trace, job.max_pairs, advice=FACES_ADVICE))


def _audit(join: RangeJoin, got: Pairs, trace: Trace) -> Audit:
    """Measure the share of the exact partners of sampled items that were found."""
    rows, job = join.rows, join.job
    with trace.stage("audit"):
        sample = draw(found_partners(got, len(rows)), job.audit, job.seed)
        truth = _exact(rows, job, join.pool, Trace(), sample.items)
        agree, meet = np.empty(len(truth)), np.empty(len(truth))
        measurements.meet_shares(
            rows.values, rows.firsts[truth.right], rows.firsts[truth.left], join.offsets, join.plan.width,
            job.tolerance, agree, meet,
        )  # fmt: skip
        return measure(truth, got, sample, join.plan.probability(meet).tolist())


def _exact(rows: NumericRows, job: FaceJob, pool: Pool, trace: Trace, others: I64) -> Pairs:
    """Return every match with one of `others`, each pair once."""
    every = len(others) == len(rows)
    step = max(16, len(rows) // (16 * pool.threads))
    spans = [(at, min(at + step, len(rows))) for at in range(0, len(rows), step)]

    def search(span: tuple[int, int]) -> tuple[Block, int]:
        at, stop = span
        found: list[Block] = []
        matches = 0
        while at < stop and matches <= job.max_pairs:
            left, right, score = _room(len(others))
            at, count = measurements.all_pairs(
                rows.values, rows.firsts, rows.sides, job.tolerance, job.need(rows.values.shape[1]), at, stop, others,
                every, left, right, score,
            )  # fmt: skip
            matches += count
            found.append((left[:count].copy(), right[:count].copy(), score[:count].copy()))
        return _joined(found), 0

    pairs = Pairs(*scored(pool.map(search, spans), trace, job.max_pairs, advice=FACES_ADVICE))
    if every:
        return pairs
    packed = pairs.left << 32 | pairs.right
    first = np.unique(packed, return_index=True)[1]
    return Pairs(pairs.left[first], pairs.right[first], pairs.similarity[first])


def _room(least: int) -> Block:
    size = max(FACE_PAIR_BUFFER, least)
    return np.empty(size, np.uint32), np.empty(size, np.uint32), np.empty(size, np.float64)


def _joined(found: list[Block]) -> Block:
    left, right, score = (np.concatenate(column) for column in zip(*found, strict=True))
    return left, right, score
