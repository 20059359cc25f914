"""The nearest sets of each set, for documents and baskets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import Any

import numpy as np

from lookalike.core.arrays import I64, SIMILARITY, U64, Sets
from lookalike.core.candidates import Items
from lookalike.core.trace import Trace
from lookalike.errors import UsageError
from lookalike.io.collection import Collection
from lookalike.kinds.documents.kernels.nearest import nearest_sets
from lookalike.kinds.documents.reading import read_features
from lookalike.kinds.documents.spec import Job
from lookalike.kinds.documents.weighted_join import weigh, weighted_nearest
from lookalike.runtime.local.memory_budget import MemoryBudget, memory_size
from lookalike.runtime.local.memory_limit import UNLIMITED, MemoryLimit
from lookalike.runtime.local.pool import Pool, usable_cores
from lookalike.runtime.local.work_folder import Workspace
from lookalike.runtime.nearest_result import NearestResult, NearestSpec, Ranking, nearest_result

SETS_PER_SEARCH = 256
MOST_SHARED = 0.5  # share of the sets; an element of more makes most of them candidates of each other
READS_TO_WARN = 2_000_000_000  # entries of the lists of such elements, seconds of reading
# Bytes of memory of a set and of each of its elements, with the inverted lists: 233 MB for 20,000 texts of 100 words
PER_SET, PER_ELEMENT = 400, 120


def nearest_of(
    collections: Sequence[Collection], top: int, lowest: float, job: Job, trace: Trace, options: dict[str, Any],
    noun: str = "documents", memory: MemoryLimit = UNLIMITED,
) -> NearestResult:  # fmt: skip
    """Find the nearest sets of each set of the first collection in the last one. lowest: the lowest score, or -inf."""
    measure = job.set_measure()
    if not measure.is_count and lowest > 1:
        raise UsageError(f"at_least is {lowest:g}; expected a number from 0 to 1 for the measure {measure.name!r}.")
    with Pool(job.threads or usable_cores(), memory.look) as pool:
        space = Workspace(memory.keeper if memory.keeper.firm else MemoryBudget(memory_size(None)))
        features = read_features(collections, job.rule, pool, trace, space, max_share=job.max_share)
        ranking = ranked(
            features.sets, features.split if len(collections) == 2 else -1, top, lowest, job, pool, trace, memory
        )
    trace.counts[noun] = trace.counts.pop("documents")
    bag = " (bag)" if job.rule.bag else ""
    of = f"on {job.rule.unit} {job.rule.k}-shingles{bag}" if noun == "documents" else f"of {noun}{bag}"
    of += job.weight_words()
    words = f"the {top:,} nearest by {measure.name} {of}" + (f", at least {lowest:g}" if lowest > 0 else "")
    scale = replace(SIMILARITY, column="overlap") if measure.is_count else SIMILARITY
    asked = {**options, "measure": measure.name, "rule": job.rule.as_dict()}
    return nearest_result(collections, features.ids, ranking, NearestSpec(noun, scale, words, asked), trace)


def ranked(
    sets: Sets, split: int, top: int, lowest: float, job: Job, pool: Pool, trace: Trace,
    memory: MemoryLimit = UNLIMITED,
) -> Ranking:  # fmt: skip
    """Return the nearest sets of the sets before `split` among those from it on; of all sets if it is -1."""
    alone, count = split < 0, len(sets) if split < 0 else split
    begin = 0 if alone else split
    searched = len(sets) - begin
    out = Ranking.empty(count, top, searched, itself=alone, limit=job.max_pairs, trace=trace, memory=memory)
    if not out.nearest.shape[1]:
        return out
    if job.is_weighted:
        items = Items(sets.elements, sets.offsets[:-1], sets.sizes, np.full(len(sets), 3, np.uint8))
        times = np.ones(len(sets), np.int64)
        _, weighted = weigh(items, times, len(sets), job.weighting(), job.set_measure(), trace)
        return weighted_nearest(weighted, split, lowest, pool, trace, out)
    count_all = len(sets.elements)
    memory.check(
        PER_SET * len(sets) + PER_ELEMENT * count_all, f"a search in {len(sets):,} sets of {count_all:,} elements"
    )
    with trace.stage("index"):
        lists = SortedLists.of(sets, begin)
        queries = lists.sets if alone else lists.known(sets, count)
    lengths = np.diff(lists.offsets)
    common = lengths[lengths > MOST_SHARED * searched]
    if count * int(common.sum()) > READS_TO_WARN:
        trace.warnings.append(
            f"{len(common):,} elements are in more than half of all {searched:,} sets, so that each is compared with "
            f"most others: the time grows with the square. `max_share={MOST_SHARED}` leaves such elements out."
        )
    sizes = sets.sizes
    mine, theirs = np.ascontiguousarray(sizes[:count]), np.ascontiguousarray(sizes[begin:])
    rooms: SimpleQueue[tuple[I64, I64, I64, Any]] = SimpleQueue()
    width = out.nearest.shape[1]
    for _ in range(pool.threads):
        rooms.put((np.zeros(searched, np.int64), np.empty(searched + 1, np.int64), np.empty(width, np.int64),
                   np.empty(width)))  # fmt: skip

    def search(low: int) -> int:
        room = rooms.get()
        try:
            return int(
                nearest_sets(
                    job.set_measure().code, queries.elements, queries.offsets, mine,
                    lists.sets.elements, lists.sets.offsets, theirs, lists.postings, lists.offsets,
                    low, min(low + SETS_PER_SEARCH, count), alone, lowest, *room, out.nearest, out.score, out.filled,
                )
            )  # fmt: skip
        finally:
            rooms.put(room)

    with trace.stage("match") as report:
        for done, read in enumerate(pool.map(search, range(0, count, SETS_PER_SEARCH)), 1):
            trace.add(postings_read=read)
            report(min(done * SETS_PER_SEARCH, count), count)
    return out


@dataclass(frozen=True)
class NumberedSets:
    """Sets of numbered elements. elements i64[p], ascending in each set; offsets i64[n+1]."""

    elements: I64
    offsets: I64


@dataclass(frozen=True)
class SortedLists:
    """The inverted lists of sets, the shortest first.

    vocabulary u64[v], ascending; numbers i64[v]: the number of each; postings i64[p]; offsets i64[v+1]; sets: the same
    sets with numbers as elements.
    """

    vocabulary: U64
    numbers: I64
    postings: I64
    offsets: I64
    sets: NumberedSets

    @classmethod
    def of(cls, sets: Sets, begin: int) -> SortedLists:
        """Number the elements of the sets from `begin` on."""
        elements, sizes = sets.elements[sets.offsets[begin] :], sets.sizes[begin:]
        vocabulary, place, count = np.unique(elements, return_inverse=True, return_counts=True)
        rarest = np.argsort(count, kind="stable")
        numbers = np.empty(len(vocabulary), np.int64)
        numbers[rarest] = np.arange(len(vocabulary))
        number, owner = numbers[place], np.repeat(np.arange(len(sizes)), sizes)
        by_number = np.argsort(number, kind="stable")
        postings, number = owner[by_number], number[by_number]
        by_owner = np.argsort(postings, kind="stable")
        return cls(
            vocabulary, numbers, postings, _offsets(count[rarest]), NumberedSets(number[by_owner], _offsets(sizes))
        )

    def known(self, sets: Sets, count: int) -> NumberedSets:
        """Return the first `count` sets with numbers as elements; elements without a list are left out."""
        elements = sets.elements[: sets.offsets[count]]
        owner = np.repeat(np.arange(count), sets.sizes[:count])
        if not len(self.vocabulary):
            return NumberedSets(np.empty(0, np.int64), np.zeros(count + 1, np.int64))
        at = np.minimum(np.searchsorted(self.vocabulary, elements), len(self.vocabulary) - 1)
        has_list = self.vocabulary[at] == elements
        owner, number = owner[has_list], self.numbers[at[has_list]]
        return NumberedSets(number[np.lexsort((number, owner))], _offsets(np.bincount(owner, minlength=count)))


def _offsets(sizes: I64) -> I64:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
