"""Exact join by counting: the overlaps of one item at a time are counted directly from inverted lists."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from queue import SimpleQueue

import numpy as np

from lookalike.core.arrays import I64, U32
from lookalike.core.candidates import PIECE, Items
from lookalike.core.measures import Bar
from lookalike.core.trace import Trace, silent
from lookalike.kernels import bounds
from lookalike.kinds.documents.inverted_lists import PostingLists, Span, TripleJoin
from lookalike.kinds.documents.kernels import counting_join
from lookalike.runtime.local.joins import Block, Report, Scored, collect
from lookalike.runtime.local.pool import Pool
from lookalike.runtime.local.spill import PostingSpill, SpilledArray, spans
from lookalike.runtime.local.work_folder import Workspace

IN_MEMORY = 1 << 50  # bytes; no limit: the inverted lists of all items are in memory, as in the prefix join
LISTED = 24  # bytes of memory for each element while the inverted lists are built
MIN_TASK_TRIPLES = 1 << 18  # minimum triples of a task, so that its overhead is small


def counted_pairs(items: Items, bar: Bar, pool: Pool, trace: Trace, space: Workspace, limit: int) -> Scored:
    """Return (left, right, similarity) of every pair that reaches the threshold, the same pairs as `exact_pairs`.

    Time grows with the elements and the triples (the sum of m(m-1)/2 over elements that occur in m items). At low
    thresholds or for short sets the prefix filter removes little, and a triple costs a tenth of a candidate.

    >>> from lookalike.runtime.local.memory_budget import MemoryBudget
    >>> elements = np.array([1, 2, 3, 2, 3, 4], np.uint64)
    >>> two = Items(elements, np.array([0, 3]), np.array([3, 3]), np.array([3, 3], np.uint8))
    >>> with Pool(1) as pool:
    ...     counted_pairs(two, Bar(bounds.JACCARD, 1, 2), pool, Trace(), Workspace(MemoryBudget(1 << 62)), 10)
    (array([1]), array([0]), array([0.5]))
    """
    order = np.argsort(items.sizes, kind="stable")
    join = CountingJoin(items.take(order), bar, pool, limit)
    quiet = partial(silent, "index")
    with PostingSpill(stay=True) as held:
        with trace.stage("index"):
            index = join.merge(join.divide(held, quiet), held, held, quiet)
            trace.add(postings=join.postings, triples=join.triples.sum())
        with trace.stage("match") as report:
            # inverted lists are scanned completely and are not buckets, so there are no bucket sizes to count
            units = [("counted", lambda _sizes: join.match(index, held, report))]
            left, right, similarity = collect(units, space, trace, limit)
    return order[left], order[right], similarity


class CountingJoin(TripleJoin):
    """A TripleJoin without stored or sorted triples: each triple increments the counter of its smaller item."""

    def __init__(self, items: Items, bar: Bar, pool: Pool, limit: int) -> None:
        super().__init__(items, bar, pool, IN_MEMORY)
        self.limit = limit
        self.larger: I64 = np.empty(len(items), np.int64)
        counting_join.size_ends(items.sizes, self.larger)
        self._rooms: SimpleQueue[Room] = SimpleQueue()

    def match(self, index: list[SpilledArray], aside: PostingSpill, report: Report) -> Iterator[tuple[Block, int]]:
        """Yield the pairs that reach the threshold, task by task."""
        if not self.triples.any():
            return
        lists = self._lists(index, aside)
        partners = np.minimum(np.arange(len(self.items)) - self.reach, self.triples)
        for _ in range(self.pool.threads):
            self._rooms.put(Room(self.items, max(PIECE, int(partners.max()))))
        tasks = spans(self.triples, max(MIN_TASK_TRIPLES, int(self.triples.sum()) // (16 * self.pool.threads)))
        for done, piece in enumerate(self.pool.map(partial(self._task, lists), tasks), 1):
            report(done, len(tasks))
            yield piece

    def _task(self, lists: PostingLists, task: Span) -> tuple[Block, int]:
        room = self._rooms.get()
        try:
            return self._matches(lists, task, room)
        finally:
            self._rooms.put(room)

    def _matches(self, lists: PostingLists, task: Span, room: Room) -> tuple[Block, int]:
        """Find the matches of this task's items among smaller items; stop early beyond the limit of pairs."""
        at, stop = task
        found, judged, total = [], 0, 0
        while at < stop and total <= self.limit:
            at, kept, seen = counting_join.count_matches(
                at, stop, lists.postings, lists.places, lists.ends, self.triples, self.reach, self.items.sides,
                self.items.sizes, self.larger, *self.bar, room.counts, room.met, room.needed,
                room.left, room.right, room.overlaps,
            )  # fmt: skip
            left, right = room.left[:kept].copy(), room.right[:kept].copy()
            similarity = np.empty(kept, np.float64)
            bounds.scores(self.bar.code, room.overlaps[:kept], left, right, self.items.sizes, similarity)
            found.append((left, right, similarity))
            judged += seen
            total += kept
        left, right, similarity = (np.concatenate(column) for column in zip(*found, strict=True))
        return (left, right, similarity), judged


class Room:
    """The work arrays of one thread for the counting kernel, reused for all its tasks because allocation is expensive.

    pairs: capacity in pairs, at least the number of partners that any item may have.
    """

    def __init__(self, items: Items, pairs: int) -> None:
        n = len(items)
        self.counts: U32 = np.zeros(n, np.uint32)
        self.met: U32 = np.empty(n + 1, np.uint32)
        self.needed: U32 = np.empty(int(items.sizes.max(initial=0)) + 1, np.uint32)
        self.left: U32 = np.empty(pairs, np.uint32)
        self.right: U32 = np.empty(pairs, np.uint32)
        self.overlaps: I64 = np.empty(pairs, np.int64)
