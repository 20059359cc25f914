"""Joining classes of equal sets on all threads: by bands, exactly by prefixes, or straight to groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from lookalike.data import F64, I64, U32, U64, Groups, Signatures
from lookalike.engines.pool import Pool
from lookalike.engines.trace import Trace
from lookalike.errors import TooManyPairs
from lookalike.kernels import prefixes, skew
from lookalike.measures import Bar
from lookalike.plan import Plan
from lookalike.stages.candidates import Band, Candidates, Items, Postings, item_bits
from lookalike.stages.groups import represented
from lookalike.stages.sketches import band_keys
from lookalike.stages.verify import verified

Scored = tuple[I64, I64, F64]
Block = tuple[U32, U32, F64]
Report = Callable[[int, int | None], None]
BLOCK = 1 << 13  # items whose candidates one task looks for


def gather(pieces: Iterable[tuple[Block, int]], trace: Trace, limit: int) -> Scored:
    """All verified pairs of a join; stops where there are more than `limit`."""
    found: list[Block] = []
    total = 0
    for piece, candidates in pieces:
        trace.add(candidates=candidates)
        if len(piece[0]):
            found.append(piece)
            total += len(piece[0])
            if total > limit:
                raise TooManyPairs(
                    f"more than {limit:,} pairs (--max-pairs) are at or above the threshold, and the search has not "
                    "ended. Ask for groups or dedup instead, raise the threshold, drop boilerplate with --max-share, "
                    "or raise --max-pairs."
                )
    if not found:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64)
    left, right, similarity = (np.concatenate(column) for column in zip(*found, strict=True))
    return left.astype(np.int64), right.astype(np.int64), similarity


def _score(items: Items, pieces: Iterator[Candidates], bar: Bar) -> tuple[Block, int]:
    """Verify what a block proposes, piece by piece."""
    scored, count = [], 0
    for candidates in pieces:
        count += len(candidates)
        scored.append(verified(items, candidates, bar))
    left, right, similarity = (np.concatenate(column) for column in zip(*scored, strict=True))
    return (left, right, similarity), count


class BandedJoin:
    """Items, their signatures and a plan: candidates are items that agree in all rows of a band."""

    def __init__(self, items: Items, signatures: Signatures, plan: Plan, bar: Bar, pool: Pool) -> None:
        self.items, self.values, self.plan, self.bar, self.pool = items, signatures.values, plan, bar, pool
        step = max(BLOCK, len(items) // (4 * pool.threads))
        parts = [Signatures(self.values[at : at + step], signatures.recipe) for at in range(0, len(items), step)]
        keys = list(pool.map(lambda part: band_keys(part, plan.bands, plan.rows), parts))
        self.keys: U64 = np.concatenate(keys) if keys else np.empty((0, plan.bands), np.uint64)

    def bands(self) -> Iterator[Band]:
        """Each band in turn, sorted; the next is sorted while this one is worked on."""
        ahead = self.pool.submit(lambda: Band.sort(self.keys, 0))
        for number in range(1, self.plan.bands + 1):
            band = ahead.result()
            if number < self.plan.bands:
                following = number
                ahead = self.pool.submit(lambda following=following: Band.sort(self.keys, following))  # type: ignore[misc]
            yield band

    def pairs(self, trace: Trace, limit: int) -> Scored:
        """Every pair that shares a bucket and reaches the bar."""
        with trace.stage("match") as report:
            return gather(self._pieces(report), trace, limit)

    def _pieces(self, report: Report) -> Iterator[tuple[Block, int]]:
        for band in self.bands():
            blocks = band.blocks(BLOCK)
            yield from self.pool.map(
                lambda block, band=band: _score(  # type: ignore[misc]
                    self.items, band.candidates(block, self.items, self.keys, self.values, self.plan.cut, self.bar), self.bar
                ),
                blocks,
            )
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
    with trace.stage("match") as report:

        def pieces() -> Iterator[tuple[Block, int]]:
            blocks = postings.blocks(max(256, min(BLOCK, len(items) // (16 * pool.threads))))
            work = pool.map(lambda block: _score(postings.items, postings.candidates(block), bar), blocks)
            for done, piece in enumerate(work, 1):
                report(done, len(blocks))
                yield piece

        left, right, similarity = gather(pieces(), trace, limit)
    return postings.order[left], postings.order[right], similarity


def index_prefixes(items: Items, bar: Bar, pool: Pool) -> Postings:
    """Count elements approximately, take the rarest of each set, sort the postings."""
    order = np.argsort(items.sizes, kind="stable")
    items = items.take(order)
    counts = count_elements(items, pool)
    probe, index = np.empty(len(items), np.int64), np.empty(len(items), np.int64)
    prefixes.prefix_lengths(items.sizes, *bar, probe, index)
    step = max(1, len(items) // (16 * pool.threads))
    spans = [(at, min(at + step, len(items))) for at in range(0, len(items), step)]

    def take(span: tuple[int, int]) -> tuple[U64, U32, I64]:
        low, high = span
        room = int(probe[low:high].sum())
        keys, places, ends = np.empty(room, np.uint64), np.empty(room, np.uint32), np.empty(high - low, np.int64)
        prefixes.take_prefixes(
            items.elements, items.starts[low:high], items.sizes[low:high], probe[low:high], counts, keys, places, ends
        )
        used = int(ends[-1])
        return keys[:used].copy(), places[:used].copy(), np.diff(ends, prepend=0)

    parts = list(pool.map(take, spans))
    keys = np.concatenate([part[0] for part in parts]) if parts else np.empty(0, np.uint64)
    places = np.concatenate([part[1] for part in parts]) if parts else np.empty(0, np.uint32)
    ends = np.cumsum(np.concatenate([part[2] for part in parts])) if parts else np.empty(0, np.int64)
    bits = item_bits(len(keys))
    packed = keys
    prefixes.pack_postings(keys, bits, packed)
    packed.sort()
    position, owner = np.empty(len(keys), np.uint32), np.empty(len(keys), np.uint32)
    prefixes.invert(packed, bits, position)
    prefixes.owners(ends, owner)
    return Postings(order, items, bar, index, packed, bits, position, owner, places, ends)


def count_elements(items: Items, pool: Pool) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """u8[2**m]: in about how many sets each element stands, up to 255, never too few. About two counters an element."""
    total = int(items.sizes.sum())
    counts = np.zeros(1 << max(16, min(30, (2 * total).bit_length())), np.uint8)
    parts = 1 << (pool.threads - 1).bit_length()
    width = len(counts) // parts
    for _ in pool.map(
        lambda part: prefixes.count_elements(
            items.elements, items.starts, items.sizes, part * width, (part + 1) * width, counts
        ),
        range(parts),
    ):
        pass
    return counts
