"""Exact join of classes of equal sets by their rarest elements: prefix, length and positional filters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from lookalike.core.arrays import I64, U32
from lookalike.core.candidates import Items, Postings, commonness, item_bits
from lookalike.core.measures import Bar
from lookalike.core.trace import Trace
from lookalike.kernels import bounds, prefixes
from lookalike.runtime.local.joins import ITEMS_PER_TASK, Block, Pieces, Scored, collect, score_block
from lookalike.runtime.local.pool import Pool
from lookalike.runtime.local.spill import spans
from lookalike.runtime.local.work_folder import Workspace

Span = tuple[int, int]
COUNTED = 1 << 20  # elements to sample when estimating how common each element is
PREFIX_ELEMENTS_PER_TASK = 1 << 20  # elements read by one task; bounded because they may be in a memory-mapped file
POSTING = 24  # bytes of memory for each posting
POSTINGS_BUDGET_SHARE = 0.3  # share of the memory budget that postings may use


def exact_pairs(items: Items, bar: Bar, pool: Pool, trace: Trace, space: Workspace, limit: int) -> Scored:
    """Find every pair that reaches the threshold, by prefix, length and positional filters.

    If the postings of all items exceed the memory budget, the items are divided by size and joined part by part.
    """
    order = np.argsort(items.sizes, kind="stable")
    items = items.take(order)
    with trace.stage("index"):
        rarest = take_prefixes(items, bar, pool, space)
        trace.add(postings=len(rarest.keys))
    at_once = space.keeper.at_once(pool.threads)
    joins = part_pairs(rarest.parts(space.budget), items, bar)

    def pieces(one: Span, other: Span, sizes: I64) -> Iterator[tuple[Block, int]]:
        with trace.stage("index"):
            postings = rarest.index_of(one, other)
            postings.count_sizes(sizes)
        numbers = np.concatenate([np.arange(*one), np.arange(*other)]).astype(np.uint32)
        for (left, right, similarity), candidates in postings_pairs(postings, pool, limit, at_once):
            yield (numbers[left], numbers[right], similarity), candidates

    def units() -> Iterator[tuple[str, Pieces]]:
        for number, (one, other) in enumerate(joins, 1):
            yield f"exact-{one[0]}-{one[1]}-{other[0]}-{other[1]}", partial(pieces, one, other)
            report(number, len(joins))

    with trace.stage("match") as report:
        left, right, similarity = collect(units(), space, trace, limit)
    return order[left], order[right], similarity


def postings_pairs(
    postings: Postings, pool: Pool, limit: int, at_once: int = ITEMS_PER_TASK
) -> Iterator[tuple[Block, int]]:
    """Find every pair of the indexed items that reaches the threshold, by the item numbers of the postings."""
    items, bar = postings.items, postings.bar
    blocks = postings.blocks(min(at_once, max(256, min(ITEMS_PER_TASK, len(items) // (16 * pool.threads)))))
    return pool.map(lambda block: score_block(items, postings.candidates(block), bar, limit), blocks)


def part_pairs(parts: Sequence[Span], items: Items, bar: Bar) -> list[tuple[Span, Span]]:
    """List the pairs of parts to join: each part with itself, and with every part whose sets are large enough."""
    found = []
    for at, other in enumerate(parts):
        if other[1] > other[0]:
            shortest = bounds.least_size(bar.code, int(items.sizes[other[0]]), bar.num, bar.den)
            found += [(one, other) for one in parts[:at] if items.sizes[one[1] - 1] >= shortest]
            found.append((other, other))
    return found


@dataclass(frozen=True)
class Rarest:
    """The prefixes (rarest elements) of items sorted by size. keys u32[p]: low bits of the elements, item by item in
    the global order; ends i64[n]: end of each prefix; index i64[n]: length of the prefix against larger sets."""

    items: Items
    bar: Bar
    keys: U32
    ends: I64
    index: I64

    def parts(self, budget: int) -> list[Span]:
        """Divide the items into spans such that the postings of any two spans fit the memory budget."""
        room = int(POSTINGS_BUDGET_SHARE * budget / POSTING)
        if len(self.keys) <= room:
            return [(0, len(self.items))]
        return spans(np.diff(self.ends, prepend=0), max(1, room // 2))

    def index_of(self, one: Span, other: Span) -> Postings:
        """Build the inverted lists of one part, or of two parts to find the pairs between them."""
        if one == other:
            return self._indexed(self.items.part(*one), self._keys(one), self._counts(one), self.index[slice(*one)], -1)
        both = np.concatenate([np.arange(*one), np.arange(*other)])
        keys = np.concatenate([self._keys(one), self._keys(other)])
        counts = np.concatenate([self._counts(one), self._counts(other)])
        return self._indexed(self.items.take(both), keys, counts, self.index[both], one[1] - one[0])

    def _keys(self, part: Span) -> U32:
        low, high = part
        return self.keys[int(self.ends[low - 1]) if low else 0 : int(self.ends[high - 1]) if high else 0]

    def _counts(self, part: Span) -> I64:
        low, high = part
        return np.diff(self.ends[low:high], prepend=self.ends[low - 1] if low else 0)

    def _indexed(self, items: Items, keys: U32, counts: I64, index: I64, split: int) -> Postings:
        bits, ends = item_bits(len(keys)), np.cumsum(counts)
        packed = np.empty(len(keys), np.uint64)
        prefixes.pack_postings(keys, bits, packed)
        packed.sort()
        position, owner = np.empty(len(keys), np.uint32), np.empty(len(keys), np.uint32)
        prefixes.invert(packed, bits, position)
        prefixes.owners(ends, owner)
        return Postings(items, self.bar, index, packed, bits, position, owner, ends, split)


def take_prefixes(items: Items, bar: Bar, pool: Pool, space: Workspace) -> Rarest:
    """Extract the prefix of each set. The items are sorted by size; elements are read in storage order."""
    probe, index = np.empty(len(items), np.int64), np.empty(len(items), np.int64)
    prefixes.prefix_lengths(items.sizes, *bar, probe, index)
    ends = np.cumsum(probe)
    keys = space.array((int(ends[-1]) if len(ends) else 0,), np.uint32)
    step = max(1, int(items.sizes.sum()) // COUNTED)
    levels = commonness(items.take(np.arange(step // 2, len(items), step)), pool.rest)
    as_stored = np.argsort(items.starts, kind="stable")

    def take(mine: I64) -> None:
        part = items.take(mine)
        places = ends[mine] - probe[mine]
        prefixes.take_prefixes(part.elements, part.starts, part.sizes, probe[mine], levels, places, keys)

    most = max(1, min(PREFIX_ELEMENTS_PER_TASK, int(items.sizes.sum()) // (16 * pool.threads)))
    for _ in pool.map(take, (as_stored[low:high] for low, high in spans(items.sizes[as_stored], most))):
        pass
    return Rarest(items, bar, keys, ends, index)
