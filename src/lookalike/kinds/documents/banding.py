"""Banded LSH join of classes of equal sets, on all threads, into pairs or directly into groups."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from functools import cached_property, partial

import numpy as np

from lookalike.core.arrays import I64, U32, U64, Groups, Recipe
from lookalike.core.candidates import Band, Candidates, Items, item_bits
from lookalike.core.clusters import represented
from lookalike.core.measures import Bar
from lookalike.core.trace import Trace
from lookalike.kernels.shingles import table_size
from lookalike.kinds.documents.disk_join import DiskJoin
from lookalike.kinds.documents.kernels import bucket_clusters
from lookalike.kinds.documents.signatures import band_keys, sketch_items
from lookalike.planning.banding import Plan
from lookalike.runtime.local.joins import ITEMS_PER_TASK, Block, Pieces, Report, Scored, collect, score_block
from lookalike.runtime.local.memory_budget import MemoryBudget
from lookalike.runtime.local.pool import Pool
from lookalike.runtime.local.work_folder import Array, Arrays, Workspace

MAX_LISTED_PER_ITEM = 50  # bucket pairs per item that are listed on disk: 8 bytes each
ELEMENTS_PER_TASK = 1 << 21  # elements that one task sketches; bounded because they may be in a memory-mapped file


class BandedJoin:
    """A join by MinHash banding: candidates are items whose signatures agree in all rows of a band."""

    def __init__(
        self, items: Items, recipe: Recipe, plan: Plan, bar: Bar, pool: Pool, trace: Trace, space: Workspace
    ) -> None:
        self.items, self.plan, self.bar, self.pool, self.space = items, plan, bar, pool, space
        self.recipe = recipe
        self.file = space.file_of(items.elements)
        self._ahead: dict[int, Future[Band]] = {}
        self._bucket_pairs: int | None = None  # of all bands, once they have been counted
        with trace.stage("sketch") as report:
            if self.file is None:
                made = self._sketched("signatures", ("values", "keys"), report)
                self.values = made["values"]
            else:
                made = self._sketched("keys", ("keys",), report)
            self.keys: U64 = made["keys"]

    @cached_property
    def values(self) -> U32:
        """The signatures of the items; if their sets are in a file, they are computed when they are needed."""
        return self._sketched("values", ("values",))["values"]

    def _sketched(self, part: str, names: tuple[str, ...], report: Report = lambda *_: None) -> Arrays:
        """Compute signatures (`values`), band keys (`keys`) or both, as a part of the run."""
        n, elements = len(self.items), max(1, int(self.items.sizes.sum()))
        step = max(1, min(ITEMS_PER_TASK, n // (8 * self.pool.threads), ELEMENTS_PER_TASK * n // elements))
        shapes = {"values": ((n, self.recipe.length), np.uint32), "keys": ((n, self.plan.bands), np.uint64)}

        def fill(arrays: Arrays) -> None:
            def sketch(low: int) -> int:
                some = self.items.part(low, low + step)
                signatures = sketch_items(some.elements, some.starts, some.sizes, self.recipe)
                if "values" in names:
                    arrays["values"][low : low + step] = signatures.values
                if "keys" in names:
                    arrays["keys"][low : low + step] = band_keys(signatures, self.plan.bands, self.plan.rows)
                return low + len(some)

            for done in self.pool.map(sketch, range(0, n, step)):
                report(done, n)

        return self.space.filled(part, {name: shapes[name] for name in names}, fill)

    def bands(self) -> Iterator[Band]:
        """Yield the bands in order, each sorted by key."""
        for number in range(self.plan.bands):
            yield self._sorted(number)

    def _sorted(self, number: int) -> Band:
        """Return a sorted band, and start sorting the next one in the background."""
        wanted = self._ahead.pop(number, None) or self.pool.submit(partial(Band.sort, self.keys, number))
        band = wanted.result()
        if number + 1 < self.plan.bands:
            self._ahead = {number + 1: self.pool.submit(partial(Band.sort, self.keys, number + 1))}
        return band

    def pairs(self, trace: Trace, limit: int, *, verify: bool = True) -> Scored:
        """Return every pair that shares a bucket and reaches the threshold, with its exact score.

        Without `verify`: every pair that shares a bucket and agrees in at least plan.cut slots, scored by the share of
        agreeing slots, which estimates its Jaccard similarity.
        """
        with trace.stage("match") as report:
            units = self._disk_units(report, verify) or self._units(report, limit, verify)
            return collect(units, self.space, trace, limit)

    def _disk_units(self, report: Report, verify: bool) -> Iterator[tuple[str, Pieces]] | None:
        """Return the units of a join by listed pairs; None if the sets are in memory or the pairs too many to list."""
        if self.file is None or self.crowded(MAX_LISTED_PER_ITEM):
            return None
        cut = self.plan.cut
        join = DiskJoin(self.bands, self.items, self.file, self.recipe, cut, self.bar, self.pool, self.space)
        return join.units(report, exact=verify)

    def _units(self, report: Report, limit: int, verify: bool) -> Iterator[tuple[str, Pieces]]:
        """Yield one unit of work per band. A band is sorted while the previous one is processed."""
        step = max(256, min(ITEMS_PER_TASK, len(self.items) // (4 * self.pool.threads)))
        step = min(step, self.space.keeper.at_once(self.pool.threads))

        def pieces(number: int, sizes: I64) -> Iterator[tuple[Block, int]]:
            band = self._sorted(number)
            band.count_sizes(sizes)

            def work(block: tuple[int, int]) -> tuple[Block, int]:
                proposed = band.candidates(block, self.items, self.keys, self.values, self.plan.cut, self.bar)
                return score_block(self.items, proposed, self.bar, limit, None if verify else self.values)

            return self.pool.map(work, band.blocks(step))

        for number in range(self.plan.bands):
            yield f"band-{number}" if verify else f"estimated-{number}", partial(pieces, number)
            report(number + 1, self.plan.bands)

    def proposals(self) -> Iterator[Candidates]:
        """Yield the candidates of all bands without scores, each pair once."""
        for band in self.bands():
            for block in band.blocks(ITEMS_PER_TASK):
                yield from band.candidates(block, self.items, self.keys, self.values, self.plan.cut, self.bar)

    def crowded(self, per_item: int) -> bool:
        """Return True if the buckets of all bands hold more than `per_item` pairs per item."""
        enough = per_item * len(self.items)
        if self._bucket_pairs is None:
            total = 0
            for band in self.bands():
                total += band.bucket_pairs()[0]
                if total > enough:
                    return True
            self._bucket_pairs = total
        return self._bucket_pairs > enough

    def components(self, trace: Trace, order: I64) -> Groups:
        """Compute the connected components of all matching pairs in the buckets without storing the pairs."""
        n, items = len(self.items), self.items
        parent = np.arange(n)
        scratch = [np.empty(n, np.int64) for _ in range(3)]
        table = overlap_table(items)
        step = self.space.keeper.at_once(4)  # an item is compared with several others
        with trace.stage("match") as report:
            for band in self.bands():
                lists = 0
                for low in range(0, n, step):
                    checked, lists = bucket_clusters.union_bucket(
                        band.packed, low, min(low + step, n), lists, *scratch, item_bits(n), band.number, self.keys,
                        self.values, self.plan.cut, items.elements, items.starts, items.sizes, table, *self.bar, parent,
                    )  # fmt: skip
                    trace.add(candidates=checked)
                    self.pool.rest()
                band.count_sizes(trace.buckets)
                report(band.number + 1, self.plan.bands)
        bucket_clusters.settle(parent)
        return represented(parent, order)

    def stars(self, trace: Trace, order: I64) -> Groups:
        """Compute the stars of all matching pairs in the buckets without storing the pairs. order: of preference."""
        n, ranked = len(self.items), self.items.take(order)
        with trace.stage("match"):
            keys, values = self._ranked(self.keys, order), self._ranked(self.values, order)
            by_rank, checked = walk_stars(ranked, keys, values, self.plan, self.bar, trace.buckets, self.space)
            trace.add(candidates=checked)
        out = Groups(np.empty(n, np.int64), np.empty(n, np.float64))
        out.representative[order], out.similarity[order] = order[by_rank.representative], by_rank.similarity
        return out

    def _ranked(self, rows: Array, order: I64) -> Array:
        """Copy the rows in this order into an array of the workspace."""
        out = self.space.array(rows.shape, rows.dtype)
        step = self.space.keeper.at_once(1)
        for low in range(0, len(order), step):
            out[low : low + step] = rows[order[low : low + step]]
            self.pool.rest()
        return out


def walk_stars(
    ranked: Items,
    keys: U64,
    values: U32,
    plan: Plan,
    bar: Bar,
    sizes: I64 | None = None,
    space: Workspace | None = None,
) -> tuple[Groups, int]:
    """Form stars from all matching pairs in the buckets; return the groups and the number of pairs scored.

    ranked: the items in order of preference. keys u64[n, bands]; values u32[n, k]; sizes i64[d]: histogram of bucket
    sizes in powers of two, updated in place. space: the workspace of large arrays; None keeps them in memory.
    """
    space = space or Workspace(MemoryBudget(1 << 62))
    n, step = len(ranked), space.keeper.at_once(1)
    first, kept_in, kept_count = (space.array((plan.bands, n), np.uint32) for _ in range(3))
    kept_count[:] = 0
    out = Groups(np.empty(n, np.int64), np.empty(n, np.float64))
    for number in range(plan.bands):
        band = Band.sort(keys, number)
        if sizes is not None:
            band.count_sizes(sizes)
        bucket_clusters.bucket_starts(band.packed, item_bits(n), first[number])
    table, total = overlap_table(ranked), 0
    for low in range(0, n, step):
        total += bucket_clusters.greedy_clusters(
            low, min(low + step, n), first, kept_in, kept_count, keys, item_bits(n), values, plan.cut,
            ranked.elements, ranked.starts, ranked.sizes, table, *bar, out.representative, out.similarity,
        )  # fmt: skip
        space.keeper.look()
    return out, total


def overlap_table(items: Items) -> U64:
    """Allocate an empty hash table, large enough for the elements of any one of these items."""
    return np.zeros(table_size(int(items.sizes.max(initial=0))), np.uint64)
