"""Joining classes of equal sets on all threads: by bands, exactly by prefixes, or straight to groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial

import numpy as np

from lookalike.data import F64, I64, U32, U64, Groups, Recipe
from lookalike.engines.pool import Pool
from lookalike.engines.runs import spans
from lookalike.engines.trace import Trace
from lookalike.engines.work import Arrays, Space
from lookalike.errors import TooManyPairs
from lookalike.kernels import bounds, prefixes, skew
from lookalike.measures import Bar
from lookalike.plan import Plan
from lookalike.stages.candidates import Band, Candidates, Items, Postings, commonness, item_bits
from lookalike.stages.groups import represented
from lookalike.stages.sketches import band_keys, sketch_items
from lookalike.stages.verify import estimated, verified

Scored = tuple[I64, I64, F64]
Span = tuple[int, int]
Block = tuple[U32, U32, F64]
Pieces = Callable[[], Iterator[tuple[Block, int]]]
Report = Callable[[int, int | None], None]
COUNTED = 1 << 20  # elements that are counted to tell common ones from rare ones
BLOCK = 1 << 13  # items whose candidates one task looks for
POSTING = 24  # bytes of memory for each posting of the index
SHARE = 0.3  # of the memory budget that the postings may take


ADVICE = (  # what a user can do about too many pairs
    "Ask for groups or dedup instead, raise the threshold, drop boilerplate with --max-share, or raise --max-pairs."
)


def gather(pieces: Iterable[tuple[Block, int]], limit: int, *, advice: str = ADVICE) -> tuple[Block, int]:
    """All verified pairs of some blocks, and how many candidates there were; TooManyPairs above `limit` pairs."""
    found: list[Block] = []
    total = candidates = 0
    for piece, proposed in pieces:
        candidates += proposed
        if len(piece[0]):
            found.append(piece)
            total += len(piece[0])
            check_count(total, limit, advice)
    return joined(found), candidates


def scored(pieces: Iterable[tuple[Block, int]], trace: Trace, limit: int, *, advice: str = ADVICE) -> Scored:
    """As `gather`, with the candidates counted."""
    (left, right, similarity), candidates = gather(pieces, limit, advice=advice)
    trace.add(candidates=candidates)
    return left.astype(np.int64), right.astype(np.int64), similarity


def collect(units: Iterable[tuple[str, Pieces]], space: Space, trace: Trace, limit: int) -> Scored:
    """All verified pairs of a join; each unit is one part of the run, made once."""
    found: list[Block] = []
    total = 0
    for name, pieces in units:

        def make(pieces: Pieces = pieces, allowed: int = limit - total) -> tuple[Arrays, dict[str, int]]:
            block, candidates = gather(pieces(), allowed)
            return dict(zip(("left", "right", "similarity"), block, strict=True)), {"candidates": candidates}

        arrays, counts = space.part(name, make)
        trace.add(**counts)
        found.append((arrays["left"], arrays["right"], arrays["similarity"]))
        total += len(arrays["left"])
        check_count(total, limit)
    left, right, similarity = joined(found)
    return left.astype(np.int64), right.astype(np.int64), similarity


def joined(blocks: Sequence[Block]) -> Block:
    if not blocks:
        return np.empty(0, np.uint32), np.empty(0, np.uint32), np.empty(0, np.float64)
    if len(blocks) == 1:
        return blocks[0]
    left, right, similarity = (np.concatenate(column) for column in zip(*blocks, strict=True))
    return left, right, similarity


def check_count(total: int, limit: int, advice: str = ADVICE) -> None:
    if total > limit:
        raise TooManyPairs(
            f"more than {limit:,} pairs (--max-pairs) are within the threshold, and the search has not ended. {advice}"
        )


def score_block(
    items: Items, pieces: Iterator[Candidates], bar: Bar, limit: int, values: U32 | None = None
) -> tuple[Block, int]:
    """Score what a block proposes, piece by piece: exactly, or by signatures where their `values` are given.

    Stops where more than `limit` pairs have come together, which is too many already.
    """
    scored, count, found = [], 0, 0
    for candidates in pieces:
        count += len(candidates)
        scored.append(verified(items, candidates, bar) if values is None else estimated(values, candidates))
        found += len(scored[-1][0])
        if found > limit:
            break
    left, right, similarity = (np.concatenate(column) for column in zip(*scored, strict=True))
    return (left, right, similarity), count


class BandedJoin:
    """Items, a recipe and a plan: candidates are items whose signatures agree in all rows of a band."""

    def __init__(
        self, items: Items, recipe: Recipe, plan: Plan, bar: Bar, pool: Pool, trace: Trace, space: Space
    ) -> None:
        self.items, self.plan, self.bar, self.pool, self.space = items, plan, bar, pool, space
        n, step = len(items), max(1, min(BLOCK, len(items) // (8 * pool.threads)))
        shapes = {"values": ((n, recipe.length), np.uint32), "keys": ((n, plan.bands), np.uint64)}

        def fill(arrays: Arrays) -> None:
            def sketch(low: int) -> int:
                part = items.part(low, low + step)
                signatures = sketch_items(part.elements, part.starts, part.sizes, recipe)
                arrays["values"][low : low + step] = signatures.values
                arrays["keys"][low : low + step] = band_keys(signatures, plan.bands, plan.rows)
                return low + len(part)

            for done in pool.map(sketch, range(0, n, step)):
                report(done, n)

        with trace.stage("sketch") as report:
            made = space.filled("signatures", shapes, fill)
        self.values: U32 = made["values"]
        self.keys: U64 = made["keys"]
        self._ahead: dict[int, Future[Band]] = {}

    def bands(self) -> Iterator[Band]:
        """Each band in turn, sorted."""
        for number in range(self.plan.bands):
            yield self._sorted(number)

    def _sorted(self, number: int) -> Band:
        """A band; the next one is sorted while this one is worked on."""
        wanted = self._ahead.pop(number, None) or self.pool.submit(partial(Band.sort, self.keys, number))
        band = wanted.result()
        if number + 1 < self.plan.bands:
            self._ahead = {number + 1: self.pool.submit(partial(Band.sort, self.keys, number + 1))}
        return band

    def pairs(self, trace: Trace, limit: int, *, verify: bool = True) -> Scored:
        """Every pair that shares a bucket and reaches the bar; without `verify`, every pair that shares a bucket and
        passes the signature check, with the estimate of its Jaccard similarity."""
        with trace.stage("match") as report:
            return collect(self._units(report, limit, verify), self.space, trace, limit)

    def _units(self, report: Report, limit: int, verify: bool) -> Iterator[tuple[str, Pieces]]:
        """One unit for each band. A band is sorted while the one before is worked on."""
        step = max(256, min(BLOCK, len(self.items) // (4 * self.pool.threads)))
        step = min(step, self.space.keeper.at_once(self.pool.threads))

        def pieces(number: int) -> Iterator[tuple[Block, int]]:
            band = self._sorted(number)

            def work(block: tuple[int, int]) -> tuple[Block, int]:
                proposed = band.candidates(block, self.items, self.keys, self.values, self.plan.cut, self.bar)
                return score_block(self.items, proposed, self.bar, limit, None if verify else self.values)

            return self.pool.map(work, band.blocks(step))

        for number in range(self.plan.bands):
            yield f"band-{number}" if verify else f"estimated-{number}", partial(pieces, number)
            report(number + 1, self.plan.bands)

    def crowded(self, per_item: int) -> bool:
        """True where more than `per_item` pairs for each item share a bucket, over all bands."""
        enough = per_item * len(self.items)
        total = 0
        for band in self.bands():
            total += band.bucket_pairs()[0]
            if total > enough:
                return True
        return False

    def components(self, trace: Trace, order: I64) -> Groups:
        """Connected components of all matching pairs in the buckets, without writing the pairs down."""
        parent = np.arange(len(self.items))
        with trace.stage("match") as report:
            for band in self.bands():
                checked = skew.link_band(
                    band.packed, item_bits(len(self.items)), band.number, self.keys, self.values, self.plan.cut,
                    self.items.elements, self.items.starts, self.items.sizes, *self.bar, parent,
                )  # fmt: skip
                trace.add(candidates=checked)
                report(band.number + 1, self.plan.bands)
        skew.settle(parent)
        return represented(parent, order)

    def stars(self, trace: Trace, order: I64) -> Groups:
        """Stars of all matching pairs in the buckets, in this order of preference, without writing the pairs down."""
        n, ranked = len(self.items), self.items.take(order)
        with trace.stage("match"):
            by_rank, checked = walk_stars(ranked, self.keys[order], self.values[order], self.plan, self.bar)
            trace.add(candidates=checked)
        out = Groups(np.empty(n, np.int64), np.empty(n, np.float64))
        out.representative[order], out.similarity[order] = order[by_rank.representative], by_rank.similarity
        return out


def walk_stars(ranked: Items, keys: U64, values: U32, plan: Plan, bar: Bar) -> tuple[Groups, int]:
    """(stars of all matching pairs in the buckets of items that stand by preference, how many pairs were scored).

    keys u64[n, bands]; values u32[n, k].
    """
    n = len(ranked)
    first = np.empty((plan.bands, n), np.uint32)
    out = Groups(np.empty(n, np.int64), np.empty(n, np.float64))
    for number in range(plan.bands):
        skew.bucket_starts(Band.sort(keys, number).packed, item_bits(n), first[number])
    checked = skew.walk_stars(
        first, np.empty_like(first), np.zeros_like(first), keys, item_bits(n), values, plan.cut,
        ranked.elements, ranked.starts, ranked.sizes, *bar, out.representative, out.similarity,
    )  # fmt: skip
    return out, checked


def exact_pairs(items: Items, bar: Bar, pool: Pool, trace: Trace, space: Space, limit: int) -> Scored:
    """Every pair at or above the bar, none missed: prefix, length and positional filters.

    Where the index of all items does not fit the memory budget, they are parted by size and joined part by part.
    """
    order = np.argsort(items.sizes, kind="stable")
    items = items.take(order)
    with trace.stage("index"):
        rarest = take_prefixes(items, bar, pool, space)
        trace.add(postings=len(rarest.keys))
    at_once = space.keeper.at_once(pool.threads)
    joins = part_pairs(rarest.parts(space.budget), items, bar)

    def pieces(one: Span, other: Span) -> Iterator[tuple[Block, int]]:
        with trace.stage("index"):
            postings = rarest.index_of(one, other)
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


def postings_pairs(postings: Postings, pool: Pool, limit: int, at_once: int = BLOCK) -> Iterator[tuple[Block, int]]:
    """Every pair of the indexed items at or above the bar, in the numbering of the postings."""
    items, bar = postings.items, postings.bar
    blocks = postings.blocks(min(at_once, max(256, min(BLOCK, len(items) // (16 * pool.threads)))))
    return pool.map(lambda block: score_block(items, postings.candidates(block), bar, limit), blocks)


def part_pairs(parts: Sequence[Span], items: Items, bar: Bar) -> list[tuple[Span, Span]]:
    """The parts that must be joined: each with itself, and with those whose sets are not too small for a match."""
    found = []
    for at, other in enumerate(parts):
        if other[1] > other[0]:
            shortest = bounds.least_size(bar.code, int(items.sizes[other[0]]), bar.num, bar.den)
            found += [(one, other) for one in parts[:at] if items.sizes[one[1] - 1] >= shortest]
            found.append((other, other))
    return found


@dataclass(frozen=True)
class Rarest:
    """The rarest elements of items that are sorted by size. keys u32[p]: their low bits, item by item, in the global
    order; ends i64[n]: of each item's; index i64[n]: how many of them others must look for."""

    items: Items
    bar: Bar
    keys: U32
    ends: I64
    index: I64

    def parts(self, budget: int) -> list[Span]:
        """Spans of the items: one of all, or so many that the postings of any two fit the memory budget."""
        room = int(SHARE * budget / POSTING)
        if len(self.keys) <= room:
            return [(0, len(self.items))]
        return spans(np.diff(self.ends, prepend=0), max(1, room // 2))

    def index_of(self, one: Span, other: Span) -> Postings:
        """The inverted index of one part of the items, or of two between which pairs are wanted."""
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


def take_prefixes(items: Items, bar: Bar, pool: Pool, space: Space) -> Rarest:
    """The prefix of each set. The items are sorted by size; their elements are read as they are stored."""
    probe, index = np.empty(len(items), np.int64), np.empty(len(items), np.int64)
    prefixes.prefix_lengths(items.sizes, *bar, probe, index)
    ends = np.cumsum(probe)
    keys = space.array((int(ends[-1]) if len(ends) else 0,), np.uint32)
    step = max(1, int(items.sizes.sum()) // COUNTED)
    levels = commonness(items.take(np.arange(step // 2, len(items), step)))
    as_stored = np.argsort(items.starts, kind="stable")

    def take(mine: I64) -> None:
        part = items.take(mine)
        places = ends[mine] - probe[mine]
        prefixes.take_prefixes(part.elements, part.starts, part.sizes, probe[mine], levels, places, keys)

    step = max(1, len(items) // (16 * pool.threads))
    for _ in pool.map(take, (as_stored[at : at + step] for at in range(0, len(items), step))):
        pass
    return Rarest(items, bar, keys, ends, index)
