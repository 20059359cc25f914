"""Divide-Compute-Merge: exact join by external sorting, the algorithm of Broder et al. (1997) for the web."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import numpy as np

from lookalike.core.arrays import I64, U32, U64
from lookalike.core.candidates import Items, item_bits
from lookalike.core.measures import Bar
from lookalike.core.trace import Trace
from lookalike.errors import TooManyPairs
from lookalike.kernels import bounds
from lookalike.kinds.documents.kernels import inverted_lists
from lookalike.runtime.local.joins import Block, Report, Scored, collect_blocks
from lookalike.runtime.local.pool import Pool
from lookalike.runtime.local.spill import Batch, PostingRun, PostingSpill, SpilledArray, spans

MOST_TRIPLES = 20_000_000_000  # limit, minutes of counting; with more triples the exact join is faster
POSTING = 24  # bytes of memory for each posting of a batch: 12 in a run, and 12 for the inverted lists
TRIPLE = 96  # bytes of memory per thread for each triple of a task: 12 per pair, with up to eight copies
CACHED = 1 << 18  # maximum triples of a task, so that they are sorted in the cache
CACHED_BUCKET_BITS = 16  # buckets of at most 2^16 postings are sorted in the cache,
MAX_BUCKET_BITS = 14  # but more than 2^14 buckets are slow to fill
MAX_BATCH_POSTINGS = (1 << 32) - 1  # maximum postings of a batch: their positions have 32 bits

Span = tuple[int, int]


@dataclass(frozen=True)
class PostingLists:
    """Concatenated inverted lists (see the kernel module). places[ends[x-1]:ends[x]]: the positions of item x in them,
    except where it is the first of a list."""

    postings: U32
    places: U32
    ends: I64


@dataclass(frozen=True)
class Counted:
    """Pairs with overlaps. pairs u64[p]: larger item in the high half, smaller in the low half; overlaps u32[p]; seen:
    number of pairs counted, including those dropped."""

    pairs: U64
    overlaps: U32
    seen: int


def dcm_pairs(
    items: Items, bar: Bar, pool: Pool, trace: Trace, limit: int, *, memory: int = 1 << 30, folder: Path | None = None
) -> Scored:
    """Return (left, right, similarity) of every pair that reaches the threshold, the same pairs as `exact_pairs`.

    `memory` limits the bytes used in addition to the answer and about 70 bytes per item; the rest is spilled to
    temporary files in `folder` (default: the system's temporary folder). Time grows with the number of triples: the sum
    of m(m-1)/2 over shingles that occur in m items, minus those whose sizes rule out a match. Raises TooManyPairs above
    MOST_TRIPLES. The order of the pairs depends only on the items, not on threads or memory.

    >>> elements = np.array([1, 2, 3, 2, 3, 4], np.uint64)
    >>> two = Items(elements, np.array([0, 3]), np.array([3, 3]), np.array([3, 3], np.uint8))
    >>> with Pool(1) as pool:
    ...     dcm_pairs(two, Bar(bounds.JACCARD, 1, 2), pool, Trace(), 10)
    (array([1]), array([0]), array([0.5]))
    """
    order = np.argsort(items.sizes, kind="stable")
    join = TripleJoin(items.take(order), bar, pool, memory)
    with PostingSpill(folder, stay=join.fits) as aside:
        with PostingSpill(folder, stay=join.fits) as postings:
            with trace.stage("divide") as report:
                runs = join.divide(postings, report)
            with trace.stage("merge") as report:
                index = join.merge(runs, postings, aside, report)
            del runs
            trace.add(postings=join.postings, triples=join.triples.sum(), spilled_bytes=postings.nbytes)
        join.check_triples()
        with trace.stage("match") as report:
            (left, right, similarity), candidates = collect_blocks(join.match(index, aside, report), limit)
            trace.add(candidates=candidates)
        trace.add(spilled_bytes=aside.nbytes)
    return order[left], order[right], similarity


class TripleJoin:
    """A join of items numbered by size: each shingle that two items share gives a triple (item, smaller item, 1)."""

    def __init__(self, items: Items, bar: Bar, pool: Pool, memory: int) -> None:
        self.items, self.bar, self.pool = items, bar, pool
        self.batch = min(MAX_BATCH_POSTINGS, max(1, memory // POSTING))  # postings in memory at once
        self.share = min(CACHED, max(1, memory // (TRIPLE * pool.threads)))  # triples of one task
        self.batches = spans(items.sizes, self.batch)
        self.fits = len(self.batches) <= 1
        self.postings = int(items.sizes.sum())
        self.known = min(
            MAX_BUCKET_BITS, max(1, (self.postings >> CACHED_BUCKET_BITS).bit_length())
        )  # high bits of a shingle that select its bucket
        self.reach: U32 = np.empty(len(items), np.uint32)
        inverted_lists.reaches(items.sizes, *bar, self.reach)
        self.least: U32 = np.empty(len(items), np.uint32)
        inverted_lists.least_overlaps(items.sizes, self.reach, *bar, self.least)
        self.one: U32 = np.ones(len(items), np.uint32)
        self.triples: I64 = np.zeros(len(items), np.int64)  # triples of each item, counted by `merge`
        self.longest = 0  # number of items with the most common shingle

    def divide(self, spill: PostingSpill, report: Report) -> list[PostingRun]:
        """Partition the postings into buckets by the high bits of the shingle, one batch at a time.

        Shingles are hashes, so buckets have about equal sizes and each can be sorted separately: a posting is moved
        once and sorted once, and threads do not wait for each other as in a merge of sorted runs.
        """
        runs = []
        for low, high in self.batches:
            runs.append(PostingRun.put(self._scattered(low, high), spill))
            report(high, len(self.items))
        return runs

    def _scattered(self, low: int, high: int) -> Batch:
        """Partition the postings of these items into buckets; each thread handles a part of the items."""
        elements, starts, sizes = self.items.elements, self.items.starts[low:high], self.items.sizes[low:high]
        total, shift = int(sizes.sum()), np.uint64(64 - self.known)
        parts = spans(sizes, total // self.pool.threads + 1)
        counts = np.zeros((len(parts), 1 << self.known), np.int64)
        work = [(starts[a:b], sizes[a:b], low + a, row) for (a, b), row in zip(parts, counts, strict=True)]
        list(self.pool.map(lambda part: inverted_lists.count_buckets(elements, *part[:2], shift, part[3]), work))
        ends = np.cumsum(counts.T.ravel()).reshape(-1, len(parts)).T  # ordered by bucket, then by part
        counts[:] = ends - counts
        shingles, owners = np.empty(total, np.uint64), np.empty(total, np.uint32)
        list(
            self.pool.map(
                lambda part: inverted_lists.scatter(elements, *part[:3], shift, part[3], shingles, owners), work
            )
        )
        return Batch(shingles, owners, ends[-1].copy())

    def merge(
        self, runs: list[PostingRun], spill: PostingSpill, aside: PostingSpill, report: Report
    ) -> list[SpilledArray]:
        """Build the inverted lists of all shared shingles, as many buckets at a time as fit in memory, and count the
        triples."""
        sizes = np.sum([np.diff(run.ends, prepend=0) for run in runs], axis=0) if runs else np.zeros(0, np.int64)
        index = []
        for low, high in spans(sizes, self.batch):
            index.append(aside.put(self._inverted([run.get(spill, low, high) for run in runs])))
            report(high, len(sizes))
        return index

    def _inverted(self, batches: list[Batch]) -> U32:
        """Build the inverted lists of a range of buckets from all runs; each task handles one bucket."""
        found = []
        buckets = range(len(batches[0].ends))
        work = self.pool.map(lambda bucket: inverted([batch.bucket(bucket) for batch in batches], self.known), buckets)
        for postings, longest in work:
            inverted_lists.count_triples(postings, self.reach, self.items.sides, self.triples)
            self.longest = max(self.longest, longest)
            found.append(postings)
        return np.concatenate(found)

    def check_triples(self) -> None:
        """Raise TooManyPairs if there are more triples than can be counted in reasonable time."""
        total = int(self.triples.sum())
        if total > MOST_TRIPLES:
            raise TooManyPairs(
                f"Divide-Compute-Merge would make {total:,} (item, item, 1) triples, more than {MOST_TRIPLES:,}; the "
                f"most common shingle is in {self.longest / len(self.items):.1%} of the items. Drop common shingles "
                "with `max_share`, or use `method='exact'`."
            )

    def match(self, index: list[SpilledArray], aside: PostingSpill, report: Report) -> Iterator[tuple[Block, int]]:
        """Yield the pairs that reach the threshold.

        Inverted lists that fit in memory are counted at once; otherwise parts of them are counted and then merged.
        """
        if not self.triples.any():
            return
        tasks = spans(self.triples, self.share)
        parts = spans(np.array([shelf.length for shelf in index], np.int64), self.batch)
        if len(parts) == 1:
            lists = self._lists(index, aside)
            found = self.pool.map(lambda task: self._scored(self._counted(lists, task, self.least)), tasks)
        else:
            runs = [self._counted_run(self._lists(index[low:high], aside), tasks, aside) for low, high in parts]
            pieces = ([counted(aside, *shelves) for shelves in piece] for piece in zip(*runs, strict=True))
            found = self.pool.map(lambda piece: self._scored(reduce(merged, piece)), pieces)
        for done, piece in enumerate(found, 1):
            report(done, len(tasks))
            yield piece

    def _lists(self, shelves: list[SpilledArray], aside: PostingSpill) -> PostingLists:
        """Load inverted lists and index the positions of each item in them; each thread handles a part of the items."""
        parts = [aside.get(shelf) for shelf in shelves]
        postings = parts[0] if len(parts) == 1 else np.concatenate(parts)
        counts = np.zeros(len(self.items), np.int64)
        inverted_lists.count_followers(postings, counts)
        ends = np.cumsum(counts)
        lists = PostingLists(postings, np.empty(counts.sum(), np.uint32), ends)
        cuts = spans(counts, len(lists.places) // self.pool.threads + 1)
        counts[:] = ends - counts
        list(self.pool.map(lambda cut: inverted_lists.place_followers(postings, *cut, counts, lists.places), cuts))
        return lists

    def _counted_run(
        self, lists: PostingLists, tasks: list[Span], aside: PostingSpill
    ) -> list[tuple[SpilledArray, SpilledArray]]:
        """Count all pairs of these inverted lists, and spill the counts of each task."""
        found = self.pool.map(lambda task: self._counted(lists, task, self.one), tasks)
        return [(aside.put(counted.pairs), aside.put(counted.overlaps)) for counted in found]

    def _counted(self, lists: PostingLists, task: Span, least: U32) -> Counted:
        """Sort and count the triples of this task's items, in several rounds if they exceed the limit of a task."""
        low, high = task
        at, stop = int(lists.ends[low - 1]) if low else 0, int(lists.ends[high - 1])
        room = min(int(self.triples[low:high].sum()), self.share)

        def go(at: int, q: int) -> tuple[int, int, U64]:
            out = np.empty(room, np.uint64)
            at, q, used = inverted_lists.emit(
                lists.postings, lists.places, at, stop, q, self.reach, self.items.sides, out
            )
            return at, q, out[:used]

        at, q, triples = go(at, -1)
        if at == stop:
            return added_up(triples, least)
        counted = added_up(triples, self.one)
        while at < stop:
            at, q, triples = go(at, q)
            counted = merged(counted, added_up(triples, self.one))
        return counted

    def _scored(self, counted: Counted) -> tuple[Block, int]:
        """Return the scored pairs that reach the threshold, and the number of pairs counted."""
        kept = inverted_lists.keep_matches(counted.pairs, counted.overlaps, self.items.sizes, *self.bar)
        pairs, overlaps = counted.pairs[:kept], counted.overlaps[:kept].astype(np.int64)
        left, right = (pairs >> np.uint64(32)).astype(np.uint32), pairs.astype(np.uint32)
        similarity = np.empty(kept, np.float64)
        bounds.scores(self.bar.code, overlaps, left, right, self.items.sizes, similarity)
        return (left, right, similarity), counted.seen


def added_up(triples: U64, least: U32) -> Counted:
    """Count the triples of each pair, sorted by pair; pairs with fewer than least[larger item] are dropped."""
    triples.sort()
    overlaps = np.empty(len(triples), np.uint32)
    kept, seen = inverted_lists.add_up(triples, least, overlaps)
    return Counted(triples[:kept].copy(), overlaps[:kept].copy(), seen)


def merged(a: Counted, b: Counted) -> Counted:
    """Merge two sorted sets of counted pairs; the counts of a pair in both are added."""
    room = len(a.pairs) + len(b.pairs)
    pairs, overlaps = np.empty(room, np.uint64), np.empty(room, np.uint32)
    used = inverted_lists.merge_counted(a.pairs, a.overlaps, b.pairs, b.overlaps, pairs, overlaps)
    return Counted(pairs[:used], overlaps[:used], used)


def counted(aside: PostingSpill, pairs: SpilledArray, overlaps: SpilledArray) -> Counted:
    """Load counted pairs that were spilled."""
    return Counted(aside.get(pairs), aside.get(overlaps), pairs.length)


def inverted(parts: list[tuple[U64, U32]], known: int) -> tuple[U32, int]:
    """Build the inverted lists of one bucket; also return the length of the longest. parts: (shingles, items) of the
    bucket in each run."""
    shingles, owners = parts[0] if len(parts) == 1 else (np.concatenate(column) for column in zip(*parts, strict=True))
    bits = item_bits(len(shingles))
    words, out = np.empty(len(shingles), np.uint64), np.empty(len(shingles), np.uint32)
    inverted_lists.pack(shingles, known, bits, words)
    words.sort()
    used, longest = inverted_lists.shared_lists(words, bits, shingles, owners, out)
    return out[:used].copy(), int(longest)
