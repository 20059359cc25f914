"""Joins of bit codes by multi-index hashing, on all cores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import F64, I64, U32, U64, Bits, Pairs
from lookalike.core.audit_sample import draw, found_partners
from lookalike.core.method_choice import EXACT_COST_RATIO, PLANNER_SAMPLE, Choice, cheaper
from lookalike.core.recall_audit import Audit, measure
from lookalike.core.size_limit import check_size
from lookalike.core.trace import Trace
from lookalike.kernels import bits as kernels
from lookalike.kinds.bits.multi_index import CodeSegment, MultiIndexPlan, SegmentCosts, every_pair, exact_plan, lsh_plan
from lookalike.kinds.bits.spec import BitsJob
from lookalike.runtime.local.joins import Block, Scored, scored
from lookalike.runtime.local.pool import Pool
from lookalike.runtime.run_output import OutputKind

BITS_ADVICE = "Lower `max_bits`, or raise `max_pairs`."
MIN_PAIR_BUFFER = 1 << 16  # minimum number of pairs that the output arrays of a kernel call can hold
TASKS = 32  # tasks per thread and segment; several, because buckets differ in size
# the audit may take this share of the estimated seconds of the run, but always at least these seconds
AUDIT_SHARE, AUDIT_SECONDS = 0.2, 0.3


@dataclass(frozen=True)
class SegmentIndex:
    """The codes sorted into the buckets of one segment."""

    piece: CodeSegment
    number: int
    starts: I64
    items: U32
    words: U64

    @cached_property
    def heads(self) -> U64:
        """Return the first word of each code as a contiguous array."""
        return np.ascontiguousarray(self.words[:, 0])

    @property
    def room(self) -> int:
        return max(MIN_PAIR_BUFFER, int(np.diff(self.starts).max(initial=0)))


class BitsJoin:
    """Join of distinct codes; positions whose bit is the same in all codes are left out of every key.

    places, count: varying positions and number of all codes, if `codes` is only a part of them.
    """

    def __init__(
        self, codes: Bits, sides: npt.NDArray[np.uint8], job: BitsJob, pool: Pool, trace: Trace, *,
        places: U64 | None = None, count: int | None = None,
    ) -> None:  # fmt: skip
        self.codes, self.sides, self.job, self.pool, self.trace = codes, sides, job, pool, trace
        self.count, words = len(codes) if count is None else count, codes.words
        self.sample = drawn(len(codes), PLANNER_SAMPLE, job.seed)
        if places is None:
            places = varying(np.bitwise_or.reduce(words, axis=0) & ~np.bitwise_and.reduce(words, axis=0))
        self.places = places
        share = _unpacked(words[self.sample])[:, self.places.astype(np.int64)].mean(axis=0) if len(self.places) else 0.5
        self.costs = SegmentCosts(self.count, words.shape[1], max(1e-3, float(np.mean(2 * share * (1 - share)))))

    def choose(self, want: OutputKind) -> tuple[MultiIndexPlan, Choice]:
        """Return the requested plan, or the cheaper one; raise an error if the result would be far too large."""
        job, bits = self.job, len(self.places)
        exact = exact_plan(bits, job.threshold, self.costs)
        if self.count > PLANNER_SAMPLE and want == "pairs":
            sampled, grow = self._sampled_pairs(), self.count / PLANNER_SAMPLE
            expected, sample = round(sampled * grow * grow), f"a sample of {PLANNER_SAMPLE:,} {job.noun} has"
            check_size(expected, job.max_pairs, sampled=sampled, sample=sample, advice=BITS_ADVICE)
            self.trace.add(expected_pairs=expected)
        if job.method == "exact":
            return exact, Choice("exact", {}, "asked for")
        lsh = lsh_plan(bits, job.threshold, job.recall, self.costs)
        if job.method == "lsh":
            return lsh, Choice("lsh", {}, "asked for")
        seconds = {"lsh": round(self.costs.of(lsh), 3), "exact": round(self.costs.of(exact), 3)}
        if lsh.is_exact or seconds["exact"] <= EXACT_COST_RATIO * seconds["lsh"]:
            return exact, Choice(
                "exact", seconds, "the exact join costs about as much here, or less, and misses nothing"
            )
        ratio = self.costs.of(exact) / self.costs.of(lsh)
        return lsh, Choice("lsh", seconds, cheaper("fewer keys are", ratio, "the exact join"))

    def pairs(self, plan: MultiIndexPlan) -> Scored:
        """Return every pair within the threshold that shares a bucket."""
        with self.trace.stage("match") as report:

            def pieces() -> Iterator[tuple[Block, int]]:
                masks, flips, indexes = self._indexes(plan)
                for index in indexes:
                    self.trace.add_buckets(np.diff(index.starts))
                    step = max(1, len(self.codes) // (TASKS * self.pool.threads))
                    spans = [(at, min(at + step, len(self.codes))) for at in range(0, len(self.codes), step)]
                    yield from self.pool.map(partial(self._join, index, index.piece.xors, masks, flips), spans)
                    report(index.number + 1, len(flips))

            return scored(pieces(), self.trace, self.job.max_pairs, advice=BITS_ADVICE)

    def audit(self, found: Pairs, plan: MultiIndexPlan) -> Audit:
        """Measure recall over all pairs with at least one code of a random sample; partners are found exactly."""
        with self.trace.stage("audit"):
            size, exact = self.audit_size(plan)
            sample = draw(found_partners(found, len(self.codes)), size, self.job.seed)
            blocks = list(self._look_up(exact, sample.items))
            left, right, score = (np.concatenate([block[i] for block in blocks]) for i in range(3))
            truth = Pairs(left.astype(np.int64), right.astype(np.int64), score)
            return measure(truth, found, sample, (plan.probability(-s) for s in truth.similarity))

    def audit_size(self, plan: MultiIndexPlan) -> tuple[int, MultiIndexPlan]:
        """Return how many codes to sample, and the exact plan for their partners: an index, or all comparisons."""
        seconds = max(AUDIT_SECONDS, AUDIT_SHARE * self.costs.of(plan))
        n, size = self.count, min(self.job.audit, self.count)
        ways = []
        for way in (every_pair(plan.bits, plan.threshold), exact_plan(plan.bits, plan.threshold, self.costs)):
            fixed = sum(replace(self.costs, n=1).piece(w, 0) for w in way.widths) + len(way.widths) * n * 5e-8
            each = 2 * self.costs.of(way) / n
            ways.append((min(size, max(1, int((seconds - fixed) / each)) if seconds > fixed else 0), way))
        count, way = max(ways, key=lambda one: one[0])
        return max(1, count), way

    def _sampled_pairs(self) -> int:
        """Count the pairs in the sample by comparing all of them."""
        part = Bits(self.codes.words[self.sample], self.codes.width)
        job = replace(self.job, max_pairs=PLANNER_SAMPLE * PLANNER_SAMPLE)
        join = BitsJoin(part, self.sides[self.sample], job, self.pool, Trace())
        return len(join.pairs(every_pair(len(join.places), job.threshold))[0])

    def _indexes(self, plan: MultiIndexPlan) -> tuple[U64, I64, Iterator[SegmentIndex]]:
        """Return the masks and flips of all segments, and an iterator over their indexes.

        The next index is built in the background while the current one is used.
        """
        words = self.codes.words
        pieces = plan.pieces(self.places, self.job.seed)
        masks = np.stack([piece.mask(words.shape[1]) for piece in pieces])
        flips = np.array([piece.flips for piece in pieces], np.int64)

        def make(number: int) -> SegmentIndex:
            piece = pieces[number]
            keys = np.empty(len(words), np.uint32)
            kernels.keys_of(words, piece.places, keys)
            starts = np.zeros((1 << len(piece.places)) + 1, np.int64)
            index = SegmentIndex(piece, number, starts, np.empty(len(words), np.uint32), np.empty_like(words))
            kernels.sort_by_key(keys, words, starts, index.items, index.words)
            return index

        def each() -> Iterator[SegmentIndex]:
            ahead = self.pool.submit(partial(make, 0))
            for number in range(1, len(pieces) + 1):
                index = ahead.result()
                if number < len(pieces):
                    ahead = self.pool.submit(partial(make, number))
                yield index

        return masks, flips, each()

    def _join(self, index: SegmentIndex, xors: I64, masks: U64, flips: I64, span: tuple[int, int]) -> tuple[Block, int]:
        """Find the pairs of the codes at the positions `span` of the index with all other codes (one task)."""
        low, high = span
        where = np.array([np.searchsorted(index.starts, low, side="right") - 1, 0, low], np.int64)
        blocks, looked, done = [], 0, False
        while not done:
            left, right, apart = _room(index.room)
            count, pairs, done = kernels.join_buckets(
                index.words, index.heads, index.items, index.starts, self.sides, xors, masks, flips, index.number,
                self.job.threshold, low, high, where, left, right, apart,
            )  # fmt: skip
            blocks.append(_block(left, right, apart, count))
            looked += pairs
            if sum(len(block[0]) for block in blocks) > self.job.max_pairs:
                break
        left, right, score = (np.concatenate(column) for column in zip(*blocks, strict=True))
        return (left, right, score), looked

    def _look_up(self, plan: MultiIndexPlan, sample: I64) -> Iterator[Block]:
        sampled, numbers = self.codes.words[sample], sample.astype(np.uint32)
        flags = np.zeros(len(self.codes), np.bool_)
        flags[sample] = True
        masks, flips, indexes = self._indexes(plan)
        for index in indexes:
            keys = np.empty(len(sample), np.uint32)
            kernels.keys_of(sampled, index.piece.places, keys)
            where, done = np.zeros(2, np.int64), False
            while not done:
                left, right, apart = _room(index.room)
                count, done = kernels.look_up(
                    sampled, numbers, keys, index.words, index.items, index.starts, self.sides, flags,
                    index.piece.xors, masks, flips, index.number, self.job.threshold, where, left, right, apart,
                )  # fmt: skip
                yield _block(left, right, apart, count)


def drawn(count: int, most: int, seed: int) -> I64:
    """Draw the numbers of at most `most` codes at random, in ascending order."""
    return np.sort(np.random.default_rng(seed).choice(count, min(most, count), replace=False))


def varying(differ: U64) -> U64:
    """Return the positions of the one bits in u64[words], which mark where codes differ.

    >>> varying(np.array([5, 1], np.uint64)).tolist()
    [0, 2, 64]
    """
    return np.flatnonzero(_unpacked(differ[None])[0]).astype(np.uint64)


def _unpacked(words: U64) -> npt.NDArray[np.uint8]:
    """Return every bit as u8[n, 64 * words], position 0 first."""
    return np.unpackbits(np.ascontiguousarray(words).astype("<u8").view(np.uint8), axis=1, bitorder="little")


def _room(size: int) -> tuple[U32, U32, I64]:
    return np.empty(size, np.uint32), np.empty(size, np.uint32), np.empty(size, np.int64)


def _block(left: U32, right: U32, apart: I64, count: int) -> Block:
    score: F64 = -apart[:count].astype(np.float64)
    return left[:count].copy(), right[:count].copy(), score
