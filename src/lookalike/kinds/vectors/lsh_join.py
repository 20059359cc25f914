"""Approximate join of vectors by hash tables of sign bits: random hyperplanes, or buckets of random projections."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import F32, I64, U32, U64, Pairs
from lookalike.core.trace import Trace
from lookalike.kernels import buckets, signs
from lookalike.kinds.vectors.geometry import I16, VectorSpace
from lookalike.kinds.vectors.lsh_plan import SignPlan
from lookalike.runtime.local.joins import Block, scored
from lookalike.runtime.local.pool import Pool

VECTORS_PER_TASK = 1 << 12
KEY_ABOVE = 32  # the item number takes the low bits of a packed table entry, the key the bits above
CHECKS = 1 << 16  # pairs within buckets that one task checks
TASK_PAIR_BUFFER = 1 << 15  # pairs that a task may collect before they are scored


@dataclass(frozen=True)
class Planes:
    """Random projection directions and their offsets. directions f32[d, bits]; shift f32[bits]."""

    directions: F32
    shift: F32


def draw_planes(space: VectorSpace, plan: SignPlan, seed: int) -> Planes:
    """Draw normal directions: hyperplanes through the shrunk centre, or buckets with random offsets.

    The buckets have the planned width.
    """
    random = np.random.default_rng(seed)
    directions = random.standard_normal((space.width, plan.bits), np.float32)
    if space.is_flat:
        directions /= np.float32(plan.width)
        return Planes(directions, random.uniform(0.0, 2.0, plan.bits).astype(np.float32))
    through: F32 = (plan.shrink * space.centre).astype(np.float32)
    return Planes(directions, through @ directions)


def draw_tables(plan: SignPlan, seed: int) -> I64:
    """Draw the positions of the key bits of each table: i64[bands, rows]."""
    random = np.random.default_rng([seed, 1])
    return np.array([np.sort(random.choice(plan.bits, plan.rows, replace=False)) for _ in range(plan.bands)])


class SignJoin:
    """Join vectors by sign bits: candidates agree in all bits of one table's key and differ in at most `plan.cut` bits.

    Holds the sign bits and the rows rounded to 16-bit integers of all items.
    """

    def __init__(self, space: VectorSpace, plan: SignPlan, pool: Pool, trace: Trace, *, seed: int) -> None:
        self.space, self.plan, self.pool = space, plan, pool
        self.signs: U64 = np.empty((len(space), plan.bits // 64), np.uint64)
        self.rounded: I16 = np.empty((len(space), space.width), np.int16)
        self.keys: U32 = np.empty((len(space), plan.bands), np.uint32)
        planes, tables, scale = draw_planes(space, plan, seed), draw_tables(plan, seed), space.rounded_scale()
        pack = signs.pack_parities if space.is_flat else signs.pack_signs

        def finish(low: int, block: F32, projected: F32) -> None:
            high = low + len(block)
            pack(projected, planes.shift, self.signs[low:high])
            signs.table_keys(self.signs[low:high], tables, self.keys[low:high])
            signs.round_rows(block, np.float32(scale), self.rounded[low:high])

        blocks = [(at, min(at + VECTORS_PER_TASK, len(space))) for at in range(0, len(space), VECTORS_PER_TASK)]
        waiting: deque[Future[None]] = deque()
        with trace.stage("sketch") as report:
            for (low, high), block in zip(blocks, pool.map(lambda span: space.block(*span), blocks), strict=True):
                waiting.append(pool.submit(partial(finish, low, block, block @ planes.directions)))
                if len(waiting) > pool.threads:
                    waiting.popleft().result()
                report(high, len(space))
            for last in waiting:
                last.result()
            self.bars = space.rounded_bars(self.rounded, scale)

    def pairs(self, trace: Trace, limit: int, advice: str) -> Pairs:
        """Return every pair that shares a bucket in a table and reaches the threshold, scored exactly."""
        with trace.stage("match") as report:

            def pieces() -> Iterator[tuple[Block, int]]:
                for number, table in enumerate(self._tables()):
                    buckets.bucket_sizes(table.packed, KEY_ABOVE, trace.buckets)
                    yield from self.pool.map(table.search, table.blocks())
                    report(number + 1, self.plan.bands)

            return Pairs(*scored(pieces(), trace, limit, advice=advice))

    def _tables(self) -> Iterator[Table]:
        """Yield each table, sorted; the next one is sorted in the background while the current one is searched."""
        spare = [Table.room(self) for _ in range(2)]
        ahead = self.pool.submit(lambda: spare[0].sort(0))
        for number in range(1, self.plan.bands + 1):
            table = ahead.result()
            if number < self.plan.bands:
                other, upcoming = spare[number % 2], number
                ahead = self.pool.submit(lambda other=other, upcoming=upcoming: other.sort(upcoming))  # type: ignore[misc]
            yield table


@dataclass
class Table:
    """One hash table: the items sorted by key. In that order: packed u64[n], ends i64[n], signs u64[n, w]."""

    join: SignJoin
    packed: U64
    ends: I64
    signs: U64
    number: int = 0
    largest: int = 0

    @classmethod
    def room(cls, join: SignJoin) -> Table:
        n = len(join.space)
        return cls(join, np.empty(n, np.uint64), np.empty(n, np.int64), np.empty_like(join.signs))

    def sort(self, number: int) -> Table:
        self.number = number
        signs.pack_table(self.join.keys, number, self.packed)
        self.packed.sort()
        self.largest = signs.gather(self.packed, self.join.signs, self.signs, self.ends)
        return self

    def blocks(self) -> list[tuple[int, int]]:
        """Split the positions into blocks of about CHECKS pairs within buckets."""
        work = np.cumsum(self.ends - np.arange(len(self.ends)))
        total = int(work[-1]) if len(work) else 0
        cuts = np.searchsorted(work, np.arange(CHECKS, total, CHECKS)) + 1
        edges = np.unique(np.concatenate([[0], cuts, [len(work)]]))
        return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))

    def search(self, block: tuple[int, int]) -> tuple[Block, int]:
        """Return the pairs of a block of positions that reach the threshold, and the number of pairs checked."""
        join = self.join
        at, stop = block
        found: list[Block] = []
        checked = 0
        room = max(TASK_PAIR_BUFFER, self.largest)
        while at < stop:
            left, right = np.empty(room, np.uint32), np.empty(room, np.uint32)
            at, count, some, _ = signs.near_in_buckets(
                self.packed, self.ends, at, stop, self.signs, join.keys, self.number, join.plan.cut, join.rounded,
                join.bars, join.space.rows.sides, left, right,
            )  # fmt: skip
            checked += some
            found.append(join.space.scored(left[:count], right[:count]))
        whole: list[npt.NDArray[np.generic]] = [np.concatenate(column) for column in zip(*found, strict=True)]
        return (whole[0], whole[1], whole[2]), checked  # type: ignore[return-value]
