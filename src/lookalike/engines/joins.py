"""Joining classes of equal sets on all threads: by bands, exactly by prefixes, or straight to groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np

from lookalike.data import F64, I64, U32, U64, Groups, Recipe
from lookalike.engines.pool import Pool
from lookalike.engines.trace import Trace
from lookalike.errors import TooManyPairs
from lookalike.kernels import prefixes, skew
from lookalike.measures import Bar
from lookalike.plan import Plan
from lookalike.stages.candidates import Band, Candidates, Items, Postings, commonness, item_bits
from lookalike.stages.groups import represented
from lookalike.stages.sketches import band_keys, sketch_items
from lookalike.stages.verify import estimated, verified

Scored = tuple[I64, I64, F64]
Block = tuple[U32, U32, F64]
Report = Callable[[int, int | None], None]
COUNTED = 1 << 20  # elements that are counted to tell common ones from rare ones
BLOCK = 1 << 13  # items whose candidates one task looks for


ADVICE = "raise the threshold, drop boilerplate with --max-share,"


def gather(pieces: Iterable[tuple[Block, int]], trace: Trace, limit: int, advice: str = ADVICE) -> Scored:
    """All verified pairs of a join; stops where there are more than `limit`. advice: how to ask for fewer."""
    found: list[Block] = []
    total = 0
    for piece, candidates in pieces:
        trace.add(candidates=candidates)
        if len(piece[0]):
            found.append(piece)
            total += len(piece[0])
            if total > limit:
                raise TooManyPairs(
                    f"more than {limit:,} pairs (--max-pairs) reach the threshold, and the search has not ended. "
                    f"Ask for groups or dedup instead, {advice} or raise --max-pairs."
                )
    if not found:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64)
    left, right, similarity = (np.concatenate(column) for column in zip(*found, strict=True))
    return left.astype(np.int64), right.astype(np.int64), similarity


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

    def __init__(self, items: Items, recipe: Recipe, plan: Plan, bar: Bar, pool: Pool, trace: Trace) -> None:
        self.items, self.plan, self.bar, self.pool = items, plan, bar, pool
        self.values: U32 = np.empty((len(items), recipe.length), np.uint32)
        self.keys: U64 = np.empty((len(items), plan.bands), np.uint64)
        step = max(1, min(BLOCK, len(items) // (8 * pool.threads)))
        with trace.stage("sketch") as report:
            for done in pool.map(lambda at: self._sketch(at, at + step, recipe), range(0, len(items), step)):
                report(done, len(items))

    def _sketch(self, low: int, high: int, recipe: Recipe) -> int:
        part = self.items.part(low, high)
        signatures = sketch_items(part.elements, part.starts, part.sizes, recipe)
        self.values[low:high] = signatures.values
        self.keys[low:high] = band_keys(signatures, self.plan.bands, self.plan.rows)
        return low + len(part)

    def bands(self) -> Iterator[Band]:
        """Each band in turn, sorted; the next is sorted while this one is worked on."""
        ahead = self.pool.submit(partial(Band.sort, self.keys, 0))
        for number in range(1, self.plan.bands + 1):
            band = ahead.result()
            if number < self.plan.bands:
                ahead = self.pool.submit(partial(Band.sort, self.keys, number))
            yield band

    def pairs(self, trace: Trace, limit: int, *, verify: bool = True) -> Scored:
        """Every pair that shares a bucket and reaches the bar; without `verify`, every pair that shares a bucket and
        passes the signature check, with the estimate of its Jaccard similarity."""
        with trace.stage("match") as report:
            return gather(self._pieces(report, limit, verify), trace, limit)

    def _pieces(self, report: Report, limit: int, verify: bool) -> Iterator[tuple[Block, int]]:
        def work(band: Band, block: tuple[int, int]) -> tuple[Block, int]:
            proposed = band.candidates(block, self.items, self.keys, self.values, self.plan.cut, self.bar)
            return score_block(self.items, proposed, self.bar, limit, None if verify else self.values)

        for band in self.bands():
            step = max(256, min(BLOCK, len(self.items) // (4 * self.pool.threads)))
            yield from self.pool.map(partial(work, band), band.blocks(step))
            report(band.number + 1, self.plan.bands)

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
        n, plan = len(self.items), self.plan
        ranked = self.items.take(order)
        keys, values = self.keys[order], self.values[order]
        first = np.empty((plan.bands, n), np.uint32)
        by_rank = Groups(np.empty(n, np.int64), np.empty(n, np.float64))
        with trace.stage("match"):
            for number in range(plan.bands):
                skew.bucket_starts(Band.sort(keys, number).packed, item_bits(n), first[number])
            checked = skew.walk_stars(
                first, np.empty_like(first), np.zeros_like(first), keys, item_bits(n), values, plan.cut,
                ranked.elements, ranked.starts, ranked.sizes, *self.bar, by_rank.representative, by_rank.similarity,
            )  # fmt: skip
            trace.add(candidates=checked)
        out = Groups(np.empty(n, np.int64), np.empty(n, np.float64))
        out.representative[order], out.similarity[order] = order[by_rank.representative], by_rank.similarity
        return out


def exact_pairs(items: Items, bar: Bar, pool: Pool, trace: Trace, limit: int) -> Scored:
    """Every pair at or above the bar, none missed: prefix, length and positional filters."""
    with trace.stage("index"):
        postings = index_prefixes(items, bar, pool)
        trace.add(postings=len(postings.packed))
    left, right, similarity = join_postings(postings, pool, trace, limit)
    return postings.order[left], postings.order[right], similarity


def join_postings(postings: Postings, pool: Pool, trace: Trace, limit: int) -> Scored:
    """Every pair of the indexed items at or above the bar, in the numbering of the postings."""
    items, bar = postings.items, postings.bar
    with trace.stage("match") as report:

        def pieces() -> Iterator[tuple[Block, int]]:
            blocks = postings.blocks(max(256, min(BLOCK, len(items) // (16 * pool.threads))))
            work = pool.map(lambda block: score_block(items, postings.candidates(block), bar, limit), blocks)
            for done, piece in enumerate(work, 1):
                report(done, len(blocks))
                yield piece

        return gather(pieces(), trace, limit)


def index_prefixes(items: Items, bar: Bar, pool: Pool) -> Postings:
    """Count the elements of a sample, take the rarest of each set, sort the postings."""
    order = np.argsort(items.sizes, kind="stable")
    items = items.take(order)
    step = max(1, int(items.sizes.sum()) // COUNTED)
    levels = commonness(items.take(np.arange(step // 2, len(items), step)))
    probe, index = np.empty(len(items), np.int64), np.empty(len(items), np.int64)
    prefixes.prefix_lengths(items.sizes, *bar, probe, index)
    ends = np.cumsum(probe)
    keys = np.empty(int(ends[-1]) if len(ends) else 0, np.uint64)
    bits = item_bits(len(keys))

    def take(span: tuple[int, int]) -> None:
        low, high = span
        part = items.part(low, high)
        mine = keys[ends[low] - probe[low] : ends[high - 1]]
        prefixes.take_prefixes(part.elements, part.starts, part.sizes, probe[low:high], levels, mine)

    step = max(1, len(items) // (16 * pool.threads))
    for _ in pool.map(take, [(at, min(at + step, len(items))) for at in range(0, len(items), step)]):
        pass
    prefixes.pack_postings(keys, bits, keys)
    keys.sort()
    position, owner = np.empty(len(keys), np.uint32), np.empty(len(keys), np.uint32)
    prefixes.invert(keys, bits, position)
    prefixes.owners(ends, owner)
    return Postings(order, items, bar, index, keys, bits, position, owner, ends)
