"""Join codes on disk that agree, up to a few flipped bits, in one of several segments of their bits.

For each segment the codes are divided by some bits of their key, into parts on disk that fit into memory; two parts are
joined if no more of these bits differ than the segment allows. A part that is too large is divided further, without
regard to the key.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import F64, I64, U32, U64
from lookalike.core.trace import Trace
from lookalike.kernels import bits as kernels
from lookalike.kernels import signs
from lookalike.runtime.local.block_schedule import BlockCache, ordered
from lookalike.runtime.local.distinct_rows import DistinctRows
from lookalike.runtime.local.pair_store import PairStore, keys_of
from lookalike.runtime.local.pool import Pool
from lookalike.runtime.local.spill import PostingSpill, SpilledArray
from lookalike.runtime.local.work_folder import Workspace

READ_CODES = 1 << 18  # codes that are read and divided at a time
BUCKET_BITS = 20  # bits of a key that make buckets within a part, at most: a table of 2^20 entries
MOST_PART_BITS = 10  # bits of a key that make parts
CHUNKS_IN_MEMORY = 2  # chunks in memory
TASKS_PER_THREAD = 16  # tasks per thread for a pair of chunks
CODE_TASK_PAIRS = 1 << 16  # pairs for which a task has room, unless a single bucket needs more
KEY_SHIFT = np.uint64(32)
Sides = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class KeySegment:
    """Positions of the bits of a key, and the number of these bits that may differ."""

    places: U64
    flips: int

    def mask(self, words: int) -> U64:
        """Return u64[words] with one bits at the positions of the segment."""
        out = np.zeros(words, np.uint64)
        np.bitwise_or.at(
            out, (self.places >> np.uint64(6)).astype(np.int64), np.uint64(1) << (self.places % np.uint64(64))
        )
        return out


def flipped(width: int, flips: int) -> I64:
    """Return every key of `width` bits with at most `flips` one bits.

    >>> flipped(3, 1).tolist()
    [0, 1, 2, 4]
    """
    keys = level = [0]
    for _ in range(min(flips, width)):
        level = [key | 1 << bit for key in level for bit in range(key.bit_length(), width)]
        keys = keys + level
    return np.sort(np.array(keys, np.int64))


def power_below(count: int) -> int:
    """Return the largest power of two up to `count`, so that a run has the same steps within nearly the same memory.

    >>> power_below(1000), power_below(1024)
    (512, 1024)
    """
    return 1 << (count.bit_length() - 1)


Part = tuple[U32, U32, I64, int, bool]  # left, right, bits that differ, number of pairs compared, whether it is the end


class Chunk(NamedTuple):
    """Codes of one part: the rows from `low` to `high` - 1 of that part."""

    part: int
    low: int
    high: int


@dataclass(frozen=True)
class LoadedChunk:
    """A chunk in memory, in buckets by the lower bits of its keys. starts i64[2**bits + 1]; items u32[m]."""

    items: U32
    codes: U64
    starts: I64


class CodeBatch(NamedTuple):
    """A spilled batch of codes, sorted by part. ends i64[parts]."""

    items: SpilledArray
    codes: SpilledArray
    ends: I64


@dataclass(frozen=True)
class CodeJoin:
    """A join of codes within `most` differing bits.

    codes: the distinct codes; sides u8[n] as in `Classes.sides`, None for a single collection. room: bytes of memory.
    add: takes (left, right, bits that differ) of pairs, each of which is found once.
    """

    codes: DistinctRows
    sides: Sides | None
    segments: Sequence[KeySegment]
    most: int
    pool: Pool
    space: Workspace
    trace: Trace
    room: int

    @property
    def words(self) -> int:
        return self.codes.stored.width

    @property
    def chunk_rows(self) -> int:
        """Return the number of codes in a chunk."""
        return power_below(max(1 << 10, self.room // ((2 * CHUNKS_IN_MEMORY + 2) * (4 + 8 * self.words) + 48)))

    def about(self) -> Mapping[str, Any]:
        """Return what the pairs depend on. Only the steps depend on `chunk_rows`."""
        return {"codes": len(self.codes), "segments": len(self.segments), "most": self.most}

    def run(self, store: PairStore, report: Callable[[int, int | None], None], check: Callable[[int], None]) -> None:
        """Add the pairs of all segments to the store, with the negated number of differing bits as their score.

        check: called with the number of pairs after each addition; raises if there are too many.
        """
        masks = np.stack([segment.mask(self.words) for segment in self.segments])
        flips = np.array([segment.flips for segment in self.segments], np.int64)
        done = 0
        for number, segment in enumerate(self.segments):
            known = store.counts.get(f"steps-{number}")
            if known is not None and done + known <= store.steps:
                done += known
                continue
            with PostingSpill(self.space.folder) as spill:
                join = SegmentJoin(self, number, segment, masks, flips, spill)
                order = join.order()
                if known is None:
                    store.count(**{f"steps-{number}": len(order)})
                cache = BlockCache(order, CHUNKS_IN_MEMORY, join.load)
                for pair, one, other in cache.joins(max(0, store.steps - done)):
                    for left, right, apart in join.pairs(pair, one, other, store):
                        store.add(keys_of(np.minimum(left, right), np.maximum(left, right)), -apart.astype(np.float64))
                        check(len(store))
                    store.step()
                done += len(order)
            report(number + 1, len(self.segments))
        store.finish()


class SegmentJoin:
    """The join of one segment."""

    def __init__(
        self, join: CodeJoin, number: int, segment: KeySegment, masks: U64, flips: I64, spill: PostingSpill
    ) -> None:
        self.join, self.number, self.segment, self.masks, self.flips = join, number, segment, masks, flips
        n, width = len(join.codes), len(segment.places)
        self.part_bits, most = 0, min(width, MOST_PART_BITS)
        self.by_sorting = segment.flips == 0
        least = 0 if self.by_sorting else max(0, width - BUCKET_BITS)
        while self.part_bits < least or (self.part_bits < most and n > join.chunk_rows << self.part_bits):
            self.part_bits += 1
        places = _by_balance(join.codes, segment.places)
        self.part_places, self.low_places = places[: self.part_bits], places[self.part_bits :]
        self._spill = spill
        self._batches = list(self._divided()) if self.part_bits else []

    def order(self) -> list[tuple[int, int]]:
        """Return the pairs of chunks to join, in order."""
        parts, rows, n = 1 << self.part_bits, self.join.chunk_rows, len(self.join.codes)
        sizes = [n]
        if self.part_bits:
            sizes = sum((np.diff(batch.ends, prepend=0) for batch in self._batches), np.zeros(parts, np.int64)).tolist()
        self.chunks = [
            Chunk(part, low, min(low + rows, size)) for part, size in enumerate(sizes) for low in range(0, size, rows)
        ]
        pairs = [
            (one, other)
            for one in range(len(self.chunks))
            for other in range(one, len(self.chunks))
            if (self.chunks[one].part ^ self.chunks[other].part).bit_count() <= self.segment.flips
        ]
        return ordered(pairs, CHUNKS_IN_MEMORY)

    def _divided(self) -> Iterator[CodeBatch]:
        """Write all codes to disk, divided by part."""
        codes, parts = self.join.codes, 1 << self.part_bits

        def divide(low: int) -> tuple[U32, U64, I64]:
            some = codes.block(low, min(low + READ_CODES, len(codes)))
            keys = np.empty(len(some), np.uint32)
            kernels.keys_of(some, self.part_places, keys)
            order = np.argsort(keys.astype(np.uint16), kind="stable")
            ends = np.cumsum(np.bincount(keys, minlength=parts))
            return (low + order).astype(np.uint32), some[order], ends

        for items, some, ends in self.join.pool.map(divide, range(0, len(codes), READ_CODES)):
            yield CodeBatch(self._spill.put(items), self._spill.put(some.reshape(-1)), ends)

    def _rows(self, chunk: Chunk) -> tuple[U32, U64]:
        """Return the items and codes of a chunk."""
        words, codes = self.join.words, self.join.codes
        if not self.part_bits:
            return np.arange(chunk.low, chunk.high, dtype=np.uint32), codes.block(chunk.low, chunk.high)
        items = np.empty(chunk.high - chunk.low, np.uint32)
        out = np.empty((len(items), words), np.uint64)
        before = at = 0
        for batch in self._batches:
            begin, end = int(batch.ends[chunk.part - 1]) if chunk.part else 0, int(batch.ends[chunk.part])
            first, last = max(chunk.low - before, 0) + begin, min(chunk.high - before, end - begin) + begin
            before += end - begin
            if first < last:
                items[at : at + last - first] = self._spill.get(batch.items, first, last)
                out[at : at + last - first] = self._spill.get(batch.codes, first * words, last * words).reshape(
                    -1, words
                )
                at += last - first
        return items, out

    def load(self, number: int) -> LoadedChunk:
        """Load a chunk; with flips, sorted into buckets."""
        items, codes = self._rows(self.chunks[number])
        if self.by_sorting:
            return LoadedChunk(items, codes, np.empty(0, np.int64))
        keys = np.empty(len(items), np.uint32)
        kernels.keys_of(codes, self.low_places, keys)
        starts = np.zeros((1 << len(self.low_places)) + 1, np.int64)
        order, out = np.empty(len(items), np.uint32), np.empty_like(codes)
        kernels.sort_by_key(keys, codes, starts, order, out)
        return LoadedChunk(items[order], out, starts)

    def pairs(
        self, pair: tuple[int, int], one: LoadedChunk, other: LoadedChunk, store: PairStore
    ) -> Iterator[tuple[U32, U32, I64]]:
        """Yield the pairs between two chunks, or within one."""
        items, codes, half = one.items, one.codes, 0
        if pair[0] != pair[1]:
            items, codes = np.concatenate([items, other.items]), np.concatenate([codes, other.codes])
            half = len(one.items)
        sides = np.full(len(items), 3, np.uint8) if self.join.sides is None else self.join.sides[items]
        if self.by_sorting:
            found = self._sorted(codes, sides, half)
        else:
            apart = (self.chunks[pair[0]].part ^ self.chunks[pair[1]].part).bit_count()
            found = self._bucketed(codes, sides, one, other if half else None, self.segment.flips - apart)
        looked = 0
        for left, right, differ, checked in found:
            looked += checked
            yield items[left], items[right], differ
        store.count(candidates=looked)

    def _bucketed(
        self, codes: U64, sides: Sides, one: LoadedChunk, other: LoadedChunk | None, flips: int
    ) -> Iterator[tuple[U32, U32, I64, int]]:
        """Join buckets whose keys differ in at most `flips` bits; `other` is a second chunk, if there is one.

        The buckets of the second chunk have one more bit in their keys, and this bit must differ.
        """
        bits = len(self.low_places)
        xors, starts = flipped(bits, flips), one.starts
        if other is not None:
            xors, starts = xors | (1 << bits), np.concatenate([starts[:-1], other.starts + starts[-1]])
        else:
            self.join.trace.add_buckets(np.diff(starts))
        heads, order = np.ascontiguousarray(codes[:, 0]), np.arange(len(codes), dtype=np.uint32)
        room = max(CODE_TASK_PAIRS, int(np.diff(starts).max(initial=0)))

        def task(low: int, high: int, where: I64) -> Part:
            left, right, apart = np.empty(room, np.uint32), np.empty(room, np.uint32), np.empty(room, np.int64)
            count, looked, done = kernels.join_buckets(
                codes, heads, order, starts, sides, xors, self.masks, self.flips, self.number, self.join.most,
                low, high, where, left, right, apart,
            )  # fmt: skip
            return left[:count].copy(), right[:count].copy(), apart[:count].copy(), looked, done

        stop = len(one.items)

        def first(low: int, high: int) -> Callable[[], Any]:
            bucket = int(np.searchsorted(starts, low, side="right")) - 1
            return partial(task, low, high, np.array([bucket, 0, low], np.int64))

        yield from self._tasks(
            [first(low, high) for low, high in _spans(stop, TASKS_PER_THREAD * self.join.pool.threads)]
        )

    def _sorted(self, codes: U64, sides: Sides, half: int) -> Iterator[tuple[U32, U32, I64, int]]:
        """Join codes with equal keys, which are found by sorting. half: only pairs across this position, if not 0."""
        keys = np.empty(len(codes), np.uint32)
        kernels.keys_of(codes, self.low_places, keys)
        packed = (keys.astype(np.uint64) << KEY_SHIFT) | np.arange(len(codes), dtype=np.uint64)
        packed.sort()
        own, ends = np.empty_like(codes), np.empty(len(codes), np.int64)
        room = max(CODE_TASK_PAIRS, int(signs.gather(packed, codes, own, ends)))
        if not half:
            sizes: I64 = np.diff(np.unique(ends), prepend=0).astype(np.int64)
            self.join.trace.add_buckets(sizes)

        def task(where: I64, stop: int) -> Part:
            left, right, apart = np.empty(room, np.uint32), np.empty(room, np.uint32), np.empty(room, np.int64)
            where[0], count, looked = kernels.join_sorted(
                packed, ends, int(where[0]), stop, own, half, sides, self.masks, self.flips, self.number,
                self.join.most, left, right, apart,
            )  # fmt: skip
            return left[:count].copy(), right[:count].copy(), apart[:count].copy(), looked, bool(where[0] >= stop)

        spans = _spans(len(codes), TASKS_PER_THREAD * self.join.pool.threads)
        yield from self._tasks([partial(task, np.array([low], np.int64), high) for low, high in spans])

    def _tasks(self, tasks: list[Callable[[], Part]]) -> Iterator[tuple[U32, U32, I64, int]]:
        """Run tasks in parallel; each is called again until it is done, and goes on where it stopped.

        A task does not refer to itself: such a cycle would keep its arrays until the garbage collector finds it.
        """
        running: deque[tuple[Future[Part], Callable[[], Part]]] = deque()
        waiting = deque(tasks)
        while running or waiting:
            while waiting and len(running) <= 2 * self.join.pool.threads:
                task = waiting.popleft()
                running.append((self.join.pool.submit(task), task))
            future, task = running.popleft()
            left, right, apart, looked, done = future.result()
            if not done:
                waiting.appendleft(task)
            yield left, right, apart, looked


def _spans(count: int, tasks: int) -> list[tuple[int, int]]:
    step = max(1 << 10, -(-count // tasks))
    return [(low, min(low + step, count)) for low in range(0, count, step)]


def _by_balance(codes: DistinctRows, places: U64) -> U64:
    """Order bit positions by how evenly zeros and ones occur in the first codes, so that parts have similar sizes."""
    some = codes.block(0, min(len(codes), 1 << 12))
    ones: F64 = np.array([
        np.mean((some[:, int(place) >> 6] >> np.uint64(int(place) & 63)) & np.uint64(1)) if len(some) else 0.5
        for place in places
    ])  # fmt: skip
    return places[np.argsort(np.abs(ones - 0.5), kind="stable")]
