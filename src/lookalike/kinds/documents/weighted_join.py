"""Exact join, and nearest sets, of sets whose elements have weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import Any

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import F64, I64
from lookalike.core.candidates import Items
from lookalike.core.measures import SetMeasure
from lookalike.core.trace import Trace
from lookalike.kinds.documents.kernels import weighted
from lookalike.kinds.documents.weights import WeighedElements, WeightedSets, Weighting
from lookalike.runtime.local.joins import Scored, check_count
from lookalike.runtime.local.pool import Pool
from lookalike.runtime.nearest_result import Ranking

CHUNK = 1 << 13  # searched sets whose sums are in the cache together
MIN_LIST = 2  # postings of an element in a chunk, on average, below which chunks are made larger
WEIGHTED_QUERIES_PER_TASK = 1 << 10
FREE_LISTS = 1 << 22  # starts of lists that need no more than a few megabytes
PAIRS_PER_CALL = 1 << 18


@dataclass(frozen=True)
class WeightedLists:
    """The inverted lists of the prefixes of sets that reach a score, chunk by chunk, as in `kernels.weighted`.

    first: the searched sets are from this one on; chunk: sets in a chunk; ends i64[chunks, v+1]; owners i32, weights
    f32, tails f32[q].
    """

    first: int
    chunk: int
    ends: I64
    owners: npt.NDArray[np.int32]
    weights: npt.NDArray[np.float32]
    tails: npt.NDArray[np.float32]

    @classmethod
    def of(cls, sets: WeightedSets, first: int, least: float) -> WeightedLists:
        searched = max(1, len(sets) - first)
        room = max(FREE_LISTS, len(sets.numbers) // MIN_LIST)
        most = max(1, room // (sets.vocabulary + 1))
        chunk = max(CHUNK, -(-searched // most))
        chunk = min(chunk, searched)
        ends = np.zeros((-(-searched // chunk), sets.vocabulary + 1), np.int64)
        lists = (np.empty(0, np.int32), np.empty(0, np.float32), np.empty(0, np.float32))
        vectors = (sets.measure, sets.numbers, sets.values, sets.offsets, sets.norms, first, chunk, least, ends)
        count = weighted.fill_lists(*vectors, *lists)
        if count:
            lists = (np.empty(count, np.int32), np.empty(count, np.float32), np.empty(count, np.float32))
            weighted.fill_lists(*vectors, *lists)
        return cls(first, chunk, ends, *lists)

    @property
    def arrays(self) -> tuple[Any, ...]:
        return self.ends, self.owners, self.weights, self.tails


class Rooms:
    """Scratch arrays of the threads, each used by one task at a time."""

    def __init__(self, threads: int, *make: Any) -> None:
        self._free: SimpleQueue[tuple[Any, ...]] = SimpleQueue()
        for _ in range(threads):
            self._free.put(tuple(one() for one in make))

    def run(self, work: Any) -> Any:
        room = self._free.get()
        try:
            return work(*room)
        finally:
            self._free.put(room)


def weigh(
    items: Items, times: I64, documents: int, weighting: Weighting, measure: SetMeasure, trace: Trace
) -> tuple[WeighedElements, WeightedSets]:
    """Weight the elements of sets, as `Weighting.weigh` does, and count them in the trace."""
    with trace.stage("weigh"):
        found = weighting.weigh(items, times, documents)
        sets = found.vectors(measure)
    trace.add(weighted_elements=sets.vocabulary)
    if weighting.own is not None:
        trace.add(unlisted_elements=len(found.vocabulary) - found.listed)
        if not found.listed and len(items):
            trace.warnings.append("no element of the input has one of the given weights: all weigh 1.")
    return found, sets


def weighted_pairs(
    sets: WeightedSets, sides: npt.NDArray[np.uint8], least: float, pool: Pool, trace: Trace, limit: int, *,
    of: I64 | None = None,
) -> Scored:  # fmt: skip
    """Return (left, right, similarity) of every pair of sets that reaches `least`, with left < right.

    of: only the pairs of these sets with any others.
    """
    with trace.stage("index"):
        lists = WeightedLists.of(sets, 0, least)
        trace.add(postings=len(lists.owners))
    chunk, room = lists.chunk, max(PAIRS_PER_CALL, lists.chunk)
    rooms = Rooms(
        pool.threads, lambda: np.zeros((chunk, 2)), lambda: np.empty(chunk + 1, np.int32),
        lambda: np.zeros(sets.vocabulary), lambda: np.empty(room, np.int64),
        lambda: np.empty(room, np.int64), lambda: np.empty(room),
    )  # fmt: skip
    scaled, every = sets.scaled, of is not None
    queries = np.arange(len(sets)) if of is None else of

    def search(task: tuple[int, int, int]) -> tuple[I64, I64, F64, int]:
        def work(*room: Any) -> tuple[I64, I64, F64, int]:
            c, low, high = task
            found, judged, total = [], 0, 0
            while low < high and total <= limit:
                low, kept, met = weighted.match_weighted(
                    sets.measure, sets.numbers, sets.values, sets.offsets, sets.norms, scaled, sides, queries, every,
                    low, high, c, *lists.arrays, least, chunk, *room,
                )  # fmt: skip
                found.append([column[:kept].copy() for column in room[3:]])
                judged += met
                total += kept
            left, right, score = (np.concatenate(column) for column in zip(*found, strict=True))
            return left, right, score, judged

        result: tuple[I64, I64, F64, int] = rooms.run(work)
        return result

    tasks = list(_tasks(len(queries), lists, every=every))
    parts, total = [], 0
    with trace.stage("match") as report:
        for done, (left, right, score, met) in enumerate(pool.map(search, tasks), 1):
            trace.add(candidates=met)
            parts.append((left, right, score))
            total += len(left)
            check_count(total, limit)
            report(done, len(tasks))
    if not parts:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    left, right, score = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((right, left))
    left, right, score = left[order], right[order], score[order]
    new = np.ones(len(left), np.bool_)  # a pair of two sets of `of` is found from both
    new[1:] = (left[1:] != left[:-1]) | (right[1:] != right[:-1])
    return left[new], right[new], score[new]


def _tasks(count: int, lists: WeightedLists, *, every: bool) -> Iterator[tuple[int, int, int]]:
    """Yield (chunk, first query, end). every: not only later sets are compared with a chunk."""
    for c in range(len(lists.ends)):
        for low in range(0 if every else c * lists.chunk, count, WEIGHTED_QUERIES_PER_TASK):
            yield c, low, min(low + WEIGHTED_QUERIES_PER_TASK, count)


def weighted_nearest(sets: WeightedSets, split: int, least: float, pool: Pool, trace: Trace, out: Ranking) -> Ranking:
    """Fill in the nearest sets of the sets before `split` among those from it on; of all sets if it is -1."""
    alone, count = split < 0, len(sets) if split < 0 else split
    width = out.nearest.shape[1]
    if not width:
        return out
    with trace.stage("index"):
        lists = WeightedLists.of(sets, 0 if alone else split, least)
    chunk, scaled = lists.chunk, sets.scaled
    rooms = Rooms(
        pool.threads, lambda: np.zeros((chunk, 2)), lambda: np.empty(chunk + 1, np.int32),
        lambda: np.zeros(sets.vocabulary),
        lambda: np.empty(width, np.int64), lambda: np.empty(width),
    )  # fmt: skip

    def search(low: int) -> int:
        high = min(low + WEIGHTED_QUERIES_PER_TASK, count)
        work = partial(
            weighted.nearest_weighted, sets.measure, sets.numbers, sets.values, sets.offsets, sets.norms, scaled,
            low, high, lists.first, alone, *lists.arrays, least, chunk,
        )  # fmt: skip
        return int(rooms.run(lambda *room: work(*room, out.nearest, out.score, out.filled)))

    with trace.stage("match") as report:
        for done, read in enumerate(pool.map(search, range(0, count, WEIGHTED_QUERIES_PER_TASK)), 1):
            trace.add(postings_read=read)
            report(min(done * WEIGHTED_QUERIES_PER_TASK, count), count)
    return out
